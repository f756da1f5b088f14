// Package image makes the root file systems of sandboxes, without an engine
// and, for base, without a network. One content serves both drivers: a
// directory for native, an archive the engine loads for docker, and one digest.
//
// # Design
//
// Base is our own static agent binary and the empty directories the
// specification mounts on, assembled in memory with fixed times and owners, so
// that the same binary always gives the same digest.
//
// Poly is two layers: a distribution root file system, built once per package
// list by a script (minutes), and on top the agent binary, so that an upgraded
// agent costs nothing.
//
// The digest is that of the image's configuration, which names the digests of
// all layers; an engine calls it the image id.
//
// # Layout
//
//	<Dir>/base-<hex>/root/        unpacked, read by native
//	<Dir>/base-<hex>/image.tar    loaded by docker
//	<Dir>/agent-<hex>/moeca-agent the agent a poly image carries
//	<Cache>/poly-<key>/rootfs.tar         written by the build script
//	<Cache>/poly-<key>/rootfs.tar.sha256  its digest in hexadecimal, likewise
//	<Cache>/poly-<key>/root/              unpacked by us
//	<Cache>/poly-<key>/adopted.json       written last: digest and size we checked
//
// key is the hash of everything in the build directory and the architecture. A
// directory appears by rename when it is complete; a lock file beside it keeps
// two processes from building the same one. A complete directory is used as it
// is and never changed.
//
// Files are unpacked as the user who runs us, without devices, without setuid
// and setgid bits and never outside the directory, so this needs no root.
//
// A Store is safe for concurrent use.
package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"moeca/internal/sandbox"
)

// Options says where images are and what they are made from.
type Options struct {
	Dir         string // images of this data directory
	Cache       string // poly root file systems, shared by data directories; empty = Dir
	AgentBinary string // static moeca-agent
	// PolyBuild is the directory with build.sh and what it reads. It is run as
	//
	//	build.sh OUT
	//
	// and leaves OUT/rootfs.tar, uncompressed, and OUT/rootfs.tar.sha256. Lines
	// on its standard output and error are progress.
	PolyBuild string
}

// Store finds, makes and remembers images.
type Store struct {
	o Options

	base, poly sync.Mutex // held while that image is made

	mu    sync.Mutex // guards known
	known map[string]*Root
}

// Root is one image on this machine.
type Root struct {
	Policy  string
	Digest  string // sha256:… of the configuration; the engine's image id
	RootDir string // unpacked root file system
	// AgentPath is the agent binary to mount on sandbox.AgentPath; empty when
	// RootDir holds it.
	AgentPath string
	// TarPath is an archive for the engine to load; empty for images that are
	// too large to keep twice: use Save.
	TarPath string

	image v1.Image
}

// New returns a store. It touches nothing until an image is asked for.
func New(o Options) *Store {
	if o.Cache == "" {
		o.Cache = o.Dir
	}
	return &Store{o: o, known: map[string]*Root{}}
}

// For returns the image of a policy, making it if needed. progress may be nil.
func (s *Store) For(ctx context.Context, policy string, progress func(string)) (*Root, error) {
	switch policy {
	case sandbox.Base:
		return s.Base(ctx)
	case sandbox.Poly:
		return s.Poly(ctx, progress)
	}
	return nil, fmt.Errorf("image: no image for policy %q", policy)
}

// Lookup returns an image that this store has returned before, by digest.
func (s *Store) Lookup(digest string) (*Root, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.known[digest]; ok {
		return r, nil
	}
	return nil, fmt.Errorf("image: %s was not made by this process; ensure the policy's image first", digest)
}

// Image is what a specification carries. ref is what the driver starts.
func (r *Root) Image(ref string) sandbox.Image {
	return sandbox.Image{Policy: r.Policy, Digest: r.Digest, Ref: ref}
}

// Tag is the name an engine may know the image by: moeca/<policy>:<16 hex>.
func (r *Root) Tag() string {
	return fmt.Sprintf("moeca/%s:%s", r.Policy, r.Digest[len("sha256:"):][:16])
}

// Save writes the archive that an engine loads (docker load).
func (r *Root) Save(w io.Writer) error {
	tag, err := name.NewTag(r.Tag())
	if err != nil {
		return fmt.Errorf("image: name %s: %w", r.Policy, err)
	}
	if err := tarball.Write(tag, r.image, w); err != nil {
		return fmt.Errorf("image: write archive of %s: %w", r.Policy, err)
	}
	return nil
}

// remember keeps r for Lookup, under its digest and under what it was made from.
func (s *Store) remember(key string, r *Root) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[r.Digest], s.known[key] = r, r
}

// recall returns what was made from the same inputs and is still there.
func (s *Store) recall(key string) (*Root, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.known[key]
	return r, ok && exists(r.RootDir)
}

// agentKey names the agent binary as it is on disk now, without reading it.
func (s *Store) agentKey() (string, error) {
	info, err := os.Stat(s.o.AgentBinary)
	if err != nil {
		return "", fmt.Errorf("image: agent binary: %w; build it with: make build", err)
	}
	if !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return "", fmt.Errorf("image: agent binary %s is not an executable file", s.o.AgentBinary)
	}
	return fmt.Sprintf("%d/%d", info.Size(), info.ModTime().UnixNano()), nil
}

// agent reads the agent binary.
func (s *Store) agent() ([]byte, error) {
	data, err := os.ReadFile(s.o.AgentBinary)
	if err != nil {
		return nil, fmt.Errorf("image: agent binary: %w", err)
	}
	return data, nil
}

// publish makes a directory complete or not at all: fill writes into a fresh
// directory, which is then renamed to dir. Somebody else's finished dir wins.
func publish(dir string, fill func(tmp string) error) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("image: %w", err)
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".making-*")
	if err != nil {
		return fmt.Errorf("image: %w", err)
	}
	defer os.RemoveAll(tmp)
	if err := os.Chmod(tmp, 0o755); err != nil {
		return fmt.Errorf("image: %w", err)
	}
	if err := fill(tmp); err != nil {
		return err
	}
	if err := os.Rename(tmp, dir); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("image: put %s in place: %w", dir, err)
	}
	return nil
}

// exists says whether a path is there.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
