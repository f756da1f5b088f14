package docker

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"moeca/internal/sandbox"
	"moeca/internal/sandbox/image"
	"moeca/internal/testreq"
)

// newPolyBed is a bed whose store finds the poly root file system in the user's
// cache. Building it takes minutes and a network, which is no test's business.
func newPolyBed(t *testing.T) *bed {
	t.Helper()
	cache, err := os.UserCacheDir()
	testreq.Need(t, "poly", err)
	b := newBed(t, func(o *image.Options) {
		o.Cache = filepath.Join(cache, "moeca")
		o.PolyBuild = filepath.Join(moduleRoot(t), "images", "poly")
	})
	if !b.driver.store.PolyReady() {
		testreq.Need(t, "poly", errors.New("the poly root file system is not in the cache: go run ./scripts/polyimage"))
	}
	return b
}

func moduleRoot(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// polyEnv is what a stage of the poly policy gets when it has no registry.
func polyEnv() []string {
	return []string{
		"PATH=/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin", "HOME=/home/agent", "TMPDIR=/tmp",
		"GOTOOLCHAIN=local", "GOFLAGS=-mod=readonly", "GOPROXY=off", "GOCACHE=/home/agent/.cache/go-build",
		"GOTELEMETRY=off", "LANG=C.UTF-8",
	}
}

// copyPackages puts packages of this repository and its module files into a
// tree, as a checkout would.
func copyPackages(t *testing.T, tree string, packages ...string) {
	t.Helper()
	root := moduleRoot(t)
	for _, pkg := range append(packages, ".") {
		entries, err := os.ReadDir(filepath.Join(root, pkg))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(tree, pkg), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if ext := filepath.Ext(e.Name()); e.IsDir() || ext != ".go" && ext != ".mod" && ext != ".sum" {
				continue
			}
			copyFile(t, filepath.Join(root, pkg, e.Name()), filepath.Join(tree, pkg, e.Name()))
		}
	}
	chown(t, tree)
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
}

// TestPolyRunsThisRepositorysTests is the gate the product exists for: real
// tests of a real repository, in a sandbox without any network.
func TestPolyRunsThisRepositorysTests(t *testing.T) {
	b := newPolyBed(t)
	spec := b.spec(t, "gotest", sandbox.Poly)
	copyPackages(t, spec.TreeDir, "internal/pubsub")
	out := runPoly(t, b, spec, "go", "test", "-count=1", "./internal/pubsub")
	if !strings.Contains(out, "ok  \tmoeca/internal/pubsub") {
		t.Fatal(out)
	}
}

// TestPolyHasItsTools runs one small job with each tool the policy promises, as
// a user that has no entry in the machine's own user table.
func TestPolyHasItsTools(t *testing.T) {
	b := newPolyBed(t)
	script := `set -eu
exec 2>&1
git init -q r && cd r && git config user.name a && git config user.email a@example.com
echo x > f && git add f && git commit -q -m m && git log --oneline | grep -c m
python3 -m venv /home/agent/v && /home/agent/v/bin/python -c 'print("venv", 6*7)'
/home/agent/v/bin/pip --version | cut -d. -f1
node -e 'console.log("node", 6*7)' && npm --version >/dev/null
printf 'int main(void){return 0;}' > c.c && cc -o c c.c && ./c && echo cc
printf 'all:\n\t@echo make\n' > Makefile && make
! touch /usr/x && ! touch /etc/x && ! sh -c 'echo 1 > /proc/sys/kernel/hostname' && echo read-only
test -z "$(find / -xdev -perm /6000 -type f 2>/dev/null)" && echo no-setuid
! getent hosts example.com && test "$(ls /sys/class/net)" = lo && echo no-network
test "$(awk '/^CapEff|^CapBnd|^CapPrm|^CapAmb/{print $2}' /proc/self/status | sort -u)" = 0000000000000000 && echo no-capability
awk '/^NoNewPrivs|^Seccomp:/{print $1 $2}' /proc/self/status
id -u`
	spec := b.spec(t, "tools", sandbox.Poly)
	out := runPoly(t, b, spec, "bash", "-c", script)
	for _, want := range []string{"venv 42", "pip ", "node 42", "cc\n", "make\n", "read-only", "no-setuid", "no-network", "no-capability", "NoNewPrivs:1", "Seccomp:2"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q", want)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}

func runPoly(t *testing.T, b *bed, spec sandbox.Spec, argv ...string) string {
	t.Helper()
	order := command(argv...)
	order.Env = polyEnv()
	box, out := started(t, b.driver, spec, order)
	if exit := wait(t, box); exit.Cause != sandbox.CauseDone {
		t.Fatalf("%+v\n%s", exit, out)
	}
	return out.String()
}
