package sandbox

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func goodInput() SpecInput {
	p, err := PolicyByName(Base)
	if err != nil {
		panic(err)
	}
	return SpecInput{
		ID: "a1", Owner: "o1", Run: "r1", Stage: "build", Policy: p,
		Image: Image{Policy: Base, Digest: "sha256:" + strings.Repeat("0", 64), Ref: "/images/base"},
		UID:   1000, GID: 1000, TreeDir: "/data/trees/a1", SocketDir: "/run/user/m/a1", Timeout: time.Hour,
	}
}

func TestNewSpecRefuses(t *testing.T) {
	cases := map[string]func(*SpecInput){
		"uid 0":                      func(in *SpecInput) { in.UID = 0 },
		"gid 0":                      func(in *SpecInput) { in.GID = 0 },
		"a negative uid":             func(in *SpecInput) { in.UID = -1 },
		"a relative tree":            func(in *SpecInput) { in.TreeDir = "trees/a1" },
		"no tree":                    func(in *SpecInput) { in.TreeDir = "" },
		"a tree with dots":           func(in *SpecInput) { in.TreeDir = "/data/../etc" },
		"a tree with a slash at end": func(in *SpecInput) { in.TreeDir = "/data/trees/" },
		"the root as tree":           func(in *SpecInput) { in.TreeDir = "/" },
		"a tree with a newline":      func(in *SpecInput) { in.TreeDir = "/data/a\nb" },
		"relative sockets":           func(in *SpecInput) { in.SocketDir = "run" },
		"sockets inside the tree":    func(in *SpecInput) { in.SocketDir = in.TreeDir + "/run" },
		"the tree inside sockets":    func(in *SpecInput) { in.TreeDir = in.SocketDir + "/t" },
		"an id with a slash":         func(in *SpecInput) { in.ID = "../x" },
		"an id with a leading dash":  func(in *SpecInput) { in.ID = "-rm" },
		"no owner":                   func(in *SpecInput) { in.Owner = "" },
		"an image by tag":            func(in *SpecInput) { in.Image.Digest = "latest" },
		"no image reference":         func(in *SpecInput) { in.Image.Ref = "" },
		"another policy's image":     func(in *SpecInput) { in.Image.Policy = Poly },
		"no timeout":                 func(in *SpecInput) { in.Timeout = 0 },
		"a timeout above a day":      func(in *SpecInput) { in.Timeout = 25 * time.Hour },
		"an unnamed policy":          func(in *SpecInput) { in.Policy = Policy{} },
		"memory above the ceiling":   func(in *SpecInput) { in.Policy.Memory = MaxMemory + 1 },
		"no memory limit":            func(in *SpecInput) { in.Policy.Memory = 0 },
		"cpus above the ceiling":     func(in *SpecInput) { in.Policy.CPUs = MaxCPUs + 0.5 },
		"pids above the ceiling":     func(in *SpecInput) { in.Policy.PIDs = MaxPIDs + 1 },
		"no pids limit":              func(in *SpecInput) { in.Policy.PIDs = 0 },
		"scratch over the tree":      func(in *SpecInput) { in.Policy.Scratch = []Tmpfs{{Path: "/work/x", Size: 1}} },
		"scratch over the sockets":   func(in *SpecInput) { in.Policy.Scratch = []Tmpfs{{Path: "/run", Size: 1}} },
		"scratch over proc":          func(in *SpecInput) { in.Policy.Scratch = []Tmpfs{{Path: "/proc/sys", Size: 1}} },
		"scratch without size":       func(in *SpecInput) { in.Policy.Scratch = []Tmpfs{{Path: "/tmp"}} },
		"sockets without network":    func(in *SpecInput) { in.Policy.Network = false },
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			in := goodInput()
			change(&in)
			if s, err := NewSpec(in); err == nil || !reflect.DeepEqual(s, Spec{}) {
				t.Errorf("NewSpec = %+v, %v; want a refusal", s, err)
			}
		})
	}
}

func TestHardeningIsTheSameForEveryPolicy(t *testing.T) {
	for _, p := range Policies() {
		in := goodInput()
		in.Policy, in.Image.Policy = p, p.Name
		s, err := NewSpec(in)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(s.Hardening, hardening()) {
			t.Errorf("%s: hardening differs: %+v", p.Name, s.Hardening)
		}
		h := s.Hardening
		if !h.ReadOnlyRoot || !h.NoNewPrivs || !h.DropCapabilities || !h.NoNetwork || h.Core != 0 || s.LogLimit <= 0 {
			t.Errorf("%s: hardening has a hole: %+v", p.Name, h)
		}
		for _, m := range s.Mounts() {
			if m.Target != TreePath && !m.ReadOnly {
				t.Errorf("%s: %s is writable", p.Name, m.Target)
			}
		}
	}
}

func TestSpecSharesNoMemory(t *testing.T) {
	in := goodInput()
	s, err := NewSpec(in)
	if err != nil {
		t.Fatal(err)
	}
	in.Policy.Scratch[0].Path = "/etc"
	if s.Policy.Scratch[0].Path == "/etc" {
		t.Error("changing the input changed the spec")
	}
}

func TestCheckSources(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tree, sockets := filepath.Join(base, "tree"), filepath.Join(base, "run")
	for _, dir := range []string{tree, sockets} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(base, "link")
	if err := os.Symlink(base, link); err != nil {
		t.Fatal(err)
	}
	uid := os.Getuid()
	if uid == 0 { // a tree of root's is for no sandbox
		uid = UserUID
		if err := os.Chown(tree, uid, uid); err != nil {
			t.Fatal(err)
		}
	}
	in := goodInput()
	in.UID, in.GID, in.TreeDir, in.SocketDir = uid, uid, tree, sockets
	spec, err := NewSpec(in)
	if err != nil {
		t.Fatal(err)
	}
	if err := CheckSources(spec); err != nil {
		t.Errorf("good sources: %v", err)
	}
	bad := map[string]func(*Spec){
		"a symbolic link":        func(s *Spec) { s.TreeDir = link },
		"a path through a link":  func(s *Spec) { s.SocketDir = filepath.Join(link, "run") },
		"nothing there":          func(s *Spec) { s.TreeDir = filepath.Join(base, "gone") },
		"a tree of another user": func(s *Spec) { s.UID++ },
		"no hardening":           func(s *Spec) { s.Hardening = Hardening{} },
		"fewer masks":            func(s *Spec) { s.Hardening.Masked = s.Hardening.Masked[1:] },
		"root after all":         func(s *Spec) { s.UID = 0 },
		"no log limit":           func(s *Spec) { s.LogLimit = 0 },
	}
	for name, change := range bad {
		s := spec
		change(&s)
		if CheckSources(s) == nil {
			t.Errorf("%s: not refused", name)
		}
	}
}

func TestExitCauses(t *testing.T) {
	cases := map[string]struct {
		in   Ended
		want string
	}{
		"done":                               {Ended{}, CauseDone},
		"failed":                             {Ended{Code: 1}, CauseFailed},
		"out of memory":                      {Ended{Code: 137, OOM: true}, CauseOOM},
		"a child was killed, the agent won":  {Ended{OOM: true}, CauseDone},
		"timeout wins over the kill's code":  {Ended{Code: 137, TimedOut: true}, CauseTimeout},
		"stopped":                            {Ended{Code: 143, Stopped: true}, CauseStopped},
		"memory wins over the stop after it": {Ended{Code: 137, OOM: true, Stopped: true}, CauseOOM},
		"flood":                              {Ended{Code: 137, Flooded: true, Stopped: true}, CauseFailed},
		"lost":                               {Ended{Lost: os.ErrClosed}, CauseLost},
	}
	for name, c := range cases {
		if got := c.in.Exit(); got.Cause != c.want {
			t.Errorf("%s: cause %q, want %q", name, got.Cause, c.want)
		}
	}
	if x := (Ended{Code: 1, Stderr: strings.Repeat("x", 3*StderrLimit)}).Exit(); len(x.Detail) > StderrLimit {
		t.Errorf("detail is %d bytes", len(x.Detail))
	}
}
