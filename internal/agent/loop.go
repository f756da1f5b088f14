package agent

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"time"

	"moeca/internal/agent/tool"
	"moeca/internal/handoff"
	"moeca/internal/llm"
	"moeca/internal/llm/anthropic"
)

// Defaults of an order.
const (
	defaultTurns  = 40
	defaultTokens = 16_000
)

//go:embed system.md
var defaultSystem string

// loop is one conversation.
type loop struct {
	*agent
	client *llm.Client
	box    *tool.Box
	req    llm.Request
	guard  repeatGuard
	last   string // last text of the model
}

// runLoop runs the tool loop to its end. Only an answer that the model ended
// itself, without a call, is success.
func (a *agent) runLoop(ctx context.Context) outcome {
	l, err := a.newLoop()
	if err != nil {
		return outcome{code: ExitOrder, cause: handoff.CauseOrder, text: err.Error()}
	}
	defer l.client.HTTP.CloseIdleConnections()
	turns := a.order.Agent.MaxTurns
	if turns == 0 {
		turns = defaultTurns
	}
	for turn := 1; turn <= turns; turn++ {
		resp, err := l.client.Complete(ctx, l.req)
		if err != nil {
			return requestOutcome(ctx, err)
		}
		l.tell(turn, resp)
		if end, over := l.judge(resp); over {
			return end
		}
		results := l.runCalls(ctx, turn, resp.Calls())
		if ctx.Err() != nil {
			return stopped()
		}
		l.req.Messages = append(l.req.Messages,
			llm.Message{Role: llm.RoleAssistant, Parts: resp.Parts},
			llm.Message{Role: llm.RoleUser, Parts: results})
		if name := l.guard.looping(); name != "" {
			return outcome{
				code: ExitFailed, cause: handoff.CauseLoop,
				text: fmt.Sprintf("The agent called %s with the same input %d times in a row and was ended.", name, repeatLimit),
			}
		}
	}
	return outcome{
		code: ExitFailed, cause: handoff.CauseTurns,
		text: fmt.Sprintf("The agent did not finish within %d turns.", turns),
	}
}

func (a *agent) newLoop() (*loop, error) {
	o := a.order.Agent
	if !a.order.Gateway {
		return nil, errors.New("agent: an agent stage needs the gateway's socket, and this sandbox has none")
	}
	tree, err := tool.NewTree(a.tree, o.DenyGlobs)
	if err != nil {
		return nil, err
	}
	box, err := tool.New(tree, o.Tools)
	if err != nil {
		return nil, err
	}
	l := &loop{agent: a, box: box, client: a.newClient(o.BasePath)}
	l.req = llm.Request{
		Model: o.Model, System: o.System, MaxTokens: o.MaxTokens, Tools: box.Definitions(),
		Messages: []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{{Kind: llm.KindText, Text: o.Prompt}}}},
	}
	if l.req.System == "" {
		l.req.System = strings.TrimSpace(defaultSystem)
	}
	if l.req.MaxTokens == 0 {
		l.req.MaxTokens = defaultTokens
	}
	return l, nil
}

// newClient dials the socket itself and carries no credential. A redirect is
// an answer, not an order.
func (a *agent) newClient(basePath string) *llm.Client {
	return &llm.Client{
		HTTP: &http.Client{
			Transport: &http.Transport{
				DialContext:        a.gatewayDialer(),
				DisableCompression: true,
				IdleConnTimeout:    90 * time.Second,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		Base:    "http://gateway" + strings.TrimSuffix(basePath, "/"),
		Dialect: anthropic.Dialect{},
		Retry:   a.cfg.Retry,
		Notify: func(e *llm.Error, attempt int, wait time.Duration) {
			a.note(fmt.Sprintf("Attempt %d was not answered (%v); the next one comes in %s.",
				attempt, e, wait.Round(10*time.Millisecond)))
		},
	}
}

// tell sends the events of an answer and adds up its usage.
func (l *loop) tell(turn int, resp *llm.Response) {
	used := handoff.Usage{
		Input:  resp.Usage.Input + resp.Usage.CacheRead + resp.Usage.CacheWrite,
		Output: resp.Usage.Output,
	}
	l.usage.Input += used.Input
	l.usage.Output += used.Output
	usage := &used // told once a turn, with its first event
	for _, p := range resp.Parts {
		e := handoff.Event{Turn: turn, Role: "assistant", Usage: usage}
		switch p.Kind {
		case llm.KindText:
			e.Type, e.Text = handoff.EventText, p.Text
			if strings.TrimSpace(p.Text) != "" {
				l.last = p.Text
			}
		case llm.KindThinking:
			e.Type, e.Text = handoff.EventThinking, p.Text
		case llm.KindCall:
			e.Type, e.Tool, e.ID, e.Input = handoff.EventToolUse, p.Tool, p.ID, p.Input
		}
		if e.Text == "" && e.Type != handoff.EventToolUse {
			continue
		}
		l.emit(e)
		usage = nil
	}
}

// judge says whether the run is over with this answer. Calls are run only when
// the model says that it waits for them; a cut answer may hold half of one.
func (l *loop) judge(resp *llm.Response) (end outcome, over bool) {
	calls := len(resp.Calls())
	failed := func(cause, text string) (outcome, bool) {
		return outcome{code: ExitFailed, cause: cause, text: text}, true
	}
	switch resp.Stop {
	case llm.StopTools:
		if calls > 0 {
			return outcome{}, false
		}
		return failed(handoff.CauseModel, "The model waits for the result of a call that it did not make.")
	case llm.StopEnd:
		if calls > 0 {
			return failed(handoff.CauseModel, "The model ended its turn and called a tool at the same time.")
		}
		if l.last == "" {
			return outcome{text: "The agent ended without a summary."}, true
		}
		return outcome{text: l.last}, true
	case llm.StopRefusal:
		return failed(handoff.CauseRefused, joinText("The model refused.", resp.Text()))
	case llm.StopMaxTokens:
		return failed(handoff.CauseCutShort, fmt.Sprintf("The answer was cut at %d tokens.", l.req.MaxTokens))
	case llm.StopContext:
		return failed(handoff.CauseCutShort, "The conversation no longer fits into the model's context.")
	case llm.StopPause, llm.StopSequence:
		return failed(handoff.CauseCutShort, fmt.Sprintf("The answer ended early (%s).", resp.Stop))
	}
	return failed(handoff.CauseModel, fmt.Sprintf("The answer ended for a reason that is not known here: %q.", resp.Detail))
}

func (l *loop) runCalls(ctx context.Context, turn int, calls []llm.Part) []llm.Part {
	results := make([]llm.Part, 0, len(calls))
	for _, c := range calls {
		l.guard.saw(c.Tool, c.Input)
		r := l.box.Run(ctx, c.Tool, c.Input)
		l.emit(handoff.Event{
			Type: handoff.EventResult, Turn: turn, Role: "tool",
			Tool: c.Tool, ID: c.ID, Text: r.Text, Error: r.Error,
		})
		results = append(results, llm.Part{Kind: llm.KindResult, ID: c.ID, Text: r.Text, Error: r.Error})
	}
	return results
}

func requestOutcome(ctx context.Context, err error) outcome {
	if ctx.Err() != nil {
		return stopped()
	}
	var e *llm.Error
	if errors.As(err, &e) && e.Class == llm.ClassDenied {
		return outcome{
			code: ExitFailed, cause: handoff.CauseDenied,
			text: joinText(fmt.Sprintf("The gateway refused (gate %s, reason %s).", e.Gate, e.Reason), e.Message),
		}
	}
	return outcome{code: ExitFailed, cause: handoff.CauseModel, text: err.Error()}
}

func stopped() outcome {
	return outcome{
		code: ExitSignalBase + int(syscall.SIGTERM), cause: handoff.CauseStopped,
		text: "The agent was stopped.",
	}
}

func joinText(a, b string) string {
	if b = strings.TrimSpace(b); b == "" {
		return a
	}
	return a + " " + b
}
