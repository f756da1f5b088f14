package witness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"moeca/internal/audit"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/git"
)

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
	k.own(v.ID, gatewayapi.WitnessRows)
	var refused *gatewayapi.StatusError
	if errors.As(err, &refused) {
		err = errors.New(refused.Body.Message)
		if refused.Body.Reason == gatewayapi.WitnessAhead {
			err = foundError(refused.Body.Message)
		}
	}
	if err != nil {
		s.Own += gatewayapi.WitnessRows
		return s, err
	}
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
	return State{Name: v.State.Name, At: when.UTC(), Size: now.Size, Text: now.Text, Note: f.Note, After: v.State.After}, nil
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
