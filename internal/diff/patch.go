package diff

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// Limits bound what a Set holds. Zero means the default. What goes over a
// limit is left out and flagged, never dropped silently, and counts stay those
// of the whole diff.
type Limits struct {
	FileLines  int   // lines shown of one file; 100,000
	FileBytes  int64 // bytes shown of one file; 8 MiB
	LineBytes  int   // bytes shown of one line; 1 MiB
	TotalBytes int64 // bytes shown of all files; 64 MiB
}

func (l Limits) orDefault() Limits {
	set := func(v *int64, d int64) {
		if *v <= 0 {
			*v = d
		}
	}
	lines, line := int64(l.FileLines), int64(l.LineBytes)
	set(&lines, 100_000)
	set(&line, 1<<20)
	set(&l.FileBytes, 8<<20)
	set(&l.TotalBytes, 64<<20)
	l.FileLines, l.LineBytes = int(lines), int(line)
	return l
}

// Read reads the output of
//
//	git diff-tree -r -z -M --raw --numstat -p --full-index --no-ext-diff --no-textconv A B
//
// The list of files comes from the raw part, whose fields are separated by NUL
// and so cannot be imitated by a name. In the patch part a header can only
// stand where the hunk before it has used up the line counts of its own
// header, so no content can imitate one; git quotes names there, so no name
// can hold a line end. Object ids in the patch and line counts must agree with
// raw and numstat. Anything else is ErrFormat.
func Read(r io.Reader, l Limits) (Set, error) {
	p := parser{in: bufio.NewReaderSize(r, 64<<10), limits: l.orDefault()}
	if err := p.lists(); err != nil {
		return Set{}, err
	}
	p.left = p.limits.TotalBytes
	for i := range p.set.Files {
		if err := p.file(&p.set.Files[i], p.stats[i]); err != nil {
			return Set{}, fmt.Errorf("%w (file %d, %s)", err, i+1, p.set.Files[i].Path)
		}
	}
	if line, err := p.peek(); err != io.EOF {
		return Set{}, errors.Join(fmt.Errorf("%w: after the last file: %.200q", ErrFormat, line), err)
	}
	return p.set, nil
}

type parser struct {
	in     *bufio.Reader
	limits Limits
	left   int64 // of TotalBytes
	set    Set
	stats  []counts
	held   []byte // a line read ahead
	isHeld bool
	cut    bool // the last line was longer than LineBytes
	heldC  bool
}

// lists reads the raw and the numstat part.
func (p *parser) lists() error {
	field := func() ([]byte, error) {
		b, err := p.in.ReadBytes(0)
		if err != nil {
			return nil, fmt.Errorf("%w: cut short", ErrFormat)
		}
		return b[:len(b)-1], nil
	}
	for {
		head, err := p.in.ReadBytes(0)
		if err == io.EOF && len(head) == 0 && len(p.stats) == len(p.set.Files) {
			return nil // no patch part: nothing differs
		}
		if err != nil {
			return fmt.Errorf("%w: lists cut short", ErrFormat)
		}
		head = head[:len(head)-1]
		switch {
		case len(head) == 0:
			if len(p.stats) != len(p.set.Files) {
				return fmt.Errorf("%w: %d files, %d counts", ErrFormat, len(p.set.Files), len(p.stats))
			}
			return nil
		case head[0] == ':' && len(p.stats) == 0:
			f, err := parseRaw(field, head)
			if err != nil {
				return err
			}
			p.set.Files = append(p.set.Files, f)
		default:
			c, err := parseNumstat(field, head)
			if err != nil {
				return err
			}
			if err := p.count(c); err != nil {
				return err
			}
		}
	}
}

// count ties a numstat entry to its file.
func (p *parser) count(c counts) error {
	i := len(p.stats)
	if i >= len(p.set.Files) {
		return fmt.Errorf("%w: more counts than files", ErrFormat)
	}
	f := &p.set.Files[i]
	if c.path != f.Name() || c.old != raw(f.OldPath, f.OldPathRaw) {
		return fmt.Errorf("%w: counts of %q where %q was expected", ErrFormat, c.path, f.Path)
	}
	f.Added, f.Deleted = c.added, c.deleted
	f.Kind = kindOf(*f, c.binary)
	f.Warnings = nameWarnings(f.Name())
	p.set.Added += c.added
	p.set.Deleted += c.deleted
	p.stats = append(p.stats, c)
	return nil
}

// kindOf is what the newer side is, or the older one of a deletion.
func kindOf(f File, binary bool) string {
	mode := f.NewMode
	if mode == modeNone {
		mode = f.OldMode
	}
	switch {
	case mode == modeSymlink:
		return "symlink"
	case mode == modeGitlink:
		return "submodule"
	case binary:
		return "binary"
	}
	return "text"
}

// peek returns the next line without its line end; p.cut tells that it was
// longer than the limit and is shortened. io.EOF at the end.
func (p *parser) peek() ([]byte, error) {
	if p.isHeld {
		p.cut = p.heldC
		return p.held, nil
	}
	p.held, p.heldC = p.held[:0], false
	for {
		part, err := p.in.ReadSlice('\n')
		text := bytes.TrimSuffix(part, []byte{'\n'})
		if room := p.maxLine() - len(p.held); len(text) > room {
			text, p.heldC = text[:room], true
		}
		p.held = append(p.held, text...)
		if err == bufio.ErrBufferFull {
			continue
		}
		if err == io.EOF && len(part) == 0 && len(p.held) == 0 {
			return nil, io.EOF
		}
		if err == io.EOF {
			return nil, fmt.Errorf("%w: a line without an end", ErrFormat)
		}
		if err != nil {
			return nil, err
		}
		p.isHeld, p.cut = true, p.heldC
		return p.held, nil
	}
}

// maxLine is how much of a line is read: headers are never cut, whatever the
// limit for content.
func (p *parser) maxLine() int { return max(p.limits.LineBytes+1, 64<<10) }

func (p *parser) take() { p.isHeld = false }

// file reads the patch of one entry. A change of type is written as a deletion
// followed by a creation.
func (p *parser) file(f *File, c counts) error {
	parts := 1
	if f.Status == "type-changed" {
		parts = 2
	}
	room := budget{lines: p.limits.FileLines, bytes: min(p.limits.FileBytes, p.left)}
	before := room.bytes
	var added, deleted int
	for i := range parts {
		h, err := p.header(f)
		if err != nil {
			return err
		}
		if err := h.check(f, i, parts); err != nil {
			return err
		}
		a, d, err := p.hunks(f, &room)
		if err != nil {
			return err
		}
		added, deleted = added+a, deleted+d
	}
	p.left -= before - room.bytes
	if parts == 2 {
		// Counted as one change by numstat, shown as two: the lines shown count.
		p.set.Added += added - f.Added
		p.set.Deleted += deleted - f.Deleted
		f.Added, f.Deleted = added, deleted
	} else if added != c.added || deleted != c.deleted {
		return fmt.Errorf("%w: patch has +%d -%d, counts say +%d -%d", ErrFormat, added, deleted, c.added, c.deleted)
	}
	if f.Kind == "text" && isLFS(*f) {
		f.Kind = "lfs"
	}
	f.Warnings = append(f.Warnings, contentWarnings(f.Hunks)...)
	f.Warnings = append(f.Warnings, fileWarnings(*f)...)
	p.set.Truncated = p.set.Truncated || f.Truncated
	return nil
}

// budget is what may still be shown of one file.
type budget struct {
	lines int
	bytes int64
}

// header is what a patch says about its file before the first hunk.
type header struct {
	old, new string // object ids of the index line
}

// check compares a header with the raw entry it belongs to.
func (h header) check(f *File, part, parts int) error {
	if h.old == "" {
		if f.OldOID == f.NewOID {
			return nil // mode change or exact rename
		}
		return fmt.Errorf("%w: patch without object ids", ErrFormat)
	}
	wantOld, wantNew := f.OldOID, f.NewOID
	if parts == 2 && part == 0 {
		wantNew = strings.Repeat("0", len(wantNew))
	}
	if parts == 2 && part == 1 {
		wantOld = strings.Repeat("0", len(wantOld))
	}
	if h.old != wantOld || h.new != wantNew {
		return fmt.Errorf("%w: patch is about %s..%s, expected %s..%s", ErrFormat, h.old, h.new, wantOld, wantNew)
	}
	return nil
}

// header reads from "diff --git" to before the first hunk.
func (p *parser) header(f *File) (header, error) {
	var h header
	line, err := p.peek()
	if err != nil || !bytes.HasPrefix(line, []byte("diff --git ")) {
		return h, fmt.Errorf("%w: expected the patch of a file, found %.200q", ErrFormat, line)
	}
	p.take()
	for {
		line, err := p.peek()
		if err == io.EOF {
			return h, nil
		}
		if err != nil {
			return h, err
		}
		s := string(line)
		switch {
		case strings.HasPrefix(s, "index "):
			ids, _, _ := strings.Cut(s[len("index "):], " ")
			var ok bool
			if h.old, h.new, ok = strings.Cut(ids, ".."); !ok || !isOID(h.old) || !isOID(h.new) {
				return h, fmt.Errorf("%w: %.200q", ErrFormat, s)
			}
		case strings.HasPrefix(s, "Binary files ") && strings.HasSuffix(s, " differ"):
			// nothing to read: numstat said so too
		case !isExtended(s):
			return h, nil
		}
		p.take()
	}
}

// isExtended reports the other lines git writes before the hunks.
func isExtended(s string) bool {
	for _, word := range []string{
		"old mode ", "new mode ", "deleted file mode ", "new file mode ", "similarity index ",
		"dissimilarity index ", "rename from ", "rename to ", "copy from ", "copy to ", "--- ", "+++ ",
	} {
		if strings.HasPrefix(s, word) {
			return true
		}
	}
	return false
}

var hunkPattern = regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(?: (.*))?$`)

// hunks reads hunks for as long as there are any and returns their counts.
func (p *parser) hunks(f *File, room *budget) (added, deleted int, err error) {
	for {
		line, err := p.peek()
		if err == io.EOF || err == nil && !bytes.HasPrefix(line, []byte("@@ ")) {
			return added, deleted, nil
		}
		if err != nil {
			return added, deleted, err
		}
		h, err := parseHunk(line)
		if err != nil {
			return added, deleted, err
		}
		p.take()
		a, d, err := p.lines(f, &h, room)
		if err != nil {
			return added, deleted, err
		}
		added, deleted = added+a, deleted+d
		if len(h.Lines) > 0 {
			f.Hunks = append(f.Hunks, h)
		}
	}
}

func parseHunk(line []byte) (Hunk, error) {
	m := hunkPattern.FindSubmatch(line)
	if m == nil {
		return Hunk{}, fmt.Errorf("%w: hunk %.200q", ErrFormat, line)
	}
	var n [4]int
	for i := range n {
		n[i] = 1
		if len(m[i+1]) > 0 {
			v, err := strconv.Atoi(string(m[i+1]))
			if err != nil {
				return Hunk{}, fmt.Errorf("%w: hunk %.200q", ErrFormat, line)
			}
			n[i] = v
		}
	}
	return Hunk{OldStart: n[0], OldLines: n[1], NewStart: n[2], NewLines: n[3], Section: printableLine(string(m[5]))}, nil
}

// lines reads the content of one hunk, exactly as many lines as it announced.
func (p *parser) lines(f *File, h *Hunk, room *budget) (added, deleted int, err error) {
	oldLeft, newLeft := h.OldLines, h.NewLines
	for oldLeft > 0 || newLeft > 0 {
		line, err := p.peek()
		if err != nil || len(line) == 0 {
			return added, deleted, fmt.Errorf("%w: hunk cut short: %.200q", ErrFormat, line)
		}
		p.take()
		switch line[0] {
		case ' ':
			oldLeft, newLeft = oldLeft-1, newLeft-1
		case '-':
			oldLeft, deleted = oldLeft-1, deleted+1
		case '+':
			newLeft, added = newLeft-1, added+1
		default:
			return added, deleted, fmt.Errorf("%w: line of a hunk %.200q", ErrFormat, line)
		}
		if oldLeft < 0 || newLeft < 0 {
			return added, deleted, fmt.Errorf("%w: hunk longer than its header says", ErrFormat)
		}
		p.show(f, h, line, room)
		if err := p.noEOL(h); err != nil {
			return added, deleted, err
		}
	}
	return added, deleted, nil
}

// show keeps a line unless a limit is reached.
func (p *parser) show(f *File, h *Hunk, line []byte, room *budget) {
	cut := p.cut || len(line) > p.limits.LineBytes+1
	if cut {
		line = line[:min(len(line), p.limits.LineBytes+1)]
		f.Truncated = true
	}
	if room.lines <= 0 || room.bytes < int64(len(line)) {
		f.Truncated, room.lines = true, 0 // nothing after a gap
		return
	}
	room.lines--
	room.bytes -= int64(len(line))
	l := Line{Op: string(line[:1]), Text: string(line[1:]), Truncated: cut}
	if !validText(l.Text) {
		l.Raw = []byte(l.Text)
		l.Text = printableLine(l.Text)
	}
	h.Lines = append(h.Lines, l)
}

// noEOL takes "\ No newline at end of file", which belongs to the line before.
func (p *parser) noEOL(h *Hunk) error {
	line, err := p.peek()
	if err == io.EOF || err == nil && !bytes.HasPrefix(line, []byte(`\ `)) {
		return nil
	}
	if err != nil {
		return err
	}
	p.take()
	if n := len(h.Lines); n > 0 {
		h.Lines[n-1].NoEOL = true
	}
	return nil
}

// ReadLists reads the raw and numstat parts alone: files and counts, no content.
func ReadLists(r io.Reader) (Set, error) {
	p := parser{in: bufio.NewReaderSize(r, 64<<10), limits: Limits{}.orDefault()}
	err := p.lists()
	return p.set, err
}
