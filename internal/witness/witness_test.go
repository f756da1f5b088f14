package witness

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"moeca/internal/audit"
	"moeca/internal/audit/witnesstest"
	"moeca/internal/gateway/gatewayapi"
	gatewaywitness "moeca/internal/gateway/witness"
	"moeca/internal/git"
)

// rig is a log with every kind of witness. The gateway's part is played by its own
// packages without a process in between.
type rig struct {
	*testing.T
	data, repo, list string
	log              *audit.Log
	witness          *witnesstest.Witness
	k                *Keeper
	now              time.Time
	shown            *gatewayapi.Checkpoint // what the gateway shows instead
}

func newRig(t *testing.T) *rig {
	t.Helper()
	real, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{
		T: t, data: filepath.Join(real, "data"), repo: filepath.Join(real, "repo"), list: filepath.Join(real, "volume", "list.txt"),
		witness: witnesstest.New(t), now: time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC),
	}
	for _, dir := range []string{r.data, filepath.Dir(r.list)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := git.Create(t.Context(), r.repo, "main", []git.NewFile{{Path: "a", Content: []byte("a\n")}}, "first", git.Identity{Name: "u", Email: "u@x"}, r.now); err != nil {
		t.Fatal(err)
	}
	r.open()
	r.witness.Know(t, r.log.Vkey())
	t.Cleanup(func() { r.log.Close() })
	return r
}

func (r *rig) dir() string { return filepath.Join(r.data, "audit") }

// open is a start of host and gateway.
func (r *rig) open() {
	r.Helper()
	log, err := audit.Open(r.dir(), audit.Options{})
	if err != nil {
		r.Fatal(err)
	}
	r.log = log
	if r.k, err = Open(Options{
		Data: r.data, Log: r.dir(), Gateway: r, Now: func() time.Time { return r.now }, Logger: slog.New(slog.DiscardHandler),
		Repos: func(context.Context) ([]Repo, error) { return []Repo{{"r1", r.repo}}, nil },
		Open:  r.history,
	}); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) history(ctx context.Context, repo Repo) (History, error) {
	src, err := git.Open(ctx, repo.Path)
	if err != nil {
		return nil, err
	}
	return git.OpenStore(ctx, filepath.Join(r.data, "git", repo.ID), src)
}

// Checkpoint implements Gateway.
func (r *rig) Checkpoint(ctx context.Context) (gatewayapi.Checkpoint, error) {
	if r.shown != nil {
		return *r.shown, nil
	}
	c, err := r.log.Checkpoint(ctx)
	return gatewayapi.Checkpoint{Origin: c.Origin, Size: c.Size, Root: c.Root.String(), Text: c.Text, Vkey: r.log.Vkey()}, err
}

// AskWitness implements Gateway.
func (r *rig) AskWitness(ctx context.Context, a gatewayapi.WitnessAsk) (gatewayapi.Witnessed, error) {
	r.rows("ask", 1)
	defer r.rows("answer", 1)
	got, err := (&gatewaywitness.Client{Dir: r.dir(), Log: r.log}).Add(ctx, gatewaywitness.Ask(a))
	if errors.Is(err, gatewaywitness.ErrAhead) {
		err = &gatewayapi.StatusError{Status: 409, Body: gatewayapi.ErrorBody{Reason: gatewayapi.WitnessAhead, Message: err.Error()}}
	}
	return gatewayapi.Witnessed{Size: got.Checkpoint.Size, Text: got.Checkpoint.Text, At: got.At}, err
}

// rows appends rows and waits for them.
func (r *rig) rows(subject string, n int) {
	r.Helper()
	for range n {
		p, err := r.log.Queue(audit.Record{Kind: audit.KindAdmin, Source: audit.SourceGateway, Actor: audit.ActorHost, Subject: subject}, nil, nil)
		if err == nil {
			err = p.Wait(context.Background())
		}
		if err != nil {
			r.Fatal(err)
		}
	}
}

// all sets every kind of witness and tells each.
func (r *rig) all() {
	r.Helper()
	for _, s := range []Setting{
		{Kind: KindFile, Path: r.list}, {Kind: KindURL, URL: r.witness.URL, Key: r.witness.Vkey, Local: true},
	} {
		if err := r.k.Put(s); err != nil {
			r.Fatal(err)
		}
	}
	r.tell()
}

// tell runs a round as after a merge, an hour later.
func (r *rig) tell() {
	r.now = r.now.Add(time.Hour)
	r.k.Round(r.Context(), "r1")
}

// findings are those of Look by kind.
func (r *rig) findings(further ...string) map[string]Finding {
	r.Helper()
	list, err := Look(r.Context(), r.data, r.dir(), r.history, further)
	if err != nil {
		r.Fatal(err)
	}
	out := map[string]Finding{}
	for _, f := range list {
		out[f.Kind] = f
	}
	return out
}

func copyDir(t *testing.T, from, to string) {
	t.Helper()
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

func TestEveryWitnessSeesALogThatGrows(t *testing.T) {
	r := newRig(t)
	r.rows("work", 5)
	r.all()
	for range 4 {
		r.rows("work", 40)
		r.tell()
	}
	if err := r.k.Trust(t.Context()); err != nil {
		t.Fatal(err)
	}
	for kind, f := range r.findings(r.list) {
		if !f.OK || f.Found || f.Size < 160 || f.At.IsZero() || f.Problem != "" {
			t.Errorf("%s: %+v", kind, f)
		}
	}
	if f := r.findings(r.list); len(f) != 5 || f[KindFile].Entries != 5 || f["given"].Entries != 5 || f[KindRepo].Entries != 5 || f[KindURL].Cosigner != "witness.example/w1" {
		t.Errorf("%+v", f)
	}
	if last, ok := r.k.Last(); !ok || last.State.At.IsZero() {
		t.Errorf("%+v", last)
	}
}

// TestWhatEachWitnessFinds attacks the log as somebody can who has everything on
// this machine, the key too, and asks each kind of witness by itself.
func TestWhatEachWitnessFinds(t *testing.T) {
	const work = 60
	for what, test := range map[string]struct {
		attack func(r *rig, early, late string)
		blind  []string // kinds that cannot tell
		want   string   // in the sentence
	}{
		"the tail is cut": {func(r *rig, early, _ string) {
			copyDir(r.T, filepath.Join(early, "audit"), r.dir())
		}, nil, "cut off"},
		"everything is written anew with the key, and longer": {func(r *rig, early, _ string) {
			copyDir(r.T, filepath.Join(early, "audit"), r.dir())
			log, err := audit.Open(r.dir(), audit.Options{})
			if err != nil {
				r.Fatal(err)
			}
			r.log = log
			r.rows("forged", 3*work)
			if err := log.Close(); err != nil {
				r.Fatal(err)
			}
		}, nil, "rewritten"},
		"all rows are deleted": {func(r *rig, _, _ string) {
			entries, err := os.ReadDir(r.dir())
			if err != nil {
				r.Fatal(err)
			}
			for _, e := range entries {
				if e.Name() != "lock" {
					os.RemoveAll(filepath.Join(r.dir(), e.Name()))
				}
			}
		}, nil, "another log"},
		"the directory is deleted": {func(r *rig, _, _ string) { os.RemoveAll(r.dir()) }, nil, "another log"},
		"the machine is set back to an older copy": {func(r *rig, early, _ string) {
			copyDir(r.T, early, r.data)
		}, []string{KindHost}, ""},
	} {
		t.Run(what, func(t *testing.T) {
			r := newRig(t)
			r.all()
			early := filepath.Join(t.TempDir(), "early")
			r.stop()
			copyDir(t, r.data, early)
			r.open()
			r.rows("work", work)
			r.tell()
			copyFile(t, r.list, r.list+".kept")
			seen := r.findings()
			r.stop()
			test.attack(r, early, "")
			if what != "the machine is set back to an older copy" {
				for kind, f := range r.findings(r.list + ".kept") { // before anything runs again
					if f.OK || !f.Found || f.Size != maxSize(seen, kind) {
						t.Errorf("%s at rest: %+v", kind, f)
					}
				}
			}
			r.open()
			r.tell()
			if strings.HasPrefix(what, "the machine") {
				r.rows("other work", 2*work) // also when the log is longer again
				r.now = r.now.Add(time.Hour)
				r.k.Round(t.Context(), "")
			}
			found := r.findings(r.list + ".kept")
			for kind, f := range found {
				blind := slices.Contains(test.blind, kind)
				if f.Found == blind || f.OK != blind || !blind && !strings.Contains(f.Problem, test.want) {
					t.Errorf("%s: %+v", kind, f)
				}
			}
			if len(found) != 5 {
				t.Errorf("%d witnesses", len(found))
			}
			if err := r.k.Trust(t.Context()); err == nil {
				t.Error("the host goes on")
			}
			if b, err := os.ReadFile(r.list); err != nil || string(b) != read(t, r.list+".kept") {
				t.Error("the evidence was written to")
			}
		})
	}
}

func maxSize(seen map[string]Finding, kind string) int64 {
	if kind == "given" {
		kind = KindFile
	}
	return seen[kind].Size
}

func (r *rig) stop() {
	if err := r.log.Close(); err != nil {
		r.Fatal(err)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	if err := os.WriteFile(to, []byte(read(t, from)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestAGatewayThatShowsAnotherLog is believed once: what it showed is kept, and a
// checkpoint that does not continue it stops everything until a person says so.
func TestAGatewayThatShowsAnotherLog(t *testing.T) {
	r := newRig(t)
	r.all()
	other := newRig(t)
	other.rows("forged", 50)
	shown, err := other.Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	kept, asked := read(t, r.list), r.witness.Asked()
	r.shown = &shown
	r.tell()
	if err := r.k.Trust(t.Context()); err == nil || !strings.Contains(err.Error(), "this host saw") {
		t.Errorf("%v", err)
	}
	r.shown = nil // and shows the right one again
	r.tell()
	if err := r.k.Trust(t.Context()); err == nil {
		t.Error("forgotten")
	}
	if read(t, r.list) != kept || r.witness.Asked() != asked {
		t.Error("a witness was told")
	}
	if err := r.k.Remove(HostID); err != nil {
		t.Fatal(err)
	}
	r.rows("work", 3)
	r.tell()
	if err := r.k.Trust(t.Context()); err != nil || read(t, r.list) == kept {
		t.Errorf("after a person took it as it is: %v", err)
	}
}

// TestALogThatAPersonBeganAnew: once what the host saw is forgotten, the log before
// is over for every witness, and the new one is told to them.
func TestALogThatAPersonBeganAnew(t *testing.T) {
	testBegunAnew(t, func(*rig) error { return nil }, func(r *rig) error { return r.k.Remove(HostID) })
}

// TestALogThatAPersonEnded is the same where the host sets the log aside itself: a
// decision that was not carried out changes nothing.
func TestALogThatAPersonEnded(t *testing.T) {
	testBegunAnew(t, func(r *rig) error {
		undo, err := r.k.End()
		if err != nil {
			return err
		}
		return undo()
	}, func(r *rig) error { _, err := r.k.End(); return err })
}

func testBegunAnew(t *testing.T, before, end func(r *rig) error) {
	r := newRig(t)
	r.all()
	if err := before(r); err != nil {
		t.Fatal(err)
	}
	r.stop()
	if err := os.Rename(r.dir(), r.dir()+".broken"); err != nil {
		t.Fatal(err)
	}
	r.open()
	r.witness.Know(t, r.log.Vkey())
	r.tell()
	if err := r.k.Trust(t.Context()); err == nil {
		t.Fatal("another log is trusted")
	}
	if err := end(r); err != nil {
		t.Fatal(err)
	}
	r.rows("work", 3)
	r.tell()
	if err := r.k.Trust(t.Context()); err != nil {
		t.Fatal(err)
	}
	for kind, f := range r.findings(r.list) {
		if !f.OK || f.Size == 0 {
			t.Errorf("%s: %+v", kind, f)
		}
	}
}

func (r *rig) view(kind string) View {
	for _, v := range r.k.Views() {
		if v.Setting.Kind == kind {
			return v
		}
	}
	return View{}
}

// TestWitnessesDoNotKeepEachOtherAwake: rows that only tell of witnesses are no
// reason to ask them again; a log at rest is told now and then all the same.
func TestWitnessesDoNotKeepEachOtherAwake(t *testing.T) {
	r := newRig(t)
	r.all()
	asked := r.witness.Asked()
	for range 10 {
		r.now = r.now.Add(time.Hour)
		r.k.Round(t.Context(), "")
	}
	if n := r.witness.Asked() - asked; n != 0 {
		t.Errorf("asked %d times about nothing new", n)
	}
	r.now = r.now.Add(3 * time.Hour)
	r.k.Round(t.Context(), "")
	if n := r.witness.Asked() - asked; n != 1 {
		t.Errorf("asked %d times in half a day", n)
	}
}

// TestARepositoryThatIsSwitchedOff, or where nothing was merged, holds nothing.
func TestARepositoryThatIsSwitchedOff(t *testing.T) {
	r := newRig(t)
	r.now = r.now.Add(48 * time.Hour)
	r.k.Round(t.Context(), "") // no merge yet
	h, err := r.history(t.Context(), Repo{"r1", r.repo})
	if err != nil {
		t.Fatal(err)
	}
	if states, err := h.Witnessed(t.Context(), 10); err != nil || len(states) != 0 {
		t.Errorf("%d, %v", len(states), err)
	}
	if err := r.k.Put(Setting{Kind: KindRepo, Repo: "r1", Off: true}); err != nil {
		t.Fatal(err)
	}
	r.tell()
	if states, err := h.Witnessed(t.Context(), 10); err != nil || len(states) != 0 {
		t.Errorf("%d, %v", len(states), err)
	}
	if err := r.k.Put(Setting{Kind: KindRepo, Repo: "r1"}); err != nil {
		t.Fatal(err)
	}
	r.tell()
	r.now = r.now.Add(25 * time.Hour)
	r.rows("work", 3)
	r.k.Round(t.Context(), "") // each day
	if states, err := h.Witnessed(t.Context(), 10); err != nil || len(states) != 2 {
		t.Errorf("%d, %v", len(states), err)
	}
	// The ref of another installation beside ours is not ours to judge.
	other := newRig(t)
	other.repo = r.repo
	other.tell()
	r.rows("work", 3)
	r.tell()
	if f := r.findings()[KindRepo]; !f.OK || f.Note == "" {
		t.Errorf("%+v", f)
	}
	if f := other.findings()[KindRepo]; !f.OK {
		t.Errorf("%+v", f)
	}
}

// TestAPersonWhoTakesALogThatWasSetBack goes on with every witness that can: the
// history in a repository counts from then on.
func TestAPersonWhoTakesALogThatWasSetBack(t *testing.T) {
	r := newRig(t)
	r.tell()
	early := filepath.Join(t.TempDir(), "early")
	r.stop()
	copyDir(t, r.data, early)
	r.open()
	r.rows("work", 9)
	r.tell()
	r.stop()
	copyDir(t, filepath.Join(early, "audit"), r.dir())
	r.open()
	r.tell()
	r.k.Round(t.Context(), "r1")
	if err := r.k.Remove(HostID); err != nil {
		t.Fatal(err)
	}
	r.tell()
	if err := r.k.Trust(t.Context()); err == nil || !strings.Contains(err.Error(), git.WitnessRef) {
		t.Fatalf("the repository still tells: %v", err)
	}
	if err := r.k.Remove("repo:r1"); err != nil {
		t.Fatal(err)
	}
	r.now = r.now.Add(time.Hour)
	r.rows("work", 2)
	r.tell()
	if err := r.k.Trust(t.Context()); err != nil {
		t.Error(err)
	}
	if f := r.findings()[KindRepo]; !f.OK || f.Entries != 1 {
		t.Errorf("%+v", f)
	}
	r.rows("work", 2)
	r.tell()
	if f := r.findings()[KindRepo]; !f.OK || f.Entries != 2 {
		t.Errorf("%+v", f)
	}
}

// TestACheckpointThatAPowerCutTook: rows are there, the file that signs the newest of
// them is an older one. Nobody cut anything off.
func TestACheckpointThatAPowerCutTook(t *testing.T) {
	r := newRig(t)
	r.all()
	older := read(t, filepath.Join(r.dir(), audit.CheckpointFile))
	r.rows("work", 9)
	r.tell()
	r.stop()
	if err := os.WriteFile(filepath.Join(r.dir(), audit.CheckpointFile), []byte(older), 0o600); err != nil {
		t.Fatal(err)
	}
	for kind, f := range r.findings(r.list) {
		if !f.OK {
			t.Errorf("%s: %+v", kind, f)
		}
	}
	if err := r.k.Trust(t.Context()); err != nil {
		t.Error(err)
	}
	r.open()
	r.tell()
	if err := r.k.Trust(t.Context()); err != nil {
		t.Error(err)
	}
}
