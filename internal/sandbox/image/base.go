package image

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"moeca/internal/sandbox"
)

const agentName = "moeca-agent"

// mountPoints are the directories the specification mounts on.
func mountPoints() []string {
	return []string{"dev", "home", "home/agent", "proc", "run", "run/moeca", "sys", "tmp", "work"}
}

// Base assembles the base image, or finds it.
func (s *Store) Base(ctx context.Context) (*Root, error) {
	s.base.Lock()
	defer s.base.Unlock()
	key, err := s.agentKey()
	if err != nil {
		return nil, err
	}
	key = sandbox.Base + " " + key
	if r, ok := s.recall(key); ok {
		return r, nil
	}
	agent, err := s.agent()
	if err != nil {
		return nil, err
	}
	r, err := s.makeBase(ctx, agent)
	if err != nil {
		return nil, err
	}
	s.remember(key, r)
	return r, nil
}

func (s *Store) makeBase(ctx context.Context, agent []byte) (*Root, error) {
	content, err := baseTar(agent)
	if err != nil {
		return nil, err
	}
	img, digest, err := assemble(memoryLayer(content))
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(s.o.Dir, "base-"+digest[len("sha256:"):][:16])
	r := &Root{
		Policy: sandbox.Base, Digest: digest, image: img,
		RootDir: filepath.Join(dir, "root"), TarPath: filepath.Join(dir, "image.tar"),
	}
	if exists(dir) {
		return r, nil
	}
	return r, publish(dir, func(tmp string) error {
		if err := unpack(ctx, bytes.NewReader(content), filepath.Join(tmp, "root")); err != nil {
			return err
		}
		return writeFile(filepath.Join(tmp, "image.tar"), r.Save)
	})
}

// baseTar is the whole content of base.
func baseTar(agent []byte) ([]byte, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, dir := range append([]string{"etc"}, mountPoints()...) {
		if err := w.WriteHeader(header(tar.TypeDir, dir+"/", 0o755, 0)); err != nil {
			return nil, fmt.Errorf("image: base: %w", err)
		}
	}
	for _, f := range append(accounts(), file{agentName, agent, 0o755}) {
		if err := f.write(w); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("image: base: %w", err)
	}
	return buf.Bytes(), nil
}

type file struct {
	name string
	data []byte
	mode int64
}

func (f file) write(w *tar.Writer) error {
	if err := w.WriteHeader(header(tar.TypeReg, f.name, f.mode, int64(len(f.data)))); err != nil {
		return fmt.Errorf("image: add %s: %w", f.name, err)
	}
	if _, err := w.Write(f.data); err != nil {
		return fmt.Errorf("image: add %s: %w", f.name, err)
	}
	return nil
}

// accounts name the identities a sandbox may have, so that programs which look
// their user up find one. A uid of the host's user is not among them.
func accounts() []file {
	passwd := fmt.Sprintf("root:x:0:0:root:/:/sbin/nologin\nagent:x:%d:%d:agent:/home/agent:/sbin/nologin\n", sandbox.UserUID, sandbox.UserGID)
	group := fmt.Sprintf("root:x:0:\nagent:x:%d:\nmoeca:x:%d:\n", sandbox.UserGID, sandbox.SocketGID)
	return []file{{"etc/passwd", []byte(passwd), 0o644}, {"etc/group", []byte(group), 0o644}}
}

// header has a fixed time and root as owner, so that content alone decides the
// digest.
func header(kind byte, name string, mode, size int64) *tar.Header {
	return &tar.Header{Typeflag: kind, Name: name, Mode: mode, Size: size, ModTime: time.Unix(0, 0), Format: tar.FormatPAX}
}

// assemble makes an image of layers, and its digest.
func assemble(layers ...v1.Layer) (v1.Image, string, error) {
	img, err := mutate.AppendLayers(empty.Image, layers...)
	if err != nil {
		return nil, "", fmt.Errorf("image: add layers: %w", err)
	}
	made, err := img.ConfigFile()
	if err != nil {
		return nil, "", fmt.Errorf("image: read configuration: %w", err)
	}
	if img, err = mutate.ConfigFile(img, config(made.RootFS)); err != nil {
		return nil, "", fmt.Errorf("image: configure: %w", err)
	}
	id, err := img.ConfigName()
	if err != nil {
		return nil, "", fmt.Errorf("image: digest: %w", err)
	}
	return img, id.String(), nil
}

// config is the same for every image but for the layers.
func config(root v1.RootFS) *v1.ConfigFile {
	return &v1.ConfigFile{
		Architecture: runtime.GOARCH,
		OS:           "linux",
		Created:      v1.Time{Time: time.Unix(0, 0).UTC()},
		RootFS:       root,
		Config: v1.Config{
			Entrypoint: []string{sandbox.AgentPath}, WorkingDir: "/",
			User: fmt.Sprintf("%d:%d", sandbox.UserUID, sandbox.UserGID),
		},
	}
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// writeFile creates a file and lets fill write it.
func writeFile(path string, fill func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("image: %w", err)
	}
	if err := fill(f); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("image: %w", err)
	}
	return nil
}
