package a2a

import (
	"net/url"
	"strings"
	"time"
)

// Exchange is one recorded request and its answer, as the caller read it from
// the rows and bodies of the log.
type Exchange struct {
	Seq        int64     // row of the intent, or of the refusal; unique, above 0
	OutcomeSeq int64     // row of the outcome; 0 = still open, or refused
	Time       time.Time // of row Seq
	End        time.Time // of row OutcomeSeq; zero while open

	Session, Run, Stage, Parent, Task, Agent, Template string // attribution

	Dialect        Dialect // Other: not a model call
	Upstream       string
	Method, Target string // Target is the canonical URL
	Status         int
	Result         string // constant of the outcome row; "ok" when all was passed on
	Cause          string // what broke it, in words
	Model          string
	Usage          Usage
	Scripted       bool
	Replayed       bool
	Request        []byte // kept content; nil when nothing was kept
	Response       []byte
	RequestCut     bool // Request is not the whole body
	ResponseCut    bool
	RequestErased  bool
	ResponseErased bool
	Refusal        Refusal // zero: no gate refused
}

// open says that the outcome is not known yet.
func (x *Exchange) open() bool { return x.OutcomeSeq == 0 && x.Refusal == Refusal{} }

// refused says that a gate refused and nothing was sent.
func (x *Exchange) refused() bool { return x.OutcomeSeq == 0 && x.Refusal != Refusal{} }

// intent is the exchange as it was before its outcome.
func (x *Exchange) intent() Exchange {
	open := *x
	open.OutcomeSeq, open.End, open.Status, open.Result, open.Cause = 0, time.Time{}, 0, "", ""
	open.Usage, open.Response, open.ResponseCut, open.ResponseErased, open.Refusal = Usage{}, nil, false, false, Refusal{}
	return open
}

// Refusal is why a gate did not let a request through, or ended its answer.
type Refusal struct {
	Gate   string `json:"gate"`
	Reason string `json:"reason"`
}

// Usage is what an exchange used, as its row says. Zero means not reported.
type Usage struct {
	Input        int64 `json:"input,omitempty"`
	Output       int64 `json:"output,omitempty"`
	CacheRead    int64 `json:"cacheRead,omitempty"`
	CacheWrite5m int64 `json:"cacheWrite5m,omitempty"`
	CacheWrite1h int64 `json:"cacheWrite1h,omitempty"`
	Reasoning    int64 `json:"reasoning,omitempty"` // contained in Output
	ServerTools  int64 `json:"serverTools,omitempty"`
	CostNano     int64 `json:"costNano,omitempty"` // 1e-9 USD
}

// Dialect is the shape of the bodies of one endpoint.
type Dialect string

// Dialects. The zero value is no model call.
const (
	Other      Dialect = ""
	Anthropic  Dialect = "anthropic"
	Chat       Dialect = "chat"
	Responses  Dialect = "responses"
	Gemini     Dialect = "gemini"
	Embeddings Dialect = "embeddings" // no conversation: shown as a request
)

// DialectOf returns the dialect of a request by its URL. A kind of upstream infers
// at paths of its own only, so the path tells what the definition of the upstream
// told the gateway, also when that is long gone.
func DialectOf(target string) Dialect {
	path := target
	if u, err := url.Parse(target); err == nil {
		path = u.Path
	}
	path = strings.TrimSuffix(path, "/")
	for _, at := range []struct {
		end     string
		dialect Dialect
	}{
		{"/messages", Anthropic},
		{"/chat/completions", Chat},
		{"/responses", Responses},
		{":generateContent", Gemini},
		{":streamGenerateContent", Gemini},
		{":embedContent", Embeddings},
		{"/embeddings", Embeddings},
	} {
		if strings.HasSuffix(path, at.end) {
			return at.dialect
		}
	}
	return Other
}

// conversation says that the exchange asks a model for an answer. A dialect has
// other endpoints too (lists of models, counting of tokens, files); these are
// requests like any other.
func (x *Exchange) conversation() bool {
	switch x.Dialect {
	case Other, Embeddings:
		return false
	}
	return x.Method == "POST" && DialectOf(x.Target) == x.Dialect
}
