package importtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Zones. Base and mechanism packages have none.
const (
	base      = "base"
	mechanism = "mechanism"
	wire      = "wire" // types two zones share
	gateway   = "gateway"
	host      = "host"
	sandbox   = "sandbox"
	testOnly  = "test"
)

// layers enters every package of the module below internal/, and ui, images.
var layers = map[string]string{
	"internal/a2a":        base,
	"internal/diff":       base,
	"internal/handoff":    wire,
	"internal/llm":        base,
	"internal/netguard":   base,
	"internal/pubsub":     base,
	"internal/secret":     base,
	"internal/session":    base,
	"internal/sqlite":     base,
	"internal/strictjson": base,
	"internal/web":        base,

	"internal/audit": mechanism,
	"internal/git":   mechanism,

	"internal/gateway/gatewayapi": wire,
	"internal/gateway":            gateway,

	"internal/auditindex": host,
	"internal/board":      host,
	"internal/ci":         host,
	"internal/demo":       host,
	"internal/hostapi":    host,
	"internal/run":        host,
	"internal/sandbox":    host,
	"internal/stack":      host,
	"internal/witness":    host,
	"internal/workflow":   host,
	"images":              host,
	"ui":                  host,

	"internal/agent": sandbox,

	"internal/audit/audittest":     testOnly,
	"internal/audit/witnesstest":   testOnly,
	"internal/importtest":          testOnly,
	"internal/testreq":             testOnly,
	"internal/sandbox/sandboxtest": testOnly,
}

// mayImport says which layers a layer may use besides itself.
var mayImport = map[string][]string{
	base:      {},
	wire:      {base},
	mechanism: {base},
	gateway:   {base, wire, mechanism},
	host:      {base, wire, mechanism},
	sandbox:   {base, wire},
	testOnly:  {base, wire, mechanism, gateway, host, sandbox},
}

// commands says which zones each binary may contain: one binary per zone.
var commands = map[string][]string{
	"cmd/moeca":            {base, wire, mechanism, host},
	"cmd/moeca-gateway":    {base, wire, mechanism, gateway},
	"cmd/moeca-agent":      {base, wire, sandbox},
	"cmd/moeca-verify":     {mechanism},
	"cmd/moeca-scripted":   {base, wire},
	"cmd/moeca-demo-check": {},
}

// owners says which package alone may import a dangerous one.
var owners = map[string][]string{
	"modernc.org/sqlite":            {"internal/sqlite"},
	"github.com/moby/moby":          {"internal/sandbox/docker"},
	"github.com/pressly/goose":      {"internal/sqlite"},
	"github.com/zalando/go-keyring": {"internal/secret"},
	"filippo.io/age":                {"internal/secret"},
}

// pkg is one directory of Go files that are not tests.
type pkg struct {
	dir     string
	files   map[string]*ast.File
	imports map[string]string // path → a file that has it
}

func TestLayers(t *testing.T) {
	for _, p := range load(t) {
		layer, allowed := layerOf(t, p.dir)
		for path, file := range p.imports {
			target, ours := strings.CutPrefix(path, "moeca/")
			if !ours {
				continue
			}
			other, _ := layerOf(t, target)
			if layer == "" && !slices.Contains(allowed, other) || layer != "" && other != layer && !slices.Contains(allowed, other) {
				t.Errorf("%s (%s) imports %s (%s)", file, layer, target, other)
			}
		}
	}
}

func TestDangersHaveOneOwner(t *testing.T) {
	for _, p := range load(t) {
		for path, file := range p.imports {
			for danger, owner := range owners {
				if (path == danger || strings.HasPrefix(path, danger+"/")) && !within(p.dir, owner) {
					t.Errorf("%s imports %s, which belongs to %v", file, path, owner)
				}
			}
		}
	}
}

// environmentReaders are the functions that read the process environment.
var environmentReaders = []string{"Getenv", "LookupEnv", "Environ", "ExpandEnv"}

func TestOnlyCommandsReadTheEnvironment(t *testing.T) {
	for _, p := range load(t) {
		if strings.HasPrefix(p.dir, "cmd/") || layers[p.dir] == testOnly || !strings.HasPrefix(p.dir, "internal/") {
			continue
		}
		for name, file := range p.files {
			ast.Inspect(file, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok || !slices.Contains(environmentReaders, sel.Sel.Name) {
					return true
				}
				if x, ok := sel.X.(*ast.Ident); ok && (x.Name == "os" || x.Name == "syscall") {
					t.Errorf("%s reads the environment with %s.%s", name, x.Name, sel.Sel.Name)
				}
				return true
			})
		}
	}
}

func TestOnlyGitRunsGit(t *testing.T) {
	for _, p := range load(t) {
		if p.dir == "internal/git" {
			continue
		}
		for name, file := range p.files {
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				sel, ok := call.Fun.(*ast.SelectorExpr)
				if !ok || !strings.HasPrefix(sel.Sel.Name, "Command") {
					return true
				}
				for _, arg := range call.Args {
					if lit, ok := arg.(*ast.BasicLit); ok && lit.Value == `"git"` {
						t.Errorf("%s runs git", name)
					}
				}
				return true
			})
		}
	}
}

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	for _, p := range load(t) {
		longest := 0
		for _, file := range p.files {
			if file.Doc != nil {
				longest = max(longest, len(file.Doc.Text()))
			}
		}
		if longest < 80 {
			t.Errorf("%s has no package comment that says what it is for", p.dir)
		}
	}
}

func TestEveryEntryOfTheTableExists(t *testing.T) {
	for dir := range layers {
		if _, err := os.Stat(filepath.Join(root(t), dir)); err != nil {
			t.Errorf("the table names %s: %v", dir, err)
		}
	}
	for dir := range commands {
		if _, err := os.Stat(filepath.Join(root(t), dir)); err != nil {
			t.Errorf("the table names %s: %v", dir, err)
		}
	}
}

// layerOf finds the entry of a directory or of the nearest one above it. For a
// command the layer is "" and allowed is the whole list.
func layerOf(t *testing.T, dir string) (layer string, allowed []string) {
	t.Helper()
	if zones, ok := commands[dir]; ok {
		return "", zones
	}
	for d := dir; d != "."; d = filepath.Dir(d) {
		if layer, ok := layers[d]; ok {
			return layer, mayImport[layer]
		}
	}
	t.Errorf("%s is not in the table: decide its layer", dir)
	return base, nil
}

func within(dir string, owners []string) bool {
	return slices.ContainsFunc(owners, func(o string) bool { return dir == o || strings.HasPrefix(dir, o+"/") })
}

// load parses every package of the product: cmd, internal, images, ui.
func load(t *testing.T) []*pkg {
	t.Helper()
	byDir := map[string]*pkg{}
	fset := token.NewFileSet()
	for _, top := range []string{"cmd", "internal", "images", "ui"} {
		err := filepath.WalkDir(filepath.Join(root(t), top), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules") {
				return fs.SkipDir
			}
			if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			rel, err := filepath.Rel(root(t), path)
			if err != nil {
				return err
			}
			dir := filepath.Dir(rel)
			if byDir[dir] == nil {
				byDir[dir] = &pkg{dir: dir, files: map[string]*ast.File{}, imports: map[string]string{}}
			}
			return byDir[dir].add(fset, path, rel)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	var all []*pkg
	for _, p := range byDir {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *pkg) int { return strings.Compare(a.dir, b.dir) })
	return all
}

func (p *pkg) add(fset *token.FileSet, path, rel string) error {
	file, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
	if err != nil {
		return err
	}
	p.files[rel] = file
	for _, spec := range file.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		p.imports[name] = rel
	}
	return nil
}

// root is the directory of go.mod.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
