package gate

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"moeca/internal/gateway/upstream"
	"moeca/internal/session"
	"moeca/internal/strictjson"
)

// Capability holds a model call to what its session may have done at the
// provider's side. A model provider is not only a place that answers: it can
// search, fetch a URL, run code, call tool servers, keep files and answers. All
// of that leaves the sandbox without passing the gateway again, so none of it
// is there without a grant (session.Grants).
//
// It reads path, headers and body. A body is read strictly, and by what could
// act rather than by what it says it is: a member that names a URL needs its
// grant whatever type its object claims. A type, a tool or a top-level field
// that is not in the tables is refused, because what it does is not known; a
// field can be granted by name, a type or a tool cannot.
//
// One file per dialect holds its tables. What was granted and used is noted in
// Request.Hosted: such a call is durable in the log before it leaves. The body
// that was read stays in Request.Document, for what prices the call.
type Capability struct{}

// Reasons of the capability gate.
const (
	ReasonCapability     = "capability"      // needs a grant the session does not have
	ReasonUnknownFeature = "unknown-feature" // no grant covers it: what it does is not known here
	ReasonRealtime       = "realtime"
	ReasonNotOffered     = "path-not-offered"
	ReasonAmbiguous      = "ambiguous-body"
)

// NameCapability is the name of the gate in rows and answers.
const NameCapability = "capability"

// Name of the gate.
func (Capability) Name() string { return NameCapability }

// Decide collects what the request needs and compares it with the grants.
func (Capability) Decide(_ context.Context, r *Request) Decision {
	if !r.Upstream.Model() {
		if r.Class == upstream.Unknown {
			return Deny(http.StatusForbidden, ReasonNotOffered, "%s takes no %s on this path", r.Upstream.Name, r.HTTP.Method)
		}
		return Allow()
	}
	n := &needs{open: r.Upstream.Local}
	path := strings.TrimPrefix(r.Target.Path, r.Upstream.Base.Path)
	if realtimePath(path) {
		return Deny(http.StatusForbidden, ReasonRealtime, "realtime and live sessions are not forwarded: what flows in them could be neither checked nor priced; use the request endpoints")
	}
	n.path(path)
	n.betas(r.HTTP.Header)
	if r.Class == upstream.Inference || r.Class == upstream.Count {
		doc, err := strictjson.Read(r.Body, strictjson.Object)
		if err != nil {
			return Deny(http.StatusBadRequest, ReasonAmbiguous, "the body must be one JSON object that can be read in one way only: %v", err)
		}
		r.Document = doc
		n.body(r.Upstream.Kind, path, doc)
	}
	return n.decide(r)
}

// body reads a body by the tables of its dialect.
func (n *needs) body(kind, path string, doc strictjson.Document) {
	switch {
	case kind == upstream.KindAnthropic:
		n.anthropic(doc)
	case kind == upstream.KindGemini:
		n.gemini(doc)
	case strings.HasSuffix(path, "/responses"):
		n.openAIResponses(doc)
	case strings.HasSuffix(path, "/embeddings"):
		n.fields(doc, openAIEmbeddingFields)
	default:
		n.openAIChat(doc)
	}
}

// needs is what a request asks of the provider.
type needs struct {
	grants  []need
	unknown string // the first thing no table knows
	open    bool   // a server of the user's own: fields of its dialect are not listed
}

type need struct{ grant, what string }

// maxNeeds is how many different grants one request is judged for: no client
// comes near, and a body made to need half a million costs no more than that.
const maxNeeds = 64

// want notes a need once, with what needed it first.
func (n *needs) want(grant, what string) {
	switch {
	case slices.ContainsFunc(n.grants, func(other need) bool { return other.grant == grant }):
	case len(n.grants) == maxNeeds:
		n.refuse("more than anybody asks for at once")
	default:
		n.grants = append(n.grants, need{grant, what})
	}
}

func (n *needs) refuse(what string) {
	if n.unknown == "" {
		n.unknown = what
	}
}

// table knows names: the grant each needs, which may be none.
type table func(name string) (grant string, known bool)

// typed looks a type up in a table: "" is harmless, another value is the grant
// it needs, absence is unknown.
func (n *needs) typed(in table, kind, what string) {
	switch grant, known := in(kind); {
	case !known:
		n.refuse(what + " " + clip(kind))
	case grant != "":
		n.want(grant, what+" "+kind)
	}
}

// fields looks up the members of the top level.
func (n *needs) fields(doc strictjson.Document, in table) {
	doc.Each(func(key string, v strictjson.Document) bool {
		grant, known := in(key)
		switch {
		case !known && !n.open:
			n.want(session.GrantField+key, "field "+clip(key))
		case grant != "" && !off(v):
			n.want(grant, "field "+key)
		}
		return n.unknown == "" // else it is refused already
	})
}

// list visits the objects of a list. Another shape is not looked through: what
// a provider would make of it is not known.
func (n *needs) list(v strictjson.Document, what string, visit func(strictjson.Document)) {
	if v.IsNull() {
		return
	}
	if !v.IsArray() {
		n.refuse(what + " in another shape than a list")
		return
	}
	v.Each(func(_ string, one strictjson.Document) bool {
		if !one.IsObject() {
			n.refuse(what + " holding something else than objects")
			return false
		}
		visit(one)
		return n.unknown == ""
	})
}

// entries visits what a list holds. Another value is taken for a list of one, as
// some readers take it.
func entries(v strictjson.Document, visit func(strictjson.Document)) {
	switch {
	case v.IsNull():
	case !v.IsArray():
		visit(v)
	default:
		v.Each(func(_ string, one strictjson.Document) bool {
			visit(one)
			return true
		})
	}
}

// member visits one member of an object, in whatever case it is spelled.
func (n *needs) member(v strictjson.Document, name string, visit func(strictjson.Document)) {
	if value := v.Folded(name); value.Exists() {
		visit(value)
	}
}

// off: null, false and empty say that a feature is not asked for.
func off(v strictjson.Document) bool {
	on, isBool := v.Bool()
	raw := v.Raw()
	return v.IsNull() || isBool && !on || raw == "[]" || raw == "{}" || raw == `""`
}

// source judges a value that may be a URL: content inside the body is content.
func (n *needs) source(v strictjson.Document, what string) {
	if text, ok := v.Text(); ok && !strings.HasPrefix(text, "data:") {
		n.want(session.GrantURL, what)
	}
}

// betas: each value of a beta header switches something on.
func (n *needs) betas(h http.Header) {
	for name, values := range h {
		if lower := strings.ToLower(name); lower != "anthropic-beta" && lower != "openai-beta" {
			continue
		}
		for _, list := range values {
			for value := range strings.SplitSeq(list, ",") {
				if value = strings.TrimSpace(value); value != "" {
					n.want(session.GrantBeta+value, name+" "+clip(value))
				}
			}
		}
	}
}

// path: endpoints that keep something at the provider.
func (n *needs) path(path string) {
	for segment := range strings.SplitSeq(path, "/") {
		switch segment {
		case "files", "uploads", "vector_stores", "fileSearchStores":
			n.want(session.GrantFiles, "the endpoint "+segment)
		case "batches":
			n.want(session.GrantBatches, "the endpoint batches")
		case "assistants", "threads", "conversations", "cachedContents":
			n.want(session.GrantState, "the endpoint "+segment)
		case "containers", "skills":
			n.want(session.GrantCode, "the endpoint "+segment)
		}
	}
	if _, id, _ := strings.Cut(path, "/responses/"); id != "" {
		n.want(session.GrantState, "a stored answer")
	}
}

// realtimePath: OpenAI's realtime and Gemini's live endpoints.
func realtimePath(path string) bool {
	return slices.Contains(strings.Split(path, "/"), "realtime") || strings.Contains(path, "BidiGenerateContent")
}

// decide compares needs with grants; the denial names all that are missing.
func (n *needs) decide(r *Request) Decision {
	if n.unknown != "" {
		return Deny(http.StatusForbidden, ReasonUnknownFeature, "the gateway does not know what %s does at %s, so it is not sent; leave it out", n.unknown, r.Upstream.Name)
	}
	var missing, what []string
	for _, one := range n.grants {
		switch {
		case slices.Contains(r.Session.Scope.Grants, one.grant):
			r.Hosted = true
		case !slices.Contains(missing, one.grant) && len(missing) < 8:
			missing, what = append(missing, one.grant), append(what, one.what)
		}
	}
	if len(missing) > 0 {
		return Deny(http.StatusForbidden, ReasonCapability, "%s needs the grant %s, which this session does not have; leave it out, or let a person grant it",
			strings.Join(what, ", "), strings.Join(missing, ", "))
	}
	return Allow()
}

// clip keeps a caller's word in a message short and plain.
func clip(word string) string {
	word = strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return '?'
		}
		return c
	}, word)
	return `"` + word[:min(len(word), 64)] + `"`
}
