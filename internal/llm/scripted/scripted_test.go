package scripted_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"moeca/internal/llm"
	"moeca/internal/llm/anthropic"
	"moeca/internal/llm/scripted"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const key = "canary"

func serve(t *testing.T) *httptest.Server {
	s := httptest.NewServer(scripted.New(key, 0))
	t.Cleanup(s.Close)
	return s
}

// withKey adds what the gateway adds.
type withKey struct{ http.RoundTripper }

func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Api-Key", key)
	return k.RoundTripper.RoundTrip(r)
}

func client(t *testing.T) *llm.Client {
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return &llm.Client{
		HTTP: &http.Client{Transport: withKey{tr}}, Base: serve(t).URL, Dialect: anthropic.Dialect{},
		Retry: llm.Retry{Attempts: 2, Base: 1, Max: time.Second},
	}
}

func ask(prompt string) llm.Request {
	return llm.Request{
		Model: scripted.Model, MaxTokens: 1000, Tools: []llm.Tool{{Name: "read_file", Schema: json.RawMessage(`{"type":"object"}`)}},
		Messages: []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{{Kind: llm.KindText, Text: prompt}}}},
	}
}

func script(s string) string { return "Title\n\n```moeca-script\n" + s + "\n```\nmore" }

func TestAScriptIsPlayedStepByStep(t *testing.T) {
	c := client(t)
	req := ask(script(`{"steps":[
		{"thinking":"hm 漢","text":"first é","calls":[{"tool":"read_file","input":{"path":"a","n":[1,{"x":null}]}},{"tool":"list_files","input":{}}]},
		{"error":{"status":529},"calls":[{"tool":"read_file","input":{"path":"b"}}]}],"final":"the end"}`))
	var got []string
	for range 3 {
		r, err := c.Complete(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if r.Usage.Input == 0 || r.Usage.Output == 0 {
			t.Errorf("usage %+v", r.Usage)
		}
		line := string(r.Stop)
		var results []llm.Part
		for _, p := range r.Parts {
			line += " | " + p.Text + p.Tool + string(p.Input)
			if p.Kind == llm.KindCall {
				results = append(results, llm.Part{Kind: llm.KindResult, ID: p.ID, Text: "r"})
			}
			if p.Kind == llm.KindThinking && p.Signature == "" {
				t.Error("thinking without a signature")
			}
		}
		got = append(got, line)
		req.Messages = append(req.Messages, llm.Message{Role: llm.RoleAssistant, Parts: r.Parts}, llm.Message{Role: llm.RoleUser, Parts: results})
	}
	want := []string{
		`tools | hm 漢 | first é | read_file{"path":"a","n":[1,{"x":null}]} | list_files{}`,
		`tools | read_file{"path":"b"}`, `end | the end`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestScriptsThatAreRefused(t *testing.T) {
	step := func(s string) string { return script(`{"steps":[` + s + `]}`) }
	tests := map[string]string{
		"not JSON":                   script(`{`),
		"empty":                      script(`{}`),
		"an unknown key":             script(`{"final":"x","finale":"y"}`),
		"data behind it":             script(`{"final":"x"} {}`),
		"a block that is not closed": "```moeca-script\n{\"final\":\"x\"}\n",
		"two blocks":                 script(`{"final":"x"}`) + "\n" + script(`{"final":"y"}`),
		"a step that ends it":        step(`{"text":"x"}`),
		"a call without a tool":      step(`{"calls":[{"input":{}}]}`),
		"a call without input":       step(`{"calls":[{"tool":"x"}]}`),
		"input that is no object":    step(`{"calls":[{"tool":"x","input":[]}]}`),
		"an unknown stop reason":     step(`{"text":"x","stop_reason":"bored"}`),
		"a status that is none":      step(`{"calls":[{"tool":"x","input":{}}],"error":{"status":200}}`),
		"a delay of a week":          step(`{"calls":[{"tool":"x","input":{}}],"delay_ms":604800000}`),
	}
	for name, prompt := range tests {
		t.Run(name, func(t *testing.T) {
			r, err := client(t).Complete(t.Context(), ask(prompt))
			e := llm.AsError(err, "")
			if r != nil || e.Status != http.StatusBadRequest || e.Type != "invalid_request_error" || !strings.HasPrefix(e.Message, "moeca-script: ") {
				t.Errorf("%+v %v", r, err)
			}
		})
	}
}

func TestAnAnswerIsCutAtMaxTokens(t *testing.T) {
	req := ask(script(`{"steps":[{"text":"` + strings.Repeat("é", 100) + `","calls":[{"tool":"read_file","input":{}}]}]}`))
	req.MaxTokens = 10
	r, err := client(t).Complete(t.Context(), req)
	if err != nil || r.Stop != llm.StopMaxTokens || r.Text() != strings.Repeat("é", 20) || len(r.Calls()) != 0 || r.Usage.Output != 10 {
		t.Errorf("%+v %v", r, err)
	}
}

func TestRequestsThatAreRefused(t *testing.T) {
	const good = `{"model":"scripted-1","max_tokens":5,"messages":[{"role":"user","content":"hi"}]}`
	tests := map[string]struct {
		method, path, key, version, body string
		status                           int
	}{
		"no key":              {"POST", "/v1/messages", "", "2023-06-01", good, 401},
		"another key":         {"POST", "/v1/messages", "canarY", "2023-06-01", good, 401},
		"no key, no path":     {"GET", "/", "", "", "", 401},
		"another path":        {"POST", "/v1/complete", key, "2023-06-01", good, 404},
		"another method":      {"GET", "/v1/messages", key, "2023-06-01", "", 404},
		"no version":          {"POST", "/v1/messages", key, "", good, 400},
		"not JSON":            {"POST", "/v1/messages", key, "2023-06-01", "{", 400},
		"another model":       {"POST", "/v1/messages", key, "2023-06-01", strings.Replace(good, "scripted-1", "gpt", 1), 404},
		"no max_tokens":       {"POST", "/v1/messages", key, "2023-06-01", strings.Replace(good, "5", "0", 1), 400},
		"no messages":         {"POST", "/v1/messages", key, "2023-06-01", `{"model":"scripted-1","max_tokens":5,"messages":[]}`, 400},
		"content of a number": {"POST", "/v1/messages", key, "2023-06-01", strings.Replace(good, `"hi"`, "7", 1), 400},
		"a result of nothing": {"POST", "/v1/messages", key, "2023-06-01", strings.Replace(good, `"hi"`, `[{"type":"tool_result","tool_use_id":"x"}]`, 1), 400},
		"good":                {"POST", "/v1/messages", key, "2023-06-01", good, 200},
		"good, models":        {"GET", "/v1/models", key, "", "", 200},
	}
	s := serve(t)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), tt.method, s.URL+tt.path, strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			for k, v := range map[string]string{"X-Api-Key": tt.key, "Anthropic-Version": tt.version} {
				if v != "" {
					r.Header.Set(k, v)
				}
			}
			resp, err := s.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			raw, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != tt.status || !json.Valid(raw) {
				t.Errorf("%d %s %v", resp.StatusCode, raw, err)
			}
			if tt.status != 200 && !strings.Contains(string(raw), `"type":"error"`) {
				t.Errorf("not the dialect's shape: %s", raw)
			}
			if strings.Contains(string(raw), key) {
				t.Error("the key is in the answer")
			}
		})
	}
}

func TestAnEmptyKeyAcceptsNothing(t *testing.T) {
	w := httptest.NewRecorder()
	scripted.New("", 0).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/models", nil))
	if w.Code != http.StatusUnauthorized {
		t.Errorf("status %d", w.Code)
	}
}

// The provider's own client understands both forms of the answer.
func TestTheRealSDKUnderstandsTheServer(t *testing.T) {
	s := serve(t)
	c := sdk.NewClient(option.WithBaseURL(s.URL), option.WithAPIKey(key), option.WithHTTPClient(s.Client()), option.WithMaxRetries(0))
	params := sdk.MessageNewParams{
		Model: scripted.Model, MaxTokens: 500,
		Messages: []sdk.MessageParam{sdk.NewUserMessage(sdk.NewTextBlock(script(`{"steps":[{"thinking":"t","text":"a text that needs more than one piece of a stream","calls":[{"tool":"x","input":{"p":"q"}}]}]}`)))},
	}
	whole, err := c.Messages.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	stream := c.Messages.NewStreaming(t.Context(), params)
	var gathered sdk.Message
	for stream.Next() {
		if err := gathered.Accumulate(stream.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]*sdk.Message{"whole": whole, "streamed": &gathered} {
		var got string
		for _, b := range m.Content {
			got += fmt.Sprintf("%s %s%s%s|", b.Type, b.Thinking, b.Text, b.Input)
		}
		want := `thinking t|text a text that needs more than one piece of a stream|tool_use {"p":"q"}|`
		if got != want || m.StopReason != sdk.StopReasonToolUse || m.Usage.InputTokens == 0 {
			t.Errorf("%s: %s, stop %s, usage %d", name, got, m.StopReason, m.Usage.InputTokens)
		}
	}
}

func FuzzRequest(f *testing.F) {
	f.Add(`{"model":"scripted-1","max_tokens":5,"stream":true,"messages":[{"role":"user","content":"hi"}],"tools":[{"name":"list_files"},{"name":"edit_file"}]}`)
	f.Add(`{"model":"scripted-1","max_tokens":5,"messages":[{"role":"user","content":[{"type":"text","text":"x"}]},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"read_file","input":{"path":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":null}]}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		if strings.Contains(body, "delay_ms") {
			return // waiting finds nothing
		}
		r := httptest.NewRequest(http.MethodPost, "/v1/messages", strings.NewReader(body))
		r.Header.Set("X-Api-Key", key)
		r.Header.Set("Anthropic-Version", "2023-06-01")
		w := httptest.NewRecorder()
		scripted.New(key, 0).ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			if !json.Valid(w.Body.Bytes()) {
				t.Fatalf("an error that is not JSON: %s", w.Body)
			}
			return
		}
		if _, err := (anthropic.Dialect{}).Decode(w.Header().Get("Content-Type"), w.Body); err != nil {
			t.Fatalf("the dialect does not understand the answer: %v", err)
		}
	})
}
