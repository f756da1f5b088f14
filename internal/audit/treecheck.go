package audit

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
)

// treeCheck reads the files of the tree beside the rows, level by level, to
// compare them with the hashes that the rows have.
type treeCheck struct {
	files [treeLevels]sizedFile
	read  [treeLevels]*bufio.Reader
	have  [treeLevels]int64 // whole hashes that were in the file when it was opened
	need  [treeLevels]int64 // hashes that must be in the file
	done  [treeLevels]int64 // compared, or passed where there is nothing to compare with
}

// sizedFile is what is needed of a file of the tree.
type sizedFile interface {
	io.ReaderAt
	io.Closer
	Size() (int64, error)
}

// open opens the levels that there are.
func (c *treeCheck) open(open func(level int) (sizedFile, error)) error {
	for level := range c.files {
		f, err := open(level)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		c.files[level] = f
		size, err := f.Size()
		if err != nil {
			return err
		}
		c.have[level] = size / HashSize
	}
	return nil
}

func (c *treeCheck) close() error {
	var errs []error
	for level, f := range c.files {
		if f != nil {
			errs = append(errs, f.Close())
			c.files[level] = nil
		}
	}
	return errors.Join(errs...)
}

// whole is the number of rows of which every hash was there.
func (c *treeCheck) whole() int64 {
	rows := c.have[0]
	for level := 1; level < treeLevels; level++ {
		_, last := rowsBelow(level, c.have[level])
		rows = min(rows, last-1)
	}
	return rows
}

// skip leaves out the hashes of a tree of size rows.
func (c *treeCheck) skip(size int64) {
	for level := range c.done {
		c.done[level] = hashesAt(size, level)
	}
}

// next compares the next hash of a level.
func (c *treeCheck) next(level int, h Hash) (same bool, err error) {
	if i := c.done[level]; i >= c.have[level] {
		c.done[level]++
		return i >= c.need[level], nil
	}
	if c.read[level] == nil {
		from := c.done[level] * HashSize
		c.read[level] = bufio.NewReaderSize(io.NewSectionReader(c.files[level], from, c.have[level]*HashSize-from), 1<<14)
	}
	on, err := c.read[level].Peek(HashSize)
	if err == io.EOF {
		return false, nil // it became shorter
	}
	if err != nil {
		return false, err
	}
	same = Hash(on) == h
	c.done[level]++
	_, err = c.read[level].Discard(HashSize)
	return same, err
}
