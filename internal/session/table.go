// Package session says who calls the gateway. A session is minted for one
// sandbox (or one caller of the host itself), carries everything that caller
// may do, and ends when the sandbox does.
//
// Layout: a session has a public id of 128 random bits, which appears in audit
// rows, and may have a token of 256 random bits, which is handed out once. The
// table keeps SHA-256 of the token and nothing else of it, so that a copy of
// the gateway's memory or of its state authenticates nobody. Sandboxes get no
// token at all: the socket they call through names their session.
//
// Invariants:
//   - a Scope never changes after Mint; callers receive copies.
//   - a session whose time is over is never returned, also before it is swept.
//   - a child may do nothing that its parent may not (Scope.Within),
//     else Mint refuses; its time ends with its parent's at the latest.
//   - an unknown, malformed, expired or revoked token is one and the same
//     error: the caller learns nothing from it.
//
// A Table is safe for concurrent use. It does not listen, does not count
// budgets and does not survive the process: after a restart of the gateway the
// host mints again.
package session

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Errors of a table.
var (
	ErrUnknown = errors.New("session: unknown, expired or revoked")
	ErrScope   = errors.New("session: scope refused")
)

// TokenPrefix begins every token, so that a leaked one can be recognised.
const TokenPrefix = "moeca_"

const (
	idBytes    = 16
	tokenBytes = 32
	tokenLen   = len(TokenPrefix) + 2*tokenBytes
)

var tokens = regexp.MustCompile(`(?i)` + TokenPrefix + `[0-9a-f]{32,}`)

// Redact takes tokens out of a text that is kept. Whoever reads it later could
// call as the session they belong to.
func Redact(s string) string { return tokens.ReplaceAllLiteralString(s, TokenPrefix+"redacted") }

// MaxTTL bounds how long a session can be asked for.
const MaxTTL = 7 * 24 * time.Hour

type entry struct {
	session Session
	hash    [sha256.Size]byte
	token   bool
}

// Table holds the live sessions.
type Table struct {
	now func() time.Time

	mu     sync.RWMutex
	byID   map[string]*entry
	byHash map[[sha256.Size]byte]*entry
}

// NewTable returns an empty table; now is the clock, nil means time.Now.
func NewTable(now func() time.Time) *Table {
	if now == nil {
		now = time.Now
	}
	return &Table{now: now, byID: map[string]*entry{}, byHash: map[[sha256.Size]byte]*entry{}}
}

// Mint adds a session that lives for ttl. The token is empty unless withToken.
func (t *Table) Mint(scope Scope, ttl time.Duration, withToken bool) (Session, string, error) {
	if ttl <= 0 || ttl > MaxTTL {
		return Session{}, "", fmt.Errorf("%w: life of %s is not within (0, %s]", ErrScope, ttl, MaxTTL)
	}
	if err := scope.Check(); err != nil {
		return Session{}, "", err
	}
	id, token := newSecret(idBytes), ""
	now := t.now()
	e := &entry{session: Session{ID: id, Scope: scope.clone(), Minted: now, Expires: now.Add(ttl)}}
	if withToken {
		token = TokenPrefix + newSecret(tokenBytes)
		e.hash, e.token = sha256.Sum256([]byte(token)), true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if scope.Parent != "" {
		parent, ok := t.byID[scope.Parent]
		if !ok || !parent.session.alive(now) {
			return Session{}, "", fmt.Errorf("%w: parent session %s is not live", ErrScope, scope.Parent)
		}
		if err := scope.Within(parent.session.Scope); err != nil {
			return Session{}, "", err
		}
		if end := parent.session.Expires; end.Before(e.session.Expires) {
			e.session.Expires = end
		}
	}
	t.byID[id] = e
	if e.token {
		t.byHash[e.hash] = e
	}
	return e.session.clone(), token, nil
}

// Get returns the live session with the public id.
func (t *Table) Get(id string) (Session, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	e, ok := t.byID[id]
	if !ok || !e.session.alive(t.now()) {
		return Session{}, ErrUnknown
	}
	return e.session.clone(), nil
}

// ByToken returns the live session the token belongs to. Lookup goes by the
// hash, so its duration tells nothing about a token; the comparison after it
// is constant time all the same.
func (t *Table) ByToken(token string) (Session, error) {
	if len(token) != tokenLen || !strings.HasPrefix(token, TokenPrefix) {
		return Session{}, ErrUnknown
	}
	hash := sha256.Sum256([]byte(token))
	t.mu.RLock()
	defer t.mu.RUnlock()
	e, ok := t.byHash[hash]
	if !ok || subtle.ConstantTimeCompare(e.hash[:], hash[:]) != 1 || !e.session.alive(t.now()) {
		return Session{}, ErrUnknown
	}
	return e.session.clone(), nil
}

// Revoke ends the session at once and says whether there was one.
func (t *Table) Revoke(id string) (Session, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, ok := t.byID[id]
	if !ok {
		return Session{}, false
	}
	delete(t.byID, id)
	if e.token {
		delete(t.byHash, e.hash)
	}
	return e.session.clone(), true
}

// Live returns the live sessions, oldest first.
func (t *Table) Live() []Session {
	t.mu.RLock()
	defer t.mu.RUnlock()
	now, out := t.now(), make([]Session, 0, len(t.byID))
	for _, e := range t.byID {
		if e.session.alive(now) {
			out = append(out, e.session.clone())
		}
	}
	slices.SortFunc(out, func(a, b Session) int {
		if c := a.Minted.Compare(b.Minted); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return out
}

func (s Session) alive(now time.Time) bool { return now.Before(s.Expires) }

func (s Session) clone() Session {
	s.Scope = s.Scope.clone()
	return s
}

// newSecret returns n random bytes in hex. crypto/rand.Read never fails.
func newSecret(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}
