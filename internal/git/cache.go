package git

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// cacheVersion changes with the meaning of statKey or of an entry.
const cacheVersion = 1

// statKey is what must be unchanged for a file's content to be taken as
// unchanged. ctime is in it because nobody but the kernel can set it.
type statKey struct {
	Dev, Ino     uint64
	Size         int64
	Mtime, Ctime int64 // nanoseconds
}

func keyOf(s *unix.Stat_t) statKey {
	return statKey{uint64(s.Dev), uint64(s.Ino), s.Size, s.Mtim.Nano(), s.Ctim.Nano()}
}

type cacheEntry struct {
	Key statKey
	OID string
}

// statCache remembers the object id of files between snapshots. It lives on
// the host's side and is only ever a hint: a missing, damaged or foreign cache
// means that every file is read.
type statCache struct {
	Version int
	Format  string
	Entries map[string]cacheEntry // by path in the tree
}

// loadCache reads a cache; any doubt gives an empty one.
func loadCache(file, format string) map[string]cacheEntry {
	if file == "" {
		return nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	var c statCache
	if gob.NewDecoder(bytes.NewReader(data)).Decode(&c) != nil || c.Version != cacheVersion || c.Format != format {
		return nil
	}
	return c.Entries
}

// saveCache writes the entries that are safe to believe later. now is the file
// system's clock before the first file was read: a file whose ctime is not
// older may have changed after it was read within the same tick of that clock
// (the racy rule), so it is left out and read again.
func saveCache(file, format string, now int64, entries map[string]cacheEntry) error {
	c := statCache{Version: cacheVersion, Format: format, Entries: make(map[string]cacheEntry, len(entries))}
	for path, e := range entries {
		if e.Key.Ctime < now && e.Key.Mtime < now {
			c.Entries[path] = e
		}
	}
	var buf bytes.Buffer
	if err := gob.NewEncoder(&buf).Encode(c); err != nil {
		return fmt.Errorf("git: snapshot cache: %w", err)
	}
	if err := writeAtomic(file, buf.Bytes()); err != nil {
		return fmt.Errorf("git: snapshot cache: %w", err)
	}
	return nil
}

// fileClock reads the clock the kernel stamps files with, which runs behind
// the one a program sees.
func fileClock(dir string) (int64, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, fmt.Errorf("git: snapshot cache: %w", err)
	}
	f, err := os.CreateTemp(dir, ".clock-*")
	if err != nil {
		return 0, fmt.Errorf("git: snapshot cache: %w", err)
	}
	var s unix.Stat_t
	err = unix.Fstat(int(f.Fd()), &s)
	_ = f.Close()           // nothing was written
	_ = os.Remove(f.Name()) // a leftover is harmless
	if err != nil {
		return 0, fmt.Errorf("git: snapshot cache: %s: %w", filepath.Base(f.Name()), err)
	}
	return s.Ctim.Nano(), nil
}
