package docker

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"moeca/internal/sandbox"
)

func TestServiceServesAsItsUser(t *testing.T) {
	b := newBed(t)
	dir := filepath.Join(realPath(t, b.dir), "config")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s := probeService(t, b)
	s.Mounts = []sandbox.Mount{{Source: dir, Target: "/etc/probe", ReadOnly: true}}
	s.Labels = map[string]string{"purpose": "test", labelOwner: "somebody else"}
	running, err := b.driver.StartService(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	address := running.Address(8080)
	if !address.Addr().IsLoopback() {
		t.Errorf("published on %s", address)
	}
	if got := get(t, "http://"+address.String()); got != "uid 65531 gid 65531" {
		t.Errorf("the service says %q", got)
	}
	if err := running.Stop(t.Context(), 5*time.Second); err != nil {
		t.Fatal(err)
	}
	if err := running.Stop(t.Context(), 0); err != nil {
		t.Errorf("stop again: %v", err)
	}
}

// A host that was killed leaves its gateway behind; the next start takes its
// place, and the second driver is the next life of the host.
func TestServiceReplacesItsPredecessor(t *testing.T) {
	b := newBed(t)
	first := startProbe(t, b)
	next, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { next.Close() })
	second, err := next.StartService(t.Context(), probeService(t, b))
	if err != nil {
		t.Fatal(err)
	}
	get(t, "http://"+second.Address(8080).String())
	if _, err := b.driver.api.ContainerInspect(t.Context(), first.ID(), client.ContainerInspectOptions{}); err == nil {
		t.Error("the first one is still there")
	}
}

func TestServiceThatEndsIsReported(t *testing.T) {
	b := newBed(t)
	s := probeService(t, b)
	s.Args, s.Ports = []string{"stderr", "no", "key"}, nil
	running, err := b.driver.StartService(t.Context(), s)
	if err != nil { // it may have ended before it was looked at
		if !strings.Contains(err.Error(), "no key") {
			t.Fatal(err)
		}
		return
	}
	code, err := running.Wait(t.Context())
	if err != nil || code != 1 {
		t.Fatalf("exit %d, %v", code, err)
	}
	if logs, err := running.Logs(t.Context(), 100); err != nil || !strings.Contains(logs, "no key") {
		t.Fatalf("log %q, %v", logs, err)
	}
}

func TestServiceRefuses(t *testing.T) {
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("/", link); err != nil {
		t.Fatal(err)
	}
	d, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	good := Service{Name: "probe", Owner: "o", UID: 1, GID: 1}
	tests := map[string]struct {
		change func(*Service)
		want   string
	}{
		"root":                   {func(s *Service) { s.UID = 0 }, "never runs as root"},
		"the root group":         {func(s *Service) { s.GID = 0 }, "never runs as root"},
		"no owner":               {func(s *Service) { s.Owner = "" }, "no owner"},
		"a name with a slash":    {func(s *Service) { s.Name = "a/b" }, "name"},
		"a symbolic link":        {func(s *Service) { s.Mounts = []sandbox.Mount{{Source: link, Target: "/x"}} }, "symbolic links"},
		"the host's root":        {func(s *Service) { s.Mounts = []sandbox.Mount{{Source: "/", Target: "/x"}} }, "engine"},
		"its own root":           {func(s *Service) { s.Mounts = []sandbox.Mount{{Source: "/etc", Target: "/"}} }, "absolute and clean"},
		"a source that is gone":  {func(s *Service) { s.Mounts = []sandbox.Mount{{Source: "/nothing/here", Target: "/x"}} }, "no such file"},
		"a target that goes up":  {func(s *Service) { s.Mounts = []sandbox.Mount{{Source: "/etc", Target: "/a/../b"}} }, "absolute and clean"},
		"the engine's directory": {func(s *Service) { s.Mounts = []sandbox.Mount{{Source: socketDir(t, d), Target: "/x"}} }, "engine"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := good
			test.change(&s)
			_, err := d.StartService(t.Context(), s)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("%v, want %q", err, test.want)
			}
		})
	}
}

// socketDir is the real directory of the engine's socket.
func socketDir(t *testing.T, d *Driver) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(filepath.Dir(strings.TrimPrefix(d.host, "unix://")))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestNetworkOfTheRightNameIsNotTrusted(t *testing.T) {
	right := network.Network{
		Name: "moeca-upstream-o", Driver: "bridge", Scope: "local",
		Options: map[string]string{optionTalk: "false"},
		Labels:  map[string]string{labelOwner: "o", labelKind: kindNetwork},
	}
	if err := checkNetwork(right, "o"); err != nil {
		t.Fatal(err)
	}
	tests := map[string]func(*network.Network){
		"another driver":                     func(n *network.Network) { n.Driver = "macvlan" },
		"an internal network":                func(n *network.Network) { n.Internal = true },
		"one anybody may attach to":          func(n *network.Network) { n.Attachable = true },
		"ipv6":                               func(n *network.Network) { n.EnableIPv6 = true },
		"containers that talk to each other": func(n *network.Network) { n.Options = nil },
		"another owner's":                    func(n *network.Network) { n.Labels = map[string]string{labelOwner: "p", labelKind: kindNetwork} },
		"one somebody made by hand":          func(n *network.Network) { n.Labels = nil },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			n := right
			change(&n)
			if err := checkNetwork(n, "o"); !errors.Is(err, ErrNotAsAsked) {
				t.Fatalf("%v", err)
			}
		})
	}
}

func TestForeignNetworkStopsTheService(t *testing.T) {
	b := newBed(t)
	name := upstreamName(b.owner)
	made, err := b.driver.api.NetworkCreate(t.Context(), name, client.NetworkCreateOptions{Driver: "bridge"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.driver.api.NetworkRemove(t.Context(), made.ID, client.NetworkRemoveOptions{})
	if _, err := b.driver.StartService(t.Context(), probeService(t, b)); !errors.Is(err, ErrNotAsAsked) {
		t.Fatalf("%v", err)
	}
}

// The two lists are kept apart because a service is no sandbox; this holds them
// together.
func TestServiceIsHardenedLikeASandbox(t *testing.T) {
	box, service := specFor(t).Hardening, serviceHardening()
	for _, p := range box.Masked {
		if !slices.Contains(service.Masked, p) {
			t.Errorf("%s is not masked", p)
		}
	}
	for _, p := range box.ReadOnly {
		if !slices.Contains(service.ReadOnly, p) {
			t.Errorf("%s is not read-only", p)
		}
	}
	if !service.ReadOnlyRoot || !service.NoNewPrivs || !service.DropCapabilities || service.Core != 0 {
		t.Errorf("%+v", service)
	}
}
