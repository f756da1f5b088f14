package export

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"moeca/internal/a2a"
	"moeca/internal/auditindex"
)

// What is in memory, and the length of a line, is bounded: contents make a span
// as long as they are, and two hundred of those would fill a machine.
const (
	spansPerLine = 200
	textPerLine  = 4 << 20 // bytes of attributes after which a line ends
)

// The types below are OTLP/JSON: the JSON mapping of protobuf with ids in hex,
// 64-bit numbers as strings and enums as numbers.
type (
	tracesData struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   resource     `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	resource struct {
		Attributes []keyValue `json:"attributes"`
	}
	scopeSpans struct {
		Scope scope  `json:"scope"`
		Spans []span `json:"spans"`
	}
	scope struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	}
	span struct {
		TraceID    string     `json:"traceId"`
		SpanID     string     `json:"spanId"`
		ParentID   string     `json:"parentSpanId,omitempty"`
		Name       string     `json:"name"`
		Kind       int        `json:"kind"`
		Start      string     `json:"startTimeUnixNano"`
		End        string     `json:"endTimeUnixNano"`
		Attributes []keyValue `json:"attributes,omitempty"`
		Status     status     `json:"status"`
	}
	status struct {
		Message string `json:"message,omitempty"`
		Code    int    `json:"code,omitempty"`
	}
	keyValue struct {
		Key   string `json:"key"`
		Value value  `json:"value"`
	}
	value struct {
		String *string     `json:"stringValue,omitempty"`
		Int    *string     `json:"intValue,omitempty"`
		Bool   *bool       `json:"boolValue,omitempty"`
		Double *float64    `json:"doubleValue,omitempty"`
		Array  *arrayValue `json:"arrayValue,omitempty"`
	}
	arrayValue struct {
		Values []value `json:"values"`
	}
)

// Enums of OTLP.
const (
	kindInternal = 1
	kindClient   = 3

	codeError = 2
)

// attributes are built in order; empty strings and zero numbers are left out.
type attributes []keyValue

func (a *attributes) text(key, s string) {
	if s != "" {
		s = strings.ToValidUTF8(s, "\uFFFD")
		*a = append(*a, keyValue{key, value{String: &s}})
	}
}

func (a *attributes) number(key string, n int64) {
	if n != 0 {
		a.count(key, n)
	}
}

// count writes a number even where it is 0.
func (a *attributes) count(key string, n int64) {
	s := strconv.FormatInt(n, 10)
	*a = append(*a, keyValue{key, value{Int: &s}})
}

func (a *attributes) truth(key string, b bool) {
	if b {
		*a = append(*a, keyValue{key, value{Bool: &b}})
	}
}

func (a *attributes) list(key string, list []string) {
	if len(list) == 0 {
		return
	}
	v := arrayValue{}
	for _, s := range list {
		v.Values = append(v.Values, value{String: &s})
	}
	*a = append(*a, keyValue{key, value{Array: &v}})
}

// tracer makes spans of calls.
type tracer struct {
	*exporter
	spans    []span
	text     int // bytes of their attributes
	sessions map[sessionKey]*section
	runs     map[string]*section
}

type sessionKey struct{ run, session string }

// section is the time its calls cover, and what they share.
type section struct {
	began, ended time.Time
	first        auditindex.Call
}

func (s *section) cover(c auditindex.Call) {
	if s.began.IsZero() || c.Time.Before(s.began) {
		s.began, s.first = c.Time, c
	}
	if end := endOf(c); end.After(s.ended) {
		s.ended = end
	}
}

func endOf(c auditindex.Call) time.Time {
	return c.Time.Add(time.Duration(c.DurationUS) * time.Microsecond)
}

// id derives an id of n bytes, so that the same rows are the same spans.
func id(n int, parts ...string) string {
	sum := sha256.Sum256([]byte("moeca\x00" + strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:n])
}

// traceOf is the trace of a call: its run, else its session, else itself.
func traceOf(c auditindex.Call) string {
	switch {
	case c.Run != "":
		return id(16, "run", c.Run)
	case c.Session != "":
		return id(16, "session", c.Session)
	}
	return id(16, "call", strconv.FormatInt(c.Seq, 10), c.Time.UTC().Format(time.RFC3339Nano))
}

func sessionSpan(run, session string) string { return id(8, "session", run, session) }

// call writes the span of a call.
func (t *tracer) call(x exchange) error {
	c := x.Call
	s := span{
		TraceID: traceOf(c), SpanID: id(8, "call", strconv.FormatInt(c.Seq, 10), c.Time.UTC().Format(time.RFC3339Nano)),
		Kind: kindClient, Start: nanos(c.Time), End: nanos(endOf(c)),
	}
	if c.Session != "" {
		s.ParentID = sessionSpan(c.Run, c.Session)
		key := sessionKey{c.Run, c.Session}
		if t.sessions[key] == nil {
			t.sessions[key] = &section{}
		}
		t.sessions[key].cover(c)
	}
	if c.Run != "" {
		if t.runs[c.Run] == nil {
			t.runs[c.Run] = &section{}
		}
		t.runs[c.Run].cover(c)
		if s.ParentID == "" {
			s.ParentID = id(8, "run", c.Run)
		}
	}
	var a attributes
	s.Name = t.describe(&a, x)
	s.Attributes = a
	switch c.State {
	case auditindex.StateFailed:
		s.Status = status{Code: codeError, Message: x.cause()}
	case auditindex.StateRefused:
		s.Status = status{Code: codeError, Message: "refused by " + c.Gate + ": " + c.Reason}
	}
	return t.span(s)
}

// cause is what broke a call, in words.
func (x exchange) cause() string {
	cause, _ := x.outcome.Attr("cause")
	return strings.ToValidUTF8(cmp.Or(cause, x.Reason, x.Result), "\uFFFD")
}

// errorType is a short name for how a call failed.
func (x exchange) errorType() string {
	switch {
	case x.State == auditindex.StateRefused:
		return "moeca." + x.Gate + "." + x.Reason
	case x.State != auditindex.StateFailed:
		return ""
	case x.Status >= 400:
		return strconv.Itoa(x.Status)
	}
	return x.Result
}

// describe writes the attributes of a call and returns its name.
func (t *tracer) describe(a *attributes, x exchange) (name string) {
	c := x.Call
	operation, provider := operationOf(auditindex.ExchangeOf(x.first, x.outcome))
	host, path := "", ""
	if u, err := url.Parse(c.Target); err == nil {
		host, path = u.Hostname(), u.Path
	}
	if operation != "" {
		if c.Scripted {
			provider = "moeca.scripted"
		}
		asked := cmp.Or(x.first.Model, c.Model)
		name = strings.TrimSpace(operation + " " + asked)
		a.text("gen_ai.operation.name", operation)
		a.text("gen_ai.provider.name", provider)
		a.text("gen_ai.request.model", asked)
		a.text("gen_ai.response.model", x.outcome.Model)
		a.text("gen_ai.conversation.id", c.Task)
		if c.Outcome > 0 && !c.Unmetered {
			a.count("gen_ai.usage.input_tokens", c.Input)
			a.count("gen_ai.usage.output_tokens", c.Output)
			a.number("gen_ai.usage.cache_read.input_tokens", c.CacheRead)
			a.number("gen_ai.usage.cache_creation.input_tokens", c.CacheWrite)
			a.number("gen_ai.usage.reasoning.output_tokens", c.Reasoning)
		}
		if t.Content {
			t.said(a, x)
		}
	} else {
		name = strings.TrimSpace(cmp.Or(c.Method, "request") + " " + c.Upstream)
		a.text("url.full", c.Target)
	}
	a.text("gen_ai.agent.name", c.Agent)
	a.text("http.request.method", c.Method)
	a.text("server.address", host)
	a.text("url.path", path)
	a.number("http.response.status_code", int64(c.Status))
	a.text("error.type", x.errorType())
	t.ours(a, c)
	return name
}

// ours are attributes the conventions have no name for.
func (t *tracer) ours(a *attributes, c auditindex.Call) {
	a.count("moeca.audit.seq", c.Seq)
	a.number("moeca.audit.outcome_seq", c.Outcome)
	a.text("moeca.state", string(c.State))
	a.text("moeca.task", c.Task)
	a.text("moeca.run", c.Run)
	a.text("moeca.stage", c.Stage)
	a.text("moeca.session", c.Session)
	a.text("moeca.upstream", c.Upstream)
	a.text("moeca.gate", c.Gate)
	a.text("moeca.reason", c.Reason)
	a.text("moeca.result", c.Result)
	a.number("moeca.cost.nano_usd", c.CostNano)
	a.truth("moeca.scripted", c.Scripted)
	a.truth("moeca.replayed", c.Replayed)
	if c.Count > 1 {
		a.count("moeca.count", c.Count)
	}
}

// operationOf names what a model was asked for; "" where none was.
func operationOf(x a2a.Exchange) (operation, provider string) {
	switch x.Dialect {
	case a2a.Anthropic:
		return "chat", "anthropic"
	case a2a.Chat, a2a.Responses:
		return "chat", "openai"
	case a2a.Gemini:
		return "generate_content", "gcp.gemini"
	case a2a.Embeddings:
		if strings.HasSuffix(x.Target, ":embedContent") {
			return "embeddings", "gcp.gemini"
		}
		return "embeddings", "openai"
	}
	return "", ""
}

// end writes the spans of sessions and runs, and what is left.
func (t *tracer) end() error {
	for _, key := range slices.SortedFunc(maps.Keys(t.sessions), func(a, b sessionKey) int {
		return cmp.Or(cmp.Compare(a.run, b.run), cmp.Compare(a.session, b.session))
	}) {
		s := t.sessions[key]
		c := s.first
		var a attributes
		a.text("gen_ai.operation.name", "invoke_agent")
		a.text("gen_ai.agent.name", c.Agent)
		a.text("gen_ai.conversation.id", c.Task)
		a.text("moeca.task", c.Task)
		a.text("moeca.run", c.Run)
		a.text("moeca.stage", c.Stage)
		a.text("moeca.session", c.Session)
		a.text("moeca.template", c.Template)
		parent := ""
		switch {
		case c.Parent != "":
			parent = sessionSpan(c.Run, c.Parent)
		case c.Run != "":
			parent = id(8, "run", c.Run)
		}
		if err := t.span(span{
			TraceID: traceOf(c), SpanID: sessionSpan(c.Run, c.Session), ParentID: parent, Kind: kindInternal,
			Name: strings.TrimSpace("invoke_agent " + c.Agent), Start: nanos(s.began), End: nanos(s.ended), Attributes: a,
		}); err != nil {
			return err
		}
	}
	for _, run := range slices.Sorted(maps.Keys(t.runs)) {
		s := t.runs[run]
		var a attributes
		a.text("moeca.run", run)
		a.text("moeca.task", s.first.Task)
		a.text("moeca.template", s.first.Template)
		if err := t.span(span{
			TraceID: traceOf(s.first), SpanID: id(8, "run", run), Kind: kindInternal, Name: "run",
			Start: nanos(s.began), End: nanos(s.ended), Attributes: a,
		}); err != nil {
			return err
		}
	}
	return t.flush()
}

func (t *tracer) span(s span) error {
	t.spans = append(t.spans, s)
	for _, a := range s.Attributes {
		if a.Value.String != nil {
			t.text += len(*a.Value.String)
		}
	}
	if len(t.spans) < spansPerLine && t.text < textPerLine {
		return nil
	}
	return t.flush()
}

func (t *tracer) flush() error {
	if len(t.spans) == 0 {
		return nil
	}
	t.written += int64(len(t.spans))
	err := t.lines.Encode(t.data(attributes{}, t.spans))
	clear(t.spans)
	t.spans, t.text = t.spans[:0], 0
	return err
}

// data is a line; about is added to what is said of its resource.
func (t *tracer) data(about attributes, spans []span) tracesData {
	var a attributes
	a.text("service.name", "moeca")
	a.text("service.version", t.Version)
	return tracesData{[]resourceSpans{{
		Resource:   resource{append(a, about...)},
		ScopeSpans: []scopeSpans{{Scope: scope{"moeca.audit", t.Version}, Spans: spans}},
	}}}
}

// problem ends the export of a broken log.
func (t *tracer) problem(what string) error {
	var a attributes
	a.text("moeca.audit.problem", what)
	return t.lines.Encode(t.data(a, []span{}))
}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }
