package handoff_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"moeca/internal/handoff"
)

func commandOrder() handoff.WorkOrder {
	return handoff.WorkOrder{
		Version: 1, Run: "r1", Stage: "s1", Kind: handoff.KindCommand, Tree: "/work", SocketDir: "/run/moeca",
		Registry: true, Env: []string{"PATH=/bin", "EMPTY="},
		Command: &handoff.Command{Argv: []string{"go", "test", "./...\n\"x\""}, Dir: "sub", TimeoutSeconds: 60},
	}
}

func agentOrder() handoff.WorkOrder {
	return handoff.WorkOrder{
		Version: 1, Kind: handoff.KindAgent, Tree: "/work", SocketDir: "/run/moeca", Gateway: true,
		Agent: &handoff.Agent{
			Name: "coder", Dialect: "anthropic", BasePath: "/demo", Model: "m", Prompt: "do\nit \u2028",
			Tools: []string{"read_file"}, DenyGlobs: []string{"*.pem"},
		},
	}
}

func TestAnOrderArrivesAsItWasSent(t *testing.T) {
	for _, o := range []handoff.WorkOrder{commandOrder(), agentOrder()} {
		var b bytes.Buffer
		if err := handoff.EncodeOrder(&b, o); err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(b.Bytes(), []byte("\n")); n != 1 {
			t.Errorf("%d lines, want one", n)
		}
		got, err := handoff.ReadOrder(iotest.OneByteReader(&b))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(o, got); d != "" {
			t.Error(d)
		}
	}
}

func TestReadOrderReturnsWhileTheStreamStaysOpen(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	go func() {
		if err := handoff.EncodeOrder(w, commandOrder()); err != nil {
			t.Error(err)
		}
	}()
	if _, err := handoff.ReadOrder(r); err != nil {
		t.Fatal(err)
	}
}

func TestReadOrderRefuses(t *testing.T) {
	var good bytes.Buffer
	if err := handoff.EncodeOrder(&good, commandOrder()); err != nil {
		t.Fatal(err)
	}
	line := good.String()
	replace := func(old, new string) string {
		if !strings.Contains(line, old) {
			t.Fatalf("%q is not in the order", old)
		}
		return strings.Replace(line, old, new, 1)
	}
	tests := map[string]string{
		"nothing":                        "",
		"an empty line":                  "\n",
		"a line without an end":          strings.TrimSuffix(line, "\n"),
		"a second document":              strings.TrimSuffix(line, "\n") + " {}\n",
		"an unknown key":                 replace(`"run"`, `"rum"`),
		"an array":                       "[]\n",
		"another version":                replace(`"version":1`, `"version":2`),
		"no version":                     replace(`"version":1,`, ``),
		"an unknown kind":                replace(`"kind":"command"`, `"kind":"shell"`),
		"a kind without its part":        replace(`"kind":"command"`, `"kind":"agent"`),
		"no argv":                        replace(`"argv":["go","test","./...\n\"x\""]`, `"argv":[]`),
		"a NUL byte in argv":             replace(`"test"`, `"te\u0000st"`),
		"a relative tree":                replace(`"tree":"/work"`, `"tree":"work"`),
		"a tree that is not clean":       replace(`"tree":"/work"`, `"tree":"/work/../etc"`),
		"a socket directory left out":    replace(`"socket_dir":"/run/moeca"`, `"socket_dir":""`),
		"an environment without a value": replace(`"EMPTY="`, `"EMPTY"`),
		"a negative timeout":             replace(`"timeout_seconds":60`, `"timeout_seconds":-1`),
		"a number out of range":          replace(`"timeout_seconds":60`, `"timeout_seconds":1e99`),
		"a line over the limit":          `{"run":"` + strings.Repeat("x", handoff.MaxOrder) + `"}` + "\n",
		"deep nesting":                   strings.Repeat("[", 100_000) + "\n",
	}
	for name, in := range tests {
		t.Run(name, func(t *testing.T) {
			if o, err := handoff.ReadOrder(strings.NewReader(in)); err == nil {
				t.Errorf("accepted as %+v", o)
			}
		})
	}
}

func TestEncodeOrderRefusesWhatReadOrderWould(t *testing.T) {
	long := agentOrder()
	long.Agent.Prompt = strings.Repeat("x", handoff.MaxOrder)
	dialect := agentOrder()
	dialect.Agent.Dialect = "cobol"
	glob := agentOrder()
	glob.Agent.DenyGlobs = []string{"["}
	for name, o := range map[string]handoff.WorkOrder{"zero": {}, "too long": long, "dialect": dialect, "glob": glob} {
		var b bytes.Buffer
		if err := handoff.EncodeOrder(&b, o); err == nil || b.Len() > 0 {
			t.Errorf("%s: error %v after %d bytes", name, err, b.Len())
		}
	}
}

func now() time.Time { return time.UnixMilli(1234) }

func events(t *testing.T, stream string, l handoff.Limits) []handoff.Event {
	t.Helper()
	r := handoff.NewReader(strings.NewReader(stream), l)
	var out []handoff.Event
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			if r.Bytes() != int64(len(stream)) {
				t.Errorf("%d bytes counted, want %d", r.Bytes(), len(stream))
			}
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
}

func TestEventsArriveAsTheyWereSent(t *testing.T) {
	sent := []handoff.Event{
		{Type: handoff.EventReady},
		{Type: handoff.EventToolUse, Turn: 2, Role: "assistant", Tool: "write_file", ID: "t1", Input: json.RawMessage(`{"a":"b"}`), Usage: &handoff.Usage{Input: 3, Output: 4}},
		{Type: handoff.EventOutput, Text: "\x1b[31mred\x00\r\n"},
		{Type: handoff.EventDone, Text: "sum", Error: true, Code: 7, Cause: handoff.CauseCommand},
	}
	var b bytes.Buffer
	w := handoff.NewWriter(&b, now)
	for _, e := range sent {
		if err := w.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
	for i := range sent {
		sent[i].Time = 1234
	}
	if d := cmp.Diff(sent, events(t, b.String(), handoff.Limits{})); d != "" {
		t.Error(d)
	}
}

func TestLongEventsAreSplitOrDescribed(t *testing.T) {
	text := strings.Repeat("é\x01", 50_000)
	for _, kind := range []string{handoff.EventText, handoff.EventDone} {
		var b bytes.Buffer
		if err := handoff.NewWriter(&b, now).Emit(handoff.Event{Type: kind, Text: text, Usage: &handoff.Usage{Input: 1}}); err != nil {
			t.Fatal(err)
		}
		var got string
		var used int64
		all := events(t, b.String(), handoff.Limits{})
		for _, e := range all {
			got += e.Text
			if e.Type != kind || !utf8.ValidString(e.Text) {
				t.Fatalf("a piece of type %q is damaged", e.Type)
			}
			if e.Usage != nil {
				used += e.Usage.Input
			}
		}
		if kind == handoff.EventDone && (len(all) != 1 || !all[0].Cut) || kind == handoff.EventText && got != text || used != 1 {
			t.Errorf("%s: %d events, %d bytes, usage %d", kind, len(all), len(got), used)
		}
	}
	var b bytes.Buffer
	big := json.RawMessage(`{"content":"` + strings.Repeat("x", 1<<20) + `"}`)
	if err := handoff.NewWriter(&b, now).Emit(handoff.Event{Type: handoff.EventToolUse, Input: big}); err != nil {
		t.Fatal(err)
	}
	if e := events(t, b.String(), handoff.Limits{})[0]; e.Type != handoff.EventToolUse || !e.Cut || !json.Valid(e.Input) {
		t.Errorf("a big input became %+v", e)
	}
}

func TestAWriterStopsAfterItsFirstFailure(t *testing.T) {
	f := &failing{}
	w := handoff.NewWriter(f, now)
	for range 3 {
		if err := w.Emit(handoff.Event{Type: handoff.EventNote}); !errors.Is(err, errFull) {
			t.Errorf("got %v", err)
		}
	}
	if f.writes != 1 {
		t.Errorf("%d writes, want 1", f.writes)
	}
}

var errFull = errors.New("full")

type failing struct{ writes int }

func (f *failing) Write([]byte) (int, error) {
	f.writes++
	return 0, errFull
}

func TestTheReaderTrustsNothing(t *testing.T) {
	deep := `{"type":"text","input":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`
	tests := map[string]struct {
		in   string
		want []handoff.Event
	}{
		"text that is not JSON":       {"panic: boom\n", []handoff.Event{{Type: "output", Text: "panic: boom"}}},
		"an unknown type":             {`{"type":"approve"}` + "\n", []handoff.Event{{Type: "output", Text: `{"type":"approve"}`}}},
		"no type":                     {"{}\n", []handoff.Event{{Type: "output", Text: "{}"}}},
		"an array":                    {"[1]\n", []handoff.Event{{Type: "output", Text: "[1]"}}},
		"data behind the object":      {`{"type":"text"} x` + "\n", []handoff.Event{{Type: "output", Text: `{"type":"text"} x`}}},
		"a number out of range":       {`{"type":"text","turn":1e99}` + "\n", []handoff.Event{{Type: "output", Text: `{"type":"text","turn":1e99}`}}},
		"deep nesting":                {deep + "\n", []handoff.Event{{Type: "output", Text: deep}}},
		"a last line without its end": {`{"type":"note","text":"x"}`, []handoff.Event{{Type: "note", Text: "x"}}},
		"empty lines":                 {"\n\r\n\n", nil},
		"invalid UTF-8":               {"{\"type\":\"text\",\"text\":\"a\xffb\"}\n", []handoff.Event{{Type: "text", Text: "a\uFFFDb"}}},
		"a lone surrogate":            {`{"type":"text","text":"\ud800"}` + "\n", []handoff.Event{{Type: "text", Text: "\uFFFD"}}},
		"control characters stay":     {`{"type":"output","text":"\u001b[2J\u0000"}` + "\n", []handoff.Event{{Type: "output", Text: "\x1b[2J\x00"}}},
		"negative numbers":            {`{"type":"text","turn":-4,"usage":{"input":-1,"output":2}}` + "\n", []handoff.Event{{Type: "text", Usage: &handoff.Usage{Output: 2}}}},
		"a null input":                {`{"type":"tool_use","input":null}` + "\n", []handoff.Event{{Type: "tool_use"}}},
		"a long name":                 {`{"type":"tool_use","tool":"` + strings.Repeat("é", 200) + `"}` + "\n", []handoff.Event{{Type: "tool_use", Tool: strings.Repeat("é", 64), Cut: true}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, events(t, tt.in, handoff.Limits{})); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestALongLineIsCutAndTheNextOneIsWhole(t *testing.T) {
	for _, n := range []int{100, 101, 102, 5000, 1 << 20} {
		line := strings.Repeat("x", n)
		got := events(t, line+"\n"+`{"type":"note","text":"y"}`+"\n", handoff.Limits{Line: 101})
		want := []handoff.Event{{Type: "output", Text: line[:min(n, 101)], Cut: n > 101}, {Type: "note", Text: "y"}}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%d bytes: %s", n, d)
		}
	}
}

func TestTheStreamIsBounded(t *testing.T) {
	r := handoff.NewReader(strings.NewReader(strings.Repeat("x\n", 100)), handoff.Limits{Total: 11})
	for i := 0; ; i++ {
		_, err := r.Next()
		if errors.Is(err, handoff.ErrTooMuch) {
			if i < 5 || i > 6 || r.Bytes() != 11 {
				t.Errorf("ended after %d events and %d bytes", i, r.Bytes())
			}
			return
		}
		if err != nil || i > 100 {
			t.Fatalf("event %d: %v", i, err)
		}
	}
}

func TestAnErrorOfTheStreamIsPassedOn(t *testing.T) {
	broken := errors.New("broken")
	r := handoff.NewReader(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)), handoff.Limits{})
	for range 2 {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Next(); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func FuzzReader(f *testing.F) {
	for _, s := range []string{
		`{"type":"text","text":"x"}` + "\n", "\n", "{", `{"type":"tool_use","input":{"a":[1]}}`,
		"\xff\xfe\n", strings.Repeat("[", 300), `{"type":"done","usage":{"input":-9223372036854775808}}` + "\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := handoff.NewReader(iotest.HalfReader(bytes.NewReader(data)), handoff.Limits{Line: 64, Total: 4096})
		for range len(data) + 2 {
			e, err := r.Next()
			if err != nil {
				if !errors.Is(err, io.EOF) && !errors.Is(err, handoff.ErrTooMuch) {
					t.Fatal(err)
				}
				return
			}
			if e.Type == "" || !utf8.ValidString(e.Text) || !utf8.ValidString(e.Tool) || e.Turn < 0 || len(e.Text) > 3*64 {
				t.Fatalf("let through %+v", e)
			}
			if _, err := json.Marshal(e); err != nil {
				t.Fatalf("cannot be stored: %v", err)
			}
		}
		t.Fatal("more events than bytes")
	})
}

func FuzzReadOrder(f *testing.F) {
	var b bytes.Buffer
	if err := handoff.EncodeOrder(&b, agentOrder()); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := handoff.ReadOrder(bytes.NewReader(data))
		if err != nil {
			return
		}
		if err := handoff.EncodeOrder(io.Discard, o); err != nil {
			t.Fatalf("accepted what it would not send: %v", err)
		}
	})
}
