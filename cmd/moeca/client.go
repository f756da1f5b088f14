package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"moeca/internal/hostapi"
)

// client speaks the host API.
type client struct {
	base   string
	token  string
	person func() string // token with a person's scopes, read when it is needed
	own    bool          // the host lives in this command and ends with it
}

// do sends one request with the program's token.
func (c *client) do(ctx context.Context, method, path string, in, out any) error {
	return c.send(ctx, c.token, method, path, in, out)
}

// asPerson sends one request that only a person may make.
func (c *client) asPerson(ctx context.Context, method, path string, in, out any) error {
	token := c.person()
	if token == "" {
		return fail(exitMissing, "person_token", "start moeca as the user who owns the data directory",
			"the running process's token for a person cannot be read")
	}
	return c.send(ctx, token, method, path, in, out)
}

func (c *client) send(ctx context.Context, token, method, path string, in, out any) error {
	var content io.Reader
	if in != nil {
		raw, err := json.Marshal(in)
		if err != nil {
			return err
		}
		content = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, content)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return c.silent(ctx, err)
	}
	defer res.Body.Close()
	if res.StatusCode >= 300 {
		return problem(res)
	}
	if out == nil {
		return nil
	}
	return json.NewDecoder(res.Body).Decode(out)
}

// silent says what it means that the host does not answer: it was there when the
// command began, so it has ended since.
func (c *client) silent(ctx context.Context, err error) error {
	if c.own || ctx.Err() != nil || errors.Is(err, context.Canceled) {
		return err
	}
	return fail(exitMissing, "host_gone", "start moeca again; what was under way is kept, and `moeca task list` says how it ended",
		"the running process does not answer any more (%v)", err)
}

// problem turns a problem document into a failure.
func problem(res *http.Response) error {
	var p hostapi.Problem
	if err := json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(&p); err != nil {
		return fmt.Errorf("the host answered %s", res.Status)
	}
	exit := exitFailed
	switch res.StatusCode {
	case http.StatusServiceUnavailable:
		exit = exitMissing
	case http.StatusUnprocessableEntity:
		exit = exitUsage
	}
	message := p.Detail
	for _, f := range p.Errors {
		message += fmt.Sprintf("; %s: %s", f.Location, f.Message)
	}
	return fail(exit, p.Code, p.Next, "%s", message)
}
