package ci

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"moeca/internal/git"
)

// Content reads files of the result tree; an *os.Root's file system is one.
type Content interface {
	fs.FS
	ReadLink(name string) (string, error)
}

// treeContent reads a checkout without following anything out of it.
type treeContent struct{ *os.Root }

func (t treeContent) Open(name string) (fs.File, error)    { return t.Root.Open(name) }
func (t treeContent) ReadLink(name string) (string, error) { return t.Readlink(name) }

// maxRead bounds a test file that is read; a longer one counts as steering.
const maxRead = 1 << 20

// ender are words by which a test can end its whole run, or choose what is run,
// by extension. A test may do without them and still cheat (package comment);
// these are the ways that look like nothing in a list of added files.
var enders = map[string][]string{
	".py":  {"_exit", "sys.exit", "SystemExit", "atexit", "pytest_plugins", "pytest_", "os.kill", "os.exec"},
	".js":  {"process.exit", "process.reallyExit", "process.kill", "process.exitCode", "process.on("},
	".rb":  {"exit", "at_exit"},
	".php": {"exit", "die("},
}

// steers says whether an added test file decides about more than its own tests.
// What cannot be read counts.
func (c Comparison) steers(e git.Entry, packages map[string]bool) bool {
	ext := strings.ToLower(path.Ext(e.Path))
	if slices.Contains([]string{".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts"}, ext) {
		ext = ".js"
	}
	words, known := enders[ext]
	isGo := strings.HasSuffix(strings.ToLower(e.Path), "_test.go") && packages[strings.ToLower(path.Dir(e.Path))]
	if !known && !isGo {
		return false
	}
	src, err := c.read(key(e))
	if err != nil {
		return true
	}
	if isGo {
		return goSteers(src)
	}
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(string(src), w) })
}

func (c Comparison) read(name string) (src []byte, err error) {
	if c.Content == nil {
		return nil, fs.ErrNotExist
	}
	f, err := c.Content.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
		return nil, errors.Join(err, fs.ErrInvalid)
	}
	src, err = io.ReadAll(io.LimitReader(f, maxRead+1))
	if err == nil && len(src) > maxRead {
		err = fs.ErrInvalid
	}
	return src, err
}

// goPackages are the directories, in lower case, that hold Go files.
func goPackages(entries []git.Entry) map[string]bool {
	dirs := map[string]bool{}
	for _, e := range entries {
		if name := strings.ToLower(e.Path); strings.HasSuffix(name, ".go") {
			dirs[path.Dir(name)] = true
		}
	}
	return dirs
}

// goSteers reports a test file that takes the whole test binary of its package
// into its hands: TestMain, init, a call at package level of a function written
// there, or a way to end the process or to change the flags the tests run with.
func goSteers(src []byte) bool {
	f, err := parser.ParseFile(token.NewFileSet(), "", src, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		return true
	}
	for _, i := range f.Imports {
		name := i.Name
		switch i.Path.Value {
		case `"syscall"`, `"unsafe"`, `"C"`, `"golang.org/x/sys/unix"`:
			return true
		case `"os"`, `"flag"`:
			if name != nil { // under another name, its calls cannot be told
				return true
			}
		}
	}
	for _, group := range f.Comments {
		if slices.ContainsFunc(group.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:linkname") }) {
			return true
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && (d.Name.Name == "TestMain" || d.Name.Name == "init") {
				return true
			}
		case *ast.GenDecl:
			if d.Tok == token.VAR && callsLiteral(d) {
				return true
			}
		}
	}
	return endsProcess(f)
}

// callsLiteral reports a function literal that is called where it stands.
func callsLiteral(n ast.Node) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			_, literal := ast.Unparen(call.Fun).(*ast.FuncLit)
			found = found || literal
		}
		return !found
	})
	return found
}

func endsProcess(f *ast.File) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			pkg, ok := sel.X.(*ast.Ident)
			found = found || ok && slices.Contains([]string{"os.Exit", "os.Args", "flag.Set", "flag.CommandLine", "flag.Lookup"}, pkg.Name+"."+sel.Sel.Name)
		}
		return !found
	})
	return found
}
