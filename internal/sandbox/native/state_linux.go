package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// state is what a later process needs to find a sandbox this one left behind:
// StateDir/native/<owner>/<id>.json. It is written before anything is made and
// again when the process exists. A pid alone names nothing, since numbers are
// used again; with its start time and the boot it does.
type state struct {
	ID      string   `json:"id"`
	Owner   string   `json:"owner"`
	Boot    string   `json:"boot"`
	PID     int      `json:"pid,omitempty"`
	Start   string   `json:"start,omitempty"` // field 22 of /proc/<pid>/stat
	Cgroups []string `json:"cgroups,omitempty"`
}

func (d *Driver) ownerDir(owner string) string {
	return filepath.Join(d.o.StateDir, "native", owner)
}

func (d *Driver) statePath(s state) string {
	return filepath.Join(d.ownerDir(s.Owner), s.ID+".json")
}

// claim records a new sandbox; a second one of the same name is refused.
func (d *Driver) claim(s state) error {
	if err := os.MkdirAll(d.ownerDir(s.Owner), 0o700); err != nil {
		return fmt.Errorf("state: %w", err)
	}
	f, err := os.OpenFile(d.statePath(s), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("a sandbox of this name exists; remove or sweep it first: %w", err)
	}
	if err != nil {
		return fmt.Errorf("state: %w", err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("state: %w", err)
	}
	return d.record(s)
}

// record replaces a sandbox's state.
func (d *Driver) record(s state) error {
	s.Boot = bootID()
	data, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("state: %w", err)
	}
	tmp := d.statePath(s) + ".new"
	if err := os.WriteFile(tmp, data, 0o600); err != nil {
		return fmt.Errorf("state: %w", err)
	}
	if err := os.Rename(tmp, d.statePath(s)); err != nil {
		return fmt.Errorf("state: %w", err)
	}
	return nil
}

func (d *Driver) forget(s state) {
	if err := os.Remove(d.statePath(s)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.log.Warn("remove sandbox state", "sandbox", s.ID, "err", err)
	}
}

// Sweep ends and removes this owner's sandboxes that are not in keep.
func (d *Driver) Sweep(ctx context.Context, owner string, keep []string) (int, error) {
	if owner == "" || owner != filepath.Base(owner) {
		return 0, fmt.Errorf("native: sweep: %q names no owner", owner)
	}
	files, err := filepath.Glob(filepath.Join(d.ownerDir(owner), "*.json"))
	if err != nil {
		return 0, fmt.Errorf("native: sweep: %w", err)
	}
	swept := 0
	var errs []error
	for _, file := range files {
		id := strings.TrimSuffix(filepath.Base(file), ".json")
		if slices.Contains(keep, id) {
			continue
		}
		if err := errors.Join(ctx.Err(), d.sweepOne(owner, id, file)); err != nil {
			errs = append(errs, fmt.Errorf("native: sweep %s: %w", id, err))
			continue
		}
		swept++
	}
	return swept, errors.Join(errs...)
}

func (d *Driver) sweepOne(owner, id, file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	s := state{ID: id, Owner: owner}
	// An empty file is a claim that a crash cut short: nothing was made yet.
	if len(data) > 0 {
		if err := json.Unmarshal(data, &s); err != nil {
			return fmt.Errorf("state: %w", err)
		}
	}
	if s.ID != id || s.Owner != owner {
		return fmt.Errorf("state file of %s names %s of %s", id, s.ID, s.Owner)
	}
	if s.PID > 0 && s.Boot == bootID() {
		if err := killExact(s.PID, s.Start); err != nil {
			return err
		}
	}
	if err := removeGroups(s.Cgroups); err != nil {
		return err
	}
	d.forget(s)
	return nil
}

// killExact kills the process that had this pid and start time, and waits for
// it. The descriptor pins the process, so the number cannot be reused between
// the comparison and the signal.
func killExact(pid int, start string) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open process %d: %w", pid, err)
	}
	defer unix.Close(fd)
	if startTime(pid) != start || start == "" {
		return nil
	}
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("kill process %d: %w", pid, err)
	}
	return until(func() (bool, error) {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(poll, 100)
		return n == 1, err
	})
}

// startTime is when a process started, in ticks since boot; empty when it is
// gone. The command name before it may hold spaces and parentheses.
func startTime(pid int) string {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return ""
	}
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	const afterName = 22 - 3
	if len(fields) <= afterName {
		return ""
	}
	return fields[afterName]
}

func bootID() string {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// until asks done again and again, for a few seconds at most.
func until(done func() (bool, error)) error {
	const every, attempts = 10 * time.Millisecond, 500
	tick := time.NewTicker(every)
	defer tick.Stop()
	var last error
	for range attempts {
		ok, err := done()
		if ok {
			return nil
		}
		last = err
		<-tick.C
	}
	if last == nil {
		last = errors.New("it did not end")
	}
	return last
}
