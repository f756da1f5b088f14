package usage

import (
	"bytes"
	"errors"
	"slices"
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
	maxCalls = 128     // choices of one answer, searches of one call
)

// Bound is the most a call can use.
type Bound struct {
	Input, Output int64
	Searches      int64 // calls of a tool that is charged each
	CacheWrites   bool  // input may be written to a cache
	Media         bool  // input may be other than text
	Tariff        bool  // the body asks for a tariff other than the ordinary one
}

// Tokens is the bound on a token budget.
func (b Bound) Tokens() int64 { return b.Input + b.Output }

// Estimate returns the most a model call can use: each byte sent is at most one
// token, content that is not text counts as a full context, and the output is
// what the body asks for, or the largest there is.
//
// A body with a key twice at its top (also in another case) is refused: what
// is priced must be what the upstream reads. So are tools that run at the
// provider without a bound on their number: each round of theirs is one more
// full context.
func Estimate(d Dialect, body []byte, l Limits) (Bound, error) {
	top, err := object(body)
	if err != nil {
		return Bound{}, err
	}
	searches, err := serverTools(d, top)
	if err != nil {
		return Bound{}, err
	}
	w := walker{left: maxNodes}
	w.walk(gjson.ParseBytes(body))
	b := Bound{Input: min(int64(len(body))+overhead, l.Context), Searches: searches}
	b.Media = w.opaque || w.left <= 0
	b.CacheWrites = d != Anthropic || w.cached || b.Media
	b.Tariff = tariff(top)
	if b.Media || searches > 0 {
		b.Input = l.Context * (searches + 1)
	}
	if b.Output, err = output(d, top, l.Output); err != nil {
		return Bound{}, err
	}
	if v := top["prediction"]; v.Exists() && v.Type != gjson.Null {
		b.Output += int64(len(body)) // what was predicted and is rejected is billed as output
	}
	return b, nil
}

// tariff says that the body asks to be served faster, elsewhere or otherwise
// than what a price list's ordinary columns are for.
func tariff(top map[string]gjson.Result) bool {
	for key, ordinary := range map[string][]string{
		"service_tier": {"auto", "default", "standard", "standard_only"}, "speed": {"standard"}, "inference_geo": {"global"},
	} {
		if v := top[key]; v.Exists() && v.Type != gjson.Null && (v.Type != gjson.String || !slices.Contains(ordinary, v.Str)) {
			return true
		}
	}
	return false
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
	top, ok := keys(doc)
	if !ok {
		return nil, ErrBody
	}
	return top, nil
}

// keys returns the members of an object by lower-case name. It fails when a
// name is there twice.
func keys(doc gjson.Result) (by map[string]gjson.Result, ok bool) {
	by, ok = map[string]gjson.Result{}, true
	doc.ForEach(func(key, value gjson.Result) bool {
		name := strings.ToLower(key.String())
		_, twice := by[name]
		by[name], ok = value, !twice
		return ok
	})
	return by, ok
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

// serverTools returns how many calls of tools the provider may run at most. A
// tool the client runs costs what its result, sent in a later request, costs.
func serverTools(d Dialect, top map[string]gjson.Result) (calls int64, err error) {
	for _, key := range [...]string{"mcp_servers", "container", "web_search_options", "background"} {
		if v, ok := top[key]; ok && v.Type != gjson.Null && v.Type != gjson.False {
			return 0, ErrUnbounded
		}
	}
	if d == Responses && top["prompt"].IsObject() {
		return 0, ErrUnbounded // a prompt stored there may bring tools along
	}
	unbounded, most := false, whole(top["max_tool_calls"], 0)
	top["tools"].ForEach(func(_, tool gjson.Result) bool {
		n, known := toolCalls(d, tool, most)
		unbounded = unbounded || !known
		if calls += n; d == Responses {
			calls = min(calls, most) // one bound for all of them together
		}
		return !unbounded
	})
	if unbounded || calls > maxCalls {
		return 0, ErrUnbounded
	}
	return calls, nil
}

// toolCalls bounds the calls of one tool, none for one that the client runs.
// Only searches have both a bound and a price per call.
func toolCalls(d Dialect, tool gjson.Result, most int64) (n int64, known bool) {
	by, once := keys(tool)
	kind := by["type"].String()
	switch {
	case !once:
		return 0, false
	case d == Gemini:
		delete(by, "functiondeclarations")
		delete(by, "function_declarations")
		return 0, len(by) == 0
	case clientTool(kind):
		return 0, true
	case d == Anthropic && (strings.HasPrefix(kind, "web_search_") || strings.HasPrefix(kind, "web_fetch_")):
		n = whole(by["max_uses"], 0)
	case d == Responses && strings.HasPrefix(kind, "web_search"):
		n = most
	}
	return n, n > 0
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
	cached bool // something is marked to be written to a cache
}

func (w *walker) walk(v gjson.Result) {
	if w.left--; w.left <= 0 || w.opaque || !(v.IsObject() || v.IsArray()) {
		return
	}
	v.ForEach(func(key, value gjson.Result) bool {
		switch strings.ToLower(key.String()) {
		case "type":
			w.opaque = w.opaque || opaqueType(value.String())
		case "cache_control":
			w.cached = w.cached || value.Type != gjson.Null
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

// output returns the bound on the output side. A limit the endpoint does not
// know bounds nothing.
func output(d Dialect, top map[string]gjson.Result, most int64) (int64, error) {
	times, caps := int64(1), []gjson.Result{top["max_tokens"]}
	switch d {
	case Embeddings:
		return 0, nil
	case Chat:
		caps = append(caps, top["max_completion_tokens"])
		times = count(top["n"])
	case Responses:
		caps = []gjson.Result{top["max_output_tokens"]}
	case Gemini:
		config, once := keys(top["generationconfig"])
		other, onceToo := keys(top["generation_config"])
		if !once || !onceToo || len(config) > 0 && len(other) > 0 {
			return 0, ErrBody
		}
		if len(config) == 0 {
			config = other
		}
		caps = []gjson.Result{config["maxoutputtokens"], config["max_output_tokens"]}
		times = max(count(config["candidatecount"]), count(config["candidate_count"]))
	}
	bound := int64(0)
	for _, c := range caps {
		bound = max(bound, whole(c, 0))
	}
	if bound == 0 {
		bound = most
	}
	return bound * min(max(times, 1), maxCalls), nil
}

// count reads a number of choices; what is there and is no number counts as
// many.
func count(n gjson.Result) int64 {
	if !n.Exists() {
		return 1
	}
	return whole(n, maxCalls)
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

// ModelOf returns the model a call asks for, cut to what a row takes: Gemini
// names it in the path, all others in the body.
func ModelOf(d Dialect, path string, body []byte) string {
	if _, name, ok := strings.Cut(path, "/models/"); ok && (d == Gemini || d == Embeddings) {
		name, _, _ = strings.Cut(name, ":")
		return clip(name)
	}
	if tooDeep(body, maxDepth) || !utf8.Valid(body) {
		return ""
	}
	model := gjson.GetBytes(body, "model")
	if model.Type != gjson.String {
		return ""
	}
	return clip(model.Str)
}

func clip(model string) string { return strings.ToValidUTF8(model[:min(len(model), 128)], "") }
