package stack

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Signer signs approvals with the key of this data directory.
type Signer struct{ key ed25519.PrivateKey }

const keyBlock = "MOECA HOST KEY"

// OpenSigner reads the key at path, or makes it. The file holds the 32-byte
// seed in PEM and is readable by its owner only.
func OpenSigner(path string) (*Signer, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		_, key, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			return nil, fmt.Errorf("host key: %w", err)
		}
		block := pem.EncodeToMemory(&pem.Block{Type: keyBlock, Bytes: key.Seed()})
		if err := writeFile(path, block, 0o600); err != nil {
			return nil, fmt.Errorf("host key: %w", err)
		}
		return &Signer{key}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("host key: %w", err)
	}
	block, _ := pem.Decode(raw)
	if block == nil || block.Type != keyBlock || len(block.Bytes) != ed25519.SeedSize {
		return nil, fmt.Errorf("host key %s cannot be read: restore it from a backup, or remove it to make a new one (old approvals then verify with the old public key only)", path)
	}
	return &Signer{ed25519.NewKeyFromSeed(block.Bytes)}, nil
}

// Sign returns the Ed25519 signature of message.
func (s *Signer) Sign(message []byte) ([]byte, error) { return ed25519.Sign(s.key, message), nil }

// Public returns the 32-byte public key.
func (s *Signer) Public() ed25519.PublicKey {
	public, _ := s.key.Public().(ed25519.PublicKey) // the type an Ed25519 key always has
	return public
}
