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

// ErrUnbounded: what the call may use has no bound that could be set aside.
var ErrUnbounded = errors.New("usage: call asks for more answers at once than can be bounded")

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
	Unpriced      bool  // no price list can say what the call costs
}

// Tokens is the bound on a token budget.
func (b Bound) Tokens() int64 { return b.Input + b.Output }

// Estimate returns the most a model call can use: each byte sent is at most one
// token, content that is not text counts as a full context, and the output is
// what the body asks for, or the largest there is.
//
// A tool that runs at the provider adds input that nobody can bound beforehand,
// round by round. A call that was granted one is reserved at a full context
// (DECISIONS 17); what it draws beyond that is booked, and cuts its stream. In
// money it has a bound only where its number of calls has one and each has a
// price.
//
// A body with a key twice at its top (also in another case) is refused: what
// is priced must be what the upstream reads.
func Estimate(d Dialect, body []byte, l Limits) (Bound, error) {
	top, err := object(body)
	if err != nil {
		return Bound{}, err
	}
	w := walker{left: maxNodes}
	w.walk(gjson.ParseBytes(body))
	h := hostedTools(d, top)
	b := Bound{Input: min(int64(len(body))+overhead, l.Context), Searches: h.searches}
	b.Media = w.opaque || w.left <= 0
	b.CacheWrites = d != Anthropic || w.cached || b.Media
	b.Unpriced = h.unpriced || tariff(top)
	if b.Media || h.any {
		b.Input = l.Context
	}
	if b.Output, err = output(d, top, l.Output); err != nil {
		return Bound{}, err
	}
	if v := top["prediction"]; v.Exists() && v.Type != gjson.Null {
		b.Output += int64(len(body)) // what was predicted and is rejected is billed as output
	}
	return b, nil
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
	depth := 0
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '"':
			i = stringEnd(body, i+1)
		case '{', '[':
			if depth++; depth > limit {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}

// stringEnd is the place of the quote that ends the string whose inside begins
// at i, or the end of the body. Most of a body is inside strings, so it is
// skipped and not walked; the next quote is looked for once.
func stringEnd(body []byte, i int) int {
	for quote := -1; i < len(body); {
		if quote < i {
			n := bytes.IndexByte(body[i:], '"')
			if n < 0 {
				return len(body)
			}
			quote = i + n
		}
		escape := bytes.IndexByte(body[i:quote], '\\')
		if escape < 0 {
			return quote
		}
		i += escape + 2
	}
	return len(body)
}

// hosted is what a call asks the provider to run.
type hosted struct {
	any      bool
	searches int64
	unpriced bool
}

func (h *hosted) add(searches int64, priced bool) {
	h.any = true
	h.searches += searches
	h.unpriced = h.unpriced || !priced || h.searches > maxCalls
}

// hostedTools finds them. A tool the client runs costs what its result, sent in
// a later request, costs.
func hostedTools(d Dialect, top map[string]gjson.Result) (h hosted) {
	for _, key := range [...]string{"mcp_servers", "container"} {
		if on(top[key]) {
			h.add(0, false)
		}
	}
	if on(top["web_search_options"]) {
		h.add(1, true)
	}
	if d == Responses && top["prompt"].IsObject() {
		h.add(0, false) // a prompt stored there may bring tools along
	}
	most := whole(top["max_tool_calls"], 0)
	searches := false
	top["tools"].ForEach(func(_, tool gjson.Result) bool {
		by, once := keys(tool)
		kind := by["type"].String()
		switch {
		case !once:
			h.add(0, false)
		case d == Gemini:
			delete(by, "functiondeclarations")
			delete(by, "function_declarations")
			if len(by) > 0 {
				h.add(0, false)
			}
		case clientTool(kind):
		case d == Anthropic && (strings.HasPrefix(kind, "web_search_") || strings.HasPrefix(kind, "web_fetch_")):
			n := whole(by["max_uses"], 0)
			h.add(n, n > 0)
		case d == Anthropic && strings.HasPrefix(kind, "tool_search_tool_"):
			h.add(0, true) // has no price of its own
		case d == Responses && strings.HasPrefix(kind, "web_search"):
			h.add(0, most > 0)
			searches = true
		default:
			h.add(0, false)
		}
		return true
	})
	if searches {
		h.add(most, true) // one bound for all of them together
	}
	return h
}

func on(v gjson.Result) bool {
	return v.Exists() && v.Type != gjson.Null && v.Type != gjson.False
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
	if times > maxCalls {
		return 0, ErrUnbounded
	}
	bound := int64(0)
	for _, c := range caps {
		if given(c) { // two caps: what one of them says the other need not
			bound = max(bound, whole(c, most))
		}
	}
	if bound == 0 {
		bound = most
	}
	return bound * times, nil
}

// count reads a number of choices; what is there and is no number counts as
// more than can be bounded.
func count(n gjson.Result) int64 {
	if !given(n) {
		return 1
	}
	return whole(n, maxCalls+1)
}

func given(v gjson.Result) bool { return v.Exists() && v.Type != gjson.Null }

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
