package docker

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/google/go-containerregistry/pkg/compression"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// scratch is the image of a service: one static program, nothing else. The same
// program always gives the same digest.
type scratch struct {
	service string
	digest  string // of the configuration
	image   v1.Image
}

// Tag names the image in an engine.
func (s *scratch) Tag() string {
	return fmt.Sprintf("moeca/service-%s:%s", s.service, s.digest[len("sha256:"):][:16])
}

// Save writes the archive an engine loads.
func (s *scratch) Save(w io.Writer) error {
	tag, err := name.NewTag(s.Tag())
	if err != nil {
		return fmt.Errorf("name image: %w", err)
	}
	return tarball.Write(tag, s.image, w)
}

// scratchImage assembles the image of a program, without an engine.
func scratchImage(service, binary string) (*scratch, error) {
	program, err := os.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("program: %w", err)
	}
	content, err := programTar(service, program)
	if err != nil {
		return nil, fmt.Errorf("archive %s: %w", binary, err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content)), nil
	}, tarball.WithCompression(compression.None))
	if err != nil {
		return nil, fmt.Errorf("layer of %s: %w", binary, err)
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, fmt.Errorf("image of %s: %w", binary, err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("image of %s: %w", binary, err)
	}
	image, err = mutate.ConfigFile(image, &v1.ConfigFile{
		Architecture: runtime.GOARCH, OS: "linux", Created: v1.Time{Time: time.Unix(0, 0).UTC()}, RootFS: config.RootFS,
	})
	if err != nil {
		return nil, fmt.Errorf("image of %s: %w", binary, err)
	}
	id, err := image.ConfigName()
	if err != nil {
		return nil, fmt.Errorf("image of %s: %w", binary, err)
	}
	return &scratch{service: service, digest: id.String(), image: image}, nil
}

func programTar(name string, program []byte) ([]byte, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o755, Size: int64(len(program)), ModTime: time.Unix(0, 0), Format: tar.FormatPAX}
	if err := w.WriteHeader(h); err != nil {
		return nil, err
	}
	if _, err := w.Write(program); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}
