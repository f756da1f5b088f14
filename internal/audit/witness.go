package audit

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/mod/sumdb/tlog"
)

// A witness is whoever keeps checkpoints of a log where its writer cannot change
// them. This file is what witnesses and their clients must agree on: how a later
// log is compared with a kept checkpoint (Continues), the request of C2SP
// tlog-witness, and the cosignatures of C2SP tlog-cosignature, Ed25519.

// DivergedError: the log does not continue a checkpoint that somebody holds. Any
// other error of Continues means that it could not be told.
type DivergedError struct{ Problem string }

func (e *DivergedError) Error() string { return "audit: " + e.Problem }

// Continues proves that the log in dir, as its own checkpoint now says it is,
// continues the one of which held is a checkpoint. It reads some tiles of the
// tree, each proven against now; that the rows are those of now is Verify's to
// say. Who signed held is not asked: a root that was not signed is no root of
// this log.
func Continues(ctx context.Context, dir string, now, held Checkpoint) error {
	switch {
	case held.Origin != now.Origin:
		return &DivergedError{fmt.Sprintf("it is another log: that one was %s, this is %s, so the rows were deleted and the log begun anew", held.Origin, now.Origin)}
	case held.Size > now.Size:
		return &DivergedError{fmt.Sprintf("the log now has %d signed rows, and it had %d: rows were cut off", now.Size, held.Size)}
	case held.Size == now.Size && held.Root != now.Root:
		return diverged(held)
	case held.Size == now.Size:
		return nil
	}
	root, err := tlog.TreeHash(held.Size, now.proven(treeFiles{ctx, dir}))
	if err != nil {
		return fmt.Errorf("audit: compare with a checkpoint of %d rows: %w", held.Size, err)
	}
	if Hash(root) != held.Root {
		return diverged(held)
	}
	return nil
}

func diverged(held Checkpoint) error {
	return &DivergedError{fmt.Sprintf("the rows up to %d are not those that were signed then: the log was rewritten", held.Size)}
}

// AddCheckpoint is the body of a tlog-witness request: proof leads from the tree
// of old rows, which the witness knows, to that of c (ConsistencyProof).
func AddCheckpoint(old int64, proof []Hash, c Checkpoint) string {
	var b strings.Builder
	fmt.Fprintf(&b, "old %d\n", old)
	for _, h := range proof {
		b.WriteString(base64.StdEncoding.EncodeToString(h[:]) + "\n")
	}
	b.WriteString("\n" + c.Text)
	return b.String()
}

// algCosignature is the signature type of cosignature/v1 with Ed25519.
const algCosignature = 4

// WitnessKey is the verifier key of a witness. The zero value verifies nothing.
type WitnessKey struct {
	name string
	hash [4]byte
	pub  ed25519.PublicKey
}

// ParseWitnessKey reads a verifier key as a witness publishes it: name, plus,
// eight hex digits, plus, base64.
func ParseWitnessKey(vkey string) (WitnessKey, error) {
	name, rest, _ := strings.Cut(vkey, "+")
	digits, text, ok := strings.Cut(rest, "+")
	raw, err := base64.StdEncoding.Strict().DecodeString(text)
	hash, hexErr := strconv.ParseUint(digits, 16, 32)
	if !ok || err != nil || hexErr != nil || len(digits) != 8 || !isKeyName(name) || strings.ContainsAny(text, "\r\n") {
		return WitnessKey{}, errors.New("audit: a witness key is written name+hash+base64; copy it whole")
	}
	if len(raw) != 1+ed25519.PublicKeySize || raw[0] != algCosignature {
		return WitnessKey{}, errors.New("audit: the key is not of type 4 (cosignature/v1, Ed25519), which is the one witnesses of this log need")
	}
	k := WitnessKey{name: name, pub: ed25519.PublicKey(raw[1:])}
	sum := sha256.Sum256(append([]byte(name+"\n"), raw...))
	copy(k.hash[:], sum[:])
	if binary.BigEndian.Uint32(k.hash[:]) != uint32(hash) {
		return WitnessKey{}, errors.New("audit: name and key do not belong together; copy the witness key whole")
	}
	return k, nil
}

func isKeyName(name string) bool {
	return name != "" && len(name) <= 255 && utf8.ValidString(name) && strings.IndexFunc(name, unicode.IsSpace) < 0
}

// Name is the name of the witness.
func (k WitnessKey) Name() string { return k.name }

// Cosigned says when the witness cosigned c.
func (k WitnessKey) Cosigned(c Checkpoint) (time.Time, error) {
	lines, ok := strings.CutPrefix(c.Text, c.body()+"\n")
	if !ok {
		return time.Time{}, errors.New("audit: the text is not that of the checkpoint")
	}
	_, at, err := k.find(c, lines)
	return at, err
}

// Cosign returns c with the cosignature of k among those a witness answered, and
// when it was made. Whatever else is in the answer is left out.
func (k WitnessKey) Cosign(c Checkpoint, answer string) (Checkpoint, time.Time, error) {
	line, at, err := k.find(c, answer)
	if err != nil {
		return Checkpoint{}, time.Time{}, err
	}
	if c.Text += line + "\n"; len(c.Text) > maxCheckpoint {
		return Checkpoint{}, time.Time{}, fmt.Errorf("audit: the checkpoint has cosignatures of more than %d bytes", maxCheckpoint)
	}
	return c, at, nil
}

// find looks for the latest signature line of k that is good for c.
func (k WitnessKey) find(c Checkpoint, lines string) (line string, at time.Time, err error) {
	if k.pub == nil {
		return "", at, errors.New("audit: there is no witness key")
	}
	err = fmt.Errorf("audit: there is no cosignature of %s", k.name)
	for candidate := range strings.Lines(lines) {
		candidate = strings.TrimSuffix(candidate, "\n")
		sig, ours := k.signature(candidate)
		if !ours {
			continue
		}
		when, good := k.good(c, sig)
		switch {
		case !good && line == "":
			err = fmt.Errorf("audit: the cosignature of %s is not one of this checkpoint", k.name)
		case good && (line == "" || when.After(at)):
			line, at, err = candidate, when, nil
		}
	}
	return line, at, err
}

// signature is what a signature line holds behind name and hash of the key.
func (k WitnessKey) signature(line string) (sig []byte, ours bool) {
	fields := strings.Split(line, " ")
	if len(fields) != 3 || fields[0] != "\u2014" || fields[1] != k.name {
		return nil, false
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(fields[2])
	if err != nil || strings.ContainsRune(fields[2], '\r') || len(raw) < len(k.hash) || [4]byte(raw) != k.hash {
		return nil, false
	}
	return raw[4:], true
}

// good checks a timestamped signature.
func (k WitnessKey) good(c Checkpoint, sig []byte) (time.Time, bool) {
	if len(sig) != 8+ed25519.SignatureSize {
		return time.Time{}, false
	}
	sec := binary.BigEndian.Uint64(sig)
	if sec >= 1<<40 { // beyond every calendar
		return time.Time{}, false
	}
	text := fmt.Sprintf("cosignature/v1\ntime %d\n%s", sec, c.body())
	return time.Unix(int64(sec), 0).UTC(), ed25519.Verify(k.pub, []byte(text), sig[8:])
}
