package agent

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"moeca/internal/handoff"
	"moeca/internal/llm"
)

// Names of the sockets in the order's socket directory.
const (
	GatewaySocket  = "gateway.sock"
	RegistrySocket = "registry.sock"
)

// Config is what the process gives to Run. Everything else is in the order.
type Config struct {
	In  io.Reader // one work order
	Out io.Writer // events
	// Loopback addresses children use; empty means no forwarder.
	GatewayAddr, RegistryAddr string
	// Reap is told when a child of ours or an orphan ended (SIGCHLD); nil where
	// nobody collects orphans.
	Reap <-chan os.Signal
	Now  func() time.Time
	// Grace is the time between TERM and KILL when a command is ended.
	Grace time.Duration
	// Retry overrides the model client's retry policy; zero means the default.
	Retry llm.Retry
}

// agent is one run.
type agent struct {
	cfg    Config
	order  handoff.WorkOrder
	events *handoff.Writer
	tree   *os.Root
	reaper *reaper
	usage  handoff.Usage
}

// outcome is how a run ended. An empty cause means success.
type outcome struct {
	code  int
	cause string
	text  string
}

// Run does everything from "ready" to "done" and returns the exit code. It ends
// early, with a done event, when ctx does.
func Run(ctx context.Context, cfg Config) int {
	a := &agent{cfg: cfg, events: handoff.NewWriter(cfg.Out, cfg.Now), reaper: newReaper()}
	if cfg.Reap != nil {
		defer a.collect()()
	}
	a.emit(handoff.Event{Type: handoff.EventReady})
	order, err := readOrder(ctx, cfg.In)
	if err != nil {
		return a.finish(outcome{code: ExitOrder, cause: handoff.CauseOrder, text: err.Error()})
	}
	a.order = order
	a.emit(handoff.Event{Type: handoff.EventStarted, Text: order.Kind})
	return a.finish(a.carryOut(ctx))
}

// readOrder returns when the order is there or ctx ends. In the second case the
// process is about to exit, and the blocked read with it.
func readOrder(ctx context.Context, in io.Reader) (handoff.WorkOrder, error) {
	type answer struct {
		order handoff.WorkOrder
		err   error
	}
	got := make(chan answer, 1)
	go func() {
		o, err := handoff.ReadOrder(in)
		got <- answer{o, err}
	}()
	select {
	case a := <-got:
		return a.order, a.err
	case <-ctx.Done():
		return handoff.WorkOrder{}, fmt.Errorf("agent: wait for a work order: %w", ctx.Err())
	}
}

func (a *agent) carryOut(ctx context.Context) outcome {
	tree, err := os.OpenRoot(a.order.Tree)
	if err != nil {
		return outcome{code: ExitOrder, cause: handoff.CauseOrder, text: fmt.Sprintf("agent: open the tree: %v", err)}
	}
	defer tree.Close()
	a.tree = tree
	defer a.forward(ctx)()
	if a.order.Kind == handoff.KindCommand {
		return a.runCommand(ctx)
	}
	return a.runLoop(ctx)
}

// forward opens the loopback ports of the sockets that exist, and returns what
// closes them. A port that cannot be opened is told, and the stage goes on
// without: the sandbox is no wider for it.
func (a *agent) forward(ctx context.Context) (closeAll func()) {
	var open []*Forwarder
	ports := []struct {
		granted      bool
		addr, socket string
	}{
		{a.order.Gateway, a.cfg.GatewayAddr, GatewaySocket},
		{a.order.Registry, a.cfg.RegistryAddr, RegistrySocket},
	}
	for _, p := range ports {
		if !p.granted || p.addr == "" || a.order.Kind != handoff.KindCommand {
			continue // the tool loop has no children
		}
		if len(open) == 0 {
			if err := loopbackUp(); err != nil {
				a.note("The loopback interface is down and stays so: " + err.Error())
			}
		}
		f, err := Forward(ctx, p.addr, filepath.Join(a.order.SocketDir, p.socket))
		if err != nil {
			a.note("No loopback port for " + p.socket + ": " + err.Error())
			continue
		}
		open = append(open, f)
	}
	return func() {
		for _, f := range open {
			f.Close()
		}
	}
}

// gatewayDialer dials the gateway's socket whatever address it is asked for.
func (a *agent) gatewayDialer() func(ctx context.Context, network, addr string) (net.Conn, error) {
	socket := filepath.Join(a.order.SocketDir, GatewaySocket)
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}
}

// collect reaps orphans until the returned function is called.
func (a *agent) collect() (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-a.cfg.Reap:
				a.reaper.reap()
			case <-done:
				return
			}
		}
	}()
	return func() { close(done); <-ended }
}

// finish sends the last event and returns the exit code.
func (a *agent) finish(o outcome) int {
	e := handoff.Event{Type: handoff.EventDone, Text: o.text, Code: o.code, Cause: o.cause, Error: o.cause != ""}
	if a.usage != (handoff.Usage{}) {
		e.Usage = &a.usage
	}
	a.emit(e)
	return o.code
}

// emit sends an event. When the channel is broken the controller is gone and
// is about to end the sandbox; there is nobody left to tell.
func (a *agent) emit(e handoff.Event) { _ = a.events.Emit(e) }

func (a *agent) note(text string) {
	a.emit(handoff.Event{Type: handoff.EventNote, Role: "system", Text: text})
}
