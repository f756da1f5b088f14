package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/upstream"
	"moeca/internal/strictjson"
)

// Bounds of a policy.
const (
	maxEntries  = 256
	maxPolicies = 256
)

// Set keeps the policies by upstream.
type Set struct {
	path string // of the file; empty: memory only

	mu sync.RWMutex
	by map[string]gatewayapi.Policy
}

// NewSet returns a set in memory.
func NewSet() *Set { return &Set{by: map[string]gatewayapi.Policy{}} }

// Open reads the set kept in a file, which need not exist.
func Open(path string) (*Set, error) {
	s := NewSet()
	s.path = path
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = s.read(data)
	}
	if err != nil {
		return nil, fmt.Errorf("policy: read %s: %w; repair or remove the file, without it every upstream has the shipped rules", path, err)
	}
	return s, nil
}

func (s *Set) read(data []byte) error {
	if _, err := strictjson.Read(data, strictjson.Object); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(&s.by)
	for name, p := range s.by {
		err = errors.Join(err, check(name, p))
	}
	return err
}

// Get returns the policy of an upstream; without one the zero policy, which
// permits the least.
func (s *Set) Get(name string) gatewayapi.Policy {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return clone(s.by[name])
}

// All returns the policies that were changed, by upstream.
func (s *Set) All() map[string]gatewayapi.Policy {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := make(map[string]gatewayapi.Policy, len(s.by))
	for name, p := range s.by {
		out[name] = clone(p)
	}
	return out
}

// Change is a planned change. After is the policy once it is applied.
type Change struct {
	After gatewayapi.Policy
	name  string
	set   *Set
}

// Plan plans to change the fields of a policy that are present.
func (s *Set) Plan(name string, p gatewayapi.PolicyPatch) (*Change, error) {
	after := s.Get(name)
	replace(&after.Writes, p.Writes)
	replace(&after.Paths, p.Paths)
	replace(&after.Forbidden, p.Forbidden)
	replace(&after.BranchPrefixes, p.BranchPrefixes)
	replace(&after.ProtectedRefs, p.ProtectedRefs)
	replace(&after.RepositoryIDs, p.RepositoryIDs)
	if err := check(name, after); err != nil {
		return nil, err
	}
	return &Change{After: clone(after), name: name, set: s}, nil
}

func replace[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

// Apply writes the file and then makes the change visible.
func (c *Change) Apply() error {
	s := c.set
	s.mu.Lock()
	defer s.mu.Unlock()
	next := maps.Clone(s.by)
	if next[c.name] = clone(c.After); isEmpty(c.After) {
		delete(next, c.name)
	}
	if len(next) > maxPolicies {
		return invalid("there are %d policies already", len(s.by))
	}
	if s.path != "" {
		if err := write(s.path, next); err != nil {
			return fmt.Errorf("policy: write %s: %w; the policy is as it was", s.path, err)
		}
	}
	s.by = next
	return nil
}

// write replaces a file whole and syncs it.
func write(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".policies-")
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// isEmpty: a policy that adds nothing need not be kept.
func isEmpty(p gatewayapi.Policy) bool {
	return len(p.Writes)+len(p.Paths)+len(p.Forbidden)+len(p.BranchPrefixes)+len(p.ProtectedRefs)+len(p.RepositoryIDs) == 0
}

func clone(p gatewayapi.Policy) gatewayapi.Policy {
	p.Writes, p.Paths, p.Forbidden = slices.Clone(p.Writes), slices.Clone(p.Paths), slices.Clone(p.Forbidden)
	p.BranchPrefixes, p.ProtectedRefs, p.RepositoryIDs = slices.Clone(p.BranchPrefixes), slices.Clone(p.ProtectedRefs), maps.Clone(p.RepositoryIDs)
	return p
}

// check refuses a policy that could not be meant as it is written.
func check(name string, p gatewayapi.Policy) error {
	if err := upstream.CheckName(name); err != nil {
		return invalid("%v", err)
	}
	if max(len(p.Writes), len(p.Paths), len(p.Forbidden), len(p.BranchPrefixes), len(p.ProtectedRefs), len(p.RepositoryIDs)) > maxEntries {
		return invalid("a list has more than %d entries", maxEntries)
	}
	for _, r := range p.Writes {
		if err := checkRule(r); err != nil {
			return err
		}
	}
	for _, r := range p.Forbidden {
		if err := checkRule(r.OperationRule); err != nil {
			return err
		}
		if r.Effect != gatewayapi.EffectBlock && r.Effect != gatewayapi.EffectAsk && r.Effect != gatewayapi.EffectWarn {
			return invalid("effect %.16q: write block, ask or warn", r.Effect)
		}
	}
	for _, path := range p.Paths {
		if err := checkPattern(path); err != nil {
			return err
		}
	}
	return checkRefs(p)
}

// checkRefs looks at branches and at the ids of repositories.
func checkRefs(p gatewayapi.Policy) error {
	for _, prefix := range p.BranchPrefixes {
		if !strings.HasSuffix(prefix, "/") || !plainBranch(prefix+"x") {
			return invalid("branch prefix %.80q: write a name with a slash at its end", prefix)
		}
	}
	for _, ref := range p.ProtectedRefs {
		if ref == "" || len(ref) > 256 {
			return invalid("protected ref %.80q is not a name", ref)
		}
	}
	numbers := map[int64]bool{}
	for repo, number := range p.RepositoryIDs {
		if owner, rest, ok := strings.Cut(repo, "/"); !ok || owner == "" || rest == "" || number <= 0 || numbers[number] {
			return invalid("repository id of %.80q: write owner/name and a number that no other has", repo)
		}
		numbers[number] = true
	}
	return nil
}
