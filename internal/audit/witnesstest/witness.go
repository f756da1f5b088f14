// Package witnesstest is a witness for tests: the server side of C2SP
// tlog-witness on a loopback port, made of code that is not ours. torchwood reads
// checkpoints and cosigns them, golang.org/x/mod proves consistency. It knows
// logs by the keys it was given and remembers the last tree of each, like a real one.
package witnesstest

import (
	"crypto/ed25519"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"filippo.io/torchwood"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Witness is a running one.
type Witness struct {
	URL  string // prefix of add-checkpoint
	Vkey string

	signer *torchwood.CosignatureSigner

	mu     sync.Mutex
	logs   map[string]note.Verifier // that it knows, by origin
	seen   map[string]torchwood.Checkpoint
	last   int64
	asked  int
	before func(w http.ResponseWriter, r *http.Request) bool // answers instead
}

// New starts a witness that ends with the test.
func New(t testing.TB) *Witness {
	t.Helper()
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	signer, err := torchwood.NewCosignatureSigner("witness.example/w1", key)
	if err != nil {
		t.Fatal(err)
	}
	w := &Witness{signer: signer, Vkey: signer.Verifier().String(), logs: map[string]note.Verifier{}, seen: map[string]torchwood.Checkpoint{}}
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	w.URL = server.URL
	return w
}

// Know makes it witness the log with this key.
func (w *Witness) Know(t testing.TB, vkey string) {
	t.Helper()
	v, err := note.NewVerifier(strings.TrimSpace(vkey))
	if err != nil {
		t.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.logs[v.Name()] = v
}

// Instead makes it answer through f wherever f says that it did.
func (w *Witness) Instead(f func(http.ResponseWriter, *http.Request) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.before = f
}

// Seen is the size of the tree it cosigned last, Asked how often it was asked.
func (w *Witness) Seen() int64 { w.mu.Lock(); defer w.mu.Unlock(); return w.last }

// Asked counts requests.
func (w *Witness) Asked() int { w.mu.Lock(); defer w.mu.Unlock(); return w.asked }

// ServeHTTP answers add-checkpoint as the specification says.
func (w *Witness) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked++
	if w.before != nil && w.before(rw, r) {
		return
	}
	if r.Method != http.MethodPost || r.URL.Path != "/add-checkpoint" {
		http.NotFound(rw, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(rw, "read", http.StatusBadRequest)
		return
	}
	status, answer := w.add(string(body))
	if status == http.StatusConflict {
		rw.Header().Set("Content-Type", "text/x.tlog.size")
	}
	rw.WriteHeader(status)
	_, _ = io.WriteString(rw, answer) // the client has gone or not
}

func (w *Witness) add(body string) (int, string) {
	head, text, ok := strings.Cut(body, "\n\n")
	lines := strings.Split(head, "\n")
	old, err := strconv.ParseInt(strings.TrimPrefix(lines[0], "old "), 10, 64)
	if !ok || err != nil || len(lines) > 64 {
		return http.StatusBadRequest, "malformed"
	}
	var proof tlog.TreeProof
	for _, line := range lines[1:] {
		h, err := tlog.ParseHash(line)
		if err != nil {
			return http.StatusBadRequest, "proof"
		}
		proof = append(proof, h)
	}
	origin, _, _ := strings.Cut(text, "\n")
	log, seen := w.logs[origin], w.seen[origin]
	if log == nil {
		return http.StatusNotFound, "unknown log"
	}
	n, err := note.Open([]byte(text), note.VerifierList(log))
	if err != nil {
		return http.StatusForbidden, "no valid signature"
	}
	c, err := torchwood.ParseCheckpoint(n.Text)
	switch {
	case err != nil || old > c.N:
		return http.StatusBadRequest, "checkpoint"
	case old != seen.N || old == c.N && seen.Hash != c.Hash:
		return http.StatusConflict, fmt.Sprintf("%d\n", seen.N)
	case old > 0 && old < c.N && tlog.CheckTree(proof, c.N, c.Hash, old, seen.Hash) != nil, (old == 0 || old == c.N) && len(proof) > 0:
		return http.StatusUnprocessableEntity, "inconsistent"
	}
	signed, err := note.Sign(&note.Note{Text: n.Text}, w.signer)
	if err != nil {
		return http.StatusInternalServerError, "sign"
	}
	w.seen[origin], w.last = c, c.N
	_, sigs, _ := strings.Cut(string(signed), "\n\n")
	return http.StatusOK, sigs
}
