package git

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// WitnessRef is where checkpoints of the audit log are kept in a user's
// repository: a history of its own, of which each commit holds one state. No
// branch or tag leads there, so it shows in no log of the user's work, and it goes
// where a person pushes it.
const WitnessRef = "refs/moeca/witness"

// witnessFile is the file of such a commit that Witnessed reads.
const witnessFile = "checkpoint"

// maxWitness bounds one file of it.
const maxWitness = 64 << 10

// WitnessState is what one commit of the history holds.
type WitnessState struct {
	At      time.Time
	Content []byte // of the file "checkpoint"
}

// AddWitness appends a state to the history. Nothing is written when the last
// state holds the same.
func (st *Store) AddWitness(ctx context.Context, content []byte, message string, who Identity, when time.Time) error {
	old, err := st.src.refOID(ctx, WitnessRef)
	if err != nil {
		return err
	}
	var parents []string
	if old != "" {
		last, err := st.history(ctx, old, 1)
		if err != nil {
			return err
		}
		if len(last) == 0 {
			return fmt.Errorf("git: %s of %s holds something that moeca did not write: move it to another name", WitnessRef, st.src.info.Path)
		}
		if bytes.Equal(last[0].Content, content) {
			return nil
		}
		parents = []string{old}
	}
	objects, err := st.newPack()
	if err != nil {
		return err
	}
	defer objects.close()
	blob, err := objects.add("blob", content)
	if err != nil {
		return err
	}
	raw, err := hex.DecodeString(blob)
	if err != nil {
		return err
	}
	tree, err := objects.add("tree", append([]byte("100644 "+witnessFile+"\x00"), raw...))
	if err != nil {
		return err
	}
	commit, err := st.commit(ctx, objects, tree, parents, who, when, message)
	if err != nil {
		return err
	}
	if old == "" {
		old = strings.Repeat("0", st.format.hexLen())
	}
	defer st.adopt()
	// A symbolic ref of this name must not lead to a branch of the user.
	if _, err := st.src.common.output(ctx, nil, "update-ref", "--no-deref", "-m", "moeca: witness", WitnessRef, commit, old); err != nil {
		return st.explain("keep a checkpoint under "+WitnessRef, err)
	}
	return nil
}

// Witnessed returns the newest states of the history, the last one first; none
// where there is no history.
func (st *Store) Witnessed(ctx context.Context, most int) ([]WitnessState, error) {
	tip, err := st.src.refOID(ctx, WitnessRef)
	if err != nil || tip == "" {
		return nil, err
	}
	return st.history(ctx, tip, most)
}

// history reads states. A commit without the file is left out: whoever can write
// the ref can take states away in any case.
func (st *Store) history(ctx context.Context, tip string, most int) ([]WitnessState, error) {
	out, err := st.git.output(ctx, nil, "log", "--first-parent", "--max-count="+strconv.Itoa(most), "--format=%T %ct", tip, "--")
	if err != nil {
		return nil, st.explain("read "+WitnessRef, err)
	}
	var trees []string
	var times []int64
	for line := range strings.Lines(string(out)) {
		tree, sec, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		at, err := strconv.ParseInt(sec, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("git: read %s: time of a commit: %w", WitnessRef, err)
		}
		trees, times = append(trees, tree), append(times, at)
	}
	var blobs []string
	var states []WitnessState
	if err := st.readObjects(ctx, trees, func(i int, _ object, r io.Reader) error {
		b, err := io.ReadAll(io.LimitReader(r, maxWitness))
		if blob := st.entryOf(b, witnessFile); blob != "" {
			blobs, states = append(blobs, blob), append(states, WitnessState{At: time.Unix(times[i], 0).UTC()})
		}
		return err
	}); err != nil {
		return nil, err
	}
	err = st.readObjects(ctx, blobs, func(i int, o object, r io.Reader) error {
		if o.Kind != "blob" {
			return fmt.Errorf("git: read %s: %s is no file", WitnessRef, witnessFile)
		}
		states[i].Content, err = io.ReadAll(io.LimitReader(r, maxWitness))
		return err
	})
	return states, err
}

// entryOf is the object that a raw tree has under a name, or "".
func (st *Store) entryOf(tree []byte, name string) string {
	for {
		head, rest, ok := bytes.Cut(tree, []byte{0})
		if !ok || len(rest) < st.format.size {
			return ""
		}
		if _, entry, _ := strings.Cut(string(head), " "); entry == name {
			return hex.EncodeToString(rest[:st.format.size])
		}
		tree = rest[st.format.size:]
	}
}
