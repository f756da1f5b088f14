package sdk

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/openai/openai-go/v3"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/tidwall/gjson"
	"google.golang.org/genai"

	"moeca/internal/a2a"
)

// TestHistoryAsSDKsSendItBack: each SDK reads a recorded answer, whole or
// gathered from its stream, and sends it back as history in its own spelling.
// The tree knows it as the answer it recorded: no branch, nothing claimed.
func TestHistoryAsSDKsSendItBack(t *testing.T) {
	paths, err := filepath.Glob("../../internal/a2a/testdata/traffic/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	tried := map[a2a.Dialect]int{}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files := map[string][]byte{}
		for _, f := range archive.Files {
			files[f.Name] = f.Data
		}
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		kind, _, _ := strings.Cut(name, "-")
		for how, message := range echoes(t, a2a.Dialect(kind), files) {
			tried[a2a.Dialect(kind)]++
			goOn(t, name+", "+how, a2a.Dialect(kind), files, message)
		}
	}
	for _, d := range []a2a.Dialect{a2a.Anthropic, a2a.Chat, a2a.Gemini} {
		if tried[d] < 7 {
			t.Errorf("%s: only %d answers were sent back", d, tried[d])
		}
	}
}

// echoes are the first answer as the SDK of its dialect sends it back. Answers
// that are errors have none; clients of Responses send items back as they came.
func echoes(t *testing.T, d a2a.Dialect, files map[string][]byte) map[string]any {
	t.Helper()
	raw := files["1.response.json"]
	if gjson.GetBytes(raw, "error").IsObject() {
		return nil
	}
	switch d {
	case a2a.Anthropic:
		var whole anthropic.Message
		decode(t, raw, &whole)
		return map[string]any{"whole": whole.ToParam(), "gathered": gather(t, files["1.response.sse"]).ToParam()}
	case a2a.Chat:
		var whole openai.ChatCompletion
		decode(t, raw, &whole)
		return map[string]any{"whole": whole.Choices[0].Message.ToParam()}
	case a2a.Gemini:
		var whole genai.GenerateContentResponse
		decode(t, raw, &whole)
		if len(whole.Candidates) > 0 && whole.Candidates[0].Content != nil {
			return map[string]any{"whole": whole.Candidates[0].Content}
		}
	}
	return nil
}

func decode(t *testing.T, raw []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
}

// gather lets the SDK put a stream together.
func gather(t *testing.T, stream []byte) (whole anthropic.Message) {
	t.Helper()
	for line := range strings.Lines(string(stream)) {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok || strings.Contains(data, `"ping"`) {
			continue
		}
		var e anthropic.MessageStreamEventUnion
		decode(t, []byte(data), &e)
		if err := whole.Accumulate(e); err != nil {
			t.Fatal(err)
		}
	}
	return whole
}

// goOn sends the history and another question.
func goOn(t *testing.T, name string, d a2a.Dialect, files map[string][]byte, message any) {
	t.Helper()
	list, question, target := "messages", `{"role":"user","content":"go on"}`, "https://model/v1/messages"
	switch d {
	case a2a.Chat:
		target = "https://model/v1/chat/completions"
	case a2a.Gemini:
		list, question, target = "contents", `{"role":"user","parts":[{"text":"go on"}]}`, "https://model/v1beta/models/m:generateContent"
	}
	history, err := json.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	first := a2a.Exchange{
		Seq: 1, OutcomeSeq: 2, Session: "s", Task: "t", Dialect: d, Method: "POST", Target: target, Status: 200, Result: "ok",
		Request: files["1.request.json"], Response: files["1.response.json"],
	}
	next := first
	next.Seq, next.OutcomeSeq, next.Response = 3, 4, nil
	before := gjson.GetBytes(first.Request, list).Raw
	next.Request = []byte(strings.Replace(string(first.Request), before, strings.TrimSuffix(before, "]")+","+string(history)+","+question+"]", 1))
	task := a2a.Build([]a2a.Exchange{first, next}).Contexts[0].Tasks[0]
	if n := len(task.Metadata.Info.Threads); n != 1 {
		t.Errorf("%s: %d threads; sent back was %s", name, n, history)
	}
	for _, m := range task.History {
		if m.Metadata.Info.Claimed {
			t.Errorf("%s: %s is claimed; sent back was %s", name, m.MessageID, history)
		}
	}
}
