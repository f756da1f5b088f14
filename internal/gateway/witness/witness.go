// Package witness asks C2SP witnesses to cosign checkpoints of the log
// (tlog-witness, tlog-cosignature). It is the gateway's, because only the gateway
// reaches other machines.
//
// A person names a witness: an address and the key its cosignatures are verified
// with. What goes out is a checkpoint and hashes, never a row. The address is
// https, or, by the same opt-in as a model server of the user's own, http to one
// literal loopback or private address; it is dialled through a guard that is made
// for this one call, so that the opt-in of a witness opens nothing to anyone else.
// No redirect is followed, no proxy or compression is used, the answer is bounded
// and the whole call takes half a minute at most.
//
// Witnesses remember which tree of the log they saw last. A caller says what it
// believes that is; a witness that knows another size answers with it, and is
// asked once more from there. The package keeps nothing and is safe for concurrent
// use. That calls are rows of the log is its caller's business.
package witness

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"moeca/internal/audit"
	"moeca/internal/gateway/gate"
	"moeca/internal/netguard"
)

// Limits of a call.
const (
	callTime  = 30 * time.Second
	maxAnswer = 16 << 10
	maxURL    = 2048
)

// Log is what is cosigned. *audit.Log is one.
type Log interface {
	Checkpoint(ctx context.Context) (audit.Checkpoint, error)
}

// Client asks witnesses.
type Client struct {
	Dir    string // of the log, whose tree proves consistency
	Log    Log
	Denied gate.Networks // never dialled
}

// Ask says whom to ask, and which tree it saw last.
type Ask struct {
	URL   string // prefix to which add-checkpoint is appended
	Key   string // verifier key of its cosignatures
	Local bool   // http to the literal loopback or private address of URL
	Old   int64  // rows; 0 = none
}

// Answer is a checkpoint with the cosignature.
type Answer struct {
	Checkpoint audit.Checkpoint
	At         time.Time // as the witness says it
}

// Errors a person can do something about. They wrap what was the matter.
var (
	ErrAsk     = errors.New("this witness cannot be asked")     // the address or key
	ErrRefused = errors.New("the witness refused")              // its answer
	ErrAhead   = errors.New("the witness has seen another log") // its answer speaks against the log
)

// Check says whether a witness can be asked at all.
func (a Ask) Check() error {
	_, _, err := a.parse()
	return err
}

func (a Ask) parse() (*url.URL, audit.WitnessKey, error) {
	key, err := audit.ParseWitnessKey(a.Key)
	if err != nil {
		return nil, key, fmt.Errorf("%w: %w", ErrAsk, err)
	}
	fail := func(why string) (*url.URL, audit.WitnessKey, error) {
		return nil, key, fmt.Errorf("%w: %s", ErrAsk, why)
	}
	u, err := url.Parse(a.URL)
	if err != nil || len(a.URL) > maxURL || u.Host == "" || u.Opaque != "" {
		return fail("its address is no URL")
	}
	if u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.HasSuffix(a.URL, "#") {
		return fail("its address may be host and path only")
	}
	if a.Old < 0 {
		return fail("it cannot have seen fewer than no rows")
	}
	ap, literal := netip.ParseAddrPort(u.Host)
	own := literal == nil && (ap.Addr().IsLoopback() || netguard.IsPrivate(ap.Addr())) && !ap.Addr().Is4In6()
	switch {
	case u.Scheme == "http" && a.Local && own:
	case u.Scheme == "http" && own:
		return fail("http is for a witness of your own, which you must say it is (--local)")
	case u.Scheme == "http":
		return fail("http is for a literal loopback or private address and port only; use https")
	case u.Scheme != "https":
		return fail("its address must begin with https://")
	case a.Local:
		return fail("a witness of your own is http:// with a literal loopback or private address and port")
	default:
		if _, _, err := netguard.CheckHost(u.Hostname()); err != nil {
			return fail(err.Error())
		}
	}
	return u.JoinPath("add-checkpoint"), key, nil
}

// Add has the witness cosign a checkpoint that covers all durable rows.
func (c *Client) Add(ctx context.Context, a Ask) (Answer, error) {
	to, key, err := a.parse()
	if err != nil {
		return Answer{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	now, err := c.Log.Checkpoint(ctx)
	if err != nil {
		return Answer{}, err
	}
	web, err := c.web(a, to)
	if err != nil {
		return Answer{}, err
	}
	defer web.CloseIdleConnections()
	old := min(a.Old, now.Size)
	for first := true; ; first = false {
		status, text, err := c.post(ctx, web, to, old, now)
		if err != nil {
			return Answer{}, err
		}
		if status == http.StatusConflict && first {
			if old, err = sizeIn(text, now); err != nil {
				return Answer{}, err
			}
			continue
		}
		if status != http.StatusOK {
			return Answer{}, explain(status)
		}
		cosigned, at, err := key.Cosign(now, text)
		if err != nil {
			return Answer{}, fmt.Errorf("%w: its answer cannot be used: %w", ErrRefused, err)
		}
		return Answer{cosigned, at}, nil
	}
}

// web is a client for this one call.
func (c *Client) web(a Ask, to *url.URL) (*http.Client, error) {
	if c.Denied.Denies(to.Hostname()) {
		return nil, fmt.Errorf("%w: its host is on the denylist of this gateway (deny_networks)", ErrAsk)
	}
	guard := netguard.New(netguard.Options{Denied: c.Denied.Prefixes()})
	if a.Local {
		if err := guard.SetExempt(map[string]netguard.Exemption{to.Host: {}}); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrAsk, err)
		}
	}
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext:            func(ctx context.Context, n, addr string) (net.Conn, error) { return guard.DialContext(ctx, n, addr) },
			DisableCompression:     true,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout:    10 * time.Second,
			MaxResponseHeaderBytes: 16 << 10,
		},
	}, nil
}

// post is one request; status and text are the witness's.
func (c *Client) post(ctx context.Context, web *http.Client, to *url.URL, old int64, now audit.Checkpoint) (status int, text string, err error) {
	proof, err := audit.ConsistencyProof(ctx, c.Dir, old, now)
	if err != nil {
		return 0, "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), strings.NewReader(audit.AddCheckpoint(old, proof, now)))
	if err != nil {
		return 0, "", fmt.Errorf("%w: %w", ErrAsk, err)
	}
	req.Header.Set("User-Agent", "moeca")
	req.Header.Set("Content-Type", "text/plain; charset=utf-8")
	resp, err := web.Do(req)
	if err != nil {
		return 0, "", fmt.Errorf("the witness does not answer: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return 0, "", fmt.Errorf("the witness broke off its answer: %w", err)
	}
	if len(body) > maxAnswer {
		return 0, "", fmt.Errorf("%w: its answer is longer than %d bytes", ErrRefused, maxAnswer)
	}
	return resp.StatusCode, string(body), nil
}

// sizeIn reads the size a witness answered with: what it saw must be in the log.
func sizeIn(text string, now audit.Checkpoint) (int64, error) {
	line := strings.TrimSuffix(text, "\n")
	size, err := strconv.ParseInt(line, 10, 64)
	if err != nil || size < 0 || strconv.FormatInt(size, 10) != line {
		return 0, fmt.Errorf("%w: it did not say which tree it saw last", ErrRefused)
	}
	if size > now.Size {
		return 0, fmt.Errorf("%w: it has seen %d rows, and the log has %d: rows were cut off, or another log uses this key", ErrAhead, size, now.Size)
	}
	return size, nil
}

// explain says what a status of add-checkpoint means.
func explain(status int) error {
	switch status {
	case http.StatusConflict:
		return fmt.Errorf("%w: the tree it saw of this size is not the log's: the log was rewritten, or another log uses this key", ErrAhead)
	case http.StatusUnprocessableEntity:
		return fmt.Errorf("%w: it does not take the proof that the log continues what it saw: the log was rewritten, or another log uses this key", ErrAhead)
	case http.StatusNotFound:
		return fmt.Errorf("%w: it does not know this log (404): give its operator the origin and key that `moeca audit checkpoint --vkey` prints, and check the address", ErrRefused)
	case http.StatusForbidden, http.StatusUnauthorized:
		return fmt.Errorf("%w: it does not trust the key of this log (%d): give its operator what `moeca audit checkpoint --vkey` prints", ErrRefused, status)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return fmt.Errorf("%w at this time: it is busy (%d); it is asked again", ErrRefused, status)
	}
	if status/100 == 3 {
		return fmt.Errorf("%w: it sends elsewhere (%d), which is not followed: name the address it sends to", ErrRefused, status)
	}
	return fmt.Errorf("%w: it answered with status %d", ErrRefused, status)
}
