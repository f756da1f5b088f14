package sandboxtest

import (
	"encoding/json"
	"io"
	"iter"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"moeca/internal/sandbox"
)

// question and answer mirror the probe's types; the probe is a program of its
// own and shares no code with what it tests.
type question struct {
	TCP     []string `json:"tcp"`
	Unix    []string `json:"unix"`
	Gateway string   `json:"gateway"`
	Paths   []string `json:"paths"`
}

type answer struct {
	UID, GID   int
	Status     map[string]string
	Env        []string
	Interfaces []string
	Routes     int
	Files      []string
	Namespaces map[string]string
	Writable   []string
	Devices    []string
	Limits     map[string]uint64
	Gateway    string
	Attacks    map[string]string
}

func mapsKeys[V any](m map[string]V) iter.Seq[string] { return maps.Keys(m) }

// TestIsolation is the part of the suite that attacks from inside, for a driver
// that runs it with one more policy.
func TestIsolation(t *testing.T, d sandbox.Driver, env ConformanceEnv) { testFacts(t, d, env) }

// testFacts runs the probe with the targets up and judges what it saw.
func testFacts(t *testing.T, d sandbox.Driver, env ConformanceEnv) {
	own, sibling := env.socketDir(t, "own"), env.socketDir(t, "sibling")
	env.serve(t, filepath.Join(own, "gateway.sock"))
	env.serve(t, filepath.Join(sibling, "gateway.sock"))
	abstract := "\x00moeca-" + filepath.Base(env.Dir)
	serveOn(t, "unix", "@"+abstract[1:])
	q := question{
		TCP:     hostListeners(t),
		Unix:    []string{filepath.Join(sibling, "gateway.sock"), abstract, "/run/moeca/../sibling/gateway.sock"},
		Gateway: sandbox.SocketPath + "/gateway.sock",
		Paths:   []string{env.Dir, sibling, "/root", "/home/" + filepath.Base(env.Dir)},
	}
	if env.Policy.Name != sandbox.Base { // a distribution has its own /root
		q.Paths = q.Paths[:2]
	}
	arg, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("MOECA_HOST_CANARY", "must not be seen inside")
	spec := env.spec(t, d, options{name: "facts", socketDir: own})
	out, exit := run(t, d, spec, "facts", string(arg))
	if exit.Cause != sandbox.CauseDone {
		t.Fatalf("probe: %+v; output %s", exit, out)
	}
	var a answer
	if err := json.Unmarshal([]byte(out), &a); err != nil {
		t.Fatalf("probe said %q: %v", out, err)
	}
	for _, name := range slices.Sorted(mapsKeys(a.Attacks)) {
		if !strings.HasPrefix(a.Attacks[name], "blocked: ") {
			t.Errorf("attack %q: %s", name, a.Attacks[name])
		}
	}
	if len(a.Attacks) < 80 {
		t.Errorf("only %d attacks ran", len(a.Attacks))
	}
	a.judge(t, spec)
	judgeTree(t, spec)
}

// judge compares facts with the specification.
func (a answer) judge(t *testing.T, spec sandbox.Spec) {
	t.Helper()
	if a.UID != spec.UID || a.GID != spec.GID {
		t.Errorf("uid %d gid %d, want %d %d", a.UID, a.GID, spec.UID, spec.GID)
	}
	want := map[string]string{"NoNewPrivs": "1", "Seccomp": "2"}
	for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
		want[set] = strings.Repeat("0", 16)
	}
	for key, value := range want {
		if a.Status[key] != value {
			t.Errorf("%s is %q, want %q", key, a.Status[key], value)
		}
	}
	if !slices.Equal(a.Env, []string{"LANG=C.UTF-8"}) {
		t.Errorf("environment %q", a.Env)
	}
	if !slices.Equal(a.Interfaces, []string{"lo"}) || a.Routes != 0 {
		t.Errorf("interfaces %q, %d routes", a.Interfaces, a.Routes)
	}
	if !strings.HasPrefix(a.Gateway, "200 hello from ") {
		t.Errorf("gateway answered %q", a.Gateway)
	}
	if a.Limits["core"] != spec.Hardening.Core || a.Limits["nofile"] != spec.Hardening.NoFile {
		t.Errorf("limits %v", a.Limits)
	}
	for _, f := range a.Files {
		if number, _, _ := strings.Cut(f, " "); len(number) != 1 || number > "2" {
			t.Errorf("inherited descriptor %s", f)
		}
	}
	a.judgePlaces(t, spec)
}

// judgePlaces checks namespaces, devices and what can be written.
func (a answer) judgePlaces(t *testing.T, spec sandbox.Spec) {
	t.Helper()
	for _, name := range spec.Hardening.Namespaces {
		ours, err := os.Readlink("/proc/self/ns/" + name)
		if err != nil || a.Namespaces[name] == "" || a.Namespaces[name] == ours {
			t.Errorf("namespace %s is %q, the host's is %q (%v)", name, a.Namespaces[name], ours, err)
		}
	}
	may := []string{sandbox.TreePath, "/dev/shm", "/dev/mqueue"}
	for _, s := range spec.Policy.Scratch {
		may = append(may, s.Path)
	}
	for _, p := range a.Writable {
		if !slices.Contains(may, p) {
			t.Errorf("%s can be written", p)
		}
	}
	for _, p := range []string{sandbox.TreePath, "/tmp"} {
		if !slices.Contains(a.Writable, p) {
			t.Errorf("%s cannot be written", p)
		}
	}
	devices := []string{
		"console", "core", "fd", "full", "mqueue", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin",
		"stdout", "tty", "urandom", "zero",
	}
	for _, name := range a.Devices {
		if !slices.Contains(devices, name) {
			t.Errorf("device %s is there", name)
		}
	}
}

// judgeTree looks at what the probe left on the host.
func judgeTree(t *testing.T, spec sandbox.Spec) {
	t.Helper()
	seen := false
	err := filepath.Walk(spec.TreeDir, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok || int(st.Uid) != spec.UID || int(st.Gid) != spec.GID {
			t.Errorf("%s belongs to %+v", path, info.Sys())
		}
		if info.Mode()&(os.ModeSetuid|os.ModeDevice) != 0 {
			t.Errorf("%s is %s", path, info.Mode())
		}
		seen = seen || filepath.Base(path) == "planted"
		return nil
	})
	if err != nil || !seen {
		t.Errorf("the probe's file is not in the tree (%v)", err)
	}
}

// serve answers HTTP on a Unix socket as the gateway does.
func (e ConformanceEnv) serve(t *testing.T, socket string) {
	t.Helper()
	serveOn(t, "unix", socket)
	e.share(t, socket, 0o660, os.Getuid())
}

func serveOn(t *testing.T, network, address string) net.Addr {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "hello from "+strconv.Quote(address))
	})}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(l) }()
	t.Cleanup(func() { server.Close(); <-done })
	return l.Addr()
}

// hostListeners listens on loopback and on every address, and returns each way
// to get there.
func hostListeners(t *testing.T) []string {
	t.Helper()
	all := serveOn(t, "tcp", ":0").(*net.TCPAddr).Port
	targets := []string{serveOn(t, "tcp", "127.0.0.1:0").String()}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		if ip, ok := a.(*net.IPNet); ok {
			targets = append(targets, net.JoinHostPort(ip.IP.String(), strconv.Itoa(all)))
		}
	}
	return targets
}
