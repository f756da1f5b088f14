package ci_test

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"moeca/internal/ci"
	"moeca/internal/git"
)

// tree is files by name; a text that starts with "->" is a symbolic link.
type tree map[string]string

func (t tree) entries() (all []git.Entry) {
	for name, text := range t {
		e := git.Entry{Path: name, Mode: "100644", OID: fmt.Sprintf("%x", text)}
		if strings.HasPrefix(text, "->") {
			e.Mode = "120000"
		}
		all = append(all, e)
	}
	return all
}

func (t tree) content() fstest.MapFS {
	m := fstest.MapFS{}
	for name, text := range t {
		if to, ok := strings.CutPrefix(text, "->"); ok {
			m[name] = &fstest.MapFile{Data: []byte(to), Mode: fs.ModeSymlink}
			continue
		}
		m[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	}
	return m
}

func (t tree) with(changes tree) tree {
	n := tree{}
	for name, text := range t {
		n[name] = text
	}
	for name, text := range changes {
		if n[name] = text; text == "" {
			delete(n, name)
		}
	}
	return n
}

func changedBy(base, changes tree, argv ...string) []string {
	result := base.with(changes)
	return ci.Comparison{
		Base: base.entries(), Result: result.entries(), Globs: ci.DefaultGateFiles(), Argv: argv, Content: result.content(),
	}.Changed()
}

func TestWhatTheCommandNamesIsAGateFile(t *testing.T) {
	base := tree{
		"check": "go test ./...", "ci/run": "x", "ci/deep/lib": "x", "conf/strict": "x", "tools/check/main.go": "x", "tools/check/sub/a.go": "x",
		"pkg/a.go": "x", "verify.py": "x", "tools/lint/__main__.py": "x", "linked": "->real/script", "real/script": "x", "Upper": "x",
	}
	for name, c := range map[string]struct {
		argv    []string
		changed string
		want    bool
	}{
		"the script":                        {[]string{"./check"}, "check", true},
		"a script without a dot":            {[]string{"sh", "check"}, "check", true},
		"a script by its place in the box":  {[]string{"/work/check"}, "check", true},
		"an option's file":                  {[]string{"lint", "-f", "conf/strict"}, "conf/strict", true},
		"an option's file behind an equals": {[]string{"lint", "--config=conf/strict"}, "conf/strict", true},
		"an option's file in one word":      {[]string{"lint", "-fconf/strict"}, "conf/strict", true},
		"in a shell's command":              {[]string{"sh", "-c", "true && ./check; exit"}, "check", true},
		"after a change of directory":       {[]string{"sh", "-c", "cd ci && ./run"}, "ci/run", true},
		"a way round":                       {[]string{"ci/deep/../run"}, "ci/run", true},
		"a program of the tree":             {[]string{"go", "run", "./tools/check"}, "tools/check/sub/a.go", true},
		"a program after an option":         {[]string{"go", "run", "-race", "./tools/check"}, "tools/check/main.go", true},
		"a module":                          {[]string{"python3", "-m", "verify"}, "verify.py", true},
		"a module that is a directory":      {[]string{"python3", "-m", "tools.lint"}, "tools/lint/__main__.py", true},
		"where a link leads":                {[]string{"./linked"}, "real/script", true},
		"another case":                      {[]string{"./upper"}, "Upper", true},
		"a package that is tested":          {[]string{"go", "test", "./pkg"}, "pkg/a.go", false},
		"everything that is tested":         {[]string{"go", "test", "./..."}, "pkg/a.go", false},
		"a file it does not name":           {[]string{"./check"}, "pkg/a.go", false},
	} {
		for how, text := range map[string]string{"changed": "new", "removed": ""} {
			if how == "removed" && strings.Contains(name, "link") {
				continue
			}
			got := changedBy(base, tree{c.changed: text}, c.argv...)
			if slices.Contains(got, c.changed) != c.want {
				t.Errorf("%s, %s: %v", name, how, got)
			}
		}
		added := base.with(tree{c.changed: ""})
		if got := changedBy(added, tree{c.changed: "new"}, c.argv...); slices.Contains(got, c.changed) != c.want {
			t.Errorf("%s, added: %v", name, got)
		}
	}
}

func TestFilesThatDecide(t *testing.T) {
	for _, name := range []string{
		"check.sh", "scripts/x", "sub/scripts/deep/x", ".gitattributes", "sub/.gitattributes", ".gitmodules", "tsconfig.json", "tsconfig.build.json",
		"vitest.config.ts", "vitest.setup.ts", "jest.config.js", "jest.setup.js", "playwright.config.ts", "pytest.ini", "tox.ini", "ruff.toml",
		".ruff.toml", "eslint.config.js", ".eslintrc.json", "biome.json", "Cargo.toml", "build.rs", "go.work", "vendor/modules.txt", ".npmrc",
		"conftest.py", "tests/conftest.py", "setup.cfg", "sub/go.mod", "ui/package.json", "sitecustomize.py", "src/setupTests.ts", "globalSetup.ts",
		"mypy.ini", ".cargo/config.toml", "rust-toolchain.toml", "Dockerfile.ci", "gradlew", "x.cmake", "pnpm-workspace.yaml",
	} {
		if got := changedBy(tree{}, tree{name: "x"}); !slices.Equal(got, []string{name}) {
			t.Errorf("%s added: %v", name, got)
		}
		if got := changedBy(tree{name: "x"}, tree{name: "y"}); !slices.Equal(got, []string{name}) {
			t.Errorf("%s changed: %v", name, got)
		}
	}
	for _, name := range []string{"a.go", "src/app.ts", "README.md", "docs/x.txt", "shell.go", "scripts.go", "lib/go.module"} {
		if got := changedBy(tree{}, tree{name: "x"}); got != nil {
			t.Errorf("%s counts: %v", name, got)
		}
	}
}

func TestAddedTestsThatSteerTheWholeRun(t *testing.T) {
	base := tree{"p/p.go": "package p", "lib/lib.py": "x", "src/a.ts": "x"}
	for name, c := range map[string]struct {
		file, text string
		want       bool
	}{
		"a Go test":                       {"p/a_test.go", "package p\nimport (\"os\"; \"testing\")\nfunc TestA(t *testing.T) { os.Getenv(\"x\"); t.Log(1) }", false},
		"a table at package level":        {"p/a_test.go", "package p\nimport \"regexp\"\nvar re = regexp.MustCompile(\"a\")\nvar f = func() {}", false},
		"TestMain":                        {"p/a_test.go", "package p\nimport (\"os\"; \"testing\")\nfunc TestMain(m *testing.M) { os.Exit(0) }", true},
		"TestMain spread out":             {"p/a_test.go", "package p\nimport \"testing\"\nfunc /* x */\nTestMain(m *testing.M) {}", true},
		"TestMain of the outside package": {"p/a_test.go", "package p_test\nimport \"testing\"\nfunc TestMain(m *testing.M) {}", true},
		"a method of that name":           {"p/a_test.go", "package p\ntype x int\nfunc (x) TestMain() {}", false},
		"TestMain of a new package":       {"q/a_test.go", "package q\nimport \"testing\"\nfunc TestMain(m *testing.M) {}", false},
		"init":                            {"p/a_test.go", "package p\nfunc init() { stop() }", true},
		"a call at package level":         {"p/a_test.go", "package p\nimport \"os\"\nvar _ = func() int { os.Remove(\"x\"); return 0 }()", true},
		"an exit in a test":               {"p/a_test.go", "package p\nimport (\"os\"; \"testing\")\nfunc TestA(t *testing.T) { os.Exit(0) }", true},
		"an exit under another name":      {"p/a_test.go", "package p\nimport o \"os\"\nvar x = o.Exit", true},
		"a raw exit":                      {"p/a_test.go", "package p\nimport \"syscall\"\nvar x = syscall.Exit", true},
		"a linked symbol":                 {"p/a_test.go", "package p\nimport _ \"embed\"\n//go:linkname x os.runtime_beforeExit\nfunc x()", true},
		"other flags":                     {"p/a_test.go", "package p\nimport (\"flag\"; \"testing\")\nfunc TestA(t *testing.T) { flag.Set(\"test.run\", \"x\") }", true},
		"Go that cannot be read":          {"p/a_test.go", "package p\nfunc {", true},
		"Go that is too long":             {"p/a_test.go", "package p\n//" + strings.Repeat("x", 2<<20), true},
		"a link that is called a test":    {"p/a_test.go", "->/etc/passwd", true},
		"a Python test":                   {"tests/test_a.py", "def test_a(): assert 1", false},
		"a Python test that leaves":       {"tests/test_a.py", "import os; os._exit(0)", true},
		"a hook of the test runner":       {"tests/plugin.py", "def pytest_sessionfinish(session): session.exitstatus = 0", true},
		"a TypeScript test":               {"src/a.test.ts", "it('works', () => {})", false},
		"a TypeScript test that leaves":   {"src/a.test.ts", "process.exit(0)", true},
		"test data":                       {"p/testdata/in.json", "{}", false},
	} {
		got := changedBy(base, tree{c.file: c.text}, "go", "test", "./...")
		if (len(got) > 0) != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
