package audit

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/tlog"
)

// signPace is the least time between two checkpoints that nobody asked for.
// Measured with 512 writers: signing every batch costs a tenth of the rows, at
// this pace nothing that can be told from noise (docs/design/0008).
const signPace = 50 * time.Millisecond

// notary follows the durable rows: it adds their hashes to the tree, writes the
// tiles that became full, and signs checkpoints. It runs beside the committer,
// which only hands over hashes. Rows never wait for it, and what it cannot
// write it keeps and tries again: tiles and checkpoints are derived.
//
// A checkpoint is written after the tiles it needs and covers durable rows
// only, so it can be ahead of nothing but tiles that a power cut took, which
// the next Open makes again.
type notary struct {
	dir    string
	fs     FS
	signer signer
	logger *slog.Logger
	pace   time.Duration

	wake  chan struct{} // there is something to do
	stop  chan struct{} // closed: sign a last time and end
	ended chan struct{}

	mu    sync.Mutex
	fresh []Hash            // durable rows that are not in the tree yet
	asked []chan<- notarial // who waits for a checkpoint of all of them

	// The rest belongs to the goroutine.
	tree    tiler
	signed  Checkpoint // the last one written
	partial map[int]tlog.Tile
	unsaved []savedTile // full tiles that could not be written yet
	failing error       // of the last try
	spare   []Hash
}

// notarial is the answer to a request for a checkpoint.
type notarial struct {
	c   Checkpoint
	err error
}

func (a notarial) result() (Checkpoint, error) {
	if a.err != nil {
		return Checkpoint{}, fmt.Errorf("audit: checkpoint: %w", a.err)
	}
	return a.c, nil
}

type savedTile struct {
	tile tlog.Tile
	data []byte
}

// start begins to follow a log whose rows so far are in tree and whose last
// checkpoint is signed; partial are the tiles beside the full ones that it needs.
func (n *notary) start(tree tiler, signed Checkpoint, partial map[int]tlog.Tile) {
	n.wake, n.stop, n.ended = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	n.tree, n.signed, n.partial = tree, signed, partial
	n.tree.full = func(tile tlog.Tile, hashes []Hash) error {
		n.unsaved = append(n.unsaved, savedTile{tile, appendHashes(nil, hashes)})
		return nil
	}
	go n.run()
}

// follow takes the rows of a batch that has become durable. It is called by the
// committer, in order.
func (n *notary) follow(b *batch) {
	n.mu.Lock()
	n.fresh = b.leaves(n.fresh)
	n.mu.Unlock()
	n.nudge()
}

func (n *notary) nudge() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// leaves appends the hashes of the rows of b. Each row holds that of the one
// before it, so nothing is hashed again.
func (b *batch) leaves(dst []Hash) []Hash {
	first := len(dst)
	for _, c := range b.rows {
		data := c.data
		if c.off == 0 {
			data = data[segmentHeader:]
		}
		for len(data) > 0 {
			row, rest := cutFrame(data)
			dst, data = append(dst, prevOf(row)), rest
		}
	}
	if len(dst) == first {
		return dst
	}
	copy(dst[first:], dst[first+1:])
	dst[len(dst)-1] = b.last.hash
	return dst
}

// cutFrame returns the row of the first frame in data and what follows it.
func cutFrame(data []byte) (row, rest []byte) {
	end := frameHead + int(binary.LittleEndian.Uint32(data))
	return data[frameHead:end], data[end+frameTail:]
}

// prevOf reads the hash of the row before from a row that was just encoded.
func prevOf(row []byte) Hash {
	w := walk{rest: row}
	for {
		num, _, b, ok := w.next(rowLayout)
		if !ok || num > 4 {
			return Hash{} // no encoded row: the root then is that of no log
		}
		if num == 4 {
			return Hash(b)
		}
	}
}

// close signs a last checkpoint and ends.
func (n *notary) close() error {
	close(n.stop)
	<-n.ended
	if n.failing != nil {
		return fmt.Errorf("the last checkpoint could not be written, the next start signs the rows: %w", n.failing)
	}
	return nil
}

func (n *notary) run() {
	defer close(n.ended)
	var last time.Time
	pause := time.NewTimer(n.pace)
	defer pause.Stop()
	for {
		closing := false
		select {
		case <-n.wake:
		case <-pause.C:
		case <-n.stop:
			closing = true
		}
		waiting := n.take()
		now := time.Now()
		due := now.Sub(last) >= n.pace
		if closing || due || len(waiting) > 0 {
			last = now
			n.answer(waiting, n.notarize())
		} else {
			pause.Reset(n.pace - now.Sub(last))
		}
		if closing {
			return
		}
		if n.failing != nil {
			pause.Reset(time.Second)
		}
	}
}

// take moves what is fresh into the tree.
func (n *notary) take() []chan<- notarial {
	n.mu.Lock()
	fresh, waiting := n.fresh, n.asked
	n.fresh, n.asked = n.spare[:0], nil
	n.mu.Unlock()
	for i := range fresh {
		_ = n.tree.add(fresh[i]) // full keeps what it is given and never fails
	}
	n.spare = fresh[:0]
	return waiting
}

func (n *notary) answer(waiting []chan<- notarial, err error) {
	before := n.failing
	if n.failing = err; err != nil && before == nil {
		n.logger.Warn("audit checkpoint could not be written; rows are still recorded, it is tried again", "err", err)
	}
	for _, to := range waiting {
		to <- notarial{n.signed, err}
	}
}

// notarize writes tiles and a checkpoint of the tree as it is.
func (n *notary) notarize() error {
	for len(n.unsaved) > 0 {
		if err := n.save(n.unsaved[0]); err != nil {
			return err
		}
		n.unsaved = n.unsaved[1:]
	}
	if n.tree.size <= n.signed.Size {
		return nil
	}
	for tile, hashes := range n.tree.edge {
		if n.partial[tile.L] == tile {
			continue
		}
		if err := n.save(savedTile{tile, appendHashes(nil, hashes)}); err != nil {
			return err
		}
	}
	c, err := n.signer.sign(n.tree.size, n.tree.root())
	if err != nil {
		return err
	}
	if err := replaceFile(n.fs, filepath.Join(n.dir, CheckpointFile), []byte(c.Text), true); err != nil {
		return err
	}
	n.signed = c
	n.dropPartials()
	return nil
}

// dropPartials removes the tiles that only the checkpoint before needed. One
// that is left over is removed by the next Open.
func (n *notary) dropPartials() {
	now := make(map[int]tlog.Tile)
	for tile := range n.tree.edge {
		now[tile.L] = tile
	}
	for level, old := range n.partial {
		next, some := now[level]
		if next == old {
			continue
		}
		_ = n.fs.Remove(tilePath(n.dir, old))
		if !some || next.N != old.N {
			_ = n.fs.Remove(filepath.Dir(tilePath(n.dir, old)))
		}
	}
	n.partial = now
}

func (n *notary) save(s savedTile) error { return saveTile(n.fs, n.dir, s) }

func saveTile(fsys FS, dir string, s savedTile) error {
	path := tilePath(dir, s.tile)
	if err := fsys.MkdirAll(filepath.Dir(path)); err != nil {
		return err
	}
	return replaceFile(fsys, path, s.data, false)
}

// replaceFile puts a file in the place of another. Readers see either whole; one
// that is synced is whole after a power cut too.
func replaceFile(fsys FS, path string, data []byte, synced bool) error {
	fresh := path + ".new"
	f, err := fsys.Create(fresh)
	if errors.Is(err, fs.ErrExist) { // left over by a crash
		if err = fsys.Remove(fresh); err == nil {
			f, err = fsys.Create(fresh)
		}
	}
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, 0)
	if err == nil && synced {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = fsys.Rename(fresh, path)
	}
	if err != nil {
		err = errors.Join(fmt.Errorf("write %s: %w", filepath.Base(path), err), fsys.Remove(fresh))
	}
	return err
}

// Checkpoint signs and returns a checkpoint that covers every row that was
// durable when it was called.
func (l *Log) Checkpoint(ctx context.Context) (Checkpoint, error) {
	answer := make(chan notarial, 1)
	n := &l.notary
	n.mu.Lock()
	n.asked = append(n.asked, answer)
	n.mu.Unlock()
	n.nudge()
	select {
	case a := <-answer:
		return a.result()
	case <-n.ended:
		select {
		case a := <-answer:
			return a.result()
		default:
			return Checkpoint{}, fmt.Errorf("audit: checkpoint: %w", ErrClosed)
		}
	case <-ctx.Done():
		return Checkpoint{}, fmt.Errorf("audit: checkpoint: %w", context.Cause(ctx))
	}
}
