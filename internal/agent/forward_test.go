package agent_test

import (
	"bufio"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"moeca/internal/agent"
)

// upperServer answers each connection, after its end, with what came in capitals.
func upperServer(t *testing.T) (socket string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "moeca")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket = filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				in, err := io.ReadAll(c)
				if err == nil {
					_, _ = io.WriteString(c, strings.ToUpper(string(in)))
				}
			})
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return socket
}

func TestAForwarderCopiesBothWaysAndTheirEnds(t *testing.T) {
	f, err := agent.Forward(t.Context(), "127.0.0.1:0", upperServer(t))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			c, err := net.Dial("tcp", f.Addr().String())
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			sent := strings.Repeat("abc", 100_000)
			go func() {
				_, _ = io.WriteString(c, sent)
				_ = c.(*net.TCPConn).CloseWrite()
			}()
			got, err := io.ReadAll(c)
			if err != nil || string(got) != strings.ToUpper(sent) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		})
	}
	wg.Wait()
}

func TestClosingAForwarderEndsItsConnections(t *testing.T) {
	f, err := agent.Forward(t.Context(), "127.0.0.1:0", upperServer(t))
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", f.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "half a request"); err != nil {
		t.Fatal(err)
	}
	f.Close()
	// It ended, and nothing of the answer came.
	if b, err := bufio.NewReader(c).ReadByte(); err == nil {
		t.Errorf("read %q", b)
	}
	if c, err := net.Dial("tcp", f.Addr().String()); err == nil {
		c.Close()
		t.Error("it still listens")
	}
}

func TestAForwarderWithoutItsSocketClosesConnections(t *testing.T) {
	f, err := agent.Forward(t.Context(), "127.0.0.1:0", filepath.Join(t.TempDir(), "none"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c, err := net.Dial("tcp", f.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if n, err := io.Copy(io.Discard, c); n > 0 {
		t.Errorf("%d bytes, %v", n, err)
	}
}
