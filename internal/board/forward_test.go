package board_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"moeca/internal/board"
)

// land runs a task that makes these changes and merges it.
func (w *world) land(title string, files map[string]string) board.Merged {
	w.t.Helper()
	w.driver.agent = edits(files)
	task := w.run(w.task(title).ID)
	_, m, err := w.ApproveAndMerge(w.t.Context(), task.ID, w.request(task.ID), person)
	if err != nil {
		w.t.Fatal(err)
	}
	return m
}

// follow does what a note advises, as a person would.
func (w *world) follow(note string) {
	w.t.Helper()
	_, command, ok := strings.Cut(note, "To bring them forward: git -C "+w.path+" ")
	if !ok {
		w.t.Fatalf("no command in %q", note)
	}
	w.git(strings.Fields(command)...)
}

// changesOf are the merges of these tests: files added, changed, removed, and
// the same file twice.
var changesOf = []map[string]string{
	{"first.txt": "1\n", "lib/a.txt": "one\n2\nthree\n"},
	{"second.txt": "2\n", "README.md": "hello again\n"},
	{"third.txt": "3\n", "first.txt": "", "lib/a.txt": "one\n2\n3\n"},
}

func TestAdviceAfterMergesLeavesTheCheckoutAsTheBranch(t *testing.T) {
	for n := 1; n <= len(changesOf); n++ {
		t.Run(fmt.Sprint(n, " merges"), func(t *testing.T) {
			w := newWorld(t).start()
			w.repo()
			var m board.Merged
			for i := range n {
				m = w.land(fmt.Sprint("Merge ", i), changesOf[i])
			}
			w.follow(m.Note)
			if got := w.git("status", "--porcelain"); got != "" {
				t.Fatalf("after the advice:\n%s", got)
			}
			w.write("mine.txt", "mine\n")
			w.commit("my next commit")
			if got := w.git("diff", "--name-only", m.Commit, "HEAD"); got != "mine.txt" {
				t.Fatalf("the next commit changes %q: it undoes a merge", got)
			}
			// A commit of the person ends the chain.
			m = w.land("After", map[string]string{"after.txt": "x\n"})
			w.follow(m.Note)
			if got := w.git("status", "--porcelain"); got != "" {
				t.Fatalf("after the advice of the merge that followed:\n%s", got)
			}
		})
	}
}

func TestAdviceKeepsAPersonsChanges(t *testing.T) {
	for n := 1; n <= len(changesOf); n++ {
		t.Run(fmt.Sprint(n, " merges"), func(t *testing.T) {
			w := newWorld(t).start()
			w.repo()
			w.write("Makefile", "test:\n\tfalse\n")
			w.write("new.txt", "not tracked\n")
			var m board.Merged
			for i := range n {
				m = w.land(fmt.Sprint("Merge ", i), changesOf[i])
			}
			w.follow(m.Note)
			if got := w.git("status", "--porcelain"); got != "M Makefile\n?? new.txt" {
				t.Fatalf("after the advice:\n%s", got)
			}
		})
	}
}

// Where a change of the person is in the way git refuses, and nothing changes.
func TestAdviceThatGitRefusesChangesNothing(t *testing.T) {
	w := newWorld(t).start()
	w.repo()
	w.write("lib/a.txt", "mine\n")
	m := w.land("Merge", changesOf[0])
	before := w.git("status", "--porcelain")
	_, command, _ := strings.Cut(m.Note, "To bring them forward: ")
	if out, err := w.tryGit(strings.Fields(command)[1:]...); err == nil {
		t.Fatalf("git overwrote a change: %s", out)
	}
	if text, err := os.ReadFile(filepath.Join(w.path, "lib/a.txt")); err != nil || string(text) != "mine\n" || w.git("status", "--porcelain") != before {
		t.Fatalf("%q, %v", text, err)
	}
}

// The checkout is brought forward between merges without a commit: the advice
// still works, or git refuses and the advice has said what to do.
func TestAdviceAfterAnAdviceThatWasFollowed(t *testing.T) {
	w := newWorld(t).start()
	w.repo()
	w.follow(w.land("One", changesOf[0]).Note)
	w.follow(w.land("Two", changesOf[1]).Note)
	if got := w.git("status", "--porcelain"); got != "" {
		t.Fatalf("after two:\n%s", got)
	}
	m := w.land("Three", changesOf[2])
	if out, err := w.tryGit("-C", w.path, "read-tree", "-m", "-u", m.TargetOID, m.Commit); err != nil || !strings.Contains(m.Note, "put "+m.TargetOID+" in place of the first commit") {
		t.Fatalf("%s %v: %s", out, err, m.Note)
	}
	if got := w.git("status", "--porcelain"); got != "" {
		t.Fatalf("after three:\n%s", got)
	}
}

// The advice survives that the tasks of earlier merges are deleted, and is not
// misled by merges made while the branch was checked out nowhere.
func TestAdviceRemembersAndForgets(t *testing.T) {
	w := newWorld(t).start()
	w.repo()
	w.git("checkout", "-q", "-b", "elsewhere")
	if m := w.land("Nowhere", changesOf[0]); m.Note != "" {
		t.Fatalf("note %q", m.Note)
	}
	w.git("checkout", "-q", "main")
	w.land("Seen", changesOf[1])
	if err := w.DeleteTask(t.Context(), "2"); err != nil {
		t.Fatal(err)
	}
	w.stop()
	w.start()
	w.follow(w.land("Seen too", changesOf[2]).Note)
	if got := w.git("status", "--porcelain"); got != "" {
		t.Fatalf("after the advice:\n%s", got)
	}
}

func TestReviewWarnsOfTheCheckoutBeforeTheMerge(t *testing.T) {
	w, task := reviewed(t)
	if r := must(w.Review(t.Context(), task.ID))(t); !r.CheckedOut || !strings.Contains(r.Note, "would undo the merge") || !strings.Contains(r.Note, w.path) {
		t.Fatalf("note %q", r.Note)
	}
	w.git("checkout", "-q", "--detach")
	if r := must(w.Review(t.Context(), task.ID))(t); r.CheckedOut || r.Note != "" {
		t.Fatalf("note %q", r.Note)
	}
}
