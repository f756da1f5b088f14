package witness

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"moeca/internal/audit"
)

// Put sets a witness: a file is made at its path, a repository switched on or off.
func (k *Keeper) Put(s Setting) error {
	switch s.Kind {
	case KindFile:
		if err := (list{s.Path}).create(k.o.Data); err != nil {
			return err
		}
		if f := readLog(k.o.Log, k.past()).checkFile(context.Background(), Finding{}, s.Path, endOfList); f.Found {
			return fmt.Errorf("%w: the log does not continue what is in %s: %s", ErrSetting, s.Path, f.Problem)
		}
	case KindURL:
		if _, err := audit.ParseWitnessKey(s.Key); err != nil {
			return fmt.Errorf("%w: %w", ErrSetting, err)
		}
		if !strings.HasPrefix(s.URL, "https://") && !(s.Local && strings.HasPrefix(s.URL, "http://")) || len(s.URL) > 2048 {
			return fmt.Errorf("%w: its address begins with https://; http:// is for a witness of your own at a literal loopback or private address, with --local", ErrSetting)
		}
	case KindRepo:
		if s.Repo == "" {
			return fmt.Errorf("%w: name the repository", ErrSetting)
		}
	default:
		return fmt.Errorf("%w: it is a file, a url or a repo", ErrSetting)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	s.Since = k.o.Now().UTC()
	next := slices.DeleteFunc(slices.Clone(k.kept.Settings), func(o Setting) bool { return o.ID() == s.ID() })
	return k.set(kept{append(next, s), k.kept.States, k.kept.Past})
}

// Remove forgets a witness. To forget what the host itself saw is to accept the
// log as it is: the next checkpoint is taken as it comes, and where it is one of
// another log, the log before is over for all witnesses.
func (k *Keeper) Remove(id string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	states := maps.Clone(k.kept.States)
	next := slices.DeleteFunc(slices.Clone(k.kept.Settings), func(o Setting) bool { return o.ID() == id })
	if _, seen := states[id]; !seen && len(next) == len(k.kept.Settings) {
		return fmt.Errorf("%w: %s", ErrUnknown, id)
	}
	after := kept{next, states, k.kept.Past}
	if held, ok := states[id].checkpoint(); ok && id == HostID && held.Origin != readLog(k.o.Log, nil).now.Origin {
		after = after.end(held.Origin)
	}
	name := after.States[id].Name
	delete(after.States, id)
	if _, repo := repoOf(id); repo { // its history stays: what is in it now counts no longer
		after.States[id] = State{Name: name, After: k.o.Now().UTC()}
	}
	return k.set(after)
}

// End says that a person ends the log as it is now, so that another one takes its
// place: what was seen of this one speaks against no other. It comes before the log
// is set aside, and undo is for when it was not.
func (k *Keeper) End() (undo func() error, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := k.kept
	held, ok := before.States[HostID].checkpoint()
	if !ok {
		return func() error { return nil }, nil
	}
	return func() error {
		k.mu.Lock()
		defer k.mu.Unlock()
		return k.set(before)
	}, k.set(before.end(held.Origin))
}

// end is k with one more log that is over.
func (k kept) end(origin string) kept {
	k.Past, k.States = append(slices.Clone(k.Past), origin), maps.Clone(k.States)
	for id, s := range k.States {
		s.Diverged = false // told again at the next round
		k.States[id] = s
	}
	return k
}

// set replaces what is kept. mu is held.
func (k *Keeper) set(next kept) error {
	if err := next.save(k.o.Data); err != nil {
		return err
	}
	k.kept = next
	return nil
}

// repoOf reads the id of a repository's witness.
func repoOf(id string) (Setting, bool) {
	repo, ok := strings.CutPrefix(id, KindRepo+":")
	return Setting{Kind: KindRepo, Repo: repo}, ok
}
