package image

import (
	"bytes"
	"io"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// layer is an uncompressed archive whose digest is already known. Large layers
// go to an engine on the same machine, where compressing costs more than it
// saves, and are never hashed a second time.
type layer struct {
	digest v1.Hash
	size   int64
	open   func() (io.ReadCloser, error)
}

func (l layer) Digest() (v1.Hash, error)             { return l.digest, nil }
func (l layer) DiffID() (v1.Hash, error)             { return l.digest, nil }
func (l layer) Compressed() (io.ReadCloser, error)   { return l.open() }
func (l layer) Uncompressed() (io.ReadCloser, error) { return l.open() }
func (l layer) Size() (int64, error)                 { return l.size, nil }
func (l layer) MediaType() (types.MediaType, error)  { return types.DockerUncompressedLayer, nil }

// memoryLayer is an archive in memory.
func memoryLayer(content []byte) layer {
	return layer{
		digest: v1.Hash{Algorithm: "sha256", Hex: sum(content)},
		size:   int64(len(content)),
		open:   func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
	}
}

// fileLayer is an archive on disk whose digest was verified before.
func fileLayer(path, hex string, size int64) layer {
	return layer{
		digest: v1.Hash{Algorithm: "sha256", Hex: hex},
		size:   size,
		open:   func() (io.ReadCloser, error) { return os.Open(path) },
	}
}
