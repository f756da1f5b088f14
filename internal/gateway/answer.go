package gateway

import (
	"errors"
	"io"
	"net/http"
	"time"

	"moeca/internal/audit"
	"moeca/internal/gateway/scrub"
	"moeca/internal/gateway/usage"
)

// answerWriter counts what the caller got and notices when it is gone. It
// drops informational answers: they would reach the caller before the intent
// is durable.
type answerWriter struct {
	http.ResponseWriter
	rc      *http.ResponseController
	until   time.Time // the write deadline
	last    bool      // the connection ends with this answer
	status  int
	written int64
	failed  error
}

// writeTime bounds one write to a caller that does not read; a write has at
// least three quarters of it. Moving the deadline costs as much as scrubbing a
// frame of a stream, so it is not moved for each.
const writeTime = 2 * time.Minute

func newAnswerWriter(w http.ResponseWriter, last bool) *answerWriter {
	return &answerWriter{ResponseWriter: w, rc: http.NewResponseController(w), last: last}
}

// WriteHeader passes on final statuses, once.
func (w *answerWriter) WriteHeader(status int) {
	if status < 200 || w.status != 0 {
		return
	}
	w.status = status
	if w.last {
		w.Header().Set("Connection", "close")
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *answerWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if err := w.moveDeadline(); err != nil {
		w.failed = err
		return 0, err
	}
	n, err := w.ResponseWriter.Write(p)
	w.written += int64(n)
	if err != nil {
		w.failed = err
	}
	return n, err
}

func (w *answerWriter) moveDeadline() error {
	now := time.Now()
	if w.until.Sub(now) > writeTime*3/4 {
		return nil
	}
	w.until = now.Add(writeTime)
	if err := w.rc.SetWriteDeadline(w.until); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// FlushError is what a ResponseController looks for.
func (w *answerWriter) FlushError() error {
	if w.status == 0 {
		return nil
	}
	err := w.rc.Flush()
	if err != nil {
		w.failed = err
	}
	return err
}

// answerBody is the body of an upstream's answer on its way to the caller:
// scrubbed, then measured and captured as the caller gets it.
type answerBody struct {
	resp    *http.Response
	src     io.ReadCloser
	clean   *scrub.Reader
	meter   *usage.Meter
	capture *audit.Capture
	room    int64                  // for it, of what the session may keep
	alive   func()                 // called for each sign of life of the upstream
	over    func(last byte) []byte // called once when the reservation is used up: how the stream ends
	tail    []byte                 // of that, what is not read yet
	cut     bool
	status  int
	ended   bool  // the upstream finished its answer by itself
	broken  error // it did not
}

func (x *exchange) newAnswerBody(resp *http.Response, clean *scrub.Filter, alive func()) *answerBody {
	room := x.live.keep(x.g.limits.CaptureBytes, x.g.limits.SessionKept)
	b := &answerBody{
		resp: resp, src: resp.Body, status: resp.StatusCode, alive: alive,
		meter: usage.New(x.spend.dialect, resp.Header.Get("Content-Type")), over: x.cutShort, capture: audit.NewCapture(room), room: room,
	}
	b.meter.Limit = x.spend.over
	b.capture.Expect(resp.ContentLength)
	b.meter.Expect(resp.ContentLength)
	b.clean = scrub.NewReader(resp.Body, clean)
	return b
}

func (b *answerBody) Read(p []byte) (int, error) {
	if b.cut {
		return b.end(p)
	}
	n, err := b.clean.Read(p)
	b.alive()
	if n > 0 {
		whole, over := b.meter.Write(p[:n])
		if over != nil { // what follows the frame is not passed on
			n, err, b.cut = whole, nil, true
			b.tail = b.over(p[whole-1]) // a frame is over: there is one
		}
		_, _ = b.capture.Write(p[:n])
	}
	switch {
	case err == io.EOF:
		b.ended = true
		b.resp.Trailer = nil // trailers come after everything was checked
	case err != nil:
		b.broken = err
	}
	return n, err
}

// end hands out how a cut stream ends.
func (b *answerBody) end(p []byte) (int, error) {
	n := copy(p, b.tail)
	b.tail = b.tail[n:]
	_, _ = b.capture.Write(p[:n])
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (b *answerBody) Close() error {
	err := b.src.Close()
	b.resp.Trailer = nil
	return err
}
