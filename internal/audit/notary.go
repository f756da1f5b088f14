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
)

// signPace is the least time between two checkpoints that nobody asked for: the
// file, its sync and its name cost some hundred microseconds of processor time,
// as much as the commit of a request (docs/design/0008).
const signPace = 200 * time.Millisecond

// notary follows the durable rows: it adds their hashes to the tree and signs
// checkpoints. It runs beside the committer, which only hands over hashes. Rows
// never wait for it, and what it cannot write it keeps and tries again: tree
// and checkpoints are derived.
//
// A checkpoint is written after the hashes it needs and covers durable rows
// only, so it can be ahead of nothing but hashes that a power cut took, which
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
	levels  []levelFile
	signed  Checkpoint // the last one written
	failing error      // of the last try
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

// levelFile is the file of a level of the tree.
type levelFile struct {
	file    File   // nil until something is written
	written int64  // bytes of it
	unsaved []byte // what comes behind them
}

// start begins to follow a log whose rows so far are in the tree.
func (n *notary) start() {
	n.wake, n.stop, n.ended = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	go n.run()
}

// follows sets the tree of which the files hold everything.
func (n *notary) follows(tree tiler) {
	n.tree, n.levels = tree, make([]levelFile, treeLevels)
	for level := range n.levels {
		n.levels[level].written = hashesAt(tree.size, level) * HashSize
	}
	n.tree.carry = func(level int, h Hash) error {
		n.levels[level].unsaved = append(n.levels[level].unsaved, h[:]...)
		return nil
	}
}

// add appends leaves.
func (n *notary) add(leaves []Hash) {
	n.levels[0].unsaved = appendHashes(n.levels[0].unsaved, leaves)
	for i := range leaves {
		_ = n.tree.add(leaves[i]) // our carry never fails
	}
}

// follow takes the rows of a batch that has become durable. It is called by the
// committer, in order.
func (n *notary) follow(b *batch) {
	n.mu.Lock()
	knows := len(n.fresh) > 0 // and comes at its pace
	n.fresh = b.leaves(n.fresh)
	n.mu.Unlock()
	if !knows {
		n.nudge()
	}
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
	if err := n.closeFiles(); n.failing == nil && err != nil {
		return fmt.Errorf("close the tree: %w", err)
	}
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
		if early := n.pace - time.Since(last); early > 0 && !closing && !n.isAsked() {
			pause.Reset(early)
			continue
		}
		last = time.Now()
		waiting := n.take()
		n.answer(waiting, n.notarize())
		if closing {
			return
		}
		if n.failing != nil {
			pause.Reset(time.Second)
		}
	}
}

func (n *notary) isAsked() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.asked) > 0
}

// take moves what is fresh into the tree.
func (n *notary) take() []chan<- notarial {
	n.mu.Lock()
	fresh, waiting := n.fresh, n.asked
	n.fresh, n.asked = n.spare[:0], nil
	n.mu.Unlock()
	n.add(fresh)
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

// notarize writes the tree and a checkpoint of it as it is.
func (n *notary) notarize() error {
	if err := n.saveTree(); err != nil {
		return err
	}
	if n.tree.size <= n.signed.Size {
		return nil
	}
	c, err := n.signer.sign(n.tree.size, n.tree.root())
	if err == nil {
		err = replaceFile(n.fs, filepath.Join(n.dir, CheckpointFile), []byte(c.Text))
	}
	if err == nil {
		n.signed = c
	}
	return err
}

// saveTree appends to the files of the tree what they do not hold yet.
func (n *notary) saveTree() error {
	for level := range n.levels {
		f := &n.levels[level]
		if len(f.unsaved) == 0 {
			continue
		}
		if f.file == nil {
			var err error
			if f.file, err = openOrCreate(n.fs, treePath(n.dir, level)); err != nil {
				return err
			}
		}
		if _, err := f.file.WriteAt(f.unsaved, f.written); err != nil {
			return fmt.Errorf("write %s/%d: %w", treeDir, level, err)
		}
		f.written += int64(len(f.unsaved))
		if f.unsaved = f.unsaved[:0]; cap(f.unsaved) > spareBytes {
			f.unsaved = nil
		}
	}
	return nil
}

// closeFiles closes the files of the tree.
func (n *notary) closeFiles() error {
	var errs []error
	for _, f := range n.levels {
		if f.file != nil {
			errs = append(errs, f.file.Close())
		}
	}
	return errors.Join(errs...)
}

func openOrCreate(fsys FS, path string) (File, error) {
	f, err := fsys.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = fsys.MkdirAll(filepath.Dir(path)); err == nil {
			f, err = fsys.Create(path)
		}
	}
	return f, err
}

// replaceFile puts a file in the place of another. Readers see either of them
// whole, also after a power cut.
func replaceFile(fsys FS, path string, data []byte) error {
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
	if err == nil {
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

// Vkey is the verifier key of the log's checkpoints.
func (l *Log) Vkey() string { return l.notary.signer.vkey }

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
