package ci

import (
	"fmt"
	"io"
	"unicode/utf8"

	"moeca/internal/handoff"
)

// output keeps the whole log up to MaxLog in a file and its end in memory.
type output struct {
	file     io.Writer
	written  int64
	total    int64
	end      []byte
	finished bool
	err      error
}

func (o *output) add(ev handoff.Event) {
	text := ev.Text
	switch ev.Type {
	case handoff.EventDone:
		o.finished = true
		return
	case handoff.EventOutput:
	case handoff.EventNote:
		text = "moeca: " + text + "\n"
	default:
		return
	}
	o.total += int64(len(text))
	o.end = append(o.end, text...)
	if len(o.end) > 2*TailLog {
		o.end = append(o.end[:0], o.end[len(o.end)-TailLog:]...)
	}
	if room := MaxLog - o.written; int64(len(text)) > room {
		text = text[:room]
	}
	if text == "" || o.err != nil {
		return
	}
	n, err := io.WriteString(o.file, text)
	o.written += int64(n)
	if err != nil {
		o.err = fmt.Errorf("write the log: %w", err)
	}
}

// tail returns the end of the log, starting at a whole character.
func (o *output) tail() (text string, cut bool) {
	end := o.end[max(0, len(o.end)-TailLog):]
	cut = o.total > int64(len(end))
	for cut && len(end) > 0 && !utf8.RuneStart(end[0]) {
		end = end[1:]
	}
	return string(end), cut
}
