package tool

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"moeca/internal/llm"
)

// Bounds of one read.
const (
	maxScan  = 64 << 20 // bytes passed over to reach the first line asked for
	sniffLen = 8 << 10  // bytes looked at to tell text from binary
)

//go:embed read_file.md
var readFileText string

type readFile struct{ tree *Tree }

func (r *readFile) Definition() llm.Tool {
	return llm.Tool{Name: "read_file", Description: strings.TrimSpace(readFileText), Schema: schema([]string{"path"},
		map[string]property{
			"path":   {"string", "File to read, relative to the tree."},
			"offset": {"integer", "First line to read, counted from 1. Default: 1."},
			"limit":  {"integer", "How many lines to read. Default: as many as fit."},
		})}
}

func (r *readFile) Run(_ context.Context, input json.RawMessage) Result {
	var in struct {
		Path   string `json:"path"`
		Offset int    `json:"offset"`
		Limit  int    `json:"limit"`
	}
	if err := decode(input, &in); err != nil {
		return failure("%v", err)
	}
	f, info, err := r.tree.open(in.Path)
	if err != nil {
		return failure("read %q: %v", in.Path, err)
	}
	defer f.Close()
	b := bufio.NewReaderSize(f, sniffLen)
	head, err := b.Peek(sniffLen)
	if err != nil && !errors.Is(err, io.EOF) {
		return failure("read %q: %v", in.Path, plain(err))
	}
	if binary(head) {
		return failure("read %q: a binary file of %d bytes is not shown", in.Path, info.Size())
	}
	if len(head) == 0 {
		return Result{Text: "[empty file]"}
	}
	return readLines(b, max(in.Offset, 1), in.Limit)
}

// binary says whether the beginning of a file is no text: a NUL byte, or bytes
// that are not UTF-8 anywhere but in a character cut at the end.
func binary(head []byte) bool {
	if bytes.IndexByte(head, 0) >= 0 {
		return true
	}
	for i := 0; i < utf8.UTFMax && len(head) > 0; i++ {
		if utf8.Valid(head) {
			return false
		}
		if len(head) < sniffLen-utf8.UTFMax {
			return true
		}
		head = head[:len(head)-1]
	}
	return !utf8.Valid(head)
}

// readLines returns lines first to first+limit-1 as far as they fit.
func readLines(b *bufio.Reader, first, limit int) Result {
	if at, err := skipLines(b, first-1); err != nil {
		return failure("the file has no line %d: %v (line %d was the last reached)", first, err, at)
	}
	var out strings.Builder
	line, room := first, MaxResult
	for ; limit <= 0 || line < first+limit; line++ {
		text, err := readLine(b, room-out.Len())
		switch {
		case errors.Is(err, bufio.ErrTooLong) && out.Len() == 0:
			// One line is longer than a whole result: its beginning, and no more.
			return Result{Text: strings.ToValidUTF8(text, "\uFFFD") +
				fmt.Sprintf("\n[line %d is longer than %d bytes and cut here]", line, MaxResult)}
		case errors.Is(err, bufio.ErrTooLong):
			return cutAt(out.String(), line)
		}
		out.WriteString(text)
		if errors.Is(err, io.EOF) {
			return Result{Text: strings.ToValidUTF8(out.String(), "\uFFFD")}
		}
		if err != nil {
			return failure("read line %d: %v", line, plain(err))
		}
	}
	if _, err := b.Peek(1); errors.Is(err, io.EOF) {
		return Result{Text: strings.ToValidUTF8(out.String(), "\uFFFD")}
	}
	return cutAt(out.String(), line)
}

func cutAt(text string, next int) Result {
	return Result{Text: strings.ToValidUTF8(text, "\uFFFD") +
		fmt.Sprintf("[more from line %d: ask with offset %d]", next, next)}
}

// skipLines passes over n lines and says how many there were.
func skipLines(b *bufio.Reader, n int) (at int, err error) {
	passed := 0
	for at < n {
		chunk, err := b.ReadSlice('\n')
		passed += len(chunk)
		switch {
		case passed > maxScan:
			return at, fmt.Errorf("it is further than %d MiB into the file", maxScan>>20)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return at, errors.New("the file ends before it")
		}
		at++
	}
	if n > 0 {
		if _, err := b.Peek(1); err != nil {
			return at, errors.New("the file ends before it")
		}
	}
	return at, nil
}

// readLine reads a line with its end, at most room bytes of it.
func readLine(b *bufio.Reader, room int) (string, error) {
	var line []byte
	for {
		chunk, err := b.ReadSlice('\n')
		if len(line)+len(chunk) > room {
			line = append(line, chunk[:room-len(line)]...)
			return string(line), bufio.ErrTooLong
		}
		line = append(line, chunk...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return string(line), err
		}
	}
}
