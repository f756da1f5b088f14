package e2e

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"moeca/internal/auditindex"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/hostapi"
)

// TestErasedContentIsGoneEverywhere has a person erase what a run said while the
// host runs, and looks for it in the interface's answers and in every file of
// the log and its index. The log still proves its rows.
func TestErasedContentIsGoneEverywhere(t *testing.T) {
	needDriver(t, "native")
	const secret = "xyzzy-plugh-frobozz"
	dir := shortDir(t)
	s := serve(t, dir, "native")
	repo := s.addRepo(smallRepo(t, dir), nil)
	task := s.runTask(repo, "Tell", script(t, "Done.", map[string]any{"text": secret, "calls": []any{call("list_files", map[string]any{"path": "."})}}))
	kept := s.runTask(repo, "Keep", script(t, "Done.", map[string]any{"text": "something else", "calls": []any{call("list_files", map[string]any{"path": "."})}}))

	find := func(text string) int {
		var page hostapi.AuditList[auditindex.Call]
		s.call("GET", "/api/audit/calls?q="+text, nil, &page)
		return len(page.Items)
	}
	eventually(t, 30*time.Second, "text found", func() bool { return find(secret) > 0 })
	said := func(id string) string {
		var c hostapi.AuditStages
		s.call("GET", "/api/audit/contexts/"+id+"/stages", nil, &c)
		out := ""
		for _, st := range c.Stages {
			_, raw := s.try("GET", "/api/audit/stages/"+st.Stage+"/messages?task="+id, nil)
			out += string(raw)
		}
		return out
	}
	if !strings.Contains(said(task.ID), secret) {
		t.Fatalf("the stage says %s", said(task.ID))
	}
	if n := filesWith(t, filepath.Join(dir, "data", "audit"), secret) + filesWith(t, filepath.Join(dir, "data", "cache"), secret); n == 0 {
		t.Fatal("no file of the log holds the text")
	}

	var done gatewayapi.Erased
	s.call("POST", "/api/audit/erase", hostapi.AuditErase{Task: task.ID, Reason: "asked for"}, &done)
	if done.Bodies == 0 {
		t.Errorf("erased %+v", done)
	}
	if n := find(secret); n != 0 {
		t.Errorf("%d calls are found by the erased text", n)
	}
	if find("something+else") == 0 || !strings.Contains(said(kept.ID), "something else") {
		t.Error("another task's contents are gone too")
	}
	if strings.Contains(said(task.ID), secret) {
		t.Errorf("the stage still says %s", said(task.ID))
	}
	for _, part := range []string{"audit", "cache"} {
		if n := filesWith(t, filepath.Join(dir, "data", part), secret); n != 0 {
			t.Errorf("%d files of %s still hold the text", n, part)
		}
	}
	mustVerify(t, s)
}

// TestTailFollowsARun reads rows of a run from a command that follows the log.
func TestTailFollowsARun(t *testing.T) {
	needDriver(t, "native")
	dir := shortDir(t)
	s := serve(t, dir, "native")
	repo := s.addRepo(smallRepo(t, dir), nil)
	tail := command(t, dir, "audit", "tail", "-f", "-n", "1", "--json")
	out, err := tail.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := tail.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = tail.Process.Signal(os.Interrupt)
		if err := tail.Wait(); err != nil {
			t.Errorf("tail: %v", err)
		}
	}()
	rows := json.NewDecoder(out)
	var row, before hostapi.AuditRow
	if err := rows.Decode(&before); err != nil {
		t.Fatal(err)
	}
	s.runTask(repo, "Tell", script(t, "Done.", map[string]any{"text": "t", "calls": []any{call("list_files", map[string]any{"path": "."})}}))
	for row.Kind != "outcome" {
		row = hostapi.AuditRow{}
		if err := rows.Decode(&row); err != nil {
			t.Fatal(err)
		}
		if row.Seq != before.Seq+1 {
			t.Errorf("row %d comes after row %d", row.Seq, before.Seq)
		}
		before = row
	}
}

// filesWith counts the files below dir that hold text.
func filesWith(t *testing.T, dir, text string) (n int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err == nil && bytes.Contains(raw, []byte(text)) {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
