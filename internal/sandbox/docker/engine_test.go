package docker

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/system"
)

// fakeEngine answers like an engine on a socket of its own, with whatever
// misbehaviour a test needs. It keeps what it was asked to remove.
type fakeEngine struct {
	api        string // version it announces
	info       system.Info
	containers []container.Summary // what a list answers, whatever the filters
	created    container.CreateResponse
	inspected  container.InspectResponse

	mu      sync.Mutex
	removed []string
}

func goodInfo() system.Info {
	return system.Info{
		OSType: "linux", OperatingSystem: "Debian GNU/Linux 12 (bookworm)", NCPU: 2,
		MemoryLimit: true, SwapLimit: true, PidsLimit: true, CPUCfsQuota: true,
		SecurityOptions: []string{"name=apparmor", "name=seccomp,profile=default"},
	}
}

// listen serves the fake and returns a driver on it.
func (f *fakeEngine) listen(t *testing.T) *Driver {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "e.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: f}
	go srv.Serve(l)
	d, err := New(Options{Host: "unix://" + socket})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close(); srv.Close() })
	return d
}

func (f *fakeEngine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Api-Version", f.api)
	switch {
	case strings.HasSuffix(r.URL.Path, "/_ping"):
	case strings.HasSuffix(r.URL.Path, "/info"):
		json.NewEncoder(w).Encode(f.info)
	case strings.HasSuffix(r.URL.Path, "/containers/json"):
		json.NewEncoder(w).Encode(f.containers)
	case strings.HasSuffix(r.URL.Path, "/containers/create"):
		w.WriteHeader(http.StatusCreated)
		json.NewEncoder(w).Encode(f.created)
	case strings.HasSuffix(r.URL.Path, "/containers/"+f.created.ID+"/json"):
		json.NewEncoder(w).Encode(f.inspected)
	case strings.HasSuffix(r.URL.Path, "/networks"):
		w.Write([]byte("[]"))
	case r.Method == http.MethodDelete:
		f.mu.Lock()
		f.removed = append(f.removed, filepath.Base(r.URL.Path))
		f.mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
	default:
		http.Error(w, `{"message":"not here"}`, http.StatusNotFound)
	}
}

func TestUnusableNamesTheNextStep(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone.sock")
	stale := filepath.Join(t.TempDir(), "stale.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: stale, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	for host, want := range map[string]string{
		"unix://" + gone:        "systemctl start docker",
		"unix://" + stale:       "systemctl start docker",
		"tcp://192.0.2.1:2375":  "not on this machine's own socket",
		"http://127.0.0.1:2375": "not on this machine's own socket",
	} {
		d, err := New(Options{Host: host})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		if err := d.Usable(t.Context()); !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", host, err, want)
		}
	}
	if _, err := New(Options{Host: "nonsense"}); err == nil || !strings.Contains(err.Error(), "unix:///") {
		t.Errorf("an address that is none: %v", err)
	}
}

func TestOldEngineIsRefused(t *testing.T) {
	for _, api := range []string{"1.40", "1.30", ""} {
		d := (&fakeEngine{api: api, info: goodInfo()}).listen(t)
		err := d.Usable(t.Context())
		if err == nil || !strings.Contains(err.Error(), "API") {
			t.Errorf("API %q: %v", api, err)
		}
	}
	for _, api := range []string{"1.41", "1.52", "1.99"} {
		d := (&fakeEngine{api: api, info: goodInfo()}).listen(t)
		if err := d.Usable(t.Context()); err != nil {
			t.Errorf("API %q: %v", api, err)
		}
	}
}

func TestEngineThatCannotHoldLimitsIsRefused(t *testing.T) {
	if err := capable(goodInfo()); err != nil {
		t.Fatal(err)
	}
	tests := map[string]func(*system.Info){
		"another operating system":    func(i *system.Info) { i.OSType = "windows" },
		"a virtual machine":           func(i *system.Info) { i.OperatingSystem = "Docker Desktop" },
		"a rootless engine":           func(i *system.Info) { i.SecurityOptions = append(i.SecurityOptions, "name=rootless") },
		"mapped users":                func(i *system.Info) { i.SecurityOptions = append(i.SecurityOptions, "name=userns") },
		"no seccomp":                  func(i *system.Info) { i.SecurityOptions = []string{"name=apparmor"} },
		"a lookalike of seccomp":      func(i *system.Info) { i.SecurityOptions = []string{"name=seccompx"} },
		"no memory limit":             func(i *system.Info) { i.MemoryLimit = false },
		"no swap limit":               func(i *system.Info) { i.SwapLimit = false },
		"labelled files":              func(i *system.Info) { i.SecurityOptions = append(i.SecurityOptions, "name=selinux") },
		"no process limit":            func(i *system.Info) { i.PidsLimit = false },
		"no cpu limit":                func(i *system.Info) { i.CPUCfsQuota = false },
		"an answer that says nothing": func(i *system.Info) { *i = system.Info{} },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			info := goodInfo()
			change(&info)
			if err := capable(info); !errors.Is(err, ErrUnusable) {
				t.Fatalf("%v", err)
			}
		})
	}
}

// An engine that ignores label filters answers with everybody's containers.
func TestSweepTouchesOnlyItsOwn(t *testing.T) {
	labelled := func(id string, labels ...string) container.Summary {
		m := map[string]string{}
		for i := 0; i+1 < len(labels); i += 2 {
			m[labels[i]] = labels[i+1]
		}
		return container.Summary{ID: id, Labels: m}
	}
	f := &fakeEngine{api: "1.41", info: goodInfo(), containers: []container.Summary{
		labelled("mine", labelOwner, "o1", labelKind, kindSandbox, labelSandbox, "a", labelEpoch, "old"),
		labelled("kept", labelOwner, "o1", labelKind, kindSandbox, labelSandbox, "b"),
		labelled("theirs", labelOwner, "o2", labelKind, kindSandbox, labelSandbox, "a"),
		labelled("prefix", labelOwner, "o1x", labelKind, kindSandbox, labelSandbox, "a"),
		labelled("gateway", labelOwner, "o1", labelKind, kindService, labelService, "gateway"),
		labelled("registry", labelOwner, "o1", labelKind, kindService, labelService, "registry"),
		labelled("stranger", "com.example", "x"),
		labelled("bare"),
	}}
	d := f.listen(t)
	ctx := context.Background()
	n, err := d.Sweep(ctx, "o1", []string{"b"})
	if err != nil || n != 1 || strings.Join(f.removed, " ") != "mine" {
		t.Fatalf("removed %v (%d), %v", f.removed, n, err)
	}
	if _, err := d.sweepServices(ctx, "o1", "gateway"); err != nil || strings.Join(f.removed, " ") != "mine gateway" {
		t.Fatalf("removed %v, %v", f.removed, err)
	}
	if _, err := d.Sweep(ctx, "", nil); err == nil {
		t.Error("swept without an owner")
	}
}

// What an engine made of a request that it did not follow is gone before
// anybody could start it.
func TestWhatWasNotAppliedIsRemoved(t *testing.T) {
	asked := sandboxRequest(specFor(t), "e1", 2)
	tests := map[string]func(*fakeEngine){
		"an ignored option": func(f *fakeEngine) { f.inspected.HostConfig.ReadonlyRootfs = false },
		"a warning":         func(f *fakeEngine) { f.created.Warnings = []string{"swap limit discarded"} },
		"no answer":         func(f *fakeEngine) { f.inspected = container.InspectResponse{} },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			f := &fakeEngine{api: "1.41", info: goodInfo(), inspected: applied(t, asked)}
			f.created.ID = "abc"
			change(f)
			_, err := f.listen(t).create(t.Context(), asked)
			if !errors.Is(err, ErrNotAsAsked) || strings.Join(f.removed, " ") != "abc" {
				t.Fatalf("%v; removed %v", err, f.removed)
			}
		})
	}
	f := &fakeEngine{api: "1.41", info: goodInfo(), inspected: applied(t, asked)}
	f.created.ID = "abc"
	if id, err := f.listen(t).create(t.Context(), asked); err != nil || id != "abc" || len(f.removed) != 0 {
		t.Fatalf("%s, %v; removed %v", id, err, f.removed)
	}
}
