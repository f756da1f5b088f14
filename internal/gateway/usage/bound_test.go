package usage

import (
	"errors"
	"strings"
	"testing"

	"moeca/internal/strictjson"
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
		"text":                        {"anthropic", plain, text(plain) + 100, nil},
		"blocks and client tools":     {"anthropic", blocks, text(blocks) + 7, nil},
		"no max_tokens":               {"anthropic", `{}`, text(`{}`) + l.Output, nil},
		"max_tokens as a string":      {"anthropic", `{"max_tokens":"1"}`, text(`{"max_tokens":"1"}`) + l.Output, nil},
		"max_tokens of nothing":       {"anthropic", `{"max_tokens":0}`, text(`{"max_tokens":0}`) + l.Output, nil},
		"max_tokens negative":         {"anthropic", `{"max_tokens":-9}`, text(`{"max_tokens":-9}`) + l.Output, nil},
		"max_tokens broken":           {"anthropic", `{"max_tokens":1.5}`, text(`{"max_tokens":1.5}`) + l.Output, nil},
		"more than a context":         {"anthropic", `{"max_tokens":1,"x":"` + strings.Repeat("a", 300_000) + `"}`, l.Context + 1, nil},
		"an image":                    {"anthropic", `{"max_tokens":1,"messages":[{"content":[{"type":"image","source":{}}]}]}`, l.Context + 1, nil},
		"an image spelled otherwise":  {"anthropic", `{"max_tokens":1,"messages":[{"content":[{"type":"\u0069mage"}]}]}`, l.Context + 1, nil},
		"an image behind a text":      {"anthropic", `{"max_tokens":1,"messages":[{"content":[{"type":"text","type":"image"}]}]}`, 0, ErrBody},
		"a document in a result":      {"anthropic", `{"max_tokens":1,"messages":[{"content":[{"type":"tool_result","content":[{"type":"document"}]}]}]}`, l.Context + 1, nil},
		"a file":                      {"anthropic", `{"max_tokens":1,"messages":[{"content":[{"type":"text","file_id":"f"}]}]}`, l.Context + 1, nil},
		"web search without end":      {"anthropic", `{"max_tokens":1,"tools":[{"type":"web_search_20250305"}]}`, l.Context + 1, nil},
		"three web searches":          {"anthropic", `{"max_tokens":1,"tools":[{"type":"web_search_20250305","max_uses":3}]}`, l.Context + 1, nil},
		"max_uses twice":              {"anthropic", `{"max_tokens":1,"tools":[{"type":"web_search_20250305","max_uses":1,"max_uses":9}]}`, 0, ErrBody},
		"more searches than sense":    {"anthropic", `{"max_tokens":1,"tools":[{"type":"web_search_20250305","max_uses":1000}]}`, l.Context + 1, nil},
		"web search behind custom":    {"anthropic", `{"max_tokens":1,"tools":[{"type":"custom","type":"web_search_20250305"}]}`, 0, ErrBody},
		"code execution":              {"anthropic", `{"max_tokens":1,"tools":[{"name":"a"},{"type":"code_execution_20250522"}]}`, l.Context + 1, nil},
		"MCP":                         {"anthropic", `{"max_tokens":1,"mcp_servers":[{"url":"https://x"}]}`, l.Context + 1, nil},
		"MCP in another case":         {"anthropic", `{"max_tokens":1,"MCP_Servers":[]}`, l.Context + 1, nil},
		"a container":                 {"anthropic", `{"max_tokens":1,"container":"c"}`, l.Context + 1, nil},
		"key twice":                   {"anthropic", `{"max_tokens":1,"max_tokens":99}`, 0, ErrBody},
		"key twice, one escaped":      {"anthropic", `{"max_tokens":1,"max\u005ftokens":99}`, 0, ErrBody},
		"key twice by case":           {"anthropic", `{"max_tokens":1,"Max_Tokens":99}`, 0, ErrBody},
		"trailing data":               {"anthropic", plain + `{}`, 0, ErrBody},
		"an array":                    {"anthropic", `[` + plain + `]`, 0, ErrBody},
		"nothing":                     {"anthropic", ``, 0, ErrBody},
		"a BOM":                       {"anthropic", "\ufeff" + plain, 0, ErrBody},
		"no UTF-8":                    {"anthropic", "{\"a\":\"\xff\"}", 0, ErrBody},
		"too deep":                    {"anthropic", `{"a":` + strings.Repeat("[", 4_000_000), 0, ErrBody},
		"deep and closed":             {"anthropic", `{"a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, 0, ErrBody},
		"brackets in a string":        {"anthropic", `{"max_tokens":1,"a":"` + strings.Repeat("[", 100) + `"}`, text(`{"max_tokens":1,"a":"`+strings.Repeat("[", 100)+`"}`) + 1, nil},
		"openai":                      {"openai", `{"max_completion_tokens":50,"n":3}`, text(`{"max_completion_tokens":50,"n":3}`) + 150, nil},
		"openai, both caps":           {"openai", `{"max_tokens":5,"max_completion_tokens":50}`, text(`{"max_tokens":5,"max_completion_tokens":50}`) + 50, nil},
		"openai, a cap it ignores":    {"openai", `{"max_output_tokens":50}`, text(`{"max_output_tokens":50}`) + l.Output, nil},
		"openai, n is no number":      {"openai", `{"max_tokens":1,"n":"3"}`, 0, ErrUnbounded},
		"openai, n beyond sense":      {"openai", `{"max_tokens":100,"n":1000}`, 0, ErrUnbounded},
		"openai, n beyond a number":   {"openai", `{"max_tokens":1,"n":1e300}`, 0, ErrUnbounded},
		"openai, n as it is at most":  {"openai", `{"max_tokens":1,"n":128}`, text(`{"max_tokens":1,"n":128}`) + maxCalls, nil},
		"openai, n is null":           {"openai", `{"max_tokens":1,"n":null}`, text(`{"max_tokens":1,"n":null}`) + 1, nil},
		"openai, a cap beyond sense":  {"openai", `{"max_tokens":1,"max_completion_tokens":1e15}`, text(`{"max_tokens":1,"max_completion_tokens":1e15}`) + l.Output, nil},
		"openai, a cap as a string":   {"openai", `{"max_tokens":1,"max_completion_tokens":"9"}`, text(`{"max_tokens":1,"max_completion_tokens":"9"}`) + l.Output, nil},
		"gemini, candidates":          {"gemini", `{"generationConfig":{"maxOutputTokens":1,"candidateCount":129}}`, 0, ErrUnbounded},
		"openai, a prediction":        {"openai", `{"max_tokens":5,"prediction":{"type":"content","content":"x"}}`, 2*int64(len(`{"max_tokens":5,"prediction":{"type":"content","content":"x"}}`)) + overhead + 5, nil},
		"openai, an image":            {"openai", `{"max_tokens":5,"messages":[{"content":[{"type":"image_url","image_url":{}}]}]}`, l.Context + 5, nil},
		"openai, sound":               {"openai", `{"max_tokens":5,"messages":[{"content":[{"type":"input_audio","input_audio":{}}]}]}`, l.Context + 5, nil},
		"responses":                   {"responses", `{"max_output_tokens":5}`, text(`{"max_output_tokens":5}`) + 5, nil},
		"responses, a cap it ignores": {"responses", `{"max_tokens":5}`, text(`{"max_tokens":5}`) + l.Output, nil},
		"responses, stored input":     {"responses", `{"max_output_tokens":5,"previous_response_id":"r"}`, l.Context + 5, nil},
		"responses, an item by id":    {"responses", `{"max_output_tokens":5,"input":[{"role":"user","content":"x"},{"id":"msg_1"}]}`, l.Context + 5, nil},
		"openai, earlier sound":       {"openai", `{"max_tokens":5,"messages":[{"role":"assistant","audio":{"id":"audio_1"}}]}`, l.Context + 5, nil},
		"responses, stored prompt":    {"responses", `{"max_output_tokens":5,"prompt":{"id":"p"}}`, l.Context + 5, nil},
		"responses web search":        {"responses", `{"tools":[{"type":"web_search"}]}`, l.Context + l.Output, nil},
		"responses, two searches":     {"responses", `{"max_output_tokens":5,"max_tool_calls":2,"tools":[{"type":"web_search"},{"type":"web_search_preview"}]}`, l.Context + 5, nil},
		"responses file search":       {"responses", `{"max_tool_calls":2,"tools":[{"type":"file_search"}]}`, l.Context + l.Output, nil},
		"openai web search":           {"openai", `{"tools":[{"type":"web_search"}]}`, l.Context + l.Output, nil},
		"openai embeddings":           {"embeddings", `{"input":"x"}`, text(`{"input":"x"}`), nil},
		"openai function":             {"openai", `{"max_tokens":1,"tools":[{"type":"function","function":{"name":"f"}}]}`, text(`{"max_tokens":1,"tools":[{"type":"function","function":{"name":"f"}}]}`) + 1, nil},
		"gemini":                      {"gemini", `{"generationConfig":{"maxOutputTokens":9,"candidateCount":2}}`, text(`{"generationConfig":{"maxOutputTokens":9,"candidateCount":2}}`) + 18, nil},
		"gemini, no cap":              {"gemini", `{"contents":[]}`, text(`{"contents":[]}`) + l.Output, nil},
		"gemini, inline data":         {"gemini", `{"contents":[{"parts":[{"inlineData":{}}]}],"generationConfig":{"maxOutputTokens":9}}`, l.Context + 9, nil},
		"gemini, config twice":        {"gemini", `{"generationConfig":{"maxOutputTokens":9},"generation_config":{"maxOutputTokens":99}}`, 0, ErrBody},
		"gemini, cap twice":           {"gemini", `{"generationConfig":{"maxOutputTokens":9,"maxOutputTokens":99}}`, 0, ErrBody},
		"gemini, cap as a string":     {"gemini", `{"generationConfig":{"maxOutputTokens":"9"}}`, text(`{"generationConfig":{"maxOutputTokens":"9"}}`) + l.Output, nil},
		"gemini search":               {"gemini", `{"tools":[{"googleSearch":{}}]}`, l.Context + l.Output, nil},
	}
	for name, c := range cases {
		b, err := Estimate(dialectOf(c.kind), read(c.body), l)
		if got := b.Tokens(); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %+v, %v; want %d, %v", name, b, err, c.want, c.err)
		}
	}
}

// read is how the gates read a body; none where it is refused.
func read(body string) strictjson.Document {
	doc, _ := strictjson.Read([]byte(body), strictjson.Object)
	return doc
}

func dialectOf(kind string) Dialect {
	switch kind {
	case "responses", "embeddings":
		return DialectOf("openai", "/v1/"+kind)
	}
	return DialectOf(kind, "/v1/x")
}

func TestWhatTheBoundSaysBesidesTokens(t *testing.T) {
	for body, want := range map[string]Bound{
		`{}`: {},
		`{"system":[{"type":"text","cache_control":{"type":"ephemeral","ttl":"1h"}}]}`: {CacheWrites: true},
		`{"cache_control":{"type":"ephemeral"}}`:                                       {CacheWrites: true},
		`{"messages":[{"content":[{"type":"image"}]}]}`:                                {Media: true, CacheWrites: true},
		`{"service_tier":"auto"}`:                                                      {},
		`{"service_tier":"priority"}`:                                                  {Unpriced: true},
		`{"service_tier":["auto"]}`:                                                    {Unpriced: true},
		`{"serviceTier":"priority"}`:                                                   {Unpriced: true},
		`{"serviceTier":3}`:                                                            {Unpriced: true},
		`{"prompt_cache_options":{"ttl":"12h"}}`:                                       {Unpriced: true},
		`{"speed":"fast"}`:                                                             {Unpriced: true},
		`{"inference_geo":"us"}`:                                                       {Unpriced: true},
		`{"mcp_servers":[{}]}`:                                                         {Unpriced: true},
		`{"tools":[{"type":"web_search_20250305"}]}`:                                   {Unpriced: true},
		`{"tools":[{"type":"web_search_20250305","max_uses":1000}]}`:                   {Unpriced: true, Searches: 1000},
		`{"tools":[{"type":"code_execution_20250522"}]}`:                               {Unpriced: true},
		`{"tools":[{"type":"tool_search_tool_regex_20251119"}]}`:                       {},
		`{"tools":[{"type":"web_search_20250305","max_uses":2},{"type":"web_fetch_20250910","max_uses":3}]}`: {Searches: 5},
	} {
		got, err := Estimate(Anthropic, read(body), Limits{Context: 1000, Output: 10})
		if got.Input, got.Output = 0, 0; err != nil || got != want {
			t.Errorf("%s: %+v, %v", body, got, err)
		}
	}
}

func TestSearchesOfResponsesShareOneBound(t *testing.T) {
	for body, want := range map[string]Bound{
		`{"tools":[{"type":"web_search"}]}`:                                                          {Unpriced: true},
		`{"max_tool_calls":2,"tools":[{"type":"web_search"},{"type":"web_search_preview"}]}`:         {Searches: 2},
		`{"max_tool_calls":2,"tools":[{"type":"web_search"},{"type":"file_search"}]}`:                {Searches: 2, Unpriced: true},
		`{"max_tool_calls":2,"tools":[{"type":"function","name":"web_search"}],"prompt":{"id":"x"}}`: {Unpriced: true},
	} {
		got, err := Estimate(Responses, read(body), Limits{Context: 1000, Output: 10})
		if got.Input, got.Output, got.CacheWrites = 0, 0, false; err != nil || got != want {
			t.Errorf("%s: %+v, %v", body, got, err)
		}
	}
}

func TestModelOf(t *testing.T) {
	for body, want := range map[string]string{
		`{"model":"claude-x"}`: "claude-x", `{"model":1}`: "", `{`: "", "": "", `{"model":"` + strings.Repeat("ü", 100) + `"}`: strings.Repeat("ü", 64),
		strings.Repeat("[", 1_000_000): "",
	} {
		if got := ModelOf(Anthropic, "/v1/messages", read(body)); got != want {
			t.Errorf("%.40s: %q", body, got)
		}
	}
	const path = "/v1beta/models/gemini-2.5-pro:streamGenerateContent"
	if got := ModelOf(Gemini, path, read(`{"model":"gemini-cheap"}`)); got != "gemini-2.5-pro" {
		t.Errorf("the body named the model of Gemini: %q", got)
	}
}

func FuzzBound(f *testing.F) {
	f.Add("anthropic", `{"max_tokens":1,"messages":[{"content":[{"type":"image"}]}]}`)
	f.Add("gemini", `{"tools":[{"googleSearch":{}}]}`)
	f.Add("responses", `{"max_tool_calls":2,"tools":[{"type":"web_search"}]}`)
	f.Fuzz(func(t *testing.T, kind, body string) {
		b, err := Estimate(dialectOf(kind), read(body), Limits{Context: 1000, Output: 100})
		if err == nil && (b.Input < 1 || b.Output < 0 || b.Searches < 0) {
			t.Fatalf("%q bound at %+v", body, b)
		}
		ModelOf(dialectOf(kind), kind, read(body))
	})
}
