package native

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func readState(t *testing.T, file string) state {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var s state
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// bystander is a process of ours whose pid a state file might name by chance.
func bystander(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "3600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

func TestSweepNeverKillsAReusedPID(t *testing.T) {
	d := New(Options{StateDir: t.TempDir()})
	other := bystander(t)
	cases := map[string]state{
		"other-start": {PID: other.Process.Pid, Start: "1", Boot: bootID()},
		"no-start":    {PID: other.Process.Pid, Boot: bootID()},
		"other-boot":  {PID: other.Process.Pid, Start: startTime(other.Process.Pid), Boot: "earlier"},
		"pid-1":       {PID: 1, Start: "0", Boot: bootID()},
	}
	for id, s := range cases {
		s.ID, s.Owner = id, "o"
		write(t, d, s)
	}
	if n, err := d.Sweep(t.Context(), "o", nil); err != nil || n != len(cases) {
		t.Errorf("swept %d, %v", n, err)
	}
	if startTime(other.Process.Pid) == "" {
		t.Error("a bystander was killed")
	}
}

// write writes a state as it is, whatever boot it names.
func write(t *testing.T, d *Driver, s state) {
	t.Helper()
	data, err := json.Marshal(s)
	if err == nil {
		err = os.MkdirAll(d.ownerDir(s.Owner), 0o700)
	}
	if err == nil {
		err = os.WriteFile(d.statePath(s), data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestSweepKillsExactlyTheRecordedProcess(t *testing.T) {
	d := New(Options{StateDir: t.TempDir()})
	victim := bystander(t)
	write(t, d, state{ID: "x", Owner: "o", PID: victim.Process.Pid, Start: startTime(victim.Process.Pid), Boot: bootID()})
	kept := bystander(t)
	write(t, d, state{ID: "kept", Owner: "o", PID: kept.Process.Pid, Start: startTime(kept.Process.Pid), Boot: bootID()})
	if n, err := d.Sweep(t.Context(), "o", []string{"kept"}); err != nil || n != 1 {
		t.Errorf("swept %d, %v", n, err)
	}
	if err := victim.Wait(); err == nil {
		t.Error("the process was not killed")
	}
	if startTime(kept.Process.Pid) == "" {
		t.Error("the one to keep was killed")
	}
}

func TestSweepOfDamagedState(t *testing.T) {
	d := New(Options{StateDir: t.TempDir()})
	dir := d.ownerDir("o")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"cut-short": "", "garbage": "{", "of-another": `{"id":"of-another","owner":"p"}`} {
		if err := os.WriteFile(filepath.Join(dir, name+".json"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	n, err := d.Sweep(t.Context(), "o", nil)
	if n != 1 || err == nil {
		t.Errorf("swept %d, %v; want the empty claim alone and an error", n, err)
	}
	for _, owner := range []string{"", "../o", "a/b"} {
		if _, err := d.Sweep(t.Context(), owner, nil); err == nil {
			t.Errorf("owner %q was accepted", owner)
		}
	}
}

func TestClaimRefusesASecondOfTheSameName(t *testing.T) {
	d := New(Options{StateDir: t.TempDir()})
	s := state{ID: "a", Owner: "o"}
	if err := d.claim(s); err != nil {
		t.Fatal(err)
	}
	if err := d.claim(s); err == nil {
		t.Error("claimed twice")
	}
	d.forget(s)
	if err := d.claim(s); err != nil {
		t.Errorf("after forget: %v", err)
	}
}
