package sdk

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"moeca/internal/audit"
)

// feed is git with something to read.
func (f *forge) feed(dir, in string, args ...string) []byte {
	f.t.Helper()
	cmd := exec.CommandContext(f.t.Context(), f.git, args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(in)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + f.home, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull}
	out, err := cmd.Output()
	if err != nil {
		f.t.Fatalf("git %s: %v", args, err)
	}
	return out
}

// stands fails unless the branch of the forge is where HEAD of the clone is.
func (f *forge) stands(work, branch string) {
	f.t.Helper()
	want := "refs/heads/" + branch + " " + f.must(work, "rev-parse", "HEAD")
	if refs := f.refs("widget"); !strings.Contains(refs, want) {
		f.t.Fatalf("the forge has %s, want %s", refs, want)
	}
}

// refusesAmended fails unless the last commit of a branch cannot be replaced.
func (f *forge) refusesAmended(work, branch string) {
	f.t.Helper()
	f.must(work, "commit", "-q", "--amend", "-m", "amended")
	if out, err := f.run(work, "push", "-f", "origin", branch); err == nil || !strings.Contains(out, "ref/not-fast-forward") {
		f.t.Errorf("%v: %s", err, out)
	}
}

// movesForwardOnly pushes a new branch, moves it, and cannot move it elsewhere.
func (f *forge) movesForwardOnly(work string) {
	f.t.Helper()
	f.must(work, "switch", "-q", "-c", "moeca/mine")
	for i := range 3 {
		f.commit(work, "a.txt", fmt.Sprint(i))
		f.must(work, "push", "-q", "origin", "moeca/mine")
		f.stands(work, "moeca/mine")
	}
	f.refusesAmended(work, "moeca/mine")
}

func TestBranchMovesForwardOnly(t *testing.T) {
	f := newForge(t)
	w := newWorld(t, f.dialect(), gitScope())
	work := f.checkout(w)
	f.must(work, "switch", "-q", "-c", "moeca/mine")
	f.commit(work, "a.txt", "one\n")
	f.must(work, "push", "-q", "origin", "moeca/mine")
	f.commit(work, "a.txt", "two\n")
	f.commit(work, "b.txt", "three\n")
	f.must(work, "push", "-q", "origin", "moeca/mine")
	f.stands(work, "moeca/mine")
	stood, seen := f.refs("widget"), w.stub.calls()
	refused := func(name, want string, args ...string) {
		t.Helper()
		out, err := f.run(work, append([]string{"push"}, args...)...)
		if err == nil || !strings.Contains(out, "[remote rejected]") || !strings.Contains(out, "moeca gateway, ref/not-fast-forward") || !strings.Contains(out, want) || !strings.Contains(out, "new branch") {
			t.Errorf("%s: %v: %s", name, err, out)
		}
		if got := f.refs("widget"); got != stood {
			t.Fatalf("%s: the forge has %s, had %s", name, got, stood)
		}
	}
	f.must(work, "branch", "forward")
	f.must(work, "commit", "-q", "--amend", "-m", "amended")
	refused("amended", "do not lead back", "--force", "origin", "moeca/mine")
	refused("amended, with a lease", "do not lead back", "--force-with-lease", "origin", "moeca/mine")
	refused("amended, in one thick pack", "do not lead back", "--no-thin", "-f", "origin", "+moeca/mine")
	refused("amended, beside a branch of its own", "do not lead back", "--atomic", "-f", "origin", "moeca/mine", "moeca/mine:moeca/other")
	f.must(work, "rebase", "-q", "--onto", "main", "HEAD~1")
	refused("rebased", "do not lead back", "-f", "origin", "moeca/mine")
	f.must(work, "reset", "-q", "--hard", "forward~1")
	refused("back to an ancestor", "brings no commit", "-f", "origin", "moeca/mine")
	refused("to another branch", "brings no commit", "-f", "origin", "main:moeca/mine")
	f.must(work, "checkout", "-q", "--orphan", "fresh")
	f.must(work, "commit", "-q", "-m", "a new root")
	refused("a new root", "do not lead back", "-f", "origin", "fresh:moeca/mine")
	for _, text := range w.stub.seen[seen:] {
		if !strings.HasPrefix(text, "GET ") {
			t.Errorf("the stub saw %.80q", text)
		}
	}
	// The way that the refusal names.
	f.must(work, "push", "-q", "origin", "fresh:moeca/mine-2")
	f.must(work, "switch", "-q", "-C", "moeca/mine", "forward")
	f.commit(work, "a.txt", "four\n")
	f.must(work, "push", "-q", "origin", "moeca/mine")
	f.stands(work, "moeca/mine")
	w.check(w.stub.calls())
	if refusals := w.rows(audit.KindRefusal); len(refusals) != 8 {
		t.Errorf("%d refusals in the log", len(refusals))
	}
}

// history is a stream of fast-import: n commits on top of from, whose messages
// and files are so alike that git stores most as deltas.
func history(branch, from string, n int) string {
	var s strings.Builder
	text := strings.Repeat("what every commit of this history says, again and again\n", 20)
	lines := strings.Repeat("a line of a file that hardly changes\n", 400)
	for i := range n {
		fmt.Fprintf(&s, "commit refs/heads/%s\nmark :%d\ncommitter a <a@b> %d +0000\n", branch, i+1, 1_700_000_000+i)
		message := fmt.Sprintf("change %d\n\n%s", i, text)
		fmt.Fprintf(&s, "data %d\n%s\n", len(message), message)
		if i == 0 {
			fmt.Fprintf(&s, "from %s\n", from)
		}
		file := fmt.Sprintf("%s%d\n%s", lines, i, lines)
		fmt.Fprintf(&s, "M 100644 inline dir/file\ndata %d\n%s\n", len(file), file)
	}
	return s.String()
}

// commitDeltas counts the commits that the forge got as deltas.
func (f *forge) commitDeltas() (n int) {
	f.t.Helper()
	packs, err := filepath.Glob(f.bare("widget") + "/objects/pack/*.idx")
	if err != nil {
		f.t.Fatal(err)
	}
	for _, p := range packs {
		for line := range strings.Lines(f.must("", "verify-pack", "-v", p)) {
			if fields := strings.Fields(line); len(fields) == 7 && fields[1] == "commit" {
				n++
			}
		}
	}
	return n
}

func TestLongHistoriesMergesAndDeltas(t *testing.T) {
	f := newForge(t)
	w := newWorld(t, f.dialect(), gitScope())
	work := f.checkout(w)
	f.must(work, "config", "pack.window", "50")
	f.must(work, "switch", "-q", "-c", "moeca/long")
	f.commit(work, "a.txt", "one\n")
	f.must(work, "push", "-q", "origin", "moeca/long")
	f.feed(work, history("moeca/long", "refs/heads/moeca/long^0", 800), "fast-import", "--quiet")
	f.must(work, "reset", "-q", "--hard")
	f.must(work, "repack", "-adfq", "--window=50") // fast-import makes no deltas of commits
	f.must(work, "push", "-q", "origin", "moeca/long")
	f.stands(work, "moeca/long")
	if n := f.commitDeltas(); n < 100 {
		t.Fatalf("the pack that was pushed holds %d commits as deltas: this shows nothing", n)
	}
	// main moves at the forge, and is merged in, twice, once as an octopus.
	f.must("", "clone", "-q", f.bare("widget"), f.home+"/direct")
	for i := range 3 {
		f.commit(f.home+"/direct", "main.txt", fmt.Sprint(i))
	}
	f.must(f.home+"/direct", "push", "-q", "origin", "main")
	f.must(work, "fetch", "-q")
	f.must(work, "merge", "-q", "--no-edit", "origin/main")
	f.must(work, "push", "-q", "origin", "moeca/long")
	f.stands(work, "moeca/long")
	for _, side := range []string{"s1", "s2"} {
		f.must(work, "switch", "-q", "-c", side, "main")
		f.commit(work, side, side)
	}
	f.must(work, "switch", "-q", "moeca/long")
	f.must(work, "merge", "-q", "--no-edit", "s1", "s2")
	f.commit(work, "dir/file", strings.Repeat("a line of a file that hardly changes\n", 801))
	f.must(work, "push", "-q", "origin", "moeca/long")
	f.stands(work, "moeca/long")
	// The same history, but for its last commit.
	f.refusesAmended(work, "moeca/long")
	w.check(w.stub.calls())
}

func TestShallowClonesMoveForward(t *testing.T) {
	f := newForge(t)
	w := newWorld(t, f.dialect(), gitScope())
	f.must("", "clone", "-q", f.bare("widget"), f.home+"/direct")
	for i := range 5 {
		f.commit(f.home+"/direct", "README.md", fmt.Sprint(i))
	}
	f.must(f.home+"/direct", "push", "-q", "origin", "main")
	work := filepath.Join(f.home, "shallow")
	f.must("", "clone", "-q", "--depth", "2", "-c", "http.extraHeader=X-Moeca-Session: "+w.session.Token, w.base+"/acme/widget.git", work)
	f.movesForwardOnly(work)
	w.check(w.stub.calls())
}

func TestRepositoryOfTheOtherObjectFormat(t *testing.T) {
	f := newForge(t)
	seed := filepath.Join(f.home, "wide")
	f.must("", "init", "-q", "-b", "main", "--object-format=sha256", seed)
	f.commit(seed, "README.md", "first\n")
	if err := os.RemoveAll(f.bare("widget")); err != nil {
		t.Fatal(err)
	}
	f.must("", "clone", "-q", "--bare", seed, f.bare("widget"))
	f.must(f.bare("widget"), "config", "http.receivepack", "true")
	w := newWorld(t, f.dialect(), gitScope())
	work := f.checkout(w)
	f.movesForwardOnly(work)
	w.check(w.stub.calls())
}

// A command that lies about where the branch stands passes the gateway and is
// refused by the remote: what the gateway relies on.
func TestRemoteComparesWhereTheBranchStands(t *testing.T) {
	f := newForge(t)
	w := newWorld(t, f.dialect(), gitScope())
	work := f.checkout(w)
	f.must(work, "switch", "-q", "-c", "moeca/mine")
	base := f.must(work, "rev-parse", "HEAD")
	f.commit(work, "a.txt", "one\n")
	f.must(work, "push", "-q", "origin", "moeca/mine")
	stood := f.refs("widget")
	f.must(work, "commit", "-q", "--amend", "-m", "amended")
	amended := f.must(work, "rev-parse", "HEAD")
	pack := f.feed(work, amended+"\n^"+base+"\n", "pack-objects", "--revs", "--stdout", "-q")
	for name, old := range map[string]string{"as if it did not exist": strings.Repeat("0", 40), "as if it stood at an ancestor": base} {
		command := old + " " + amended + " refs/heads/moeca/mine\x00 report-status"
		body := fmt.Sprintf("%04x%s0000%s", len(command)+4, command, pack)
		req, err := http.NewRequestWithContext(t.Context(), "POST", w.base+"/acme/widget.git/git-receive-pack", bytes.NewReader([]byte(body)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Moeca-Session", w.session.Token)
		req.Header.Set("Content-Type", "application/x-git-receive-pack-request")
		before := w.stub.calls()
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		report, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if w.stub.calls() != before+1 || !strings.Contains(string(report), "ng refs/heads/moeca/mine") || strings.Contains(string(report), "moeca gateway") {
			t.Errorf("%s: %d %q", name, resp.StatusCode, report)
		}
		if got := f.refs("widget"); got != stood {
			t.Fatalf("%s: the forge has %s, had %s", name, got, stood)
		}
	}
	w.check(w.stub.calls())
}
