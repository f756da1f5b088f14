package agent

import (
	"fmt"
	"io"
	"unicode/utf8"

	"moeca/internal/handoff"
)

// Bounds of a command's output, as bytes on the channel. The beginning is passed on as it comes; of a
// flood the end is kept as well, because that is where the failure is.
const (
	outputChunk = 16 << 10
	outputHead  = 8 << 20
	outputTail  = 64 << 10
	eventFrame  = 64 // bytes of an output event besides its text
)

// stream passes r on as output events until it ends. It always reads to the
// end, so that a flood never blocks the command.
func (a *agent) stream(r io.Reader) {
	o := output{emit: func(text string) {
		a.emit(handoff.Event{Type: handoff.EventOutput, Text: text})
	}, note: a.note}
	buf := make([]byte, outputChunk)
	for {
		n, err := r.Read(buf)
		o.write(buf[:n])
		if err != nil {
			o.close()
			return
		}
	}
}

// output cuts a byte stream into texts that do not split a character.
type output struct {
	emit    func(text string)
	note    func(text string)
	sent    int64  // cost of what was emitted
	dropped int64  // bytes that passed through tail and are gone
	part    []byte // beginning of a character whose rest is to come
	tail    []byte // last bytes after the head is full
}

func (o *output) write(p []byte) {
	p = append(o.part, p...)
	if o.sent >= outputHead {
		o.part = nil
		o.keepTail(p)
		return
	}
	cut := len(p) - incomplete(p)
	o.part = append([]byte(nil), p[cut:]...)
	if cut > 0 {
		o.sent += cost(p[:cut])
		o.emit(string(p[:cut]))
	}
}

// cost is about how many bytes an event with this text has on the channel: many
// small writes and bytes that are escaped are a flood too.
func cost(text []byte) int64 {
	n := int64(len(text)) + eventFrame
	for len(text) > 0 {
		c, size := utf8.DecodeRune(text)
		switch {
		case c < ' ', c == utf8.RuneError && size == 1:
			n += 5
		case c == '"', c == '\\', c == '<', c == '>', c == '&', c == '\u2028', c == '\u2029':
			n += 5
		}
		text = text[size:]
	}
	return n
}

func (o *output) keepTail(p []byte) {
	o.tail = append(o.tail, p...)
	if over := len(o.tail) - outputTail; over > 0 {
		o.dropped += int64(over)
		o.tail = append(o.tail[:0], o.tail[over:]...)
	}
}

func (o *output) close() {
	if len(o.part) > 0 {
		o.emit(string(o.part))
	}
	if o.dropped > 0 {
		o.note(fmt.Sprintf("Output over %d MiB: %d bytes are left out here.", outputHead>>20, o.dropped))
	}
	for rest := string(o.tail); rest != ""; {
		var text string
		text, rest = handoff.CutText(rest, outputChunk)
		o.emit(text)
	}
}

// incomplete is the number of bytes at the end of p that begin a character
// without ending it.
func incomplete(p []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if c := p[len(p)-n]; utf8.RuneStart(c) {
			if !utf8.FullRune(p[len(p)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}
