package audit

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// Files beside the rows. Whoever holds a copy of a checkpoint elsewhere learns
// from it of every later change to the rows it covers; the vkey names the key
// that signs them, the key itself stays with the gateway (mode 0600).
const (
	CheckpointFile = "checkpoint"      // signed note in the form of C2SP tlog-checkpoint
	VkeyFile       = "checkpoint.vkey" // verifier key of golang.org/x/mod/sumdb/note
	keyFile        = "checkpoint.key"
)

// maxCheckpoint is the longest note that is read, with room for the
// cosignatures of a hundred witnesses.
const maxCheckpoint = 64 << 10

// Checkpoint says what the first Size rows of a log are. It is immutable.
type Checkpoint struct {
	Origin string // name of the log, "moeca/" and 16 hex digits
	Size   int64  // rows it covers
	Root   Hash   // RFC 6962 tree hash over them
	Text   string // the signed note
}

// ErrUnsigned: the log was written before checkpoints were signed and not
// opened since.
var ErrUnsigned = errors.New("the log has no signed checkpoint yet; it gets one when the gateway opens it")

// Origin is the name in the checkpoints of the log with this id. It tells
// nothing of the id, which sandboxes must not see.
func (id logID) origin() string {
	sum := sha256.Sum256(append([]byte("moeca log origin\x00"), id[:]...))
	return originPrefix + hex.EncodeToString(sum[:8])
}

const originPrefix = "moeca/"

// isOrigin says whether a name can be that of a log. Others are not shown to
// anybody: they may hold what a terminal obeys.
func isOrigin(name string) bool {
	digits, ok := strings.CutPrefix(name, originPrefix)
	b, err := hex.DecodeString(digits)
	return ok && err == nil && len(b) == 8 && hex.EncodeToString(b) == digits
}

// ParseCheckpoint reads a checkpoint without checking its signatures.
func ParseCheckpoint(text string) (Checkpoint, error) {
	c, err := parseCheckpoint(text)
	if err != nil {
		return Checkpoint{}, fmt.Errorf("audit: read checkpoint: %w", err)
	}
	return c, nil
}

func parseCheckpoint(text string) (Checkpoint, error) {
	if len(text) > maxCheckpoint {
		return Checkpoint{}, damage(fmt.Sprintf("%d bytes are no checkpoint", len(text)))
	}
	lines := strings.SplitN(text, "\n", 5)
	if len(lines) < 5 || lines[0] == "" || lines[3] != "" || lines[4] == "" {
		return Checkpoint{}, damage("is not origin, size, root, empty line and signatures")
	}
	if !isOrigin(lines[0]) {
		return Checkpoint{}, damage("is not a checkpoint of a log of moeca")
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil || size < 0 || strconv.FormatInt(size, 10) != lines[1] {
		return Checkpoint{}, damage("its size is not a number of rows")
	}
	root, err := base64.StdEncoding.Strict().DecodeString(lines[2])
	if err != nil || len(root) != HashSize {
		return Checkpoint{}, damage("its root is not a hash")
	}
	return Checkpoint{Origin: lines[0], Size: size, Root: Hash(root), Text: text}, nil
}

// body is what is signed.
func (c Checkpoint) body() string {
	return fmt.Sprintf("%s\n%d\n%s\n", c.Origin, c.Size, base64.StdEncoding.EncodeToString(c.Root[:]))
}

// Verify checks that the key of vkey signed the checkpoint. Signatures of
// others, such as witnesses, are not looked at.
func (c Checkpoint) Verify(vkey string) error {
	if err := c.verify(vkey); err != nil {
		return fmt.Errorf("audit: checkpoint: %w", err)
	}
	return nil
}

func (c Checkpoint) verify(vkey string) error {
	v, err := note.NewVerifier(vkey)
	if err != nil {
		return damage("the verifier key is damaged: " + err.Error())
	}
	n, err := note.Open([]byte(c.Text), note.VerifierList(v))
	if err != nil {
		return damage("the signature is not that of the log's key: " + err.Error())
	}
	if n.Text != c.body() || v.Name() != c.Origin {
		return damage("the key belongs to another log")
	}
	for _, sig := range append(n.Sigs, n.UnverifiedSigs...) {
		if _, err := base64.StdEncoding.Strict().DecodeString(sig.Base64); err != nil {
			return damage("a signature is not canonical")
		}
	}
	return nil
}

// ReadCheckpoint reads the last checkpoint of the log in dir and the key that
// signed it, beside a running writer or without one. ErrUnsigned when there is
// none. It proves nothing about the rows: Verify does.
func ReadCheckpoint(dir string) (c Checkpoint, vkey string, err error) {
	c, vkey, err = readCheckpoint(dir)
	if err != nil {
		return Checkpoint{}, "", fmt.Errorf("audit: read checkpoint of %s: %w", dir, err)
	}
	return c, vkey, nil
}

func readCheckpoint(dir string) (Checkpoint, string, error) {
	vkey, err := readSmall(filepath.Join(dir, VkeyFile))
	if errors.Is(err, fs.ErrNotExist) {
		return Checkpoint{}, "", ErrUnsigned
	}
	if err != nil {
		return Checkpoint{}, "", err
	}
	text, err := readSmall(filepath.Join(dir, CheckpointFile))
	if errors.Is(err, fs.ErrNotExist) {
		return Checkpoint{}, "", errNoCheckpoint
	}
	if err != nil {
		return Checkpoint{}, "", err
	}
	return checkCheckpoint(string(vkey), string(text))
}

// readSmall reads a file of which no more is looked at than a checkpoint has.
func readSmall(path string) ([]byte, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxCheckpoint+1))
}

// openRegular opens a file of a log that somebody may have prepared: no pipe,
// which would keep who opens it, and no device, which has no end.
func openRegular(path string) (*os.File, error) {
	st, err := os.Stat(path)
	if err == nil && !st.Mode().IsRegular() && !st.IsDir() {
		err = &fs.PathError{Op: "open", Path: path, Err: errors.New("is not a regular file")}
	}
	if err != nil {
		return nil, err
	}
	return os.Open(path)
}

// errNoCheckpoint: the first checkpoint is written before the vkey.
const errNoCheckpoint = damage("it is missing, and the log had one")

// checkCheckpoint reads the content of both files.
func checkCheckpoint(vkeyFile, text string) (Checkpoint, string, error) {
	vkey, err := canonicalVkey(vkeyFile)
	if err != nil {
		return Checkpoint{}, "", err
	}
	c, err := parseCheckpoint(text)
	if err == nil {
		err = c.verify(vkey)
	}
	return c, vkey, err
}

// canonicalVkey is the key in the content of its file, which is that key and a
// newline and cannot be written in another way.
func canonicalVkey(content string) (string, error) {
	const bad = damage("the verifier key is damaged")
	vkey, ok := strings.CutSuffix(content, "\n")
	name, rest, _ := strings.Cut(vkey, "+")
	_, digits, _ := strings.Cut(rest, "+")
	key, err := base64.StdEncoding.Strict().DecodeString(digits)
	if !ok || err != nil || len(key) != 1+ed25519.PublicKeySize || !isOrigin(name) {
		return "", bad
	}
	same, err := note.NewEd25519VerifierKey(name, key[1:])
	if err != nil || same != vkey {
		return "", bad
	}
	return vkey, nil
}

// A key that the rows name was there before them, and so was its checkpoint.
const (
	errUnsigned  = damage(VkeyFile + " is missing, and a row names the key of the log")
	errOtherVkey = damage(VkeyFile + " is not the key that the rows name")
)

// keyNamed is the key that the rows name, up to a row.
func keyNamed(before string, r *Record) (string, error) {
	named := ""
	if r.Kind == KindSystem && r.Source == SourceGateway && r.Subject == subjectOpened {
		named = r.attr("vkey")
	}
	switch {
	case named == "" || named == before:
		return before, nil
	case before == "":
		return named, nil
	}
	return before, damage("names another key than the rows before it")
}

// signer signs the checkpoints of one log.
type signer struct {
	note.Signer
	vkey string
}

// parseSigner reads the content of a key file.
func parseSigner(content []byte) (signer, error) {
	skey := string(bytes.TrimSuffix(content, []byte("\n")))
	s, err := note.NewSigner(skey)
	if err != nil {
		return signer{}, fmt.Errorf("%s is damaged: %w", keyFile, err)
	}
	fields := strings.SplitN(skey, "+", 5) // the last may hold a plus
	seed, err := base64.StdEncoding.Strict().DecodeString(fields[4])
	if err != nil || len(seed) != 1+ed25519.SeedSize {
		return signer{}, fmt.Errorf("%s is damaged", keyFile)
	}
	pub := ed25519.NewKeyFromSeed(seed[1:]).Public().(ed25519.PublicKey)
	vkey, err := note.NewEd25519VerifierKey(s.Name(), pub)
	if err != nil {
		return signer{}, fmt.Errorf("%s is damaged: %w", keyFile, err)
	}
	return signer{s, vkey}, nil
}

// sign makes the checkpoint of a tree.
func (s signer) sign(size int64, root Hash) (Checkpoint, error) {
	c := Checkpoint{Origin: s.Name(), Size: size, Root: root}
	text, err := note.Sign(&note.Note{Text: c.body()}, s)
	if err != nil {
		return Checkpoint{}, fmt.Errorf("sign checkpoint: %w", err)
	}
	c.Text = string(text)
	return c, nil
}
