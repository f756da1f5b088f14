package gatewayapi

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// Ask is a request that waits for a person: a rule of its upstream's policy says
// ask. Nothing of it was sent. It ends by an answer, by ExpiresAt, with its
// session, or when its caller hangs up; the last three refuse it.
type Ask struct {
	ID         string        `json:"id"`
	Session    string        `json:"session"`
	Run        string        `json:"run,omitempty"`
	Stage      string        `json:"stage,omitempty"`
	Task       string        `json:"task,omitempty"`
	Agent      string        `json:"agent,omitempty"`
	Upstream   string        `json:"upstream"`
	Method     string        `json:"method"`
	Target     string        `json:"target"`     // whole URL, without credentials
	Operations []string      `json:"operations"` // all that the request would do, in order
	Refs       []string      `json:"refs,omitempty"`
	Body       string        `json:"body,omitempty"` // its beginning, where it is text: what an agent wrote
	BodyBytes  int64         `json:"body_bytes,omitempty"`
	Rule       OperationRule `json:"rule"` // the first that says ask
	AskedAt    time.Time     `json:"asked_at"`
	ExpiresAt  time.Time     `json:"expires_at"`
}

// Asks is the answer to GET /v1/asks: those that are open, oldest first. Cursor
// stands for this very answer; given as after, it makes the next call wait until
// something is different.
type Asks struct {
	Asks   []Ask  `json:"asks"`
	Cursor string `json:"cursor"`
}

// MaxAskWait is the longest that GET /v1/asks waits for a change.
const MaxAskWait = 30 * time.Second

// AskAnswer is the body of POST /v1/asks/{id}. Actor must be "person": nobody
// else answers.
type AskAnswer struct {
	Allow bool   `json:"allow"`
	Actor string `json:"actor"`
}

// AskActor is the one actor an answer may come from.
const AskActor = "person"

// AskAnswered says where the log holds the answer. It was durable before the
// request went on.
type AskAnswered struct {
	ID    string `json:"id"`
	Allow bool   `json:"allow"`
	Seq   int64  `json:"seq"`
}

// Reasons why an ask cannot be answered, as StatusError.Body.Reason tells them.
const (
	AskReasonUnknown  = "unknown-ask"  // 404: there is none of that id, or it ended long ago
	AskReasonEnded    = "ask-ended"    // 409: time, session or caller ended it
	AskReasonAnswered = "ask-answered" // 409: somebody was first
)

// Asks returns the requests that wait for a person. With the cursor of an
// earlier answer as after it returns when that answer no longer holds, at the
// latest after wait, of which MaxAskWait is the most; else at once. A cursor of
// a gateway that was restarted never holds.
func (c *Client) Asks(ctx context.Context, after string, wait time.Duration) (Asks, error) {
	q := url.Values{"wait": {fmt.Sprint(int64(min(max(wait, 0), MaxAskWait) / time.Second))}}
	if after != "" {
		q.Set("after", after)
	}
	var out Asks
	return out, c.c.call(ctx, http.MethodGet, "/v1/asks?"+q.Encode(), nil, &out)
}

// AnswerAsk gives the answer of a person. Allowing lets exactly this request go
// on, and no other. An ask that has ended is a StatusError with status 404 or
// 409 and one of the reasons above.
func (c *Client) AnswerAsk(ctx context.Context, id string, allow bool) (AskAnswered, error) {
	var out AskAnswered
	return out, c.c.call(ctx, http.MethodPost, "/v1/asks/"+url.PathEscape(id), AskAnswer{Allow: allow, Actor: AskActor}, &out)
}
