package main

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/hostapi"
	"moeca/internal/session"
)

type sessionCmd struct {
	Create sessionCreate `cmd:"" help:"Make a session for a program on this machine; the token is printed once."`
	List   sessionList   `cmd:"" help:"List live sessions: who, what they may reach, what they drew."`
	Revoke sessionRevoke `cmd:"" help:"End a program's session."`
}

// budgetFlags are two limits; a flag that is not given keeps what is set.
type budgetFlags struct {
	BudgetUSD    *string `name:"budget-usd" help:"Most it may draw in USD, like 2.50; 0 is no limit."`
	BudgetTokens *int64  `name:"budget-tokens" help:"Most it may draw in tokens; 0 is no limit."`
}

// over returns was with the limits that are given, or nil without any.
func (f budgetFlags) over(was *session.Budget) (*session.Budget, error) {
	if f.BudgetUSD == nil && f.BudgetTokens == nil {
		return nil, nil
	}
	b := session.Budget{}
	if was != nil {
		b = *was
	}
	if f.BudgetTokens != nil {
		b.Tokens = *f.BudgetTokens
	}
	if f.BudgetUSD != nil {
		var err error
		if b.CostNano, err = gatewayapi.ParseUSD(*f.BudgetUSD); err != nil {
			return nil, fail(exitUsage, "usd", "write it like 12.50", "%v", err)
		}
	}
	return &b, nil
}

type sessionCreate struct {
	Name       string        `help:"What it is for; shown in the list and in the log."`
	Reach      []string      `required:"" help:"A provider it may reach; repeat for more." placeholder:"NAME"`
	Grant      []string      `help:"What a provider may do on its side, such as web-search; repeat for more." placeholder:"GRANT"`
	Repo       []string      `help:"owner/name of a repository it may use; repeat for more." placeholder:"OWNER/NAME"`
	TTL        time.Duration `name:"ttl" default:"1h" help:"How long it lives, a day at most."`
	Unattended bool          `help:"Nobody is there to answer: what would ask is refused."`
	USD        *string       `name:"budget-usd" help:"Most it may draw in USD, like 2.50; left out, no limit of its own."`
	Tokens     *int64        `name:"budget-tokens" help:"Most it may draw in tokens; left out, two million."`
}

// Run makes a session. It ends with the process that made it, so one must run.
func (s *sessionCreate) Run(e *env) error {
	budget, err := budgetFlags{s.USD, s.Tokens}.over(nil)
	if err != nil {
		return err
	}
	c, done, err := e.connect()
	if err != nil {
		return err
	}
	defer done()
	if c.own {
		return fail(exitMissing, "not_running", "start one with `moeca serve`", "no moeca runs on this data directory, and a session ends with it")
	}
	var made hostapi.SessionMade
	err = c.asPerson(e.ctx, "POST", "/api/sessions", hostapi.SessionInput{
		Name: s.Name, Reach: s.Reach, Grants: s.Grant, Repos: s.Repo, Budget: budget, TTL: int64(s.TTL / time.Second), Unattended: s.Unattended,
	}, &made)
	if err != nil {
		return err
	}
	if e.cli.JSON {
		return e.print(made)
	}
	fmt.Fprintf(e.stdout, "session %s until %s\n", made.Session.ID, made.Session.Expires.Local().Format(time.DateTime))
	fmt.Fprintf(e.stdout, "token %s\n  shown once; it stands where the provider's key would, or in the header %s\n", made.Token, made.Header)
	for _, u := range made.URLs {
		fmt.Fprintf(e.stdout, "%s: %s\n", u.Provider, u.URL)
		if u.Variable != "" {
			fmt.Fprintf(e.stdout, "  export %s=%s %s=%s\n", u.Variable, u.URL, u.KeyVar, made.Token)
		}
	}
	return nil
}

type sessionList struct{}

// Run lists sessions.
func (sessionList) Run(e *env, c *client) error {
	list := []hostapi.LiveSession{}
	if err := c.do(e.ctx, "GET", "/api/sessions", nil, &list); err != nil {
		return err
	}
	return printTable(e, list, "no live sessions", []string{"SESSION", "WHO", "REACHES", "TOKENS", "USD", "EXPIRES"}, func(s hostapi.LiveSession) []string {
		return []string{
			s.ID, whoWords(s), strings.Join(s.Reach, " "), drawnWords(s.Spent.Tokens, s.Budget.Tokens, tokenWords),
			drawnWords(s.Spent.CostNano, s.Budget.CostNano, gatewayapi.USD), s.Expires.Local().Format(time.DateTime),
		}
	})
}

func whoWords(s hostapi.LiveSession) string {
	switch {
	case s.Program:
		return s.Name + " (program)"
	case s.Service:
		return "the host"
	}
	return fmt.Sprintf("%s, run %s", s.Name, s.Run)
}

// drawnWords is what was drawn, and of how much where there is a limit.
func drawnWords(drawn, limit int64, words func(int64) string) string {
	text := words(drawn)
	if limit > 0 {
		text += " of " + words(limit)
	}
	return text
}

func tokenWords(n int64) string { return strconv.FormatInt(n, 10) }

type sessionRevoke struct {
	ID string `arg:"" help:"Id of the session."`
}

// Run ends a session.
func (s *sessionRevoke) Run(e *env, c *client) error {
	var ended hostapi.LiveSession
	if err := c.asPerson(e.ctx, "DELETE", "/api/sessions/"+url.PathEscape(s.ID), nil, &ended); err != nil {
		return err
	}
	if e.cli.JSON {
		return e.print(ended)
	}
	fmt.Fprintf(e.stdout, "ended %s: %d tokens, %s USD\n", ended.ID, ended.Spent.Tokens, gatewayapi.USD(ended.Spent.CostNano))
	return nil
}
