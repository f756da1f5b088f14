package upstream

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/netguard"
	"moeca/internal/secret"
)

// ErrUnknown is returned for a name that is not in the set.
var ErrUnknown = errors.New("upstream: no such provider")

// maxUpstreams bounds the set.
const maxUpstreams = 256

// Set is the set of upstreams.
type Set struct {
	guard *netguard.Guard
	now   func() time.Time

	mu      sync.RWMutex
	by      map[string]*Upstream
	version int64 // of by
}

// NewSet returns an empty set that keeps the exemptions of guard in step.
func NewSet(guard *netguard.Guard, now func() time.Time) *Set {
	if now == nil {
		now = time.Now
	}
	return &Set{guard: guard, now: now, by: map[string]*Upstream{}}
}

// Get returns a copy of the upstream, key included.
func (s *Set) Get(name string) (Upstream, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	u, ok := s.by[name]
	if !ok {
		return Upstream{}, false
	}
	return u.clone(), true
}

// List describes all upstreams by name.
func (s *Set) List() []gatewayapi.Provider {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := make([]gatewayapi.Provider, 0, len(s.by))
	for _, u := range s.by {
		out = append(out, u.clone().Describe())
	}
	slices.SortFunc(out, func(a, b gatewayapi.Provider) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Version changes whenever the set does.
func (s *Set) Version() int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.version
}

// Keys returns the secrets of every upstream, for whoever must recognise them,
// and the version of the set they are from.
func (s *Set) Keys() (keys []secret.Value, version int64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, u := range s.by {
		keys = append(keys, u.Secrets()...)
	}
	return keys, s.version
}

// Used notes that the key was used now.
func (s *Set) Used(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u, ok := s.by[name]; ok {
		u.LastUsed = s.now()
	}
}

// Change is a planned change. After is what a read will answer once it is
// applied; it is the zero Provider for a deletion.
type Change struct {
	After gatewayapi.Provider
	apply func(by map[string]*Upstream)
	set   *Set
}

// Apply makes the change.
func (c *Change) Apply() error {
	c.set.mu.Lock()
	defer c.set.mu.Unlock()
	c.apply(c.set.by)
	c.set.version++
	return c.set.exempt()
}

// exempt brings the dialer's exemptions in step. Called with mu held.
func (s *Set) exempt() error {
	set := map[string]netguard.Exemption{}
	for _, u := range s.by {
		if u.Exempt {
			set[DialAddress(u.Base)] = netguard.Exemption{Unix: u.Unix}
		}
		if u.Git != nil && exempt(u.Git) {
			set[DialAddress(u.Git)] = netguard.Exemption{}
		}
	}
	return s.guard.SetExempt(set)
}

// PlanPut plans to make the upstream or to replace its definition; what the
// patch leaves out takes the default of its kind. A key that is there stays.
func (s *Set) PlanPut(name string, p gatewayapi.ProviderPatch) (*Change, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	s.mu.RLock()
	old, n := s.by[name], len(s.by)
	s.mu.RUnlock()
	if old == nil && n >= maxUpstreams {
		return nil, invalid("there are %d providers already", n)
	}
	kind := KindCustom
	if p.Kind != nil {
		kind = *p.Kind
	}
	u := defaults(name, kind)
	if p.BaseURL != nil && *p.BaseURL != u.BaseURL {
		u.GitURL = "" // the default belongs to the default base
	}
	if old != nil {
		u.Key, u.SetAt, u.LastUsed = old.Key, old.SetAt, old.LastUsed
	}
	return s.planPatch(u, p)
}

// PlanPatch plans to change the fields that are present.
func (s *Set) PlanPatch(name string, p gatewayapi.ProviderPatch) (*Change, error) {
	u, ok := s.Get(name)
	if !ok {
		return nil, ErrUnknown
	}
	return s.planPatch(u, p)
}

func (s *Set) planPatch(u Upstream, p gatewayapi.ProviderPatch) (*Change, error) {
	set(&u.Kind, p.Kind)
	set(&u.BaseURL, p.BaseURL)
	set(&u.Models, p.Models)
	set(&u.Auth, p.Auth)
	set(&u.Scripted, p.Scripted)
	set(&u.Local, p.Local)
	set(&u.GitURL, p.GitURL)
	set(&u.Hosts, p.Hosts)
	if err := u.parse(); err != nil {
		return nil, err
	}
	if err := checkKeyForm(u.Auth, u.Key.Open()); err != nil {
		return nil, fmt.Errorf("%w; clear the key that is set first", err)
	}
	return s.change(u), nil
}

func set[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}

func (s *Set) change(u Upstream) *Change {
	u = u.clone()
	return &Change{After: u.Describe(), set: s, apply: func(by map[string]*Upstream) { by[u.Name] = &u }}
}

// PlanDelete plans to remove the upstream and to forget its key.
func (s *Set) PlanDelete(name string) (*Change, error) {
	if _, ok := s.Get(name); !ok {
		return nil, ErrUnknown
	}
	return &Change{set: s, apply: func(by map[string]*Upstream) { delete(by, name) }}, nil
}

// PlanKey plans to set the key of an upstream; empty clears it.
func (s *Set) PlanKey(name, key string) (*Change, error) {
	u, ok := s.Get(name)
	if !ok {
		return nil, ErrUnknown
	}
	if err := checkKey(key); err != nil {
		return nil, err
	}
	if err := checkKeyForm(u.Auth, key); err != nil {
		return nil, err
	}
	u.Key, u.SetAt, u.LastUsed = secret.New(key), time.Time{}, time.Time{}
	if key != "" {
		u.SetAt = s.now()
	}
	return s.change(u), nil
}
