package scripted

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Bounds of the server.
const (
	maxBody  = 32 << 20
	maxErred = 10_000 // error steps remembered
)

// Server answers requests. New makes one.
type Server struct {
	key     [sha256.Size]byte
	latency time.Duration
	mux     *http.ServeMux

	mu    sync.Mutex
	erred map[string]bool // error steps that were answered once and wait to be played
}

// New returns a server that accepts key only and waits latency before each
// answer. An empty key accepts nothing.
func New(key string, latency time.Duration) *Server {
	s := &Server{latency: latency, erred: map[string]bool{}, mux: http.NewServeMux()}
	if key != "" {
		s.key = sha256.Sum256([]byte(key))
	}
	s.mux.HandleFunc("POST /v1/messages", s.messages)
	s.mux.HandleFunc("GET /v1/models", s.models)
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, http.StatusNotFound, "not_found_error", "there is no "+r.Method+" "+r.URL.Path)
	})
	return s
}

// ServeHTTP checks the key before anything else is read.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	given := sha256.Sum256([]byte(r.Header.Get("X-Api-Key")))
	if subtle.ConstantTimeCompare(given[:], s.key[:]) != 1 {
		writeError(w, http.StatusUnauthorized, "authentication_error", "invalid x-api-key")
		return
	}
	s.mux.ServeHTTP(w, r)
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{
		"data":     []any{map[string]any{"type": "model", "id": Model, "display_name": "Scripted", "created_at": "2026-01-01T00:00:00Z"}},
		"has_more": false, "first_id": Model, "last_id": Model,
	})
}

func (s *Server) messages(w http.ResponseWriter, r *http.Request) {
	req, raw, status, err := readRequest(w, r)
	if err != nil {
		writeError(w, status, errorType(status), err.Error())
		return
	}
	step, err := s.plan(req)
	if err != nil {
		writeError(w, http.StatusBadRequest, "invalid_request_error", err.Error())
		return
	}
	if !wait(r.Context(), s.latency+time.Duration(step.DelayMS)*time.Millisecond) {
		return
	}
	if step.Error != nil && s.erring(req) {
		if step.Error.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(step.Error.RetryAfter))
		}
		writeError(w, step.Error.Status, errorType(step.Error.Status), "the script asks for this error")
		return
	}
	a := compose(req, step, len(raw))
	if req.Stream {
		a.stream(w)
		return
	}
	writeJSON(w, http.StatusOK, a.message())
}

// readRequest reads and checks a request; status goes with the error.
func readRequest(w http.ResponseWriter, r *http.Request) (req *request, raw []byte, status int, err error) {
	raw, err = io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		return nil, nil, http.StatusRequestEntityTooLarge, fmt.Errorf("the request is longer than %d bytes", maxBody)
	case err != nil:
		return nil, nil, http.StatusBadRequest, fmt.Errorf("read the request: %w", err)
	case r.Header.Get("Anthropic-Version") == "":
		return nil, nil, http.StatusBadRequest, errors.New("anthropic-version: header is required")
	}
	req = new(request)
	if err := json.Unmarshal(raw, req); err != nil {
		return nil, nil, http.StatusBadRequest, fmt.Errorf("the request is not valid: %w", err)
	}
	if err := req.validate(); err != nil {
		return nil, nil, http.StatusBadRequest, err
	}
	if req.Model != Model {
		return nil, nil, http.StatusNotFound, fmt.Errorf("model: %s", req.Model)
	}
	return req, raw, 0, nil
}

// plan is the turn to play.
func (s *Server) plan(r *request) (Step, error) {
	script, err := findScript(r.prompt())
	if err != nil {
		return Step{}, err
	}
	if script != nil {
		return script.step(r.turn()), nil
	}
	return newJob(r).next(), nil
}

// erring says whether an error step is answered with its error this time: every
// other time, so that each run of the same script meets it once.
func (s *Server) erring(r *request) bool {
	key := turnKey(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.erred[key] {
		delete(s.erred, key)
		return false
	}
	if len(s.erred) >= maxErred {
		clear(s.erred)
	}
	s.erred[key] = true
	return true
}

// turnKey names a turn of a conversation.
func turnKey(r *request) string {
	h := sha256.Sum256([]byte(r.prompt()))
	return fmt.Sprintf("%x_%d", h[:8], r.turn())
}

func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func errorType(status int) string {
	switch {
	case status == http.StatusUnauthorized:
		return "authentication_error"
	case status == http.StatusForbidden:
		return "permission_error"
	case status == http.StatusNotFound:
		return "not_found_error"
	case status == http.StatusRequestEntityTooLarge:
		return "request_too_large"
	case status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case status == 529:
		return "overloaded_error"
	case status >= 500:
		return "api_error"
	}
	return "invalid_request_error"
}

func writeError(w http.ResponseWriter, status int, kind, message string) {
	writeJSON(w, status, map[string]any{
		"type": "error", "error": map[string]any{"type": kind, "message": strings.ToValidUTF8(message, "\uFFFD")},
	})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		http.Error(w, "the answer cannot be encoded", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(raw)))
	w.WriteHeader(status)
	_, _ = w.Write(raw) // the client is gone when this fails
}
