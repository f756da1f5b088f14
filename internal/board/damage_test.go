package board_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"moeca/internal/board"
)

// A repository git cannot read answers with git's words, never as an accident
// of ours.
func TestDamagedRepositoryIsNoInternalError(t *testing.T) {
	for name, damage := range map[string]func(*world, board.Task){
		"the result's commit is gone": func(w *world, task board.Task) { w.loseObject(task.Attempt.HeadOID) },
		"the target's commit is gone": func(w *world, _ board.Task) { w.loseObject(w.git("rev-parse", "main")) },
		"the target's tree is gone":   func(w *world, _ board.Task) { w.loseObject(w.git("rev-parse", "main^{tree}")) },
		"a blob is gone":              func(w *world, _ board.Task) { w.loseObject(w.git("rev-parse", "main:lib/a.txt")) },
		"the target is no commit": func(w *world, _ board.Task) {
			if err := os.WriteFile(filepath.Join(w.path, ".git/refs/heads/main"), []byte(strings.Repeat("ab", 20)+"\n"), 0o644); err != nil {
				w.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t).start()
			w.repo()
			task := w.run(w.task("Damage").ID)
			damage(w, task)
			_, reviewErr := w.Review(t.Context(), task.ID)
			_, diffErr := w.Diff(t.Context(), task.ID, board.DiffOptions{})
			_, runErr := w.RunTask(t.Context(), task.ID)
			_, mergeErr := w.Merge(t.Context(), task.ID, person)
			for what, err := range map[string]error{"review": reviewErr, "diff": diffErr, "run": runErr, "merge": mergeErr} {
				if err != nil && board.KindOf(err) == board.Internal {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
}

// loseObject removes an object from the user's repository and from ours.
func (w *world) loseObject(oid string) {
	w.t.Helper()
	for _, dir := range []string{filepath.Join(w.path, ".git"), filepath.Join(w.data, "git")} {
		if err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
			if err == nil && (strings.HasSuffix(name, oid[:2]+"/"+oid[2:]) || strings.HasSuffix(name, ".pack") || strings.HasSuffix(name, ".idx")) {
				return os.Remove(name)
			}
			return err
		}); err != nil {
			w.t.Fatal(err)
		}
	}
}
