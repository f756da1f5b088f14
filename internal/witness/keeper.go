package witness

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"moeca/internal/audit"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/git"
)

// Options of a Keeper.
type Options struct {
	Data    string // data directory, in which witness.json is
	Log     string // directory of the log
	Gateway Gateway
	Repos   func(ctx context.Context) ([]Repo, error)
	Open    func(ctx context.Context, r Repo) (History, error)
	Now     func() time.Time
	Logger  *slog.Logger
}

// Keeper tells witnesses of the log.
type Keeper struct {
	o     Options
	round sync.Mutex // held over a round
	kick  chan string

	mu   sync.Mutex
	kept kept
}

// Open reads what is kept.
func Open(o Options) (*Keeper, error) {
	k, err := load(o.Data)
	if err != nil {
		return nil, err
	}
	return &Keeper{o: o, kept: k, kick: make(chan string, 16)}, nil
}

// Run goes on until ctx ends, and then tells the witnesses that are near a last
// time.
func (k *Keeper) Run(ctx context.Context) {
	t := time.NewTicker(roundEvery)
	defer t.Stop()
	k.Round(ctx, "")
	for {
		select {
		case <-ctx.Done():
			return
		case repo := <-k.kick:
			k.Round(ctx, repo)
		case <-t.C:
			k.Round(ctx, "")
		}
	}
}

// Merged says that something was merged in a repository: the log is kept there at
// once. It waits for nothing.
func (k *Keeper) Merged(repo string) {
	select {
	case k.kick <- repo:
	default: // rounds are behind; the next one that is due keeps it
	}
}

// Views are all witnesses with their state.
func (k *Keeper) Views() []View {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.kept.views()
}

// Last is the witness that saw the log last, the host's own pin left aside; ok is
// false where none ever did.
func (k *Keeper) Last() (last View, ok bool) {
	for _, v := range k.Views() {
		if v.Setting.Kind != KindHost && !v.Setting.Off && v.State.At.After(last.State.At) {
			last, ok = v, true
		}
	}
	return last, ok
}

// Trust says why the log is not to be relied on, as far as it can be told without
// leaving this machine: it does not continue what the host saw last, or a witness
// found that it does not continue what that one saw.
func (k *Keeper) Trust(ctx context.Context) error {
	views := k.Views()
	for _, v := range views {
		if v.State.Diverged && !v.Setting.Off {
			return fmt.Errorf("the audit log is not what %s saw: %s", v.says(), v.State.Problem)
		}
	}
	if f := readLog(k.o.Log, k.past()).look(ctx, views[0], nil); !f.OK {
		return fmt.Errorf("the audit log is not what this host saw: %s", f.Problem)
	}
	return nil
}

func (k *Keeper) past() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.kept.Past)
}

// says names a witness in a sentence.
func (v View) says() string {
	switch v.Setting.Kind {
	case KindFile:
		return "the file " + v.State.Name
	case KindRepo:
		return git.WitnessRef + " of " + v.State.Name
	case KindURL:
		return "the witness " + v.State.Name
	}
	return "this host"
}

// Round tells every witness for whom it is time; the repository merged in one.
func (k *Keeper) Round(ctx context.Context, merged string) {
	k.round.Lock()
	defer k.round.Unlock()
	now, err := k.pin(ctx)
	if err != nil {
		if ctx.Err() == nil {
			k.o.Logger.Warn("the audit log is told to no witness", "error", err)
		}
		return
	}
	for _, v := range k.due(ctx, now, merged) {
		state, err := k.tell(ctx, v, now)
		if ctx.Err() != nil {
			return
		}
		k.took(v, state, err)
	}
	k.mu.Lock()
	err = k.kept.save(k.o.Data)
	k.mu.Unlock()
	if err != nil {
		k.o.Logger.Warn("what witnesses saw is not kept", "error", err)
	}
}

// pin has the log signed as it is and keeps that, if it continues what was kept.
func (k *Keeper) pin(ctx context.Context) (audit.Checkpoint, error) {
	answer, err := k.o.Gateway.Checkpoint(ctx)
	if err != nil {
		return audit.Checkpoint{}, err
	}
	now, err := audit.ParseCheckpoint(answer.Text)
	if err == nil {
		err = now.Verify(answer.Vkey)
	}
	if err != nil {
		return now, err
	}
	return now, k.move(ctx, now, k.o.Now())
}

// move sets the host's pin to a checkpoint that continues it.
func (k *Keeper) move(ctx context.Context, to audit.Checkpoint, when time.Time) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	state := k.kept.States[HostID]
	held, some := state.checkpoint()
	if state.Diverged {
		return errors.New(state.Problem)
	}
	if some && held.Origin == to.Origin && held.Size == to.Size && held.Root == to.Root {
		return nil
	}
	if some {
		problem, err := log{dir: k.o.Log, now: to}.continues(ctx, held)
		if err != nil {
			return err
		}
		if problem != "" { // for good, until a person says otherwise
			state.Diverged, state.Problem = true, saw(audit.Sighting{At: state.At, Checkpoint: held})+": "+problem
			k.kept.States[HostID] = state
			return errors.Join(errors.New(state.Problem), k.kept.save(k.o.Data))
		}
	}
	k.kept.States[HostID] = State{Name: "this host", At: when.UTC(), Size: to.Size, Text: to.Text}
	return k.kept.save(k.o.Data)
}

// due are the witnesses for whom it is time.
func (k *Keeper) due(ctx context.Context, now audit.Checkpoint, merged string) []View {
	views := k.All(ctx)
	at := k.o.Now()
	return slices.DeleteFunc(views, func(v View) bool {
		return v.Setting.Kind == KindHost || v.Setting.Off || !v.isDue(now, at, v.Setting.Kind == KindRepo && v.Setting.Repo == merged)
	})
}

// All are the witnesses of Views, with repositories in which nothing was kept yet
// and without those that were removed.
func (k *Keeper) All(ctx context.Context) []View {
	views := k.Views()
	if repos, err := k.o.Repos(ctx); err == nil {
		for _, r := range repos {
			s := Setting{Kind: KindRepo, Repo: r.ID}
			i := slices.IndexFunc(views, func(v View) bool { return v.ID == s.ID() })
			if i < 0 {
				views, i = append(views, View{ID: s.ID(), Setting: s}), len(views)
			}
			views[i].State.Name = r.Path
		}
		views = slices.DeleteFunc(views, func(v View) bool { // of repositories that were removed
			return v.Setting.Kind == KindRepo && !slices.ContainsFunc(repos, func(r Repo) bool { return r.ID == v.Setting.Repo })
		})
	}
	return views
}

// isDue says whether it is time to tell a witness.
func (v View) isDue(now audit.Checkpoint, at time.Time, asked bool) bool {
	s := v.State
	pace := map[string]time.Duration{KindFile: filePace, KindURL: urlPace, KindRepo: repoPace}[v.Setting.Kind]
	grown := now.Size > s.Size+s.Own
	switch {
	case asked:
		return true
	case s.Diverged:
		return at.Sub(s.Tried) >= urlPace // it may have been a mistake of the witness
	case s.Problem != "" && v.Setting.Kind != KindFile:
		return at.Sub(s.Tried) >= retryPace
	case s.Problem != "":
		return true
	case v.Setting.Kind == KindRepo && s.At.IsZero():
		return false // begins with its first merge
	case s.At.IsZero():
		return true
	case v.Setting.Kind == KindRepo:
		return grown && at.Sub(s.At) >= pace
	}
	return grown && at.Sub(s.At) >= pace || at.Sub(s.At) >= idlePace || at.Before(s.At)
}

// foundError is what a witness saw that the log does not continue.
type foundError string

func (e foundError) Error() string { return string(e) }

// tell compares the log with what a witness saw, then tells it.
func (k *Keeper) tell(ctx context.Context, v View, now audit.Checkpoint) (State, error) {
	s := v.State
	when := k.o.Now()
	switch v.Setting.Kind {
	case KindFile:
		return k.tellFile(ctx, v, now, when)
	case KindRepo:
		return k.tellRepo(ctx, v, now, when)
	}
	answer, err := k.o.Gateway.AskWitness(ctx, gatewayapi.WitnessAsk{URL: v.Setting.URL, Key: v.Setting.Key, Local: v.Setting.Local, Old: s.Size})
	var refused *gatewayapi.StatusError
	if errors.As(err, &refused) {
		err = errors.New(refused.Body.Message)
		if refused.Body.Reason == gatewayapi.WitnessAhead {
			err = foundError(refused.Body.Message)
		}
	}
	if err != nil {
		k.own(v.ID, gatewayapi.WitnessRows)
		s.Own += gatewayapi.WitnessRows
		return s, err
	}
	k.own(v.ID, gatewayapi.WitnessRows)
	key, err := audit.ParseWitnessKey(v.Setting.Key)
	if err != nil {
		return s, err
	}
	c, err := audit.ParseCheckpoint(answer.Text)
	if err != nil {
		return s, err
	}
	signed, err := key.Cosigned(c)
	if err != nil {
		return s, err
	}
	if err := k.move(ctx, c, when); err != nil {
		return s, err
	}
	s = State{Name: s.Name, At: signed, Size: c.Size, Text: c.Text, Own: 1} // the row that it was cosigned
	if when.Sub(signed).Abs() > time.Hour {
		s.Note = "its clock says " + at(signed) + " where this machine's says " + at(when)
		s.At = when.UTC()
	}
	return s, nil
}

func (k *Keeper) tellFile(ctx context.Context, v View, now audit.Checkpoint, when time.Time) (State, error) {
	f := log{dir: k.o.Log, now: now, past: k.past()}.checkFile(ctx, Finding{}, v.Setting.Path, endOfList)
	switch {
	case f.Found:
		return v.State, foundError(f.Problem)
	case !f.OK && (f.Note == "" || v.State.Size > 0): // but for a first entry that was cut off
		return v.State, errors.New(f.Problem)
	case f.Note == "" && f.Entries == 0 && v.State.Size > 0:
		return v.State, foundError(fmt.Sprintf("it is empty, and an entry of %d rows was written at %s: the file was replaced", v.State.Size, at(v.State.At)))
	}
	l := list{v.Setting.Path}
	if err := l.add(audit.Sighting{At: when, Checkpoint: now}); err != nil {
		return v.State, err
	}
	s := State{Name: v.State.Name, At: when.UTC(), Size: now.Size, Text: now.Text, Note: f.Note}
	if l.sameVolume(k.o.Data) {
		s.Note = join(s.Note, "it lies on the volume of the log and goes with it")
	}
	return s, nil
}

func (k *Keeper) tellRepo(ctx context.Context, v View, now audit.Checkpoint, when time.Time) (State, error) {
	h, err := k.o.Open(ctx, Repo{v.Setting.Repo, v.State.Name})
	if err != nil {
		return v.State, err
	}
	f := log{dir: k.o.Log, now: now, past: k.past()}.checkRepo(ctx, Finding{}, h, v.State)
	switch {
	case f.Found:
		return v.State, foundError(f.Problem)
	case !f.OK:
		return v.State, errors.New(f.Problem)
	}
	message := fmt.Sprintf("Checkpoint of the audit log: %d rows\n\nKeep a copy elsewhere, or push %s.\nCheck the log against it with: moeca audit verify --witness FILE\n", now.Size, git.WitnessRef)
	if err := h.AddWitness(ctx, []byte(now.Text), message, git.Identity{Name: "moeca", Email: "moeca@localhost"}, when); err != nil {
		return v.State, err
	}
	return State{Name: v.State.Name, At: when.UTC(), Size: now.Size, Text: now.Text, Note: f.Note}, nil
}

// own counts rows that only tell of a witness against all witnesses but one, so
// that witnesses do not keep each other awake.
func (k *Keeper) own(except string, rows int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for id, s := range k.kept.States {
		if id != except && id != HostID {
			s.Own += rows
			k.kept.States[id] = s
		}
	}
}

// took keeps how it went.
func (k *Keeper) took(v View, s State, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.has(v) {
		return // a person removed it meanwhile
	}
	s.Tried, s.Problem, s.Diverged = k.o.Now().UTC(), "", false
	if err != nil {
		s.Problem = err.Error()
		var found foundError
		s.Diverged = errors.As(err, &found)
		if s.Problem != v.State.Problem {
			k.o.Logger.Warn("a witness did not take the audit log", "witness", v.ID, "error", err)
		}
	}
	k.kept.States[v.ID] = s
}

// has says whether a witness is still set. mu is held.
func (k *Keeper) has(v View) bool {
	i := slices.IndexFunc(k.kept.Settings, func(s Setting) bool { return s.ID() == v.ID })
	if v.Setting.Kind == KindRepo {
		return i < 0 || !k.kept.Settings[i].Off
	}
	return i >= 0
}

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
	past := slices.Clone(k.kept.Past)
	if held, ok := states[id].checkpoint(); ok && id == HostID && held.Origin != readLog(k.o.Log, nil).now.Origin {
		past = append(past, held.Origin)
		for other, s := range states {
			s.Diverged = false // told again at the next round
			states[other] = s
		}
	}
	delete(states, id)
	return k.set(kept{next, states, past})
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
