package audit

import (
	"bufio"
	"io"
	"iter"
	"strings"
)

// newLines yields the whole lines of r; a last one without newline is left out.
func newLines(r io.Reader) iter.Seq[string] {
	return func(yield func(string) bool) {
		b := bufio.NewReader(r)
		for {
			line, err := b.ReadString('\n')
			if err != nil || !yield(strings.TrimSuffix(line, "\n")) {
				return
			}
		}
	}
}
