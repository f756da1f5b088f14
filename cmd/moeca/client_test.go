package main

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestHostThatWentAwayIsSaidInWords(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	c := &client{base: gone.URL, token: "t"}
	err := c.do(t.Context(), "GET", "/api/status", nil, nil)
	var f *failure
	if !errors.As(err, &f) || f.exit != exitMissing || !strings.Contains(f.Next, "start moeca again") {
		t.Errorf("%v", err)
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.do(stopped, "GET", "/api/status", nil, nil); errors.As(err, &f) && f.Code == "host_gone" {
		t.Errorf("a person's own interrupt is told as: %v", err)
	}
}
