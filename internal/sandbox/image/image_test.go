package image

import (
	"archive/tar"
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"moeca/internal/sandbox"
)

func fakeAgent(t *testing.T, content string) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), "moeca-agent")
	if err := os.WriteFile(p, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
	return p
}

func open(dir, agent string) *Store { return New(Options{Dir: dir, AgentBinary: agent}) }

func TestBaseIsReproducible(t *testing.T) {
	agent := fakeAgent(t, "agent 1")
	a, err := open(t.TempDir(), agent).Base(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b, err := open(t.TempDir(), agent).Base(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if a.Digest != b.Digest {
		t.Errorf("same agent, digests %s and %s", a.Digest, b.Digest)
	}
	archiveA, archiveB := read(t, a.TarPath), read(t, b.TarPath)
	if archiveA != archiveB {
		t.Error("same agent, different archives")
	}
	other, err := open(t.TempDir(), fakeAgent(t, "agent 2")).Base(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if other.Digest == a.Digest {
		t.Error("another agent, same digest")
	}
}

func TestBaseServesBothDrivers(t *testing.T) {
	r, err := open(t.TempDir(), fakeAgent(t, "agent")).Base(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	img, err := tarball.ImageFromPath(r.TarPath, nil)
	if err != nil {
		t.Fatal(err)
	}
	id, err := img.ConfigName()
	if err != nil || id.String() != r.Digest {
		t.Errorf("archive has id %s (%v), digest is %s", id, err, r.Digest)
	}
	for _, dir := range mountPoints() {
		if info, err := os.Stat(filepath.Join(r.RootDir, dir)); err != nil || !info.IsDir() {
			t.Errorf("no directory %s in root: %v", dir, err)
		}
	}
	if got := read(t, filepath.Join(r.RootDir, "moeca-agent")); got != "agent" {
		t.Errorf("agent in root is %q", got)
	}
	if info, _ := os.Stat(filepath.Join(r.RootDir, "moeca-agent")); info.Mode() != 0o755 {
		t.Errorf("agent has mode %s", info.Mode())
	}
}

func TestBaseConcurrently(t *testing.T) {
	dir, agent := t.TempDir(), fakeAgent(t, "agent")
	shared := open(dir, agent)
	var wg sync.WaitGroup
	for range 8 {
		for _, s := range []*Store{shared, open(dir, agent)} {
			wg.Go(func() {
				r, err := s.Base(context.Background())
				if err != nil {
					t.Error(err)
					return
				}
				if read(t, filepath.Join(r.RootDir, "moeca-agent")) != "agent" {
					t.Error("root is incomplete")
				}
			})
		}
	}
	wg.Wait()
	left, err := filepath.Glob(filepath.Join(dir, ".making-*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestAgentUpgradeGivesAnotherImage(t *testing.T) {
	agent := fakeAgent(t, "agent 1")
	s := open(t.TempDir(), agent)
	a, err := s.Base(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(agent, []byte("agent 22"), 0o755); err != nil {
		t.Fatal(err)
	}
	b, err := s.Base(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if a.Digest == b.Digest || read(t, filepath.Join(a.RootDir, "moeca-agent")) != "agent 1" {
		t.Error("an upgrade changed the image in place")
	}
	for _, r := range []*Root{a, b} {
		if got, err := s.Lookup(r.Digest); err != nil || got != r {
			t.Errorf("Lookup(%s) = %v, %v", r.Digest, got, err)
		}
	}
}

func TestMissingAgentSaysWhatToDo(t *testing.T) {
	_, err := open(t.TempDir(), "/nowhere/moeca-agent").Base(t.Context())
	if err == nil || !strings.Contains(err.Error(), "make build") {
		t.Errorf("error %v", err)
	}
	if _, err := open(t.TempDir(), fakeAgent(t, "a")).Poly(t.Context(), nil); err == nil {
		t.Error("poly without a build directory was made")
	}
}

// hostile is an archive that tries to write elsewhere.
func hostile(t *testing.T, entries ...tar.Header) *bytes.Buffer {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, h := range entries {
		body := []byte(nil)
		if h.Typeflag == tar.TypeReg {
			body = []byte("x")
		}
		h.Size = int64(len(body))
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(body); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &buf
}

func TestUnpackStaysInside(t *testing.T) {
	outside := t.TempDir()
	cases := map[string][]tar.Header{
		"dots":              {{Typeflag: tar.TypeReg, Name: "../escaped", Mode: 0o644}},
		"through a link":    {{Typeflag: tar.TypeSymlink, Name: "l", Linkname: outside}, {Typeflag: tar.TypeReg, Name: "l/escaped", Mode: 0o644}},
		"up by a link":      {{Typeflag: tar.TypeSymlink, Name: "l", Linkname: ".."}, {Typeflag: tar.TypeReg, Name: "l/escaped", Mode: 0o644}},
		"hard link out":     {{Typeflag: tar.TypeLink, Name: "h", Linkname: "../../../../etc/passwd"}},
		"absolute name":     {{Typeflag: tar.TypeReg, Name: outside + "/escaped", Mode: 0o644}},
		"write over a link": {{Typeflag: tar.TypeSymlink, Name: "f", Linkname: outside + "/escaped"}, {Typeflag: tar.TypeReg, Name: "f", Mode: 0o644}},
	}
	for name, entries := range cases {
		t.Run(name, func(t *testing.T) {
			base := t.TempDir()
			err := unpack(t.Context(), hostile(t, entries...), filepath.Join(base, "root"))
			t.Logf("unpack: %v", err)
			for _, p := range []string{filepath.Join(base, "escaped"), filepath.Join(outside, "escaped")} {
				if exists(p) {
					t.Errorf("%s was written", p)
				}
			}
		})
	}
}

func TestUnpackDropsPrivilege(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "root")
	err := unpack(t.Context(), hostile(t,
		tar.Header{Typeflag: tar.TypeReg, Name: "bin/su", Mode: 0o4755},
		tar.Header{Typeflag: tar.TypeChar, Name: "dev/mem", Mode: 0o666, Devmajor: 1, Devminor: 1},
		tar.Header{Typeflag: tar.TypeDir, Name: "var/", Mode: 0},
		tar.Header{Typeflag: tar.TypeReg, Name: "var/f", Mode: 0},
	), dir)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "bin/su"))
	if err != nil || info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
		t.Errorf("bin/su: %v %v", info, err)
	}
	if exists(filepath.Join(dir, "dev/mem")) {
		t.Error("a device was made")
	}
	if read(t, filepath.Join(dir, "var/f")) != "x" {
		t.Error("a file its owner cannot read")
	}
}

// polyBuild is a build directory whose script makes a tiny root file system.
func polyBuild(t *testing.T, script string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "build.sh"), []byte("#!/bin/sh\nset -eu\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

const tinyBuild = `
echo building
mkdir "$1/fs" "$1/fs/usr" && echo hello > "$1/fs/usr/hello"
tar -C "$1/fs" -cf "$1/rootfs.tar" .
rm -r "$1/fs"
sha256sum "$1/rootfs.tar" > "$1/rootfs.tar.sha256"
echo run >> RUNS
`

func TestPolyIsBuiltOnceAndCarriesTheAgent(t *testing.T) {
	runs := filepath.Join(t.TempDir(), "runs")
	build := polyBuild(t, strings.ReplaceAll(tinyBuild, "RUNS", runs))
	agent, cache := fakeAgent(t, "agent 1"), t.TempDir()
	var lines []string
	var first *Root
	for range 2 {
		s := New(Options{Dir: t.TempDir(), Cache: cache, AgentBinary: agent, PolyBuild: build})
		r, err := s.Poly(t.Context(), func(l string) { lines = append(lines, l) })
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = r
		}
		if r.Digest != first.Digest || read(t, filepath.Join(r.RootDir, "usr/hello")) != "hello\n" || read(t, r.AgentPath) != "agent 1" {
			t.Errorf("root %+v", r)
		}
		if !exists(filepath.Join(r.RootDir, "run/moeca")) || !exists(filepath.Join(r.RootDir, "moeca-agent")) {
			t.Error("mount points are missing")
		}
	}
	if got := read(t, runs); got != "run\n" {
		t.Errorf("script ran %q", got)
	}
	if len(lines) == 0 || lines[0] != "building" {
		t.Errorf("progress %q", lines)
	}
	if err := os.WriteFile(agent, []byte("agent 2 "), 0o755); err != nil {
		t.Fatal(err)
	}
	r, err := New(Options{Dir: t.TempDir(), Cache: cache, AgentBinary: agent, PolyBuild: build}).Poly(t.Context(), nil)
	if err != nil || r.Digest == first.Digest || read(t, runs) != "run\n" {
		t.Errorf("upgraded agent: %+v %v, runs %q", r, err, read(t, runs))
	}
	var archive bytes.Buffer
	if err := r.Save(&archive); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.tar")
	if err := os.WriteFile(path, archive.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	img, err := tarball.ImageFromPath(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if id, err := img.ConfigName(); err != nil || id.String() != r.Digest {
		t.Errorf("archive id %v %v, want %s", id, err, r.Digest)
	}
}

func TestPolyRefusesWhatItCannotVerify(t *testing.T) {
	cases := map[string]string{
		"script fails": "echo no network; exit 3",
		"wrong digest": "tar -cf \"$1/rootfs.tar\" -T /dev/null; echo 00 > \"$1/rootfs.tar.sha256\"",
		"no archive":   "echo 00 > \"$1/rootfs.tar.sha256\"",
		"no digest":    "tar -cf \"$1/rootfs.tar\" -T /dev/null",
		"no output":    "true",
	}
	for name, script := range cases {
		t.Run(name, func(t *testing.T) {
			s := New(Options{Dir: t.TempDir(), AgentBinary: fakeAgent(t, "a"), PolyBuild: polyBuild(t, script)})
			if r, err := s.Poly(t.Context(), nil); err == nil {
				t.Errorf("made %+v", r)
			} else {
				t.Log(err)
			}
			if s.PolyReady() {
				t.Error("says it is ready")
			}
		})
	}
}

func TestForRefusesUnknownPolicies(t *testing.T) {
	if _, err := open(t.TempDir(), fakeAgent(t, "a")).For(t.Context(), "media", nil); err == nil {
		t.Error("made an image for a policy that has none")
	}
	if _, err := open(t.TempDir(), fakeAgent(t, "a")).For(t.Context(), sandbox.Base, nil); err != nil {
		t.Error(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	}
	return string(data)
}
