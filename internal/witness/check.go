package witness

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"moeca/internal/audit"
)

// maxCompared is how many of the newest checkpoints of a list are compared.
const maxCompared = 1000

// maxStates is how many states of a repository are read.
const maxStates = 200

// log is the log as its own checkpoint has it now.
type log struct {
	dir  string
	now  audit.Checkpoint
	err  error    // why there is no checkpoint
	past []string // origins of logs that a person has ended
	rows bool     // where the checkpoint is behind, ask the rows
}

func readLog(dir string, past []string) log {
	c, _, err := audit.ReadCheckpoint(dir)
	return log{dir: dir, now: c, err: err, past: past}
}

// ended says whether a checkpoint is of a log that a person has ended.
func (l log) ended(c audit.Checkpoint) bool {
	return c.Origin != l.now.Origin && slices.Contains(l.past, c.Origin)
}

// continues says in words what the log does not continue, or "". An error means
// that it could not be told.
func (l log) continues(ctx context.Context, held audit.Checkpoint) (string, error) {
	switch {
	case errors.Is(l.err, audit.ErrUnsigned) || errors.Is(l.err, fs.ErrNotExist):
		return "there is no signed log any more: it was deleted", nil
	case l.err != nil:
		return "", l.err
	case l.rows && held.Origin == l.now.Origin && held.Size > l.now.Size: // a power cut may have taken the newest checkpoint
		if rep, err := audit.Verify(ctx, l.dir, audit.VerifyOptions{Held: &held}); err != nil || rep.OK {
			return "", err
		}
	}
	err := audit.Continues(ctx, l.dir, l.now, held)
	var diverged *audit.DivergedError
	if errors.As(err, &diverged) {
		return diverged.Problem, nil
	}
	return "", err
}

// judge compares what a witness saw with the log.
func (l log) judge(ctx context.Context, f Finding, seen []audit.Sighting) Finding {
	f.OK, f.Entries = true, len(seen)
	if len(seen) > maxCompared {
		seen = seen[len(seen)-maxCompared:]
	}
	for _, s := range slices.Backward(seen) {
		problem, err := l.continues(ctx, s.Checkpoint)
		if s.Checkpoint.Size >= f.Size {
			f.Size, f.At = s.Checkpoint.Size, s.At
		}
		switch {
		case err != nil:
			f.OK, f.Problem = false, "it cannot be compared: "+err.Error()
			return f
		case problem != "":
			f.OK, f.Found, f.Size, f.At = false, true, s.Checkpoint.Size, s.At
			f.Problem = saw(s) + ": " + problem
			return f
		}
	}
	return f
}

// saw begins the sentence about a sighting.
func saw(s audit.Sighting) string {
	if s.At.IsZero() {
		return fmt.Sprintf("it holds a checkpoint of %d rows", s.Checkpoint.Size)
	}
	return fmt.Sprintf("it saw %d rows at %s", s.Checkpoint.Size, at(s.At))
}

// checkFile judges a list: every entry must be of this log, but for those of logs
// before it, which a person has ended or the list itself shows to be over.
func (l log) checkFile(ctx context.Context, f Finding, path string, most int64) Finding {
	seen, unreadable, err := list{path}.read(most)
	if err != nil {
		f.Problem = err.Error()
		return f
	}
	return l.checkList(ctx, f, seen, unreadable)
}

func (l log) checkList(ctx context.Context, f Finding, seen []audit.Sighting, unreadable int) Finding {
	if unreadable > 0 {
		f.Note = fmt.Sprintf("%d entries cannot be read", unreadable)
	}
	if n := len(seen); n > 0 {
		seen = slices.DeleteFunc(slices.Clone(seen), func(s audit.Sighting) bool { return l.ended(s.Checkpoint) })
		if n -= len(seen); n > 0 {
			f.Note = join(f.Note, fmt.Sprintf("%d entries are of logs that were ended", n))
		}
	}
	if len(seen) == 0 {
		f.OK = unreadable == 0
		if f.Problem = "it holds no checkpoint yet"; !f.OK {
			f.Problem = "it holds no checkpoint that can be read"
		}
		return f
	}
	last := seen[len(seen)-1].Checkpoint.Origin
	if own := slices.IndexFunc(seen, func(s audit.Sighting) bool { return s.Checkpoint.Origin == last }); own > 0 && last == l.now.Origin {
		f.Note = join(f.Note, fmt.Sprintf("%d entries are of logs before this one", own))
		seen = slices.DeleteFunc(slices.Clone(seen), func(s audit.Sighting) bool { return s.Checkpoint.Origin != last })
	}
	return l.judge(ctx, f, seen)
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// checkRepo judges what a repository holds of this log. Other logs may keep their
// checkpoints there too; the state says of which log we did.
func (l log) checkRepo(ctx context.Context, f Finding, h History, s State) Finding {
	states, err := h.Witnessed(ctx, maxStates)
	if err != nil {
		f.Problem = err.Error()
		return f
	}
	ours := l.now.Origin
	if c, ok := s.checkpoint(); ok && !l.ended(c) {
		ours = c.Origin
	}
	var seen []audit.Sighting
	others := 0
	for _, state := range slices.Backward(states) {
		c, err := audit.ParseCheckpoint(string(state.Content))
		switch {
		case err != nil || state.At.Before(s.After.Truncate(time.Second)):
		case c.Origin == ours:
			seen = append(seen, audit.Sighting{At: state.At, Checkpoint: c})
		default:
			others++
		}
	}
	if others > 0 {
		f.Note = fmt.Sprintf("%d commits are of another log", others)
	}
	if len(seen) == 0 {
		f.Problem = "it holds no checkpoint of this log"
		if f.OK = s.At.IsZero() || l.ended(checkpointIn(s)); !f.OK {
			f.Problem = fmt.Sprintf("it holds no checkpoint, and one of %d rows was put there at %s: the ref was taken away", s.Size, at(s.At))
		}
		return f
	}
	return l.judge(ctx, f, seen)
}

func checkpointIn(s State) audit.Checkpoint { c, _ := s.checkpoint(); return c }

// checkState judges the checkpoint that was kept in the state itself.
func (l log) checkState(ctx context.Context, f Finding, s State) Finding {
	c, ok := s.checkpoint()
	if !ok || l.ended(c) {
		f.OK, f.Problem = true, "it has seen nothing yet"
		return f
	}
	return l.judge(ctx, f, []audit.Sighting{{At: s.At, Checkpoint: c}})
}

// Look compares the log in dir with everything the data directory knows of
// witnesses, and with further lists that a person brings.
func Look(ctx context.Context, data, dir string, open func(context.Context, Repo) (History, error), further []string) ([]Finding, error) {
	k, err := load(data)
	if err != nil {
		return nil, err
	}
	l := readLog(dir, k.Past)
	l.rows = true
	var out []Finding
	for _, v := range k.views() {
		if v.Setting.Off {
			continue
		}
		out = append(out, l.look(ctx, v, open))
	}
	for _, path := range further {
		f := Finding{ID: "given:" + path, Kind: "given", Name: path}
		text, err := os.ReadFile(path)
		if err != nil {
			f.Problem = err.Error()
		} else {
			seen, unreadable := audit.ParseSightings(string(text))
			if f = l.checkList(ctx, f, seen, unreadable); f.Entries == 0 {
				f.OK = false
			}
		}
		out = append(out, f)
	}
	return out, nil
}

// Cosigned is the furthest checkpoint that a witness has cosigned, as the data
// directory knows it.
func Cosigned(data string) (best audit.Checkpoint, ok bool) {
	k, err := load(data)
	if err != nil {
		return best, false
	}
	for _, v := range k.views() {
		c, kept := v.State.checkpoint()
		key, err := audit.ParseWitnessKey(v.Setting.Key)
		if !kept || err != nil || v.Setting.Kind != KindURL || c.Size <= best.Size {
			continue
		}
		if _, err := key.Cosigned(c); err == nil {
			best, ok = c, true
		}
	}
	return best, ok
}

// look is what one witness says now.
func (l log) look(ctx context.Context, v View, open func(context.Context, Repo) (History, error)) Finding {
	f := Finding{ID: v.ID, Kind: v.Setting.Kind, Name: v.State.Name}
	switch v.Setting.Kind {
	case KindFile:
		return l.checkFile(ctx, f, v.Setting.Path, wholeList)
	case KindRepo:
		h, err := open(ctx, Repo{v.Setting.Repo, v.State.Name})
		if err != nil {
			f.Problem = err.Error()
			return f
		}
		return l.checkRepo(ctx, f, h, v.State)
	case KindURL:
		f = l.checkState(ctx, f, v.State)
		if key, err := audit.ParseWitnessKey(v.Setting.Key); err == nil && v.State.Text != "" {
			if _, err := key.Cosigned(checkpointIn(v.State)); err != nil {
				f.OK, f.Problem = false, "what was kept of it has no cosignature of its key: "+err.Error()
			}
			f.Cosigner = key.Name()
		}
	default:
		f = l.checkState(ctx, f, v.State)
	}
	if v.State.Diverged && f.OK {
		f.OK, f.Found, f.Problem = false, true, v.State.Problem
	}
	return f
}

// views are all witnesses: the host's own first, then what a person named, then
// repositories that are kept in without being told to.
func (k kept) views() []View {
	out := []View{{HostID, Setting{Kind: KindHost}, k.States[HostID]}}
	named := map[string]bool{HostID: true}
	for _, s := range k.Settings {
		state := k.States[s.ID()]
		if state.Name == "" {
			state.Name = s.Path + s.URL + s.Repo
		}
		named[s.ID()] = true
		out = append(out, View{s.ID(), s, state})
	}
	var rest []View
	for id, state := range k.States {
		if s, ok := repoOf(id); ok && !named[id] {
			rest = append(rest, View{id, s, state})
		}
	}
	slices.SortFunc(rest, func(a, b View) int { return a.State.At.Compare(b.State.At) })
	out[0].State.Name = "this host"
	return append(out, rest...)
}
