package stack

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"moeca/internal/hostapi"
	"moeca/internal/sandbox"
)

// tool is a program the host can use.
type tool struct {
	name string
	args []string // that print its version
	need string
	get  string
}

// tools are looked for in the order of how much is lost without them.
var tools = []tool{
	{"git", []string{"--version"}, "repositories, needed", "install git 2.38 or newer"},
	{"docker", []string{"--version"}, "the docker driver; only the engine is used, not this client", "install a container engine (Debian: apt-get install docker.io), or use the native driver"},
	{"mmdebstrap", []string{"--version"}, "building the poly image", "Debian, Ubuntu: apt-get install mmdebstrap; elsewhere build images/poly/Dockerfile"},
	{"go", []string{"version"}, "copied into the poly image", "install Go 1.26 or newer"},
	{"node", []string{"--version"}, "copied into the poly image", "install Node 20.19 or newer"},
}

// Examine looks at this machine without starting anything.
func Examine(ctx context.Context, o Options) hostapi.Doctor {
	dir := filepath.Join(o.Data, "images")
	if _, err := os.Stat(o.Data); err != nil {
		// Nothing is created only to be looked at.
		tmp, err := os.MkdirTemp("", "moeca-doctor-")
		if err != nil {
			return hostapi.Doctor{Driver: "none", Tools: examineTools(ctx, o.Path)}
		}
		defer os.RemoveAll(tmp)
		dir = tmp
	}
	store, err := openImages(o, dir)
	if err != nil {
		return hostapi.Doctor{Driver: "none", Tools: examineTools(ctx, o.Path)}
	}
	d, err := newDrivers(o, store, filepath.Join(dir, "native"))
	if err != nil {
		return hostapi.Doctor{Driver: "none", Tools: examineTools(ctx, o.Path)}
	}
	return examine(ctx, o, d, store)
}

// doctor is Examine for the running host.
func (s *Stack) doctor(ctx context.Context) hostapi.Doctor {
	doc := examine(ctx, s.opts, s.drivers, s.images)
	doc.Driver = s.driver.Name() // the one in use, whatever would be chosen now
	return doc
}

func examine(ctx context.Context, o Options, d drivers, images interface{ PolyReady() bool }) hostapi.Doctor {
	doc := hostapi.Doctor{Driver: "none", Tools: examineTools(ctx, o.Path)}
	want := o.Driver
	if want == "" {
		want = "auto"
	}
	if chosen, _, err := d.choose(ctx, want); err == nil {
		doc.Driver = chosen.Name()
	}
	for _, driver := range []sandbox.Driver{d.docker, d.native} {
		entry := hostapi.DoctorDriver{Name: driver.Name(), Usable: true}
		if err := driver.Usable(ctx); err != nil {
			entry.Usable, entry.Why = false, err.Error()
		}
		if l, ok := driver.(interface{ Unenforced() []string }); ok && entry.Usable {
			entry.Limits = l.Unenforced()
		}
		if entry.Usable {
			entry.Limits = append(entry.Limits, diskNote)
		}
		doc.Drivers = append(doc.Drivers, entry)
	}
	doc.Images = []hostapi.DoctorImage{
		{Policy: sandbox.Base, Ready: true, Note: "assembled from moeca-agent in a moment"},
		{Policy: sandbox.Poly, Ready: images.PolyReady(), Note: "built from distribution packages; takes minutes the first time"},
	}
	return doc
}

// diskNote says how far the one limit that is polled holds.
var diskNote = fmt.Sprintf("disk: no quota; a tree's usage is looked at every %v, and a sandbox that passes %d GiB or leaves less than %d GiB free is stopped",
	sandbox.DefaultDiskLimit.Every, sandbox.DefaultDiskLimit.Bytes>>30, sandbox.DefaultDiskLimit.Floor>>30)

// versionLimit bounds how long a tool may take to say its version.
const versionLimit = 5 * time.Second

func examineTools(ctx context.Context, path string) []hostapi.DoctorTool {
	var list []hostapi.DoctorTool
	for _, t := range tools {
		entry := hostapi.DoctorTool{Name: t.name, Need: t.need, Get: t.get}
		if file := lookUp(path, t.name); file != "" {
			entry.Found, entry.Get = true, ""
			entry.Version = versionOf(ctx, file, t.args)
		}
		list = append(list, entry)
	}
	return list
}

func lookUp(path, name string) string {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue // a relative entry would run what lies in the working directory
		}
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file
		}
	}
	return ""
}

func versionOf(ctx context.Context, file string, args []string) string {
	ctx, cancel := context.WithTimeout(ctx, versionLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, file, args...)
	cmd.Env, cmd.Dir = []string{"LC_ALL=C", "HOME=/nonexistent"}, "/"
	out, err := cmd.Output()
	if err != nil {
		return "did not say"
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return line
}
