package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"
	"time"
)

// DiskLimit bounds what sandboxes write into their trees. Where no quota exists
// this is polled usage and a floor of free space: a sandbox can
// overshoot by what it writes between two looks.
type DiskLimit struct {
	Bytes int64         // in files of the tree, allocated
	Files int64         // entries of the tree
	Floor int64         // bytes that stay free on the file system
	Every time.Duration // between looks; a look that takes long makes the next wait longer
}

// DefaultDiskLimit allows large trees and keeps a floor for the host's log and
// database.
var DefaultDiskLimit = DiskLimit{Bytes: 20 << 30, Files: 1_000_000, Floor: 1 << 30, Every: time.Second}

// LimitDisk returns a driver whose sandboxes are stopped when their tree passes
// a limit. The exit then has CauseDisk and says which.
func LimitDisk(d Driver, l DiskLimit) Driver { return diskDriver{d, l} }

type diskDriver struct {
	Driver
	limit DiskLimit
}

func (d diskDriver) Prepare(ctx context.Context, spec Spec) (Sandbox, error) {
	box, err := d.Driver.Prepare(ctx, spec)
	if err != nil || spec.ReadTree {
		return box, err
	}
	return &diskBox{Sandbox: box, tree: spec.TreeDir, limit: d.limit, end: func() {}}, nil
}

// diskBox watches the tree of one sandbox from Start to the end of Wait.
type diskBox struct {
	Sandbox
	tree  string
	limit DiskLimit
	end   context.CancelFunc
	over  atomic.Pointer[string] // the limit that was passed
}

func (b *diskBox) Start(ctx context.Context) error {
	if err := b.limit.floor(b.tree); err != nil {
		return fmt.Errorf("sandbox: %w; free some and try again", err)
	}
	if err := b.Sandbox.Start(ctx); err != nil {
		return err
	}
	watch, end := context.WithCancel(context.WithoutCancel(ctx))
	b.end = end
	go b.watch(watch)
	return nil
}

func (b *diskBox) Wait(ctx context.Context) (Exit, error) {
	exit, err := b.Sandbox.Wait(ctx)
	if err != nil {
		return exit, err
	}
	b.end()
	if why := b.over.Load(); why != nil {
		exit.Cause, exit.Detail = CauseDisk, *why
		if exit.Code == 0 {
			exit.Code = 1
		}
	}
	return exit, nil
}

func (b *diskBox) Remove(ctx context.Context) error {
	b.end()
	return b.Sandbox.Remove(ctx)
}

// watch ends with the sandbox, or by stopping it.
func (b *diskBox) watch(ctx context.Context) {
	pause := b.limit.Every
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		began := time.Now()
		if err := b.limit.check(ctx, b.tree); err != nil && ctx.Err() == nil {
			why := err.Error()
			b.over.Store(&why)
			_ = b.Stop(ctx, 0) // Wait tells whether it ended
			return
		}
		pause = max(b.limit.Every, 10*time.Since(began))
	}
}

// check measures a tree without leaving it, whatever the agent links or swaps
// meanwhile, and stops counting at the limit.
func (l DiskLimit) check(ctx context.Context, tree string) error {
	if err := l.floor(tree); err != nil {
		return err
	}
	root, err := os.OpenRoot(tree)
	if err != nil {
		return nil // gone with its sandbox
	}
	defer root.Close()
	var bytes, files int64
	err = fs.WalkDir(root.FS(), ".", func(_ string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return nil // unreadable or just removed: its space still counts towards the floor
		}
		if files++; files > l.Files {
			return fmt.Errorf("%w: more than %d files in its tree", errDisk, l.Files)
		}
		if info, err := d.Info(); err == nil {
			bytes += allocated(info)
		}
		if bytes > l.Bytes {
			return fmt.Errorf("%w: more than %d MiB in its tree", errDisk, l.Bytes>>20)
		}
		return nil
	})
	if errors.Is(err, errDisk) {
		return err
	}
	return nil
}

var errDisk = errors.New("stopped at the disk limit")

// floor refuses when the file system has too little left for the host itself.
func (l DiskLimit) floor(tree string) error {
	free, err := freeBytes(tree)
	if err == nil && free < l.Floor {
		return fmt.Errorf("%w: %d MiB are free on the disk, and %d MiB stay free for the host", errDisk, free>>20, l.Floor>>20)
	}
	return nil
}
