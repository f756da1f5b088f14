package handoff

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"
	"unicode/utf8"
)

// Bounds of one event as a Writer sends it. JSON escaping makes a byte at most
// six, so a line stays under the reader's default limit.
const (
	maxEventText  = 32 << 10
	maxEventInput = 160 << 10
	inputHead     = 8 << 10
)

// Writer sends events. It is safe for concurrent use; each event is one Write.
type Writer struct {
	now func() time.Time

	mu  sync.Mutex
	w   io.Writer
	err error // the first failure; nothing is sent after it
}

// NewWriter returns a Writer that stamps events with now.
func NewWriter(w io.Writer, now func() time.Time) *Writer {
	return &Writer{w: w, now: now}
}

// Emit sends e with the time set. A longer text than fits into one event is
// sent as several of the same type; an input that is too long is replaced by a
// description of it and marked cut.
func (w *Writer) Emit(e Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	e.Time = w.now().UnixMilli()
	if len(e.Input) > maxEventInput {
		e.Input, e.Cut = describeInput(e.Input), true
	}
	for len(e.Text) > maxEventText {
		head := e
		head.Text, e.Text = CutText(e.Text, maxEventText)
		if e.Type == EventDone {
			// There is one done event only, so its text is cut, not continued.
			e.Text, e.Cut = head.Text, true
			break
		}
		w.send(head)
		e.Input, e.Usage = nil, nil
	}
	w.send(e)
	return w.err
}

func (w *Writer) send(e Event) {
	if w.err != nil {
		return
	}
	line, err := json.Marshal(e)
	if err != nil {
		w.err = fmt.Errorf("handoff: encode %s event: %w", e.Type, err)
		return
	}
	if _, err := w.w.Write(append(line, '\n')); err != nil {
		w.err = fmt.Errorf("handoff: write %s event: %w", e.Type, err)
	}
}

// CutText cuts s after at most n bytes, between runes where s is UTF-8.
func CutText(s string, n int) (head, tail string) {
	if len(s) <= n {
		return s, ""
	}
	cut := n
	for i := 1; i < utf8.UTFMax && cut > 1 && !utf8.RuneStart(s[cut]); i++ {
		cut--
	}
	if !utf8.RuneStart(s[cut]) {
		cut = n
	}
	return s[:cut], s[cut:]
}

func describeInput(in json.RawMessage) json.RawMessage {
	head, _ := CutText(string(in), inputHead)
	out, err := json.Marshal(struct {
		Cut  bool   `json:"cut"`
		Size int    `json:"size"`
		Head string `json:"head"`
	}{true, len(in), head})
	if err != nil { // a struct of a bool, an int and a string always encodes
		return nil
	}
	return out
}
