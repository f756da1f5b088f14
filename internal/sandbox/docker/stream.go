package docker

import (
	"fmt"
	"io"
	"sync"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"
)

// stream is the attached connection: stdin goes in as it is, stdout comes out
// of the engine's framing and ends with the sandbox. One goroutine reads the
// connection; it ends when the connection does, or at close.
type stream struct {
	conn   client.HijackedResponse
	stdout *io.PipeReader

	closing sync.Once
}

func newStream(conn client.HijackedResponse, limit int64, flood func()) *stream {
	r, w := io.Pipe()
	s := &stream{conn: conn, stdout: r}
	go func() {
		err := demultiplex(&limited{w: w, left: limit, over: flood}, io.Discard, conn.Reader)
		w.CloseWithError(err) // nil is EOF
	}()
	return s
}

// Write sends to pid 1's stdin.
func (s *stream) Write(p []byte) (int, error) { return s.conn.Conn.Write(p) }

// Close ends pid 1's stdin and leaves stdout open.
func (s *stream) Close() error { return s.conn.CloseWrite() }

// close ends both directions; a reader of stdout gets EOF.
func (s *stream) close() {
	s.closing.Do(func() {
		s.conn.Close()
		s.stdout.CloseWithError(io.EOF)
	})
}

// demultiplex splits the engine's framed stream.
func demultiplex(stdout, stderr io.Writer, framed io.Reader) error {
	if _, err := stdcopy.StdCopy(stdout, stderr, framed); err != nil {
		return fmt.Errorf("docker: read the container's output: %w", err)
	}
	return nil
}

// limited passes left bytes on, calls over once, and swallows the rest so that
// what is being stopped does not block; over must not block either. Used by one
// goroutine.
type limited struct {
	w    io.Writer
	left int64
	over func()
}

func (l *limited) Write(p []byte) (int, error) {
	keep := p[:min(int64(len(p)), l.left)]
	if len(keep) < len(p) && l.over != nil {
		l.over()
		l.over = nil
	}
	l.left -= int64(len(keep))
	if len(keep) > 0 {
		if _, err := l.w.Write(keep); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// tail keeps the last bytes written to it.
type tail struct {
	most int
	data []byte
}

func newTail(most int) *tail { return &tail{most: most} }

func (t *tail) Write(p []byte) (int, error) {
	t.data = append(t.data, p...)
	if over := len(t.data) - t.most; over > 0 {
		t.data = append(t.data[:0], t.data[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return string(t.data) }
