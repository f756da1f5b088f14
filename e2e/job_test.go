package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"moeca/internal/board"
	"moeca/internal/diff"
	"moeca/internal/hostapi"
)

// renames is a real change of this project's own diff package: a method and
// its test.
const renames = `package diff

// Renames counts the files of the set that were renamed.
func (s Set) Renames() int {
	n := 0
	for _, f := range s.Files {
		if f.Status == "renamed" {
			n++
		}
	}
	return n
}
`

const renamesTest = `package diff

import "testing"

func TestRenamesCountsRenamedFilesOnly(t *testing.T) {
	s := Set{Files: []File{{Status: "renamed"}, {Status: "copied"}, {Status: "renamed"}, {Status: "modified"}}}
	if got := s.Renames(); got != %WANT% {
		t.Errorf("Renames() = %d, want %WANT%", got)
	}
}
`

// TestJobOnThisProject performs the main job on a clone of this project, with
// its history and tests, on both drivers: a scripted agent changes two files,
// the project's own go test of a package is the gate in the poly sandbox, a
// person approves, and the host lands exactly that.
func TestJobOnThisProject(t *testing.T) {
	for _, driver := range []string{"native", "docker"} {
		t.Run(driver, func(t *testing.T) {
			needDriver(t, driver)
			needPoly(t)
			dir := shortDir(t)
			s := serve(t, dir, driver)
			repo := s.addRepo(cloneOfThisProject(t, dir), &board.Gate{
				Policy: "poly", Argv: []string{"go", "test", "-count=1", "./internal/diff"}, Timeout: 600,
			})
			before := checkoutState(t, repo.Path)

			task := s.runTask(repo, "Count renames", renameScript(t, "2"))
			mustChange(t, s, task, "internal/diff/renames.go", "internal/diff/renames_test.go")
			if r := s.review(task.ID); r.CanApprove {
				t.Error("approval is open before CI has run")
			}
			ci := s.runCI(task.ID)
			// A new test file is a gate file, so a person has to acknowledge it.
			if ci.State != board.CIPassed && ci.State != board.CIPassedDrift {
				t.Fatalf("CI %s: %s\n%s", ci.State, ci.Cause, ci.Log)
			}
			if !strings.Contains(ci.Log, "moeca/internal/diff") {
				t.Errorf("the gate's log does not show the package's test:\n%s", ci.Log)
			}
			merged := s.approveAndMerge(task.ID)
			if got := git(t, repo.Path, "rev-parse", "refs/heads/"+repo.Target); got != merged.Commit {
				t.Errorf("the target is at %s, the merge made %s", got, merged.Commit)
			}
			if got := git(t, repo.Path, "show", merged.Commit+":internal/diff/renames.go"); got != strings.TrimSpace(renames) {
				t.Errorf("the merged file is not what the agent wrote:\n%s", got)
			}
			if after := checkoutState(t, repo.Path); after != before {
				t.Errorf("the user's checkout changed:\n%s\n→\n%s", before, after)
			}
			mustVerify(t, s)
			mustRecordTheRun(t, s, task)
		})
	}
}

// TestFailingGateLocksApproval: the same change with a wrong test must not be
// approvable.
func TestFailingGateLocksApproval(t *testing.T) {
	needDriver(t, "native")
	needPoly(t)
	dir := shortDir(t)
	s := serve(t, dir, "native")
	repo := s.addRepo(cloneOfThisProject(t, dir), &board.Gate{
		Policy: "poly", Argv: []string{"go", "test", "-count=1", "./internal/diff"}, Timeout: 600,
	})
	target := git(t, repo.Path, "rev-parse", "refs/heads/"+repo.Target)
	task := s.runTask(repo, "Count renames wrongly", renameScript(t, "3"))
	if ci := s.runCI(task.ID); ci.State != board.CIFailed || !strings.Contains(ci.Log, "Renames() = 2, want 3") {
		t.Fatalf("CI %s\n%s", ci.State, ci.Log)
	}
	r := s.review(task.ID)
	if r.CanApprove || len(r.Blockers) == 0 {
		t.Errorf("approval is open although CI failed: %+v", r)
	}
	status, body := s.try("POST", "/api/tasks/"+task.ID+"/approve", board.ApproveRequest{
		Head: r.Preview.Head, TargetOID: r.Preview.TargetOID, ResultTree: r.Preview.ResultTree,
		Acks: []string{"no_ci", "gate_changed", "truncated_diff"},
	})
	if status < 400 {
		t.Errorf("approved although CI failed: %s", body)
	}
	if status, body := s.try("POST", "/api/tasks/"+task.ID+"/merge", nil); status < 400 {
		t.Errorf("merged without an approval: %s", body)
	}
	if got := git(t, repo.Path, "rev-parse", "refs/heads/"+repo.Target); got != target {
		t.Error("the target moved")
	}
}

func renameScript(t *testing.T, want string) string {
	return script(t, "Added Set.Renames and its test.",
		map[string]any{"text": "I look at the package.", "calls": []any{
			call("list_files", map[string]any{"path": "internal/diff"}),
			call("read_file", map[string]any{"path": "internal/diff/types.go"}),
		}},
		map[string]any{"text": "I add the method and its test.", "calls": []any{
			call("write_file", map[string]any{"path": "internal/diff/renames.go", "content": renames}),
			call("write_file", map[string]any{"path": "internal/diff/renames_test.go", "content": strings.ReplaceAll(renamesTest, "%WANT%", want)}),
		}},
	)
}

// cloneOfThisProject clones the repository this test belongs to.
func cloneOfThisProject(t *testing.T, dir string) string {
	t.Helper()
	top := git(t, ".", "rev-parse", "--show-toplevel")
	clone := filepath.Join(dir, "project")
	git(t, dir, "clone", "-q", "--no-hardlinks", top, clone)
	if branch := git(t, clone, "rev-parse", "--abbrev-ref", "HEAD"); branch == "HEAD" {
		git(t, clone, "checkout", "-q", "-b", "main")
	}
	return clone
}

// checkoutState is everything of a checkout that a merge must leave alone:
// index, work tree, HEAD, configuration.
func checkoutState(t *testing.T, repo string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(git(t, repo, "ls-files", "--stage", "--debug"))
	b.WriteString(git(t, repo, "ls-files", "--others", "--exclude-standard"))
	b.WriteString(git(t, repo, "symbolic-ref", "-q", "HEAD"))
	for _, name := range []string{"config", "HEAD"} {
		raw, err := os.ReadFile(filepath.Join(repo, ".git", name))
		if err != nil {
			t.Fatal(err)
		}
		b.Write(raw)
	}
	return b.String()
}

func mustChange(t *testing.T, s *server, task board.Task, want ...string) {
	t.Helper()
	var set diff.Set
	s.call("GET", "/api/tasks/"+task.ID+"/diff", nil, &set)
	got := map[string]bool{}
	for _, f := range set.Files {
		got[f.Path] = true
	}
	for _, path := range want {
		if !got[path] {
			t.Errorf("%s is not in the diff", path)
		}
	}
	if len(set.Files) != len(want) {
		t.Errorf("the diff has %d files, want %d: %v", len(set.Files), len(want), got)
	}
}

func mustVerify(t *testing.T, s *server) {
	t.Helper()
	var report hostapi.VerifyReport
	s.call("POST", "/api/audit/verify", nil, &report)
	if !report.OK || report.Records == 0 {
		t.Errorf("the log does not verify: %+v", report)
	}
	out, err := command(t, s.dir, "audit", "verify", "--json").CombinedOutput()
	if err != nil {
		t.Errorf("moeca audit verify: %v\n%s", err, out)
	}
}

// mustRecordTheRun checks that each request has an outcome, is attributed to
// the run, is marked scripted, and that approval and merge are rows.
func mustRecordTheRun(t *testing.T, s *server, task board.Task) {
	t.Helper()
	var page hostapi.AuditPage
	s.call("GET", "/api/audit?limit=500", nil, &page)
	kinds := map[string]int{}
	outcome := map[int64]bool{}
	for _, row := range page.Items {
		kinds[row.Kind]++
		if row.Kind == "outcome" {
			outcome[row.Ref] = true
		}
	}
	for _, row := range page.Items {
		if row.Kind == "intent" && row.Run == task.Attempt.Run.ID {
			if !outcome[row.Seq] {
				t.Errorf("request %d has no outcome", row.Seq)
			}
			if !row.Scripted || row.Task != task.ID || row.Stage == "" {
				t.Errorf("request %d is not attributed: %+v", row.Seq, row)
			}
		}
	}
	for _, kind := range []string{"intent", "outcome", "admin", "ci", "approval", "merge"} {
		if kinds[kind] == 0 {
			t.Errorf("the log has no row of kind %s: %v", kind, kinds)
		}
	}
}
