package tool

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"unicode"

	"moeca/internal/llm"
)

// Bounds of one listing.
const (
	maxEntries   = 1000
	maxDirectory = 20000 // names read of one directory
	defaultDepth = 4
	maxDepth     = 64
)

//go:embed list_files.md
var listFilesText string

type listFiles struct{ tree *Tree }

func (l *listFiles) Definition() llm.Tool {
	return llm.Tool{Name: "list_files", Description: strings.TrimSpace(listFilesText), Schema: schema(nil,
		map[string]property{
			"path":  {"string", "Directory to list, relative to the tree. Default: the whole tree."},
			"depth": {"integer", "How many levels to go down, 1 or more. Default: 4."},
		})}
}

func (l *listFiles) Run(ctx context.Context, input json.RawMessage) Result {
	var in struct {
		Path  string `json:"path"`
		Depth int    `json:"depth"`
	}
	if err := decode(input, &in); err != nil {
		return failure("%v", err)
	}
	if in.Depth <= 0 {
		in.Depth = defaultDepth
	}
	top, err := l.tree.resolve(in.Path)
	if err != nil {
		return failure("list %q: %v", in.Path, err)
	}
	w := listing{ctx: ctx, tree: l.tree, room: MaxResult - 200}
	// Level by level, so that a big directory deep down never hides the top.
	level := []string{top}
	for depth := 0; len(level) > 0 && depth < min(in.Depth, maxDepth); depth++ {
		var below []string
		for _, dir := range level {
			names, err := w.directory(dir)
			if err != nil && depth == 0 {
				return failure("list %q: %v", in.Path, err)
			}
			below = append(below, names...)
		}
		level = below
	}
	return w.result(len(level) > 0)
}

// listing gathers lines until a bound is met.
type listing struct {
	ctx   context.Context
	tree  *Tree
	lines []string
	room  int
	full  bool
}

// directory adds the entries of dir and returns the directories among them.
func (w *listing) directory(dir string) (below []string, err error) {
	if w.full || w.ctx.Err() != nil {
		return nil, nil
	}
	// Looked at first: opening a fifo would wait for ever.
	if info, err := w.tree.root.Lstat(dir); err != nil {
		return nil, plain(err)
	} else if !info.IsDir() {
		return nil, errors.New("not a directory")
	}
	f, err := w.tree.root.OpenFile(dir, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, plain(err)
	}
	defer f.Close()
	names, err := f.Readdirnames(maxDirectory)
	if err != nil && len(names) == 0 {
		return nil, nil // empty: Readdirnames says io.EOF
	}
	w.full = len(names) == maxDirectory
	sort.Strings(names)
	for _, name := range names {
		p := path.Join(dir, name)
		info, err := w.tree.root.Lstat(p)
		if err != nil || isGit(fold(name)) {
			continue // gone meanwhile, or git's own
		}
		if !w.add(w.describe(p, info)) {
			return below, nil
		}
		if info.IsDir() && !w.tree.denied(p) {
			below = append(below, p)
		}
	}
	return below, nil
}

func (w *listing) add(line string) bool {
	if len(w.lines) >= maxEntries || len(line) >= w.room {
		w.full = true
		return false
	}
	w.room -= len(line) + 1
	w.lines = append(w.lines, line)
	return true
}

func (w *listing) describe(p string, info fs.FileInfo) string {
	name := printable(p)
	switch {
	case w.tree.denied(p):
		return name + " (denied)"
	case info.IsDir():
		return name + "/"
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := w.tree.root.Readlink(p)
		if err != nil {
			target = "?"
		}
		return name + " -> " + printable(target)
	case !info.Mode().IsRegular():
		return name + " (not a regular file)"
	}
	return fmt.Sprintf("%s (%d bytes)", name, info.Size())
}

func (w *listing) result(deeper bool) Result {
	if len(w.lines) == 0 {
		return Result{Text: "[empty]"}
	}
	sort.Strings(w.lines)
	text := strings.Join(w.lines, "\n")
	switch {
	case w.full:
		text += "\n[cut: there is more; list a directory of it]"
	case deeper:
		text += "\n[directories below this depth are not listed]"
	}
	return Result{Text: text}
}

// printable quotes a name that would change what a line means.
func printable(name string) string {
	bad := strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) || r == '"' || r == unicode.ReplacementChar })
	if bad || strings.HasSuffix(name, " ") || strings.HasPrefix(name, "[") || strings.Contains(name, " -> ") {
		return strconv.Quote(name)
	}
	return name
}
