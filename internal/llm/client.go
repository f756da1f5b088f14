package llm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"
)

// Dialect translates between the neutral model and a provider's wire format.
// Implementations hold no state and do no I/O of their own.
type Dialect interface {
	// Path is what follows the base URL.
	Path(model string) string
	// Header adds what the wire format needs; never a credential.
	Header(h http.Header)
	// Encode builds a body that asks for a streamed answer.
	Encode(r Request) ([]byte, error)
	// Decode reads a whole successful answer, streamed or not by its content
	// type. An answer that broke off is an error.
	Decode(contentType string, body io.Reader) (*Response, error)
	// DecodeError reads the body of an unsuccessful answer. It always returns
	// an error, whatever the body holds.
	DecodeError(status int, body []byte) *Error
}

// Retry says how often and how patiently a request is sent again.
type Retry struct {
	Attempts int           // in total, 5 by default
	Base     time.Duration // wait before the second, doubled each time; 1 s
	Max      time.Duration // longest wait; a longer Retry-After ends it; 60 s
}

// Client sends requests to one base URL in one dialect.
type Client struct {
	HTTP    *http.Client
	Base    string // "http://gateway/demo"
	Dialect Dialect
	Retry   Retry
	// Idle ends an attempt when that long no byte came; 6 minutes by default.
	// The gateway's limit is longer: the caller gives up first.
	Idle time.Duration
	// MaxAnswer bounds one answer in bytes; 32 MiB by default.
	MaxAnswer int64
	// Notify is told before each wait; nil is fine.
	Notify func(e *Error, attempt int, wait time.Duration)
}

const maxErrorBody = 64 << 10

// Complete returns one whole answer, sending the request again where the
// failure is worth it.
func (c *Client) Complete(ctx context.Context, r Request) (*Response, error) {
	body, err := c.Dialect.Encode(r)
	if err != nil {
		return nil, fmt.Errorf("llm: encode request: %w", err)
	}
	retry := c.Retry.withDefaults()
	for attempt := 1; ; attempt++ {
		resp, err := c.attempt(ctx, r.Model, body)
		if err == nil {
			return resp, nil
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("llm: %w", context.Cause(ctx))
		}
		e := AsError(err, ClassNetwork)
		wait, again := retry.wait(e, attempt)
		if !again {
			return nil, e
		}
		if c.Notify != nil {
			c.Notify(e, attempt, wait)
		}
		if err := pause(ctx, wait); err != nil {
			return nil, fmt.Errorf("llm: %w", err)
		}
	}
}

func (c *Client) attempt(ctx context.Context, model string, body []byte) (*Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := c.Idle
	if idle <= 0 {
		idle = 6 * time.Minute
	}
	watch := time.AfterFunc(idle, func() { cancel(fmt.Errorf("nothing came for %s", idle)) })
	defer watch.Stop()

	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Base+c.Dialect.Path(model), bytes.NewReader(body))
	if err != nil {
		return nil, &Error{Class: ClassRequest, Err: err}
	}
	c.Dialect.Header(req.Header)
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return nil, &Error{Class: ClassNetwork, Err: causeOf(ctx, err)}
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		// A body that breaks off still leaves the status.
		raw, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
		e := c.Dialect.DecodeError(resp.StatusCode, raw)
		e.After = RetryAfter(resp.Header, time.Now())
		return nil, e
	}
	limit := c.MaxAnswer
	if limit <= 0 {
		limit = 32 << 20
	}
	answer := &answerReader{r: resp.Body, left: limit, touch: func() { watch.Reset(idle) }}
	out, err := c.Dialect.Decode(resp.Header.Get("Content-Type"), answer)
	if err != nil {
		return nil, AsError(causeOf(ctx, err), ClassNetwork)
	}
	return out, nil
}

// causeOf prefers why we cancelled to the bare cancellation.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, context.Canceled) {
		return cause
	}
	return err
}

var errAnswerTooLong = &Error{Class: ClassAnswer, Message: "the answer is longer than the limit"}

// answerReader bounds an answer and tells when bytes came.
type answerReader struct {
	r     io.Reader
	left  int64
	touch func()
}

func (a *answerReader) Read(p []byte) (int, error) {
	if a.left <= 0 {
		return 0, errAnswerTooLong
	}
	n, err := a.r.Read(p[:min(int64(len(p)), a.left)])
	a.left -= int64(n)
	if n > 0 {
		a.touch()
	}
	return n, err
}

func (r Retry) withDefaults() Retry {
	if r.Attempts <= 0 {
		r.Attempts = 5
	}
	if r.Base <= 0 {
		r.Base = time.Second
	}
	if r.Max <= 0 {
		r.Max = time.Minute
	}
	return r
}

// wait says how long to wait after the failed attempt, counted from 1, and
// whether to try again at all. Half of the wait is jitter, so that many
// sandboxes do not come back together.
func (r Retry) wait(e *Error, attempt int) (time.Duration, bool) {
	if !e.Retryable() || attempt >= r.Attempts || e.After > r.Max {
		return 0, false
	}
	d := r.Max
	if shift := attempt - 1; shift < 16 {
		d = min(r.Base<<shift, r.Max)
	}
	d = d/2 + rand.N(d/2+1)
	return max(d, e.After), true
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
