package usage

import (
	"bytes"
	"errors"
	"strings"

	"github.com/tidwall/gjson"

	"moeca/internal/strictjson"
)

// ErrBody: the document is no object, or bounds itself twice.
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
	maxDepth = 64      // of what an answer holds, four times over; SDKs stay below 20
	maxNodes = 200_000 // beyond, content that is not text is not looked for but assumed
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
// round by round. A call that was granted one is reserved at a full context;
// what it draws beyond that is booked, and cuts its stream. In money it has a
// bound only where its number of calls has one and each has a price.
//
// The document is read strictly: what is priced must be what the upstream reads.
func Estimate(d Dialect, doc strictjson.Document, l Limits) (Bound, error) {
	if !doc.IsObject() {
		return Bound{}, ErrBody
	}
	size := int64(doc.Size())
	media, cached := content(doc)
	h := hostedTools(d, doc)
	b := Bound{Input: min(size+overhead, l.Context), Searches: h.searches}
	b.Media = media
	b.CacheWrites = d != Anthropic || cached || media
	b.Unpriced = h.unpriced || tariff(doc)
	if b.Media || h.any || d == Responses && refers(doc) {
		b.Input = l.Context
	}
	var err error
	if b.Output, err = output(d, doc, l.Output); err != nil {
		return Bound{}, err
	}
	if given(doc.Folded("prediction")) {
		b.Output += size // what was predicted and is rejected is billed as output
	}
	return b, nil
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
func hostedTools(d Dialect, top strictjson.Document) (h hosted) {
	for _, key := range [...]string{"mcp_servers", "container"} {
		if on(top.Folded(key)) {
			h.add(0, false)
		}
	}
	if on(top.Folded("web_search_options")) {
		h.add(1, true)
	}
	if d == Responses && top.Folded("prompt").IsObject() {
		h.add(0, false) // a prompt stored there may bring tools along
	}
	most := count(top.Folded("max_tool_calls"), 0)
	searches := false
	top.Folded("tools").Each(func(_ string, tool strictjson.Document) bool {
		kind, _ := tool.Folded("type").Text()
		switch {
		case d == Gemini:
			if !declares(tool) {
				h.add(0, false)
			}
		case clientTool(kind):
		case d == Anthropic && (strings.HasPrefix(kind, "web_search_") || strings.HasPrefix(kind, "web_fetch_")):
			n := count(tool.Folded("max_uses"), 0)
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

// declares says that a tool of Gemini is only functions that the client runs.
func declares(tool strictjson.Document) bool {
	only := tool.IsObject()
	tool.Each(func(key string, _ strictjson.Document) bool {
		only = strings.ReplaceAll(strictjson.Fold(key), "_", "") == "functiondeclarations"
		return only
	})
	return only
}

func on(v strictjson.Document) bool {
	value, isBool := v.Bool()
	return given(v) && (value || !isBool)
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

// content looks for what its bytes do not bound in tokens, and for what is
// marked to be written to a cache.
func content(doc strictjson.Document) (opaque, cached bool) {
	if doc.Values() > maxNodes {
		return true, true
	}
	doc.All(func(key string, v strictjson.Document) bool {
		switch strictjson.Fold(key) {
		case "type":
			kind, _ := v.Text()
			opaque = opaque || opaqueType(kind)
		case "cache_control":
			cached = cached || given(v)
		case "image_url", "input_audio", "audio", "inlinedata", "inline_data", "filedata", "file_data", "file_id",
			"previous_response_id", "conversation", "cachedcontent", "cached_content":
			opaque = opaque || given(v)
		}
		return !opaque
	})
	return opaque, cached
}

// refers says that an item of the input is no more than the name of a kept one.
func refers(doc strictjson.Document) (found bool) {
	doc.Folded("input").Each(func(_ string, item strictjson.Document) bool {
		found = item.IsObject() && !item.Folded("type").Exists() && !item.Folded("role").Exists()
		return !found
	})
	return found
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
func output(d Dialect, top strictjson.Document, most int64) (int64, error) {
	times, caps := int64(1), [2]strictjson.Document{top.Folded("max_tokens")}
	switch d {
	case Embeddings:
		return 0, nil
	case Chat:
		caps[1] = top.Folded("max_completion_tokens")
		times = choices(top.Folded("n"))
	case Responses:
		caps[0] = top.Folded("max_output_tokens")
	case Gemini:
		config, other := top.Folded("generationconfig"), top.Folded("generation_config")
		if config.Values() > 1 && other.Values() > 1 {
			return 0, ErrBody
		}
		if config.Values() <= 1 {
			config = other
		}
		caps = [2]strictjson.Document{config.Folded("maxoutputtokens"), config.Folded("max_output_tokens")}
		times = max(choices(config.Folded("candidatecount")), choices(config.Folded("candidate_count")))
	}
	if times > maxCalls {
		return 0, ErrUnbounded
	}
	bound := int64(0)
	for _, c := range caps {
		if given(c) { // two caps: what one of them says the other need not
			bound = max(bound, count(c, most))
		}
	}
	if bound == 0 {
		bound = most
	}
	return bound * times, nil
}

// choices reads a number of answers; what is there and is no number counts as
// more than can be bounded.
func choices(n strictjson.Document) int64 {
	if !given(n) {
		return 1
	}
	return count(n, maxCalls+1)
}

func given(v strictjson.Document) bool { return v.Exists() && !v.IsNull() }

// count reads a positive whole number of a sensible size.
func count(v strictjson.Document, otherwise int64) int64 {
	n, ok := v.Number()
	if !ok {
		return otherwise
	}
	return whole(n, otherwise)
}

func whole(n float64, otherwise int64) int64 {
	if n < 1 || n > maxCount || n != float64(int64(n)) {
		return otherwise
	}
	return int64(n)
}

// validDocument is gjson's check behind the depth limit, which keeps its
// recursion off bodies made to overflow a stack.
func validDocument(b []byte) bool {
	return !strictjson.Deeper(b, 4*maxDepth) && gjson.ValidBytes(b) && len(bytes.TrimSpace(b)) > 0
}

// ModelOf returns the model a call asks for, cut to what a row takes: Gemini
// names it in the path, all others in the body.
func ModelOf(d Dialect, path string, doc strictjson.Document) string {
	if _, name, ok := strings.Cut(path, "/models/"); ok && (d == Gemini || d == Embeddings) {
		name, _, _ = strings.Cut(name, ":")
		return clip(name)
	}
	model, _ := doc.String("model") // what is no text names none
	return clip(model)
}

func clip(model string) string { return strings.ToValidUTF8(model[:min(len(model), 128)], "") }
