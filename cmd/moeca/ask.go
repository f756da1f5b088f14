package main

import (
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"moeca/internal/gateway/gatewayapi"
)

type askCmd struct {
	List   askList   `cmd:"" help:"List requests of agents that wait for you."`
	Allow  askAllow  `cmd:"" help:"Let one request go on; needs a terminal and a typed confirmation."`
	Refuse askRefuse `cmd:"" help:"Refuse one request; needs a terminal and a typed confirmation."`
}

type askList struct{}

// Run lists what waits.
func (askList) Run(e *env, c *client) error {
	asks := []gatewayapi.Ask{}
	if err := c.do(e.ctx, "GET", "/api/asks", nil, &asks); err != nil {
		return err
	}
	return printTable(e, asks, "nothing waits for you", []string{"ASK", "UNTIL", "RUN", "AGENT", "WANTS TO", "AT"}, func(a gatewayapi.Ask) []string {
		return []string{a.ID, a.ExpiresAt.Local().Format(time.TimeOnly), a.Run, a.Agent, strings.Join(a.Operations, ", "), a.Upstream}
	})
}

type askArg struct {
	ID string `arg:"" help:"Id of the request."`
}

type askAllow struct{ askArg }

// Run allows a request.
func (a *askAllow) Run(e *env, c *client) error { return a.answer(e, c, true) }

type askRefuse struct{ askArg }

// Run refuses a request.
func (a *askRefuse) Run(e *env, c *client) error { return a.answer(e, c, false) }

// answer shows the request, asks, and answers exactly that one.
func (a askArg) answer(e *env, c *client, allow bool) error {
	var asks []gatewayapi.Ask
	if err := c.do(e.ctx, "GET", "/api/asks", nil, &asks); err != nil {
		return err
	}
	i := slices.IndexFunc(asks, func(one gatewayapi.Ask) bool { return one.ID == a.ID })
	if i < 0 {
		return fail(exitFailed, gatewayapi.AskReasonUnknown, "see what waits with `moeca ask list`", "no request %s waits; it may have been answered, or its time is over", a.ID)
	}
	showAsk(e.stderr, asks[i])
	word := "refuse "
	if allow {
		word = "allow "
	}
	if err := e.confirm(word + a.ID); err != nil {
		return err
	}
	var answered gatewayapi.AskAnswered
	if err := c.asPerson(e.ctx, "POST", "/api/asks/"+url.PathEscape(a.ID), map[string]bool{"allow": allow}, &answered); err != nil {
		return err
	}
	if e.cli.JSON {
		return e.print(answered)
	}
	fmt.Fprintf(e.stdout, "%s: audit row %d\n", map[bool]string{true: "allowed", false: "refused"}[answered.Allow], answered.Seq)
	return nil
}

// showAsk prints all of a request that is known: what an agent wrote is marked
// as such by being safe to print and cut.
func showAsk(w io.Writer, a gatewayapi.Ask) {
	fmt.Fprintf(w, "%s wants to %s at %s\n  %s %s\n", plain(a.Agent), plain(strings.Join(a.Operations, ", ")), a.Upstream, a.Method, plain(a.Target))
	if len(a.Refs) > 0 {
		fmt.Fprintf(w, "  branches: %s\n", plain(strings.Join(a.Refs, ", ")))
	}
	if a.Body != "" {
		fmt.Fprintf(w, "  body (%d bytes, written by the agent):\n", a.BodyBytes)
		for line := range strings.Lines(plainLines(a.Body)) {
			fmt.Fprint(w, "  | ", line)
		}
		fmt.Fprintln(w)
	}
}
