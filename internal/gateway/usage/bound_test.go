package usage

import (
	"errors"
	"strings"
	"testing"
)

func TestBound(t *testing.T) {
	l := Limits{Context: 200_000, Output: 32_000}
	text := func(body string) int64 { return int64(len(body)) + overhead }
	const plain = `{"model":"m","max_tokens":100,"messages":[{"role":"user","content":"hi"}]}`
	const blocks = `{"max_tokens":7,"system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":[{"type":"tool_result","content":[{"type":"text","text":"image"}]}]}],"tools":[{"name":"x","input_schema":{"type":"object"}},{"type":"custom","name":"y"},{"type":"bash_20250124","name":"bash"}]}`
	cases := map[string]struct {
		kind, body string
		want       int64
		err        error
	}{
		"text":                       {"anthropic", plain, text(plain) + 100, nil},
		"blocks and client tools":    {"anthropic", blocks, text(blocks) + 7, nil},
		"no max_tokens":              {"anthropic", `{}`, text(`{}`) + l.Output, nil},
		"max_tokens as a string":     {"anthropic", `{"max_tokens":"1"}`, text(`{"max_tokens":"1"}`) + l.Output, nil},
		"max_tokens of nothing":      {"anthropic", `{"max_tokens":0}`, text(`{"max_tokens":0}`) + l.Output, nil},
		"max_tokens negative":        {"anthropic", `{"max_tokens":-9}`, text(`{"max_tokens":-9}`) + l.Output, nil},
		"max_tokens broken":          {"anthropic", `{"max_tokens":1.5}`, text(`{"max_tokens":1.5}`) + l.Output, nil},
		"more than a context":        {"anthropic", `{"max_tokens":1,"x":"` + strings.Repeat("a", 300_000) + `"}`, l.Context + 1, nil},
		"an image":                   {"anthropic", `{"max_tokens":1,"messages":[{"content":[{"type":"image","source":{}}]}]}`, l.Context + 1, nil},
		"an image spelled otherwise": {"anthropic", `{"max_tokens":1,"messages":[{"content":[{"type":"\u0069mage"}]}]}`, l.Context + 1, nil},
		"an image behind a text":     {"anthropic", `{"max_tokens":1,"messages":[{"content":[{"type":"text","type":"image"}]}]}`, l.Context + 1, nil},
		"a document in a result":     {"anthropic", `{"max_tokens":1,"messages":[{"content":[{"type":"tool_result","content":[{"type":"document"}]}]}]}`, l.Context + 1, nil},
		"a file":                     {"anthropic", `{"max_tokens":1,"messages":[{"content":[{"type":"text","file_id":"f"}]}]}`, l.Context + 1, nil},
		"web search":                 {"anthropic", `{"max_tokens":1,"tools":[{"type":"web_search_20250305"}]}`, 0, ErrUnbounded},
		"web search behind custom":   {"anthropic", `{"max_tokens":1,"tools":[{"type":"custom","type":"web_search_20250305"}]}`, 0, ErrUnbounded},
		"code execution":             {"anthropic", `{"max_tokens":1,"tools":[{"name":"a"},{"type":"code_execution_20250522"}]}`, 0, ErrUnbounded},
		"MCP":                        {"anthropic", `{"max_tokens":1,"mcp_servers":[{"url":"https://x"}]}`, 0, ErrUnbounded},
		"MCP in another case":        {"anthropic", `{"max_tokens":1,"MCP_Servers":[]}`, 0, ErrUnbounded},
		"a container":                {"anthropic", `{"max_tokens":1,"container":"c"}`, 0, ErrUnbounded},
		"key twice":                  {"anthropic", `{"max_tokens":1,"max_tokens":99}`, 0, ErrBody},
		"key twice, one escaped":     {"anthropic", `{"max_tokens":1,"max\u005ftokens":99}`, 0, ErrBody},
		"key twice by case":          {"anthropic", `{"max_tokens":1,"Max_Tokens":99}`, 0, ErrBody},
		"trailing data":              {"anthropic", plain + `{}`, 0, ErrBody},
		"an array":                   {"anthropic", `[` + plain + `]`, 0, ErrBody},
		"nothing":                    {"anthropic", ``, 0, ErrBody},
		"a BOM":                      {"anthropic", "\ufeff" + plain, 0, ErrBody},
		"no UTF-8":                   {"anthropic", "{\"a\":\"\xff\"}", 0, ErrBody},
		"too deep":                   {"anthropic", `{"a":` + strings.Repeat("[", 4_000_000), 0, ErrBody},
		"deep and closed":            {"anthropic", `{"a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, 0, ErrBody},
		"brackets in a string":       {"anthropic", `{"max_tokens":1,"a":"` + strings.Repeat("[", 100) + `"}`, text(`{"max_tokens":1,"a":"`+strings.Repeat("[", 100)+`"}`) + 1, nil},
		"openai":                     {"openai", `{"max_completion_tokens":50,"n":3}`, text(`{"max_completion_tokens":50,"n":3}`) + 150, nil},
		"openai, both caps":          {"openai", `{"max_tokens":5,"max_output_tokens":50}`, text(`{"max_tokens":5,"max_output_tokens":50}`) + 50, nil},
		"openai, stored input":       {"openai", `{"max_output_tokens":5,"previous_response_id":"r"}`, l.Context + 5, nil},
		"openai web search":          {"openai", `{"tools":[{"type":"web_search"}]}`, 0, ErrUnbounded},
		"openai function":            {"openai", `{"max_tokens":1,"tools":[{"type":"function","function":{"name":"f"}}]}`, text(`{"max_tokens":1,"tools":[{"type":"function","function":{"name":"f"}}]}`) + 1, nil},
		"gemini":                     {"gemini", `{"generationConfig":{"maxOutputTokens":9,"candidateCount":2}}`, text(`{"generationConfig":{"maxOutputTokens":9,"candidateCount":2}}`) + 18, nil},
		"gemini, no cap":             {"gemini", `{"contents":[]}`, text(`{"contents":[]}`) + l.Output, nil},
		"gemini, inline data":        {"gemini", `{"contents":[{"parts":[{"inlineData":{}}]}],"generationConfig":{"maxOutputTokens":9}}`, l.Context + 9, nil},
		"gemini search":              {"gemini", `{"tools":[{"googleSearch":{}}]}`, 0, ErrUnbounded},
	}
	for name, c := range cases {
		got, err := Bound(c.kind, []byte(c.body), l)
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %d, %v; want %d, %v", name, got, err, c.want, c.err)
		}
	}
}

func TestModelOf(t *testing.T) {
	for body, want := range map[string]string{
		`{"model":"claude-x"}`: "claude-x", `{"model":1}`: "", `{`: "", "": "", `{"model":"` + strings.Repeat("ü", 100) + `"}`: strings.Repeat("ü", 64),
		strings.Repeat("[", 1_000_000): "",
	} {
		if got := ModelOf([]byte(body)); got != want {
			t.Errorf("%.40s: %q", body, got)
		}
	}
}

func FuzzBound(f *testing.F) {
	f.Add("anthropic", `{"max_tokens":1,"messages":[{"content":[{"type":"image"}]}]}`)
	f.Add("gemini", `{"tools":[{"googleSearch":{}}]}`)
	f.Fuzz(func(t *testing.T, kind, body string) {
		n, err := Bound(kind, []byte(body), Limits{Context: 1000, Output: 100})
		if err == nil && n < 1 {
			t.Fatalf("%q bound at %d", body, n)
		}
		ModelOf([]byte(body))
	})
}
