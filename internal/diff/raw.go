package diff

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ErrFormat means the input is not what git writes. Nothing is guessed then.
var ErrFormat = errors.New("diff: unexpected git output")

// Modes as git writes them.
const (
	modeNone    = "000000"
	modeSymlink = "120000"
	modeGitlink = "160000"
)

// statusWords are git's letters.
var statusWords = map[byte]string{
	'A': "added", 'D': "deleted", 'M': "modified", 'R': "renamed", 'C': "copied", 'T': "type-changed",
}

// parseRaw reads one entry of raw -z output:
//
//	:oldmode newmode oldoid newoid STATUS NUL path NUL [newpath NUL]
func parseRaw(next func() ([]byte, error), head []byte) (File, error) {
	f := strings.Split(string(head), " ")
	if len(f) != 5 || len(f[0]) != 7 || f[4] == "" {
		return File{}, fmt.Errorf("%w: entry %.200q", ErrFormat, head)
	}
	word, ok := statusWords[f[4][0]]
	if !ok || !isOID(f[2]) || !isOID(f[3]) || !isMode(f[0][1:]) || !isMode(f[1]) {
		return File{}, fmt.Errorf("%w: entry %.200q", ErrFormat, head)
	}
	out := File{Status: word, OldMode: f[0][1:], NewMode: f[1], OldOID: f[2], NewOID: f[3]}
	if score := f[4][1:]; score != "" {
		n, err := strconv.Atoi(score)
		if err != nil || n < 0 || n > 100 {
			return File{}, fmt.Errorf("%w: entry %.200q", ErrFormat, head)
		}
		out.Similarity = n
	}
	path, err := next()
	if err != nil {
		return File{}, err
	}
	if word == "renamed" || word == "copied" {
		out.OldPath, out.OldPathRaw = name(path)
		if path, err = next(); err != nil {
			return File{}, err
		}
	}
	out.Path, out.PathRaw = name(path)
	return out, nil
}

// name splits a raw name into what is shown and, where that differs, the bytes.
func name(raw []byte) (shown string, bytes []byte) {
	s := string(raw)
	if shown = Printable(s); shown != s {
		return shown, raw
	}
	return s, nil
}

// raw returns the bytes of a name.
func raw(shown string, bytes []byte) string {
	if bytes != nil {
		return string(bytes)
	}
	return shown
}

// counts are the lines of one file as git counted them; binary when it did not.
type counts struct {
	added, deleted int
	binary         bool
	path, old      string // raw
}

// parseNumstat reads one entry of numstat -z output:
//
//	added TAB deleted TAB path NUL
//	added TAB deleted TAB NUL oldpath NUL newpath NUL
func parseNumstat(next func() ([]byte, error), head []byte) (counts, error) {
	f := bytes.SplitN(head, []byte{'\t'}, 3)
	if len(f) != 3 {
		return counts{}, fmt.Errorf("%w: count %.200q", ErrFormat, head)
	}
	var c counts
	if string(f[0]) == "-" && string(f[1]) == "-" {
		c.binary = true
	} else {
		var err1, err2 error
		c.added, err1 = strconv.Atoi(string(f[0]))
		c.deleted, err2 = strconv.Atoi(string(f[1]))
		if err1 != nil || err2 != nil || c.added < 0 || c.deleted < 0 {
			return counts{}, fmt.Errorf("%w: count %.200q", ErrFormat, head)
		}
	}
	if len(f[2]) > 0 {
		c.path = string(f[2])
		return c, nil
	}
	old, err := next()
	if err != nil {
		return counts{}, err
	}
	path, err := next()
	if err != nil {
		return counts{}, err
	}
	c.old, c.path = string(old), string(path)
	return c, nil
}

func isOID(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

func isMode(s string) bool {
	return len(s) == 6 && strings.Trim(s, "01234567") == ""
}

func validText(s string) bool { return utf8.ValidString(s) }
