package sdk

import (
	"crypto/rand"
	"encoding/base64"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"moeca/internal/audit"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/session"
	"moeca/internal/testreq"
)

// forge is a host of repositories: git's own server side, and what is in it.
type forge struct {
	t    *testing.T
	git  string
	home string
	root string
}

func newForge(t *testing.T) *forge {
	t.Helper()
	git, err := exec.LookPath("git")
	testreq.Need(t, "git", err)
	f := &forge{t: t, git: git, home: t.TempDir(), root: t.TempDir()}
	seed := filepath.Join(f.home, "seed")
	f.must("", "init", "-q", "-b", "main", seed)
	f.commit(seed, "README.md", "first\n")
	for _, repo := range []string{"widget", "other"} {
		path := f.bare(repo)
		f.must("", "clone", "-q", "--bare", seed, path)
		f.must(path, "config", "http.receivepack", "true")
	}
	return f
}

func (f *forge) bare(repo string) string { return filepath.Join(f.root, "acme", repo+".git") }

// run is git without anything of this machine's.
func (f *forge) run(dir string, args ...string) (string, error) {
	f.t.Helper()
	cmd := exec.CommandContext(f.t.Context(), f.git, args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + f.home, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_TERMINAL_PROMPT=0", "LC_ALL=C",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b",
	}
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (f *forge) must(dir string, args ...string) string {
	f.t.Helper()
	out, err := f.run(dir, args...)
	if err != nil {
		f.t.Fatalf("git %s: %v: %s", args, err, out)
	}
	return out
}

func (f *forge) commit(dir, name, text string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		f.t.Fatal(err)
	}
	f.must(dir, "add", name)
	f.must(dir, "commit", "-q", "-m", "change "+name)
}

// refs are the branches and tags of a repository of the forge.
func (f *forge) refs(repo string) string {
	return f.must(f.bare(repo), "for-each-ref", "--format=%(refname) %(objectname)")
}

func (f *forge) dialect() dialect {
	const key = "ghp_InjectedByTheGateway"
	return dialect{
		name: "forge", define: gatewayapi.ProviderPatch{Kind: ptr("git")}, key: key,
		header: "Authorization", credential: "Basic " + base64.StdEncoding.EncodeToString([]byte("x-access-token:"+key)),
		answer: &cgi.Handler{
			Path: f.git, Args: []string{"http-backend"}, Dir: f.root,
			Env: []string{"GIT_PROJECT_ROOT=" + f.root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=stub", "HOME=" + f.home, "GIT_CONFIG_NOSYSTEM=1"},
		},
	}
}

// checkout clones through the gateway and returns the clone, whose remote and
// session git keeps for every later command.
func (f *forge) checkout(w *world) string {
	f.t.Helper()
	dir := filepath.Join(f.home, "work")
	out, err := f.run("", "clone", "-q", "-c", "http.extraHeader=X-Moeca-Session: "+w.session.Token, w.base+"/acme/widget.git", dir)
	if err != nil {
		f.t.Fatalf("clone: %v: %s", err, out)
	}
	return dir
}

func gitScope() session.Scope {
	return session.Scope{
		Repos: []string{"acme/widget"}, ProtectRefs: []string{"refs/heads/moeca/release"},
		RateLimits: []session.RateLimit{{Upstream: "forge", PerSecond: 1000, Burst: 1000}},
	}
}

func TestGitFetchesAndPushes(t *testing.T) {
	f := newForge(t)
	w := newWorld(t, f.dialect(), gitScope())
	work := f.checkout(w)
	if text, err := os.ReadFile(filepath.Join(work, "README.md")); err != nil || string(text) != "first\n" {
		t.Fatalf("%q, %v", text, err)
	}
	f.must("", "clone", "-q", f.bare("widget"), f.home+"/direct")
	f.commit(f.home+"/direct", "README.md", "second\n")
	f.must(f.home+"/direct", "push", "-q", "origin", "main")
	f.must(work, "pull", "-q", "--ff-only")
	if text, _ := os.ReadFile(filepath.Join(work, "README.md")); string(text) != "second\n" {
		t.Fatalf("pulled %q", text)
	}
	f.must(work, "switch", "-q", "-c", "moeca/change")
	f.commit(work, "new.txt", "new\n")
	f.must(work, "push", "-q", "origin", "moeca/change")
	large := make([]byte, 2<<20) // git probes, then sends it in chunks
	_, _ = rand.Read(large)
	f.commit(work, "large.bin", string(large))
	f.must(work, "push", "-q", "origin", "moeca/change")
	f.stands(work, "moeca/change")
	w.check(w.stub.calls())
}

func TestGitIsRefusedWhatIsForAPerson(t *testing.T) {
	f := newForge(t)
	w := newWorld(t, f.dialect(), gitScope())
	work := f.checkout(w)
	f.must(work, "switch", "-q", "-c", "moeca/mine")
	f.commit(work, "new.txt", "new\n")
	f.must(work, "push", "-q", "origin", "moeca/mine")
	f.must(work, "tag", "v1")
	before, pushed := f.refs("widget"), w.stub.calls()
	for _, row := range []struct {
		name, reason string
		args         []string
	}{
		{"the default branch", "ref/protected-ref", []string{"origin", "HEAD:main"}},
		{"the default branch, forced", "ref/protected-ref", []string{"--force", "origin", "HEAD:refs/heads/main"}},
		{"the default branch beside one's own", "ref/protected-ref", []string{"origin", "HEAD:moeca/second", "HEAD:main"}},
		{"the default branch in capitals", "ref/protected-ref", []string{"origin", "HEAD:Main"}},
		{"a branch that the task protects", "ref/protected-ref", []string{"origin", "HEAD:moeca/release"}},
		{"a branch elsewhere", "ref/protected-ref", []string{"origin", "HEAD:feature"}},
		{"a tag", "ref/protected-ref", []string{"origin", "v1"}},
		{"a note", "ref/protected-ref", []string{"origin", "HEAD:refs/notes/x"}},
		{"one's own branch, deleted", "write/for-a-person", []string{"origin", ":moeca/mine"}},
		{"the default branch, deleted", "write/for-a-person", []string{"origin", "--delete", "main"}},
	} {
		out, err := f.run(work, append([]string{"push"}, row.args...)...)
		if err == nil || !strings.Contains(out, "[remote rejected]") || !strings.Contains(out, "moeca gateway, "+row.reason) {
			t.Errorf("%s: %v: %s", row.name, err, out)
		}
	}
	if after := f.refs("widget"); after != before {
		t.Errorf("the forge has %s, had %s", after, before)
	}
	// Of each refused push the stub saw git ask for the refs and nothing else.
	for _, seen := range w.stub.seen[pushed:] {
		if !strings.HasPrefix(seen, "GET ") {
			t.Errorf("the stub saw %.80q", seen)
		}
	}
	out, err := f.run("", "-c", "http.extraHeader=X-Moeca-Session: "+w.session.Token, "ls-remote", w.base+"/acme/other.git")
	if err == nil || !strings.Contains(out, "moeca gateway, write/not-your-repo") {
		t.Errorf("another repository: %v: %s", err, out)
	}
	w.revoke()
	if out, err := f.run(work, "fetch"); err == nil {
		t.Errorf("fetched without a session: %s", out)
	}
	w.check(w.stub.calls())
	if refusals := w.rows(audit.KindRefusal); len(refusals) < 12 {
		t.Errorf("%d refusals in the log", len(refusals))
	}
}

// rows are the rows of a kind that the gateway wrote.
func (w *world) rows(kind audit.Kind) []audit.Record {
	w.t.Helper()
	reader, err := audit.OpenReader(filepath.Join(w.dir, "data", "audit"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer reader.Close()
	last, err := reader.Refresh()
	if err != nil {
		w.t.Fatal(err)
	}
	var out []audit.Record
	for r, err := range reader.Range(1, last) {
		if err != nil {
			w.t.Fatal(err)
		}
		if r.Kind == kind {
			out = append(out, r)
		}
	}
	return out
}
