package agent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"moeca/internal/agent"
	"moeca/internal/agent/tool"
	"moeca/internal/handoff"
	"moeca/internal/llm"
	"moeca/internal/llm/scripted"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const canary = "canary-key"

// gatewayOn serves h on gateway.sock in a new directory and returns it.
func gatewayOn(t *testing.T, h http.Handler) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "moeca")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, agent.GatewaySocket))
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(h)
	s.Listener.Close()
	s.Listener = l
	s.Start()
	t.Cleanup(s.Close)
	return dir
}

// gateway stands for the real one: it takes the prefix off and puts the key in.
// It fails the test when the agent brings a credential.
func gateway(t *testing.T, next http.Handler) http.Handler {
	return http.StripPrefix("/demo", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, h := range []string{"X-Api-Key", "Authorization", "Cookie", "X-Moeca-Session"} {
			if r.Header.Get(h) != "" {
				t.Errorf("the agent sent %s", h)
			}
		}
		r.Header.Set("X-Api-Key", canary)
		next.ServeHTTP(w, r)
	}))
}

func agentOrder(tree, sockets, prompt string) handoff.WorkOrder {
	return handoff.WorkOrder{
		Version: 1, Run: "r", Stage: "s", Kind: handoff.KindAgent, Gateway: true,
		SocketDir: sockets, Tree: tree,
		Agent: &handoff.Agent{
			Name: "coder", Dialect: "anthropic", BasePath: "/demo", Model: scripted.Model,
			Prompt: prompt, Tools: tool.Names(), DenyGlobs: []string{"*.pem"},
		},
	}
}

func script(json string) string { return "Do it.\n\n```moeca-script\n" + json + "\n```\n" }

// play runs one order and returns the exit code and the events.
func play(ctx context.Context, t *testing.T, o handoff.WorkOrder) (int, []handoff.Event) {
	t.Helper()
	var in, out bytes.Buffer
	if err := handoff.EncodeOrder(&in, o); err != nil {
		t.Fatal(err)
	}
	code := agent.Run(ctx, agent.Config{
		In: &in, Out: &out, Now: time.Now, Retry: llm.Retry{Attempts: 3, Base: 1, Max: time.Second},
	})
	return code, readAll(t, &out)
}

func readAll(t *testing.T, r io.Reader) []handoff.Event {
	t.Helper()
	var events []handoff.Event
	er := handoff.NewReader(r, handoff.Limits{})
	for {
		e, err := er.Next()
		if errors.Is(err, io.EOF) {
			return events
		}
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
}

func last(events []handoff.Event) handoff.Event { return events[len(events)-1] }

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	p := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// snapshot maps every file of a tree to its content.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(p)
		rel, _ := filepath.Rel(dir, p)
		files[rel] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestTheDefaultJobChangesTwoFilesInAnyTree(t *testing.T) {
	trees := map[string]map[string]string{
		"a repository with a README":              {"README.md": "# A\n\nText.\n", "main.go": "package main\n"},
		"an empty repository":                     {},
		"code only":                               {"src/main.go": "package main\n"},
		"no line of the README occurs once":       {"README.md": "x\nx\n"},
		"an empty README":                         {"README.md": ""},
		"CRLF lines":                              {"readme.txt": "one\r\ntwo\r\n"},
		"binary files only":                       {"a.bin": "\x00\x01"},
		"a README that is longer than one answer": {"README.md": strings.Repeat("some line of text\n", 10000)},
		"NOTES are there already":                 {"NOTES.md": "n\n", "README.md": "r\n"},
	}
	for name, files := range trees {
		t.Run(name, func(t *testing.T) {
			tree := t.TempDir()
			for f, content := range files {
				write(t, tree, f, content)
			}
			before := snapshot(t, tree)
			sockets := gatewayOn(t, gateway(t, scripted.New(canary, 0)))
			code, events := play(t.Context(), t, agentOrder(tree, sockets, "Add a note\n\nDetail."))
			done := last(events)
			if code != 0 || done.Type != handoff.EventDone || done.Error || done.Usage == nil || done.Usage.Input == 0 {
				t.Fatalf("code %d, done %+v", code, done)
			}
			changed := 0
			for f, content := range snapshot(t, tree) {
				if before[f] != content {
					changed++
				}
			}
			if changed != 2 {
				t.Errorf("%d files changed, want 2: %s", changed, done.Text)
			}
		})
	}
}

func TestHowARunEnds(t *testing.T) {
	tests := map[string]struct {
		script string
		turns  int
		code   int
		cause  string
		text   string
	}{
		"a final text is done":                    {script: `{"final":"All done."}`, text: "All done."},
		"a cut answer is not done":                {script: `{"steps":[{"text":"half","stop_reason":"max_tokens"}]}`, code: 1, cause: handoff.CauseCutShort},
		"a paused answer is not done":             {script: `{"steps":[{"text":"half","stop_reason":"pause_turn"}]}`, code: 1, cause: handoff.CauseCutShort},
		"a full context is not done":              {script: `{"steps":[{"text":"half","stop_reason":"model_context_window_exceeded"}]}`, code: 1, cause: handoff.CauseCutShort},
		"a refusal is not done":                   {script: `{"steps":[{"text":"I will not.","stop_reason":"refusal"}]}`, code: 1, cause: handoff.CauseRefused, text: "The model refused. I will not."},
		"calls that were cut are not run":         {script: `{"steps":[{"calls":[{"tool":"write_file","input":{"path":"x","content":""}}],"stop_reason":"max_tokens"}]}`, code: 1, cause: handoff.CauseCutShort},
		"calls in an ended turn are not run":      {script: `{"steps":[{"calls":[{"tool":"write_file","input":{"path":"x","content":""}}],"stop_reason":"end_turn"}]}`, code: 1, cause: handoff.CauseModel},
		"waiting for no call is not done":         {script: `{"steps":[{"text":"?","stop_reason":"tool_use"}]}`, code: 1, cause: handoff.CauseModel},
		"the same call three times is a loop":     {script: `{"steps":[` + strings.Repeat(`{"calls":[{"tool":"list_files","input":{}}]},`, 9) + `{"calls":[{"tool":"list_files","input":{}}]}],"final":"f"}`, code: 1, cause: handoff.CauseLoop},
		"too many turns":                          {script: `{"steps":[{"calls":[{"tool":"list_files","input":{}}]},{"calls":[{"tool":"list_files","input":{"depth":1}}]}],"final":"f"}`, turns: 2, code: 1, cause: handoff.CauseTurns},
		"an overloaded model is asked again":      {script: `{"steps":[{"error":{"status":529},"calls":[{"tool":"list_files","input":{}}]}],"final":"ok"}`, text: "ok"},
		"a tool that does not exist is an answer": {script: `{"steps":[{"calls":[{"tool":"shell","input":{}}]}],"final":"ok"}`, text: "ok"},
		"a bad script is the model's error":       {script: `{"stepz":[]}`, code: 1, cause: handoff.CauseModel},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tree := t.TempDir()
			sockets := gatewayOn(t, gateway(t, scripted.New(canary, 0)))
			o := agentOrder(tree, sockets, script(tt.script))
			o.Agent.MaxTurns = tt.turns
			code, events := play(t.Context(), t, o)
			done := last(events)
			if code != tt.code || done.Code != tt.code || done.Cause != tt.cause || done.Error != (tt.cause != "") {
				t.Errorf("code %d, done %+v", code, done)
			}
			if tt.text != "" && done.Text != tt.text {
				t.Errorf("summary %q, want %q", done.Text, tt.text)
			}
			if len(snapshot(t, tree)) != 0 {
				t.Error("something was written")
			}
		})
	}
}

func TestADenialIsNotRetriedAndNamesItsGate(t *testing.T) {
	asked := 0
	sockets := gatewayOn(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"type":"error","error":{"type":"permission_error","gate":"allowlist","reason":"host not listed","message":"ask for it"}}`)
	}))
	code, events := play(t.Context(), t, agentOrder(t.TempDir(), sockets, "x"))
	done := last(events)
	if code != agent.ExitFailed || done.Cause != handoff.CauseDenied || asked != 1 {
		t.Fatalf("code %d after %d requests, done %+v", code, asked, done)
	}
	for _, want := range []string{"allowlist", "host not listed", "ask for it"} {
		if !strings.Contains(done.Text, want) {
			t.Errorf("%q does not name %q", done.Text, want)
		}
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	asked := 0
	sockets := gatewayOn(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		http.Redirect(w, r, "http://elsewhere/", http.StatusTemporaryRedirect)
	}))
	code, events := play(t.Context(), t, agentOrder(t.TempDir(), sockets, "x"))
	if code != agent.ExitFailed || asked != 1 || last(events).Cause != handoff.CauseModel {
		t.Fatalf("code %d after %d requests, done %+v", code, asked, last(events))
	}
}

func TestAToolThatIsNotGrantedIsAbsent(t *testing.T) {
	var body string
	inner := scripted.New(canary, 0)
	sockets := gatewayOn(t, gateway(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		body += string(raw)
		r.Body = io.NopCloser(bytes.NewReader(raw))
		inner.ServeHTTP(w, r)
	})))
	tree := t.TempDir()
	o := agentOrder(tree, sockets, script(`{"steps":[{"calls":[{"tool":"write_file","input":{"path":"x","content":"y"}}]}],"final":"f"}`))
	o.Agent.Tools = []string{"read_file"}
	code, events := play(t.Context(), t, o)
	if code != 0 || len(snapshot(t, tree)) != 0 {
		t.Fatalf("code %d, tree %v", code, snapshot(t, tree))
	}
	if strings.Contains(body, `"name":"write_file","description"`) || !strings.Contains(body, `"name":"read_file","description"`) {
		t.Error("the request does not describe exactly what was granted")
	}
	failed := false
	for _, e := range events {
		failed = failed || e.Type == handoff.EventResult && e.Error
	}
	if !failed {
		t.Error("the call was not answered with an error")
	}
}

func TestStoppingEndsARunThatWaits(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	inner := scripted.New(canary, 0)
	sockets := gatewayOn(t, gateway(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cancel()
		inner.ServeHTTP(w, r)
	})))
	code, events := play(ctx, t, agentOrder(t.TempDir(), sockets, script(`{"steps":[{"delay_ms":60000,"calls":[{"tool":"list_files","input":{}}]}]}`)))
	if code != 143 || last(events).Cause != handoff.CauseStopped {
		t.Fatalf("code %d, done %+v", code, last(events))
	}
}

func TestAGatewayThatIsGoneIsTold(t *testing.T) {
	code, events := play(t.Context(), t, agentOrder(t.TempDir(), t.TempDir(), "x"))
	notes := 0
	for _, e := range events {
		if e.Type == handoff.EventNote {
			notes++
		}
	}
	if code != agent.ExitFailed || last(events).Cause != handoff.CauseModel || notes != 2 {
		t.Fatalf("code %d, %d notes, done %+v", code, notes, last(events))
	}
}

func TestAnOrderThatCannotBeCarriedOut(t *testing.T) {
	ok := agentOrder(t.TempDir(), "/run/moeca", "x")
	tests := map[string]func(o *handoff.WorkOrder){
		"no such tree":    func(o *handoff.WorkOrder) { o.Tree = "/nowhere/at/all" },
		"no gateway":      func(o *handoff.WorkOrder) { o.Gateway = false },
		"an unknown tool": func(o *handoff.WorkOrder) { o.Agent.Tools = []string{"shell"} },
		"an empty glob":   func(o *handoff.WorkOrder) { o.Agent.DenyGlobs = []string{""} },
	}
	for name, spoil := range tests {
		t.Run(name, func(t *testing.T) {
			o, a := ok, *ok.Agent
			o.Agent = &a
			spoil(&o)
			code, events := play(t.Context(), t, o)
			if code != agent.ExitOrder || last(events).Cause != handoff.CauseOrder {
				t.Fatalf("code %d, done %+v", code, last(events))
			}
		})
	}
	t.Run("no order at all", func(t *testing.T) {
		var out bytes.Buffer
		code := agent.Run(t.Context(), agent.Config{In: strings.NewReader(""), Out: &out, Now: time.Now})
		events := readAll(t, &out)
		if code != agent.ExitOrder || events[0].Type != handoff.EventReady || last(events).Type != handoff.EventDone {
			t.Fatalf("code %d, events %+v", code, events)
		}
	})
}
