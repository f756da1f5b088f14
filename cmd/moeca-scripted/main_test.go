package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asServer makes the test binary the program under test.
const asServer = "as-moeca-scripted"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == asServer {
		os.Exit(run(os.Args[2:]))
	}
	os.Exit(m.Run())
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// place is a directory with a key file, short enough for a socket.
func place(t *testing.T) (dir, socket, keyFile string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "moeca")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	keyFile = filepath.Join(dir, "key")
	must(t, os.WriteFile(keyFile, []byte("canary\n"), 0o600))
	return dir, filepath.Join(dir, "s"), keyFile
}

func program(args ...string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return exec.Command(self, append([]string{asServer}, args...)...)
}

// answers waits until the server answers, and returns the status.
func answers(t *testing.T, socket, key string) int {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
	}}
	for range 500 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://model/v1/models", nil)
		must(t, err)
		req.Header.Set("X-Api-Key", key)
		if resp, err := c.Do(req); err == nil {
			resp.Body.Close()
			return resp.StatusCode
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("the server does not answer")
	return 0
}

func TestItServesUntilTermAndReplacesASocketLeftBehind(t *testing.T) {
	_, socket, keyFile := place(t)
	first := program("-socket", socket, "-key-file", keyFile)
	must(t, first.Start())
	if got := answers(t, socket, "canary"); got != http.StatusOK {
		t.Errorf("status %d", got)
	}
	info, err := os.Stat(socket)
	must(t, err)
	if info.Mode().Perm()&0o077 != 0 {
		t.Errorf("others may connect: %v", info.Mode())
	}
	second := program("-socket", socket, "-key-file", keyFile)
	if out, err := second.CombinedOutput(); err == nil || !strings.Contains(string(out), "another process serves") {
		t.Errorf("a second server: %v %s", err, out)
	}
	must(t, first.Process.Kill())
	_ = first.Wait() // killed
	if _, err := os.Stat(socket); err != nil {
		t.Fatalf("nothing was left behind: %v", err)
	}

	third := program("-socket", socket, "-key-file", keyFile)
	must(t, third.Start())
	if got := answers(t, socket, "other"); got != http.StatusUnauthorized {
		t.Errorf("status %d", got)
	}
	must(t, third.Process.Signal(syscall.SIGTERM))
	must(t, third.Wait())
	if _, err := os.Stat(socket); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
}

func TestItEndsWithItsParent(t *testing.T) {
	_, socket, keyFile := place(t)
	parent := exec.Command("sleep", "60")
	must(t, parent.Start())
	s := program("-socket", socket, "-key-file", keyFile, "-parent-pid", strconv.Itoa(parent.Process.Pid))
	must(t, s.Start())
	answers(t, socket, "canary")
	must(t, parent.Process.Kill())
	_ = parent.Wait() // killed
	must(t, s.Wait())
}

func TestWrongUse(t *testing.T) {
	dir, socket, keyFile := place(t)
	empty := filepath.Join(dir, "empty")
	must(t, os.WriteFile(empty, []byte("\n"), 0o600))
	tests := map[string]struct {
		args []string
		code int
	}{
		"no arguments":               {nil, 2},
		"no key":                     {[]string{"-socket", socket}, 2},
		"an unknown flag":            {[]string{"-port", "1"}, 2},
		"a missing key file":         {[]string{"-socket", socket, "-key-file", socket}, 1},
		"an empty key file":          {[]string{"-socket", socket, "-key-file", empty}, 1},
		"a file where the socket is": {[]string{"-socket", keyFile, "-key-file", keyFile}, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := program(tt.args...)
			var out bytes.Buffer
			c.Stderr = &out
			_ = c.Run() // the code tells
			if c.ProcessState.ExitCode() != tt.code || out.Len() == 0 {
				t.Errorf("code %d: %s", c.ProcessState.ExitCode(), &out)
			}
		})
	}
	if data, err := os.ReadFile(keyFile); err != nil || string(data) != "canary\n" {
		t.Errorf("the key file is %q (%v)", data, err)
	}
}
