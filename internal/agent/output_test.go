package agent

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"moeca/internal/handoff"
)

// sent writes pieces to an output and returns its texts and their size on the
// channel.
func sent(pieces int, piece []byte) (texts []string, notes int, onChannel int) {
	o := output{
		emit: func(text string) {
			line, _ := json.Marshal(handoff.Event{Time: 1 << 40, Type: handoff.EventOutput, Text: text})
			onChannel += len(line) + 1
			texts = append(texts, text)
		},
		note: func(string) { notes++ },
	}
	for range pieces {
		o.write(piece)
	}
	o.close()
	return texts, notes, onChannel
}

func TestEveryFloodIsBoundedOnTheChannel(t *testing.T) {
	floods := map[string]struct {
		pieces int
		piece  []byte
	}{
		"big chunks":         {600, bytes.Repeat([]byte("x"), outputChunk)},
		"single bytes":       {200_000, []byte("x")},
		"control characters": {600, bytes.Repeat([]byte{1}, outputChunk)},
		"bytes of no text":   {600, bytes.Repeat([]byte{0xff}, outputChunk)},
		"HTML":               {600, bytes.Repeat([]byte("<"), outputChunk)},
	}
	for name, f := range floods {
		t.Run(name, func(t *testing.T) {
			texts, notes, n := sent(f.pieces, f.piece)
			if n > outputHead+6*(outputTail+2*outputChunk) || notes != 1 || len(texts) == 0 {
				t.Errorf("%d bytes in %d events, %d notes", n, len(texts), notes)
			}
		})
	}
}

func FuzzOutput(f *testing.F) {
	f.Add([]byte("é漢😀"), 1)
	f.Add([]byte("\xf0\x9f\x98"), 2)
	f.Add([]byte("\xff\xc3"), 1)
	f.Fuzz(func(t *testing.T, data []byte, step int) {
		var got strings.Builder
		o := output{emit: func(text string) {
			if utf8.Valid(data) && !utf8.ValidString(text) {
				t.Fatalf("a character was split: %q", text)
			}
			got.WriteString(text)
		}, note: func(string) { t.Fatal("cut") }}
		for rest := data; len(rest) > 0; {
			n := min(max(step, 1), len(rest))
			o.write(rest[:n])
			rest = rest[n:]
		}
		o.close()
		if got.String() != string(data) {
			t.Fatalf("%q became %q", data, got.String())
		}
	})
}
