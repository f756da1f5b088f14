package usage

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// ErrBody: the body cannot be read in one way only, or is no JSON object.
var ErrBody = errors.New("usage: body is not one unambiguous JSON object")

// ErrUnbounded: what the call costs has no bound that could be reserved.
var ErrUnbounded = errors.New("usage: cost of the call has no bound")

// Limits are the upper ends used where a body does not bound itself.
type Limits struct {
	Context int64 // largest context of any model, input side
	Output  int64 // largest output of any model
}

// overhead covers the tokens a provider adds to what was sent (the system text
// that tool definitions bring along is some hundred tokens).
const overhead = 4096

const (
	maxDepth = 64      // of any body a client sends; SDKs stay below 20
	maxNodes = 200_000 // visited while looking for content that is not text
)

// Bound returns the most tokens a model call can use: each byte sent is at
// most one token, content that is not text counts as a full context, and the
// output is what the body asks for, or the largest there is.
//
// A body with a key twice at its top (also in another case) is refused: what
// is priced must be what the upstream reads. So are tools that run at the
// provider, whose results add input that nobody can bound beforehand.
func Bound(kind string, body []byte, l Limits) (int64, error) {
	top, err := object(body)
	if err != nil {
		return 0, err
	}
	if err := refuseServerTools(kind, top); err != nil {
		return 0, err
	}
	input := min(int64(len(body))+overhead, l.Context)
	w := walker{left: maxNodes}
	w.walk(gjson.ParseBytes(body))
	if w.opaque || w.left <= 0 {
		input = l.Context
	}
	return input + output(kind, top, l.Output), nil
}

// object parses the top level and refuses ambiguity.
func object(body []byte) (map[string]gjson.Result, error) {
	if !utf8.Valid(body) || tooDeep(body, maxDepth) || !gjson.ValidBytes(body) {
		return nil, ErrBody
	}
	doc := gjson.ParseBytes(body)
	if !doc.IsObject() {
		return nil, ErrBody
	}
	top, twice := map[string]gjson.Result{}, false
	doc.ForEach(func(key, value gjson.Result) bool {
		name := strings.ToLower(key.String())
		_, twice = top[name]
		top[name] = value
		return !twice
	})
	if twice {
		return nil, ErrBody
	}
	return top, nil
}

// tooDeep counts brackets outside strings, before any recursive reader runs.
func tooDeep(body []byte, limit int) bool {
	depth, quoted := 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > limit {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// refuseServerTools: a tool the client runs costs what its result, sent in a
// later request, costs. A tool the provider runs is another matter.
func refuseServerTools(kind string, top map[string]gjson.Result) error {
	for _, key := range [...]string{"mcp_servers", "container", "web_search_options", "background"} {
		if v, ok := top[key]; ok && v.Type != gjson.Null && v.Type != gjson.False {
			return ErrUnbounded
		}
	}
	unbounded := false
	top["tools"].ForEach(func(_, tool gjson.Result) bool {
		tool.ForEach(func(key, value gjson.Result) bool {
			switch name := strings.ToLower(key.String()); {
			case kind == "gemini":
				unbounded = unbounded || (name != "functiondeclarations" && name != "function_declarations")
			case name == "type":
				unbounded = unbounded || !clientTool(value.String())
			}
			return !unbounded
		})
		return !unbounded
	})
	if unbounded {
		return ErrUnbounded
	}
	return nil
}

func clientTool(kind string) bool {
	switch kind {
	case "", "custom", "function":
		return true
	}
	for _, prefix := range [...]string{"bash_", "text_editor_", "computer_", "memory_"} {
		if strings.HasPrefix(kind, prefix) {
			return true
		}
	}
	return false
}

// walker looks for content whose tokens its bytes do not bound.
type walker struct {
	left   int
	opaque bool
}

func (w *walker) walk(v gjson.Result) {
	if w.left--; w.left <= 0 || w.opaque || !(v.IsObject() || v.IsArray()) {
		return
	}
	v.ForEach(func(key, value gjson.Result) bool {
		switch strings.ToLower(key.String()) {
		case "type":
			w.opaque = w.opaque || opaqueType(value.String())
		case "image_url", "input_audio", "inlinedata", "inline_data", "filedata", "file_data", "file_id",
			"previous_response_id", "conversation", "cachedcontent", "cached_content":
			w.opaque = w.opaque || value.Type != gjson.Null
		}
		w.walk(value)
		return !w.opaque && w.left > 0
	})
}

func opaqueType(kind string) bool {
	switch kind {
	case "image", "document", "container_upload", "file", "image_url", "input_image", "input_audio", "input_file", "item_reference", "search_result":
		return true
	}
	return false
}

// output returns the bound on the output side.
func output(kind string, top map[string]gjson.Result, most int64) int64 {
	times, caps := int64(1), []gjson.Result{top["max_tokens"]}
	switch kind {
	case "openai":
		caps = append(caps, top["max_completion_tokens"], top["max_output_tokens"])
		times = whole(top["n"], 1)
	case "gemini":
		config := top["generationconfig"]
		if !config.Exists() {
			config = top["generation_config"]
		}
		caps = []gjson.Result{config.Get("maxOutputTokens"), config.Get("max_output_tokens")}
		times = max(whole(config.Get("candidateCount"), 1), whole(config.Get("candidate_count"), 1))
	}
	bound := int64(0)
	for _, c := range caps {
		bound = max(bound, whole(c, 0))
	}
	if bound == 0 {
		bound = most
	}
	return bound * min(max(times, 1), 128)
}

// whole reads a positive whole number of a sensible size.
func whole(n gjson.Result, otherwise int64) int64 {
	if n.Type != gjson.Number || n.Num < 1 || n.Num > maxCount || n.Num != float64(int64(n.Num)) {
		return otherwise
	}
	return int64(n.Num)
}

// validDocument is gjson's check behind the depth limit, which keeps its
// recursion off bodies made to overflow a stack.
func validDocument(b []byte) bool {
	return !tooDeep(b, 4*maxDepth) && gjson.ValidBytes(b) && len(bytes.TrimSpace(b)) > 0
}

// ModelOf returns the model a body asks for, cut to what a row takes.
func ModelOf(body []byte) string {
	if tooDeep(body, maxDepth) || !utf8.Valid(body) {
		return ""
	}
	model := gjson.GetBytes(body, "model")
	if model.Type != gjson.String {
		return ""
	}
	return strings.ToValidUTF8(model.Str[:min(len(model.Str), 128)], "")
}
