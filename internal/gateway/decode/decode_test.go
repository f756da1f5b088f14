package decode

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
)

type flusher interface {
	io.WriteCloser
	Flush() error
}

func writer(encoding string, w io.Writer) flusher {
	if encoding == "br" {
		return brotli.NewWriter(w)
	}
	return gzip.NewWriter(w)
}

func TestUnknownEncodings(t *testing.T) {
	for _, header := range [][]string{{"deflate"}, {"zstd"}, {"compress"}, {"gzip, br"}, {"gzip", "gzip"}, {"br;q=1"}, {"gzip,deflate"}} {
		if _, err := Reader(strings.NewReader(""), header); !errors.Is(err, ErrEncoding) {
			t.Errorf("%q: %v", header, err)
		}
	}
	for _, header := range [][]string{nil, {""}, {"identity"}, {"Identity, "}} {
		src := strings.NewReader("x")
		if r, err := Reader(src, header); err != nil || r != io.Reader(src) {
			t.Errorf("%q: %v", header, err)
		}
	}
}

func TestNoBytesAreAnEmptyAnswer(t *testing.T) {
	for _, encoding := range []string{"gzip", "br"} {
		r, err := Reader(strings.NewReader(""), []string{encoding})
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(r); err != nil || len(b) != 0 {
			t.Errorf("%s: %q, %v", encoding, b, err)
		}
	}
}

func TestShortAndWrongBytesFail(t *testing.T) {
	for _, encoding := range []string{"gzip", "br", "GZip"} {
		var b bytes.Buffer
		w := writer(strings.ToLower(encoding), &b)
		_, _ = io.WriteString(w, strings.Repeat("some text ", 100))
		_ = w.Close()
		for i := 1; i < b.Len(); i++ {
			r, err := Reader(bytes.NewReader(b.Bytes()[:i]), []string{encoding})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(r); err == nil {
				t.Fatalf("%s cut at %d of %d reads as whole", encoding, i, b.Len())
			}
		}
		r, _ := Reader(strings.NewReader("<html>not encoded at all</html>"), []string{encoding})
		if _, err := io.ReadAll(r); err == nil {
			t.Errorf("%s: plain text reads as encoded", encoding)
		}
	}
}

// chunks hands out what was allowed so far, and fails where a blocking source
// would block.
type chunks struct{ ready bytes.Buffer }

func (c *chunks) Read(p []byte) (int, error) {
	if c.ready.Len() == 0 {
		return 0, errors.New("read on before the frame was handed out")
	}
	return c.ready.Read(p)
}

// A frame is handed out when it was flushed, not when the stream ends.
func TestFlushedBytesAreHandedOut(t *testing.T) {
	for _, encoding := range []string{"gzip", "br"} {
		var src chunks
		w := writer(encoding, &src.ready)
		r, err := Reader(&src, []string{encoding})
		if err != nil {
			t.Fatal(err)
		}
		for _, frame := range []string{"data: one\n\n", "data: two\n\n"} {
			_, _ = io.WriteString(w, frame)
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			got := make([]byte, len(frame))
			if _, err := io.ReadFull(r, got); err != nil || string(got) != frame {
				t.Fatalf("%s: %q, %v", encoding, got, err)
			}
		}
	}
}
