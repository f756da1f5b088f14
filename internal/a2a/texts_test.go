package a2a

import (
	"fmt"
	"strings"
	"testing"
)

// drawTexts writes texts one a line.
func drawTexts(x Exchange) string {
	var words []string
	for _, t := range Texts(x) {
		words = append(words, strings.TrimSpace(fmt.Sprintf("%s %s", t.Kind, t.Name))+": "+t.Text)
	}
	return strings.Join(words, "\n")
}

// TestTextsOfAConversation: each thing said is found with the exchange that
// first said it.
func TestTextsOfAConversation(t *testing.T) {
	want := map[string][]string{
		"anthropic-tool": {
			"text: You fix bugs.\ntext: What is in a.go?\ntext: I'll look.\n" + `tool-use read_file: {"path":"a.go","lines":[1,20],"deep":{"x":1.5}}`,
			"tool-result: package a\ntext: A package clause.",
		},
		"anthropic-thinking": {"text: You fix bugs.\ntext: Hi\nthinking: The user greets. I greet back.\ntext: Hello!", "text: Bye\ntext: Goodbye."},
		"chat-parallel": {
			"text: You fix bugs.\ntext: Compare them.\ntext: Looking.\n" + `tool-use read_file: {"path":"a.go"}` + "\n" + `tool-use read_file: {"path":"日本.go"}` + "\ntool-use sql: SELECT 1",
			"tool-result: no such file\ntool-result: package a\ntext: One is missing.",
		},
		"responses-image": {"text: You fix bugs.\ntext: Draw.\ntext: Draw this.\nserver-tool-use image_generation: {}\ntext: Here."},
		"gemini-error":    {"text: You fix bugs.\ntext: Hi\nerror UNAVAILABLE: The model is overloaded. Please try again later."},
	}
	for _, r := range recordings(t) {
		for i, w := range want[r.name] {
			for form := range r.forms[i] {
				x := r.exchanges[i]
				x.Response = r.forms[i][form]
				if got := drawTexts(x); got != w {
					t.Errorf("%s, exchange %d as %s:\n%s\nwant\n%s", r.name, i+1, form, got, w)
				}
			}
		}
	}
}

func TestTextsOfOtherRequests(t *testing.T) {
	x := recorded(1, Other, "https://api.github.com/graphql")
	x.Request, x.Response = []byte(`{"query": "{ viewer { login } }"}`), []byte("ok \xff")
	if got := drawTexts(x); got != `request-body: {"query":"{ viewer { login } }"}` {
		t.Errorf("%q", got)
	}
	x.Request, x.Response = nil, []byte("found")
	if got := drawTexts(x); got != "response-body: found" {
		t.Errorf("%q", got)
	}
}
