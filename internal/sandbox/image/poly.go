package image

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"moeca/internal/sandbox"
)

// Files in a poly directory.
const (
	polyTar     = "rootfs.tar"
	polySum     = "rootfs.tar.sha256"
	polyRoot    = "root"
	polyAdopted = "adopted.json"
)

// adopted says that the archive was hashed and unpacked.
type adopted struct {
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

// Poly returns the poly image. When its root file system is in the cache, this
// is quick; else the build script runs, for minutes, and its output lines go to
// progress, which may be nil.
func (s *Store) Poly(ctx context.Context, progress func(string)) (*Root, error) {
	s.poly.Lock()
	defer s.poly.Unlock()
	dir, err := s.polyDir()
	if err != nil {
		return nil, err
	}
	agentKey, err := s.agentKey()
	if err != nil {
		return nil, err
	}
	key := dir + " " + agentKey
	if r, ok := s.recall(key); ok {
		return r, nil
	}
	if progress == nil {
		progress = func(string) {}
	}
	state, err := s.rootFS(ctx, dir, progress)
	if err != nil {
		return nil, err
	}
	r, err := s.makePoly(dir, state)
	if err != nil {
		return nil, err
	}
	s.remember(key, r)
	return r, nil
}

// PolyReady says whether Poly would return without building anything.
func (s *Store) PolyReady() bool {
	dir, err := s.polyDir()
	return err == nil && exists(filepath.Join(dir, polyAdopted))
}

// makePoly puts the agent on top of a root file system.
func (s *Store) makePoly(dir string, state adopted) (*Root, error) {
	agent, err := s.agent()
	if err != nil {
		return nil, err
	}
	own := filepath.Join(s.o.Dir, "agent-"+sum(agent)[:16])
	if !exists(own) {
		err := publish(own, func(tmp string) error {
			return os.WriteFile(filepath.Join(tmp, agentName), agent, 0o755)
		})
		if err != nil {
			return nil, fmt.Errorf("image: keep agent: %w", err)
		}
	}
	top, err := agentTar(agent)
	if err != nil {
		return nil, err
	}
	img, digest, err := assemble(fileLayer(filepath.Join(dir, polyTar), state.SHA256, state.Size), memoryLayer(top))
	if err != nil {
		return nil, err
	}
	return &Root{
		Policy: sandbox.Poly, Digest: digest, image: img,
		RootDir: filepath.Join(dir, polyRoot), AgentPath: filepath.Join(own, agentName),
	}, nil
}

// agentTar is the layer with the agent and the mount points.
func agentTar(agent []byte) ([]byte, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, dir := range mountPoints() {
		if err := w.WriteHeader(header(tar.TypeDir, dir+"/", 0o755, 0)); err != nil {
			return nil, fmt.Errorf("image: poly: %w", err)
		}
	}
	if err := (file{agentName, agent, 0o755}).write(w); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("image: poly: %w", err)
	}
	return buf.Bytes(), nil
}

// polyDir names the cache directory by everything the build reads.
func (s *Store) polyDir() (string, error) {
	if s.o.PolyBuild == "" {
		return "", fmt.Errorf("image: poly: this installation has no build directory for poly (images/poly); only the base policy is available")
	}
	root := os.DirFS(s.o.PolyBuild)
	h := sha256.New()
	fmt.Fprintf(h, "%s\n", runtime.GOARCH)
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := fs.ReadFile(root, path)
		fmt.Fprintf(h, "%s %s\n", sum(data), path)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("image: poly: read build directory: %w", err)
	}
	return filepath.Join(s.o.Cache, "poly-"+hex.EncodeToString(h.Sum(nil))[:16]), nil
}

// rootFS builds and unpacks the root file system unless that was done. Another
// process that does the same is waited for.
func (s *Store) rootFS(ctx context.Context, dir string, progress func(string)) (adopted, error) {
	if state, ok := readAdopted(dir); ok {
		return state, nil
	}
	if err := os.MkdirAll(s.o.Cache, 0o755); err != nil {
		return adopted{}, fmt.Errorf("image: poly: %w", err)
	}
	unlock, err := lockFile(ctx, dir+".lock", func() { progress("another process is building poly; waiting for it") })
	if err != nil {
		return adopted{}, fmt.Errorf("image: poly: %w", err)
	}
	defer unlock()
	if state, ok := readAdopted(dir); ok {
		return state, nil
	}
	if !exists(filepath.Join(dir, polySum)) {
		if err := s.build(ctx, dir, progress); err != nil {
			return adopted{}, err
		}
	}
	return adopt(ctx, dir, progress)
}

func readAdopted(dir string) (adopted, bool) {
	var a adopted
	data, err := os.ReadFile(filepath.Join(dir, polyAdopted))
	if err != nil || json.Unmarshal(data, &a) != nil {
		return adopted{}, false
	}
	info, err := os.Stat(filepath.Join(dir, polyTar))
	return a, err == nil && info.Size() == a.Size && exists(filepath.Join(dir, polyRoot))
}

// adopt verifies a built archive, unpacks it and records that.
func adopt(ctx context.Context, dir string, progress func(string)) (adopted, error) {
	progress("verifying the root file system")
	state, err := verifyArchive(dir)
	if err != nil {
		return adopted{}, err
	}
	progress("unpacking the root file system")
	root := filepath.Join(dir, polyRoot)
	if exists(root) { // an unpacking that was interrupted
		if err := os.RemoveAll(root); err != nil {
			return adopted{}, fmt.Errorf("image: poly: %w", err)
		}
	}
	f, err := os.Open(filepath.Join(dir, polyTar))
	if err != nil {
		return adopted{}, fmt.Errorf("image: poly: %w", err)
	}
	defer f.Close()
	if err := unpack(ctx, f, root); err != nil {
		return adopted{}, err
	}
	if err := addMountPoints(root); err != nil {
		return adopted{}, err
	}
	record, err := json.Marshal(state)
	if err != nil {
		return adopted{}, fmt.Errorf("image: poly: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, polyAdopted), append(record, '\n'), 0o644); err != nil {
		return adopted{}, fmt.Errorf("image: poly: %w", err)
	}
	return state, nil
}

// verifyArchive hashes the archive and compares with what the script recorded.
func verifyArchive(dir string) (adopted, error) {
	recorded, err := os.ReadFile(filepath.Join(dir, polySum))
	if err != nil {
		return adopted{}, fmt.Errorf("image: poly: the build recorded no digest: %w", err)
	}
	want, _, _ := strings.Cut(strings.TrimSpace(string(recorded)), " ")
	want = strings.TrimPrefix(want, "sha256:")
	f, err := os.Open(filepath.Join(dir, polyTar))
	if err != nil {
		return adopted{}, fmt.Errorf("image: poly: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	size, err := io.Copy(h, f)
	if err != nil {
		return adopted{}, fmt.Errorf("image: poly: read archive: %w", err)
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		return adopted{}, fmt.Errorf("image: poly: archive %s has sha256 %s, recorded is %s; remove that directory and try again", f.Name(), got, want)
	}
	return adopted{SHA256: want, Size: size}, nil
}

// addMountPoints makes what the specification mounts on; a read-only root
// cannot grow them later.
func addMountPoints(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("image: poly: %w", err)
	}
	defer root.Close()
	for _, p := range mountPoints() {
		if err := root.MkdirAll(p, 0o755); err != nil {
			return fmt.Errorf("image: poly: mount point %s: %w", p, err)
		}
	}
	return unpackFile(root, agentName, 0o755, strings.NewReader(""))
}
