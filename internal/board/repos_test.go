package board_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"moeca/internal/board"
)

func TestAddRepoRefusesWithWords(t *testing.T) {
	w := newWorld(t).start()
	w.repo()
	dir := t.TempDir()
	plain, unborn, bare := filepath.Join(dir, "plain"), filepath.Join(dir, "unborn"), filepath.Join(dir, "bare.git")
	if err := errors.Join(os.Mkdir(plain, 0o755), os.Symlink(w.path, filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	w.git("init", "-q", unborn)
	w.git("clone", "-q", "--bare", w.path, bare)
	for name, c := range map[string]struct {
		path, name, target string
		gate               *board.Gate
		code               string
	}{
		"a relative path":              {"project", "", "", nil, "path_not_absolute"},
		"a path that is gone":          {filepath.Join(dir, "nothing"), "", "", nil, "path_gone"},
		"a plain directory":            {plain, "", "", nil, "not_a_repository"},
		"an unborn branch":             {unborn, "", "", nil, "repository_unborn"},
		"a directory inside one":       {filepath.Join(w.path, "lib"), "", "", nil, "not_a_repository"},
		"the same path":                {w.path, "other", "", nil, "repository_exists"},
		"the same path by a link":      {filepath.Join(dir, "link"), "other", "", nil, "repository_exists"},
		"a name that is taken":         {bare, "project", "", nil, "repository_name_taken"},
		"a name with a line break":     {bare, "a\nb", "", nil, "invalid_text"},
		"a name that reads backwards":  {bare, "a\u202eb", "", nil, "invalid_text"},
		"a name with an escape":        {bare, "a\x1b[31mb", "", nil, "invalid_text"},
		"a name with space around":     {bare, " a", "", nil, "repository_name"},
		"a target that is not there":   {bare, "x", "nope", nil, "target_not_found"},
		"a target like an option":      {bare, "x", "--help", nil, "target_not_found"},
		"a gate without a command":     {bare, "x", "", &board.Gate{}, "gate_invalid"},
		"a gate of no policy":          {bare, "x", "", &board.Gate{Policy: "root", Argv: []string{"x"}}, "gate_invalid"},
		"a gate that takes for ever":   {bare, "x", "", &board.Gate{Argv: []string{"x"}, Timeout: 1 << 30}, "gate_invalid"},
		"a gate with a NUL":            {bare, "x", "", &board.Gate{Argv: []string{"a\x00b"}}, "gate_invalid"},
		"a gate with a negative limit": {bare, "x", "", &board.Gate{Argv: []string{"x"}, Timeout: -1}, "gate_invalid"},
	} {
		_, err := w.AddRepo(t.Context(), c.path, c.name, c.target, c.gate)
		if got := board.CodeOf(err); err == nil || got != c.code {
			t.Errorf("%s: %s (%v), want %s", name, got, err, c.code)
		}
		var e *board.Error
		if errors.As(err, &e) && e.Next == "" {
			t.Errorf("%s: the error does not say what to do", name)
		}
	}
	r := must(w.AddRepo(t.Context(), bare, "", "", nil))(t)
	if r.Name != "bare" || r.Target != "main" {
		t.Errorf("bare repository %+v", r)
	}
	if all := must(w.ListRepos(t.Context()))(t); len(all) != 2 {
		t.Errorf("%d repositories", len(all))
	}
}

func TestBareRepositoryDoesTheWholeJob(t *testing.T) {
	w := newWorld(t).start()
	bare := filepath.Join(t.TempDir(), "bare.git")
	w.git("clone", "-q", "--bare", w.path, bare)
	must(w.AddRepo(t.Context(), bare, "project", "", nil))(t)
	task := w.run(w.task("Bare").ID)
	_, m, err := w.ApproveAndMerge(t.Context(), task.ID, w.request(task.ID), person)
	if err != nil {
		t.Fatal(err)
	}
	w.path = bare
	if m.Note != "" || w.git("rev-parse", "main") != m.Commit {
		t.Fatalf("merge %+v", m)
	}
}

func TestRemoveRepoOnlyWhenNothingIsOpen(t *testing.T) {
	w := newWorld(t).start()
	w.repo()
	task := w.run(w.task("Open").ID)
	err := w.RemoveRepo(t.Context(), "project")
	if wantCode(t, err, "repository_in_use"); !strings.HasSuffix(err.Error(), "has 1 open task") {
		t.Fatal(err)
	}
	if _, _, err := w.ApproveAndMerge(t.Context(), task.ID, w.request(task.ID), person); err != nil {
		t.Fatal(err)
	}
	if err := w.RemoveRepo(t.Context(), "project"); err != nil {
		t.Fatal(err)
	}
	_, err = w.Repo(t.Context(), "project")
	wantCode(t, err, "repository_not_found")
	if w.git("rev-parse", "moeca/1-1") != task.Attempt.HeadOID {
		t.Fatal("the branch went with it")
	}
}

func TestListTellsOfARepositoryThatIsGoneAndBack(t *testing.T) {
	w := newWorld(t).start()
	w.repo()
	problem := func() string {
		t.Helper()
		listed := must(w.ListRepos(t.Context()))(t)[0].Problem
		if stored := must(w.Repo(t.Context(), "project"))(t).Problem; stored != listed {
			t.Fatalf("listed %q, stored %q", listed, stored)
		}
		return listed
	}
	opens := w.opens.Load()
	if p := problem(); p != "" || w.opens.Load() != opens {
		t.Fatalf("problem %q, asked git %d times", p, w.opens.Load()-opens)
	}
	events := w.bus.Subscribe(t.Context(), board.TopicRepos)
	if err := os.Rename(filepath.Join(w.path, ".git"), filepath.Join(w.path, ".git-away")); err != nil {
		t.Fatal(err)
	}
	if p := problem(); !strings.Contains(p, "not a git repository") {
		t.Fatalf("problem %q", p)
	}
	if err := errors.Join(os.Rename(filepath.Join(w.path, ".git-away"), filepath.Join(w.path, ".git")), os.Rename(w.path, w.path+"-away")); err != nil {
		t.Fatal(err)
	}
	if p := problem(); !strings.Contains(p, "is gone") {
		t.Fatalf("problem %q", p)
	}
	if e := <-events; e.Kind != board.EventRepoChanged {
		t.Fatalf("event %+v", e)
	}
	if err := os.Mkdir(w.path, 0o755); err != nil {
		t.Fatal(err)
	}
	if p := problem(); !strings.Contains(p, "not a git repository") {
		t.Fatalf("problem of a directory in its place: %q", p)
	}
	if err := errors.Join(os.Remove(w.path), os.Rename(w.path+"-away", w.path)); err != nil {
		t.Fatal(err)
	}
	if p := problem(); p != "" {
		t.Fatalf("problem stays: %q", p)
	}
}

func TestRepositoryIsNamedAfterItsDirectory(t *testing.T) {
	w := newWorld(t).start()
	if r := must(w.AddRepo(t.Context(), filepath.Join(w.path, ".git"), "", "", nil))(t); r.Name != "project" {
		t.Fatalf("named %q", r.Name)
	}
}

func TestRepositoryThatIsGone(t *testing.T) {
	w := newWorld(t).start()
	w.repo()
	task := w.run(w.task("Gone").ID)
	if err := os.Rename(w.path, w.path+"-away"); err != nil {
		t.Fatal(err)
	}
	_, err := w.Review(t.Context(), task.ID)
	wantCode(t, err, "repository_gone")
	if r := must(w.UpdateRepo(t.Context(), "project", board.RepoPatch{}))(t); r.Problem == "" {
		t.Fatal("the problem is not shown")
	}
	if got := w.look(task.ID); got.Status != board.StatusReviewing {
		t.Fatalf("task is %s", got.Status)
	}
	if err := os.Rename(w.path+"-away", w.path); err != nil {
		t.Fatal(err)
	}
	if r := must(w.UpdateRepo(t.Context(), "project", board.RepoPatch{}))(t); r.Problem != "" {
		t.Fatalf("problem stays: %s", r.Problem)
	}
	must(w.Review(t.Context(), task.ID))(t)
}

func TestCreateTaskRefusesWithWords(t *testing.T) {
	w := newWorld(t).start()
	w.repo()
	for name, c := range map[string]struct {
		n    board.NewTask
		code string
	}{
		"no title":              {board.NewTask{Title: " \n"}, "title_missing"},
		"two lines of title":    {board.NewTask{Title: "a\nb"}, "title_too_long"},
		"a huge detail":         {board.NewTask{Title: "a", Detail: strings.Repeat("x", 1<<20)}, "detail_too_long"},
		"a title that rings":    {board.NewTask{Title: "a\x07b"}, "invalid_text"},
		"a title that colours":  {board.NewTask{Title: "a\x1b[31mb"}, "invalid_text"},
		"a title backwards":     {board.NewTask{Title: "a\u202eb"}, "invalid_text"},
		"a title with a hidden": {board.NewTask{Title: "a\u200bb"}, "invalid_text"},
		"a title with C1":       {board.NewTask{Title: "a\u009bb"}, "invalid_text"},
		"not UTF-8":             {board.NewTask{Title: "a\xff"}, "text_not_utf8"},
		"another repository":    {board.NewTask{RepoID: "nope", Title: "a"}, "repository_not_found"},
		"a base not there":      {board.NewTask{Title: "a", Base: "nope"}, "base_not_found"},
		"a base like an option": {board.NewTask{Title: "a", Base: "--all"}, "base_not_found"},
		"a target not there":    {board.NewTask{Title: "a", Target: "nope"}, "target_not_found"},
		"an unknown template":   {board.NewTask{Title: "a", Template: "swarm"}, "template_not_found"},
		"an unknown provider":   {board.NewTask{Title: "a", Provider: "nope"}, "provider_not_found"},
		"another dialect":       {board.NewTask{Title: "a", Provider: "gemini", Model: "g"}, "dialect_unsupported"},
		"no model's provider":   {board.NewTask{Title: "a", Provider: "own", Model: "m"}, "dialect_unsupported"}, // whose calls no budget would count
	} {
		if c.n.RepoID == "" {
			c.n.RepoID = "project"
		}
		if _, err := w.CreateTask(t.Context(), c.n); board.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
	for _, title := range []string{"日本語の題名", "👨\u200d👩\u200d👧 family", "مثال", "naïve — “quoted”"} {
		must(w.CreateTask(t.Context(), board.NewTask{RepoID: "project", Title: title}))(t)
	}
}

func TestUpdateTaskNeedsTheVersionSeen(t *testing.T) {
	w := newWorld(t).start()
	w.repo()
	task := w.task("Old words")
	words := "New words"
	got := must(w.UpdateTask(t.Context(), task.ID, board.TaskPatch{Version: task.Version, Title: &words}))(t)
	if got.Title != words || got.Version == task.Version {
		t.Fatalf("task %+v", got)
	}
	_, err := w.UpdateTask(t.Context(), task.ID, board.TaskPatch{Version: task.Version, Title: &words})
	wantCode(t, err, "version_conflict")
	w.run(task.ID)
	_, err = w.UpdateTask(t.Context(), task.ID, board.TaskPatch{Version: w.look(task.ID).Version, Title: &words})
	wantCode(t, err, "task_not_editable")
}

func TestTasksAreFoundByIDPrefixAndNumber(t *testing.T) {
	w := newWorld(t).start()
	w.repo()
	task := w.task("Find me")
	for _, key := range []string{task.ID, task.ID[:6], "1", "#1"} {
		if got := w.look(key); got.ID != task.ID {
			t.Errorf("%q finds %s", key, got.ID)
		}
	}
	for _, key := range []string{"", "2", "%", task.ID[:3], "_" + task.ID[1:]} {
		if got, err := w.Task(t.Context(), key); err == nil && key != "1" {
			t.Errorf("%q finds %s", key, got.ID)
		}
	}
}

func TestListOfHundredTasksAsksNobody(t *testing.T) {
	w := newWorld(t).start()
	w.repo()
	for i := range 120 {
		w.task(fmt.Sprint("Task ", i))
	}
	w.run("1")
	if err := os.Rename(w.path, w.path+"-away"); err != nil { // nor can it
		t.Fatal(err)
	}
	opens := w.opens.Load()
	page := must(w.Tasks(t.Context(), board.TaskFilter{}))(t)
	if len(page.Tasks) != 100 || page.Tasks[0].Number != 120 || page.Next == "" {
		t.Fatalf("%d tasks, first %d", len(page.Tasks), page.Tasks[0].Number)
	}
	rest := must(w.Tasks(t.Context(), board.TaskFilter{Cursor: page.Next}))(t)
	if len(rest.Tasks) != 20 || rest.Next != "" || rest.Tasks[19].Files != 2 || rest.Tasks[19].Attempt.Run.Stages[0].Tokens != 1234 {
		t.Fatalf("second page %d", len(rest.Tasks))
	}
	if n := w.opens.Load() - opens; n != 0 {
		t.Fatalf("listing opened the repository %d times", n)
	}
	for f, want := range map[board.TaskFilter]int{
		{Column: board.ColumnNeeds}: 1, {Status: board.StatusDraft, Limit: 7}: 7, {Repo: "nope"}: 0, {Column: board.ColumnDone}: 0,
	} {
		if got := must(w.Tasks(t.Context(), f))(t); len(got.Tasks) != want {
			t.Errorf("%+v finds %d, want %d", f, len(got.Tasks), want)
		}
	}
	_, err := w.Tasks(t.Context(), board.TaskFilter{Cursor: "junk!"})
	wantCode(t, err, "cursor_invalid")
	_, err = w.Tasks(t.Context(), board.TaskFilter{Column: "junk"})
	wantCode(t, err, "column_unknown")
}
