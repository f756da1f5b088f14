package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"moeca/internal/hostapi"
)

// TestCutTailIsNoticedAfterARestart cuts rows off the log while nothing runs.
// What is left is a good log by itself; only who has seen more can tell.
func TestCutTailIsNoticedAfterARestart(t *testing.T) {
	needDriver(t, "native")
	dir := shortDir(t)
	s := serve(t, dir, "native")
	repo := s.addRepo(smallRepo(t, dir), nil)
	s.runTask(repo, "Write", script(t, "Done.", map[string]any{"text": "w", "calls": []any{
		call("write_file", map[string]any{"path": "w.txt", "content": "w\n"}),
	}}))
	mustVerify(t, s)
	s.stop()

	segments, err := filepath.Glob(filepath.Join(dir, "data", "audit", "seg-*"))
	if err != nil || len(segments) != 1 {
		t.Fatalf("segments: %v %v", segments, err)
	}
	if err := os.Truncate(segments[0], 3000); err != nil {
		t.Fatal(err)
	}
	out, err := command(t, dir, "audit", "verify").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "BROKEN") {
		t.Errorf("verify while nothing runs: %v\n%s", err, out)
	}
	s = serve(t, dir, "native")
	var st hostapi.Status
	s.call("GET", "/api/status", nil, &st)
	if st.Gateway.OK || !strings.Contains(st.Gateway.Cause, "cut off") && !strings.Contains(st.Gateway.Cause, "rewritten") {
		t.Errorf("the status strip says: %+v", st.Gateway)
	}
	var report hostapi.VerifyReport
	s.call("POST", "/api/audit/verify", nil, &report)
	if report.OK {
		t.Errorf("the cut log verifies: %+v", report)
	}
	// The witness is not moved to what is left.
	s.stop()
	if out, err := command(t, dir, "audit", "verify").CombinedOutput(); err == nil {
		t.Errorf("the cut log verifies after another start:\n%s", out)
	}
}
