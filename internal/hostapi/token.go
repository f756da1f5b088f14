package hostapi

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"sync"
	"time"
)

// Scope is one thing a bearer may do. A token holds a closed list of them.
type Scope string

// Scopes. Those below the line belong to a person: no token that is handed
// to a program (ready file, headless use, MCP) ever holds one (I15).
const (
	ScopeRead Scope = "read" // see everything but keys
	ScopeWork Scope = "work" // tasks, runs, CI

	ScopeRepos    Scope = "repositories"    // add or remove one, say what its gate and target are
	ScopeApprove  Scope = "approve"         // approve a result
	ScopeMerge    Scope = "merge"           // land an approved result
	ScopeSecret   Scope = "provider-secret" // set or clear keys, add providers
	ScopeErase    Scope = "erase"           // destroy what the log captured
	ScopeWitness  Scope = "witness"         // say who keeps checkpoints of the log
	ScopeLaunch   Scope = "launch"          // make a launch token for a browser
	publicRequest Scope = ""
)

// PersonScopes is everything a person may do.
func PersonScopes() []Scope {
	return []Scope{ScopeRead, ScopeWork, ScopeRepos, ScopeApprove, ScopeMerge, ScopeSecret, ScopeErase, ScopeWitness, ScopeLaunch}
}

// ProgramScopes is what a program's token may do.
func ProgramScopes() []Scope { return []Scope{ScopeRead, ScopeWork} }

// launchTTL is how long a launch URL works.
const launchTTL = 10 * time.Minute

// Tokens holds the bearers of one process in memory, as hashes only. A bearer
// lives as long as the process; a launch token is single-use. Tokens is safe
// for concurrent use.
type Tokens struct {
	now func() time.Time

	mu      sync.Mutex
	bearers map[[32]byte]grant
	launch  map[[32]byte]time.Time // expiry
}

type grant struct {
	actor  string
	scopes []Scope
}

// NewTokens returns an empty table.
func NewTokens(now func() time.Time) *Tokens {
	return &Tokens{now: now, bearers: map[[32]byte]grant{}, launch: map[[32]byte]time.Time{}}
}

// Mint makes a bearer with these scopes. actor is "person" or "program".
func (t *Tokens) Mint(actor string, scopes []Scope) string {
	token := newToken()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bearers[sha256.Sum256([]byte(token))] = grant{actor: actor, scopes: slices.Clone(scopes)}
	return token
}

// Launch makes a token that can be exchanged once for a person's bearer.
func (t *Tokens) Launch() string {
	token := newToken()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.launch[sha256.Sum256([]byte(token))] = t.now().Add(launchTTL)
	return token
}

// Exchange uses up a launch token. It answers "" when the token is unknown,
// used or too old.
func (t *Tokens) Exchange(launch string) string {
	key := sha256.Sum256([]byte(launch))
	t.mu.Lock()
	expires, ok := t.launch[key]
	delete(t.launch, key)
	t.mu.Unlock()
	if !ok || t.now().After(expires) {
		return ""
	}
	return t.Mint("person", PersonScopes())
}

// lookUp finds a bearer by hash, so that the comparison leaks no timing of the
// token itself.
func (t *Tokens) lookUp(bearer string) (grant, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	g, ok := t.bearers[sha256.Sum256([]byte(bearer))]
	return g, ok
}

// newToken returns 256 random bits as text that needs no escaping in a URL.
func newToken() string {
	var b [32]byte
	rand.Read(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}
