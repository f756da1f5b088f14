package auditindex

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"moeca/internal/audit"
)

func TestACallIsAnIntentWithItsOutcome(t *testing.T) {
	r := newRig(t)
	a := who("7", "run-1", "s1")
	done := r.call(a, 100, 20)
	failed := r.append(intent(a), "", "")
	o := outcome(a, failed, 0, 0)
	o.Result, o.Status, o.Attrs = audit.ResultUpstreamError, 502, []audit.Attr{{Key: audit.AttrUsage, Value: audit.UsageUnknown}}
	r.append(o, "", "")
	counted := refusal(a)
	counted.Attrs = []audit.Attr{{Key: "count", Value: "40"}}
	refused := r.append(counted, "", "")
	open := r.append(intent(a), "", "")
	r.sync()

	page, err := r.x.Calls(t.Context(), Query{Limit: 10, Oldest: true})
	r.check(err)
	got := map[int64]CallState{}
	for _, c := range page.Items {
		got[c.Seq] = c.State
	}
	want := map[int64]CallState{done: StateOK, failed: StateFailed, refused: StateRefused, open: StateOpen}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("calls are %v, want %v", got, want)
	}
	c := page.Items[0]
	if c.Input != 100 || c.Output != 20 || c.CostNano != 20_000 || c.Class != "inference" || c.DurationUS != 500_000 || c.Outcome != done+1 {
		t.Errorf("the call is %+v", c)
	}
	sum, err := r.x.Run(t.Context(), "run-1")
	r.check(err)
	if sum.Calls != 3 || sum.Open != 1 || sum.Failed != 1 || sum.Refused != 40 || sum.Unmetered != 1 || sum.Input != 100 || sum.Sessions != 1 {
		t.Errorf("the run is %+v", sum)
	}
}

// TestAnIndexIsTheSameHoweverItWasMade indexes one log at once, row by row, and
// with an interruption at each step, and compares every table.
func TestAnIndexIsTheSameHoweverItWasMade(t *testing.T) {
	r := newRig(t)
	random := rand.New(rand.NewPCG(1, 2))
	var open []int64
	for i := range 60 {
		a := who([]string{"1", "2", ""}[i%3], []string{"ra", "rb"}[i%2], []string{"sa", "sb", "sc"}[i%3])
		switch random.IntN(4) {
		case 0:
			r.append(refusal(a), "refused text", "")
		case 1, 2:
			open = append(open, r.append(intent(a), `{"messages":[{"role":"user","content":"question"}]}`, ""))
		case 3:
			if len(open) > 0 {
				o := outcome(a, open[0], int64(i), 3)
				o.Model = "claude-y" // the answer names another model
				r.append(o, "", `{"content":[{"type":"text","text":"answer"}]}`)
				open = open[1:]
			}
		}
		r.sync() // row by row
	}
	r.append(audit.Record{Kind: audit.KindAdmin, Actor: audit.ActorPerson, Subject: "budget.set day"}, "", "")
	r.sync()
	want := dump(t, r.x)

	r.check(r.x.Reset(t.Context()))
	r.sync()
	if got := dump(t, r.x); got != want {
		t.Errorf("made at once:\n%s\nmade row by row:\n%s", got, want)
	}

	r.check(r.x.Close())
	os.Remove(r.path())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r.openIndex()
	if err := r.x.Sync(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted sync: %v", err)
	}
	r.check(r.x.Close())
	r.openIndex()
	r.sync()
	if got := dump(t, r.x); got != want {
		t.Errorf("after an interruption:\n%s\nwant:\n%s", got, want)
	}
}

// dump is every row of every table.
func dump(t *testing.T, x *Index) string {
	t.Helper()
	var out []string
	err := x.read(t.Context(), func(tx *sql.Tx) error {
		for _, table := range []string{"log", "row", "call", "node", "total", "words"} {
			rows, err := tx.Query("SELECT * FROM " + table)
			if err != nil {
				return err
			}
			columns, err := rows.Columns()
			if err != nil {
				return err
			}
			if err := each(rows, func() error {
				values, dest := make([]any, len(columns)), make([]any, len(columns))
				for i := range values {
					dest[i] = &values[i]
				}
				err := rows.Scan(dest...)
				line := table
				for _, v := range values {
					line += " | " + strings.ReplaceAll(strings.Trim(strings.Join(strings.Fields(toString(v)), " "), "\n"), "\n", " ")
				}
				out = append(out, line)
				return err
			}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

func TestAnIndexThatDoesNotFitIsMadeAgain(t *testing.T) {
	for what, spoil := range map[string]func(r *rig){
		"another format": func(r *rig) { r.exec(`UPDATE log SET format = format + 1`) },
		"another log":    func(r *rig) { r.openLog("other"); r.call(who("9", "other", "so"), 1, 1) },
		"another end":    func(r *rig) { r.exec(`UPDATE log SET hash = zeroblob(32)`) },
		"a longer log":   func(r *rig) { r.exec(`UPDATE log SET head = head + 100`) },
		"a newer schema": func(r *rig) { r.exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)`) },
		"a lost table":   func(r *rig) { r.exec(`DROP TABLE log`) },
		"no database": func(r *rig) {
			r.check(r.x.Close())
			r.check(os.WriteFile(r.path(), []byte(strings.Repeat("not a database ", 1000)), 0o600))
		},
		"a deleted file": func(r *rig) { r.check(r.x.Close()); r.check(os.Remove(r.path())) },
	} {
		t.Run(what, func(t *testing.T) {
			r := newRig(t)
			r.call(who("7", "run-1", "s1"), 5, 5)
			r.sync()
			spoil(r)
			r.check(r.x.Close())
			r.openIndex()
			if got := r.x.State().Head; got != 0 {
				t.Errorf("an index that does not fit starts at row %d", got)
			}
			r.sync()
			last, _ := r.read.Refresh()
			if got := r.x.State(); got.Head != last {
				t.Errorf("state %+v of %d rows", got, last)
			}
			if len(r.seqs(Filter{})) != 1 {
				t.Errorf("calls: %v", r.seqs(Filter{}))
			}
		})
	}
}

func (r *rig) exec(query string) {
	r.t.Helper()
	r.check(r.x.db.Write(r.t.Context(), func(tx *sql.Tx) error { _, err := tx.Exec(query); return err }))
}

func TestAnIndexIsResumed(t *testing.T) {
	r := newRig(t)
	r.call(who("7", "run-1", "s1"), 5, 5)
	r.sync()
	head := r.x.State().Head
	r.check(r.x.Close())
	r.call(who("7", "run-1", "s1"), 5, 5)
	r.openIndex()
	if got := r.x.State().Head; got != head {
		t.Errorf("opened at row %d, want %d", got, head)
	}
	r.sync()
	if len(r.seqs(Filter{Run: "run-1"})) != 2 {
		t.Error("not both calls are there")
	}
}

func TestOnlyOneProcessHasTheIndex(t *testing.T) {
	r := newRig(t)
	if _, err := Open(t.Context(), r.path(), r.read); !errors.Is(err, ErrLocked) {
		t.Errorf("a second one: %v", err)
	}
	r.call(who("7", "run-1", "s1"), 5, 5)
	r.sync()
	if len(r.seqs(Filter{})) != 1 {
		t.Error("the first one lost its database")
	}
}

func TestDamageOfTheLogEndsTheIndexBeforeIt(t *testing.T) {
	r := newRig(t)
	first := r.call(who("7", "run-1", "s1"), 5, 5)
	broken := r.call(who("7", "run-1", "s1"), 6, 6)
	for range 50 { // damage in the last batch is no damage: a crash explains it
		r.call(who("8", "run-2", "s2"), 1, 1)
	}
	r.check(r.log.Close())
	segment := filepath.Join(r.dir, "audit", "seg-000001.log")
	raw, err := os.ReadFile(segment)
	r.check(err)
	at := strings.Index(string(raw), "claude-x")
	for range 2 { // the intent of the second call
		at += 8 + strings.Index(string(raw[at+8:]), "claude-x")
	}
	raw[at] ^= 1
	r.check(os.WriteFile(segment, raw, 0o600))
	read, err := audit.OpenReader(filepath.Join(r.dir, "audit"))
	r.check(err)
	defer read.Close()
	r.check(r.x.Close())
	r.read = read
	r.openIndex()
	r.sync()
	if s := r.x.State(); s.Problem == "" || s.Head != broken-1 || s.Last != broken-1 {
		t.Errorf("state is %+v, damage is at %d", s, broken)
	}
	if got := r.seqs(Filter{}); !slices.Equal(got, []int64{first}) {
		t.Errorf("calls before the damage: %v", got)
	}
}

func TestFollowTellsOfNewRowsOnly(t *testing.T) {
	r := newRig(t)
	heads := make(chan int64, 100)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.x.Follow(ctx, time.Millisecond, func(s State) { heads <- s.Head }, func(err error) { t.Error(err) })
	}()
	seq := r.call(who("7", "run-1", "s1"), 5, 5)
	for head := int64(0); head < seq+1; {
		next := <-heads
		if next <= head {
			t.Errorf("told of row %d after %d", next, head)
		}
		head = next
	}
	cancel()
	<-done
}

// TestADamagedIndexMendsItself spoils each page of an index, which is found out
// by an answer or by a batch.
func TestADamagedIndexMendsItself(t *testing.T) {
	r := newRig(t)
	for i := range 40 {
		seq := r.append(intent(who("1", "r", "s")), `{"model":"m","messages":[{"role":"user","content":"question `+strings.Repeat("x", i*40)+`"}]}`, "")
		r.append(outcome(who("1", "r", "s"), seq, 1, 1), "", "")
	}
	r.sync()
	want := dump(t, r.x)
	r.check(r.x.Close())
	good, err := os.ReadFile(r.path())
	r.check(err)
	const page = 4096
	healed := 0
	for at := 0; at < len(good); at += page {
		bad := slices.Clone(good)
		for i := at; i < at+page; i++ {
			bad[i] ^= 0x5a
		}
		r.check(os.WriteFile(r.path(), bad, 0o600))
		r.openIndex()
		err := r.x.read(t.Context(), func(tx *sql.Tx) error { // what looks at all of it
			var n int
			for _, table := range []string{"row", "call", "node", "total", "words"} {
				if err := tx.QueryRow("SELECT count(*) FROM (SELECT * FROM " + table + " ORDER BY 1 DESC)").Scan(&n); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil && !r.x.damaged.Load() {
			t.Errorf("page %d: damage was not noticed: %v", at/page, err)
		}
		if err != nil {
			healed++
			r.check(r.x.Nudge(t.Context()))
			r.sync()
			if got := dump(t, r.x); got != want {
				t.Errorf("page %d: made again:\n%s", at/page, got)
			}
		}
		r.check(r.x.Close())
	}
	if healed < 3 {
		t.Errorf("%d pages were mended", healed)
	}
}

// TestAnIndexThatWasLostIsMadeAgain: a purge closes the database and could not
// open it again.
func TestAnIndexThatWasLostIsMadeAgain(t *testing.T) {
	r := newRig(t)
	r.call(who("1", "r", "s"), 1, 1)
	r.sync()
	want := dump(t, r.x)
	r.x.mu.Lock()
	r.check(r.x.db.Close())
	r.x.db = nil
	r.x.mu.Unlock()
	if _, err := r.x.Calls(t.Context(), Query{Limit: 1}); err == nil {
		t.Error("an answer without a database")
	}
	r.check(r.x.Nudge(t.Context()))
	r.sync()
	if got := dump(t, r.x); got != want {
		t.Errorf("made again:\n%s", got)
	}
	r.check(r.x.Close())
	_ = r.x.Nudge(t.Context())
	if _, err := r.x.Calls(t.Context(), Query{Limit: 1}); err == nil {
		t.Error("a closed index opened itself")
	}
}
