package docker

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"moeca/internal/sandbox"
)

// archive is an image as the engine loads it.
type archive interface {
	Tag() string
	Save(io.Writer) error
}

// Ensure makes the policy's image and puts it into the engine. What counts is
// the content: an image of the right name with other layers is replaced.
func (d *Driver) Ensure(ctx context.Context, policy sandbox.Policy) (sandbox.Image, error) {
	if d.store == nil {
		return sandbox.Image{}, fmt.Errorf("docker: image of policy %s: no image store was given", policy.Name)
	}
	if _, err := d.ready(ctx); err != nil {
		return sandbox.Image{}, err
	}
	root, err := d.store.For(ctx, policy.Name, d.tell)
	if err != nil {
		return sandbox.Image{}, err
	}
	id, err := d.load(ctx, root, root.Digest)
	if err != nil {
		return sandbox.Image{}, fmt.Errorf("docker: image of policy %s: %w", policy.Name, err)
	}
	d.mu.Lock()
	d.images[root.Digest] = id
	d.mu.Unlock()
	return root.Image(id), nil
}

// load returns the engine's id of an image with exactly the content of a,
// loading it first unless the engine has it. digest is that of a's
// configuration, which names every layer.
func (d *Driver) load(ctx context.Context, a archive, digest string) (string, error) {
	layers, err := layersOf(a, digest)
	if err != nil {
		return "", err
	}
	d.loading.Lock()
	defer d.loading.Unlock()
	id, err := d.present(ctx, a.Tag(), layers)
	if err != nil || id != "" {
		return id, err
	}
	d.tell("loading " + a.Tag() + " into the container engine")
	if err := d.send(ctx, a); err != nil {
		return "", err
	}
	if id, err = d.present(ctx, a.Tag(), layers); err == nil && id == "" {
		err = fmt.Errorf("%w: after loading %s its layers are not ours", ErrNotAsAsked, a.Tag())
	}
	return id, err
}

// present returns the id of the image named tag when its layers are these, else
// nothing.
func (d *Driver) present(ctx context.Context, tag string, layers []string) (string, error) {
	got, err := d.api.ImageInspect(ctx, tag)
	if errdefs.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("inspect %s: %w", tag, d.explain(err))
	}
	if !slices.Equal(got.RootFS.Layers, layers) {
		return "", nil
	}
	return got.ID, nil
}

// send streams the archive into the engine and reads its answer to the end,
// which is where it reports errors.
func (d *Driver) send(ctx context.Context, a archive) error {
	r, w := io.Pipe()
	defer r.Close() // ends the writer when the engine stops reading
	go func() { w.CloseWithError(a.Save(w)) }()
	answer, err := d.api.ImageLoad(ctx, r, client.ImageLoadWithQuiet(true))
	if err != nil {
		return fmt.Errorf("load %s: %w", a.Tag(), d.explain(err))
	}
	defer answer.Close()
	lines := json.NewDecoder(answer)
	for {
		var line struct {
			Error string `json:"error"`
		}
		err := lines.Decode(&line)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("load %s: read the engine's answer: %w", a.Tag(), err)
		}
		if line.Error != "" {
			return fmt.Errorf("load %s: %w", a.Tag(), d.explain(errors.New(line.Error)))
		}
	}
}

// layersOf reads the digests of the uncompressed layers from the configuration,
// which an archive starts with, after checking that it has the digest.
func layersOf(a archive, digest string) ([]string, error) {
	r, w := io.Pipe()
	defer r.Close() // the rest is not needed
	go func() { w.CloseWithError(a.Save(w)) }()
	entries := tar.NewReader(r)
	for {
		h, err := entries.Next()
		if err != nil {
			return nil, fmt.Errorf("find the configuration of %s: %w", a.Tag(), err)
		}
		if h.Name != digest {
			continue
		}
		return parseLayers(entries, digest)
	}
}

func parseLayers(r io.Reader, digest string) ([]string, error) {
	const most = 1 << 20
	data, err := io.ReadAll(io.LimitReader(r, most))
	if err != nil {
		return nil, fmt.Errorf("read image configuration: %w", err)
	}
	sum := sha256.Sum256(data)
	if got := "sha256:" + hex.EncodeToString(sum[:]); got != digest {
		return nil, fmt.Errorf("image configuration has digest %s and not %s", got, digest)
	}
	var config struct {
		RootFS struct {
			DiffIDs []string `json:"diff_ids"`
		} `json:"rootfs"`
	}
	if err := json.Unmarshal(data, &config); err != nil {
		return nil, fmt.Errorf("image configuration: %w", err)
	}
	if len(config.RootFS.DiffIDs) == 0 {
		return nil, errors.New("image configuration names no layer")
	}
	return config.RootFS.DiffIDs, nil
}
