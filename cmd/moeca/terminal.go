package main

import (
	"os"
	"strings"
	"time"
	"unicode"

	"golang.org/x/term"
)

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// readLine reads one line of at most 4 KiB, byte by byte, so that nothing that
// follows it is swallowed.
func readLine(f *os.File) (string, error) {
	var line []byte
	var b [1]byte
	for len(line) < 4096 {
		n, err := f.Read(b[:])
		if n == 1 && b[0] == '\n' {
			break
		}
		if n == 1 {
			line = append(line, b[0])
		}
		if err != nil {
			if len(line) > 0 {
				break
			}
			return "", err
		}
	}
	return string(line), nil
}

// plain makes a line that came from an agent safe to print: control and
// formatting characters (escape sequences, bidirectional overrides) are shown
// as their code.
func plain(s string) string {
	if !strings.ContainsFunc(s, unsafeRune) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unsafeRune(r) {
			b.WriteString(`\u{` + hex(r) + `}`)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// plainLines is plain for text of several lines.
func plainLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = plain(strings.TrimSuffix(l, "\r"))
	}
	return strings.Join(lines, "\n")
}

func unsafeRune(r rune) bool {
	return r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' || r == unicode.ReplacementChar)
}

func hex(r rune) string {
	const digits = "0123456789abcdef"
	var out []byte
	for n := uint32(r); n > 0 || len(out) == 0; n >>= 4 {
		out = append([]byte{digits[n&15]}, out...)
	}
	return string(out)
}

// short is the start of an object id.
func short(oid string) string {
	if len(oid) > 10 {
		return oid[:10]
	}
	return oid
}

// pollEvery is how often a command that waits looks again; it talks to a
// process on the same machine.
const pollEvery = 150 * time.Millisecond

// pause waits for the next look, or for the end of the command.
func (e *env) pause() error {
	select {
	case <-e.ctx.Done():
		return e.ctx.Err()
	case <-time.After(pollEvery):
		return nil
	}
}
