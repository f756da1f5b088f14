package native

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"moeca/internal/sandbox"
	"moeca/internal/sandbox/image"
	"moeca/internal/sandbox/sandboxtest"
	"moeca/internal/testreq"
)

// newPolyDriver finds the poly root file system in the user's cache. Building
// it takes minutes and a network, which is no test's business.
func newPolyDriver(t *testing.T) (*Driver, sandboxtest.ConformanceEnv) {
	t.Helper()
	cache, err := os.UserCacheDir()
	testreq.Need(t, "poly", err)
	build, err := filepath.Abs(filepath.Join("..", "..", "..", "images", "poly"))
	if err != nil {
		t.Fatal(err)
	}
	store := image.New(image.Options{
		Dir: sandboxtest.TempDir(t), Cache: filepath.Join(cache, "moeca"), AgentBinary: sandboxtest.BuildAgent(t), PolyBuild: build,
	})
	if !store.PolyReady() {
		testreq.Need(t, "poly", errors.New("the poly root file system is not in the cache: go run ./scripts/polyimage"))
	}
	d := New(Options{Images: store, StateDir: sandboxtest.TempDir(t)})
	testreq.Need(t, "native", d.Usable(t.Context()))
	env := sandboxtest.NewEnv(t)
	if env.Policy, err = sandbox.PolicyByName(sandbox.Poly); err != nil {
		t.Fatal(err)
	}
	return d, env
}

func TestPolyIsAsIsolatedAsBase(t *testing.T) {
	d, env := newPolyDriver(t)
	sandboxtest.TestIsolation(t, d, env)
}

// TestPolyRunsItsTools does one small job with each tool the policy promises,
// as a user the root file system does not know, without any network.
func TestPolyRunsItsTools(t *testing.T) {
	d, env := newPolyDriver(t)
	files := map[string]string{
		"go.mod":  "module x\n\ngo 1.25\n",
		"main.go": "package main\n\nfunc main() { println(\"go\", 6*7) }\n",
		"job.sh": `set -eu
git init -q /tmp/r && cd /tmp/r && git config user.name a && git config user.email a@example.com
echo x > f && git add f && git commit -q -m m && git log --format=%s
python3 -m venv /home/agent/v && /home/agent/v/bin/python -c 'print("venv", 6*7)'
node -e 'console.log("node", 6*7)'
cd /work && go run . 2>&1
! chmod u+s job.sh && ! touch /usr/x && echo sealed
`,
	}
	vars := []string{
		"PATH=/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin", "HOME=/home/agent", "TMPDIR=/tmp", "GOTOOLCHAIN=local",
		"GOPROXY=off", "GOCACHE=/home/agent/.cache/go-build", "GOTELEMETRY=off", "LANG=C.UTF-8",
	}
	out, exit := sandboxtest.RunCommand(t, d, env, "tools", files, vars, "bash", "job.sh")
	if exit.Cause != sandbox.CauseDone {
		t.Errorf("exit %+v", exit)
	}
	for _, want := range []string{"m\n", "venv 42", "node 42", "go 42", "sealed"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
