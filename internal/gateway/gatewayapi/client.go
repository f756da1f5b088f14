package gatewayapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// maxAnswer bounds what a client reads of one answer.
const maxAnswer = 16 << 20

// StatusError is an answer other than 2xx.
type StatusError struct {
	Status int
	Body   ErrorBody
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("gateway: %s (%s/%s, status %d)", e.Body.Message, e.Body.Gate, e.Body.Reason, e.Status)
}

// IsNotFound says whether err is the answer "no such session or provider".
func IsNotFound(err error) bool {
	var se *StatusError
	return errors.As(err, &se) && se.Status == http.StatusNotFound
}

// caller speaks JSON over one Unix socket.
type caller struct {
	http  *http.Client
	token string
}

func newCaller(socket, token string) caller {
	t := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "unix", socket)
		},
		DisableCompression: true,
		MaxIdleConns:       4,
		IdleConnTimeout:    30 * time.Second,
	}
	return caller{http: &http.Client{Transport: t}, token: token}
}

// call sends in as JSON where it is not nil, and reads the answer into out
// where that is not nil.
func (c caller) call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("gateway: encode %s %s: %w", method, path, err)
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://gateway"+path, body)
	if err != nil {
		return fmt.Errorf("gateway: build %s %s: %w", method, path, err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("gateway: %s %s: %w", method, path, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("gateway: read answer of %s %s: %w", method, path, err)
	}
	if resp.StatusCode/100 != 2 {
		return statusError(resp.StatusCode, data)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("gateway: decode answer of %s %s: %w", method, path, err)
	}
	return nil
}

func statusError(status int, data []byte) error {
	var e Error
	if err := json.Unmarshal(data, &e); err != nil || e.Error.Message == "" {
		e.Error = ErrorBody{Gate: "http", Reason: "no-reason", Message: http.StatusText(status)}
	}
	return &StatusError{Status: status, Body: e.Error}
}

// Client calls the admin listener. It is safe for concurrent use.
type Client struct{ c caller }

// NewClient returns a client of the admin socket; token is the bearer whose
// hash the gateway was started with.
func NewClient(adminSocket, token string) *Client {
	return &Client{c: newCaller(adminSocket, token)}
}

// Health tells whether the gateway serves and where its log stands.
func (c *Client) Health(ctx context.Context) (Health, error) {
	var h Health
	return h, c.c.call(ctx, http.MethodGet, "/v1/health", nil, &h)
}

// Mint makes a session. It is listening when Mint returns.
func (c *Client) Mint(ctx context.Context, r MintRequest) (MintResponse, error) {
	var m MintResponse
	return m, c.c.call(ctx, http.MethodPost, "/v1/sessions", r, &m)
}

// Revoke ends a session; its streams are cut and settled when Revoke returns.
func (c *Client) Revoke(ctx context.Context, id string) (Revoked, error) {
	var r Revoked
	return r, c.c.call(ctx, http.MethodDelete, "/v1/sessions/"+url.PathEscape(id), nil, &r)
}

// Sessions lists the live sessions with what each has drawn, oldest first.
func (c *Client) Sessions(ctx context.Context) ([]SessionState, error) {
	var s []SessionState
	return s, c.c.call(ctx, http.MethodGet, "/v1/sessions", nil, &s)
}

// Providers lists the upstreams. Reads never carry a key.
func (c *Client) Providers(ctx context.Context) ([]Provider, error) {
	var p []Provider
	return p, c.c.call(ctx, http.MethodGet, "/v1/providers", nil, &p)
}

// PutProvider makes the upstream, or replaces its definition and keeps its key.
func (c *Client) PutProvider(ctx context.Context, name string, p ProviderPatch) (Provider, error) {
	var out Provider
	return out, c.c.call(ctx, http.MethodPut, providerPath(name), p, &out)
}

// PatchProvider changes the fields that are present and no other.
func (c *Client) PatchProvider(ctx context.Context, name string, p ProviderPatch) (Provider, error) {
	var out Provider
	return out, c.c.call(ctx, http.MethodPatch, providerPath(name), p, &out)
}

// DeleteProvider removes the upstream and forgets its key.
func (c *Client) DeleteProvider(ctx context.Context, name string) error {
	return c.c.call(ctx, http.MethodDelete, providerPath(name), nil, nil)
}

// SetSecret gives the gateway the key of an upstream; empty clears it.
func (c *Client) SetSecret(ctx context.Context, name, value string) error {
	return c.c.call(ctx, http.MethodPut, providerPath(name)+"/secret", SecretPut{Value: value}, nil)
}

// Models asks the upstream for its models, through every gate; a list is good
// for a minute.
func (c *Client) Models(ctx context.Context, name string) (Models, error) {
	var m Models
	return m, c.c.call(ctx, http.MethodGet, providerPath(name)+"/models", nil, &m)
}

// TestProvider makes one call that costs nothing and says how it went.
func (c *Client) TestProvider(ctx context.Context, name string) (TestResult, error) {
	var t TestResult
	return t, c.c.call(ctx, http.MethodPost, providerPath(name)+"/test", nil, &t)
}

// Close drops idle connections.
func (c *Client) Close() { c.c.http.CloseIdleConnections() }

func providerPath(name string) string { return "/v1/providers/" + url.PathEscape(name) }

// AppendClient calls the append listener. It is safe for concurrent use.
type AppendClient struct{ c caller }

// NewAppendClient returns a client of the append socket; credential decides
// the source of the rows and the kinds that may be added.
func NewAppendClient(appendSocket, credential string) *AppendClient {
	return &AppendClient{c: newCaller(appendSocket, credential)}
}

// Append adds one row. The row is durable when Append returns without error.
func (c *AppendClient) Append(ctx context.Context, r AppendRequest) (AppendResponse, error) {
	var a AppendResponse
	return a, c.c.call(ctx, http.MethodPost, "/v1/append", r, &a)
}

// Close drops idle connections.
func (c *AppendClient) Close() { c.c.http.CloseIdleConnections() }
