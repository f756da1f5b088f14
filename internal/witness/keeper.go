package witness

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"moeca/internal/audit"
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
	said  string     // why the last one told nobody
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

// lastRound bounds what is done after the end.
const lastRound = 10 * time.Second

// Run goes on until ctx ends. What was merged before is then still kept, also by a
// host that was started for one command.
func (k *Keeper) Run(ctx context.Context) {
	t := time.NewTicker(roundEvery)
	defer t.Stop()
	k.Round(ctx, "")
	for {
		select {
		case <-ctx.Done():
			k.rest(context.WithoutCancel(ctx))
			return
		case repo := <-k.kick:
			k.Round(ctx, repo)
		case <-t.C:
			k.Round(ctx, "")
		}
	}
}

func (k *Keeper) rest(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lastRound)
	defer cancel()
	for {
		select {
		case repo := <-k.kick:
			k.Round(ctx, repo)
		default:
			return
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
	l := readLog(k.o.Log, k.past())
	l.rows = true // the gateway may not have signed again since its start
	if f := l.look(ctx, views[0], nil); !f.OK {
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

// Round tells every witness for whom it is time; after a merge in the repository
// merged, that one and all that are no repositories.
func (k *Keeper) Round(ctx context.Context, merged string) {
	k.round.Lock()
	defer k.round.Unlock()
	now, err := k.pin(ctx)
	if err != nil {
		if ctx.Err() == nil && err.Error() != k.said {
			k.said = err.Error()
			k.o.Logger.Warn("the audit log is told to no witness", "error", err)
		}
		return
	}
	k.said = ""
	due := k.due(ctx, now, merged)
	if len(due) == 0 {
		return
	}
	for _, v := range due {
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
	if some = some && !(log{now: to, past: k.kept.Past}).ended(held); some {
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
	k.kept.Past = slices.DeleteFunc(k.kept.Past, func(origin string) bool { return origin == to.Origin })
	return k.kept.save(k.o.Data)
}

// due are the witnesses for whom it is time.
func (k *Keeper) due(ctx context.Context, now audit.Checkpoint, merged string) []View {
	views := k.All(ctx)
	at := k.o.Now()
	return slices.DeleteFunc(views, func(v View) bool {
		return v.Setting.Kind == KindHost || v.Setting.Off || !v.isDue(now, at, merged != "" && (v.Setting.Kind != KindRepo || v.Setting.Repo == merged))
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
