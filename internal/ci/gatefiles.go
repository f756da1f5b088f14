package ci

import (
	"path"
	"slices"
	"strings"

	"moeca/internal/git"
)

// defaultGateFiles are the globs of files that decide what a gate does
// (DECISIONS 14). A pattern without a slash matches the last element at any
// depth; one that ends in "/**" matches everything below that directory; any
// other matches the whole path. Case does not count. A pattern that starts with
// "~" names tests themselves: adding such a file is ordinary work, changing or
// removing one is not.
var defaultGateFiles = []string{
	"Makefile", "GNUmakefile", "*.mk", "justfile", "Taskfile.yml", "Taskfile.yaml",
	".ci/**", ".github/**", ".gitlab-ci.yml", ".circleci/**", "Jenkinsfile", ".pre-commit-config.yaml",
	"go.mod", "go.sum", "go.work", "go.work.sum", ".golangci.*",
	"package.json", "package-lock.json", "pnpm-lock.yaml", "yarn.lock", ".npmrc",
	"tsconfig*.json", "vitest.*", "vite.config.*", "jest.*", "playwright.config.*", "karma.conf.*",
	".mocharc*", "biome.json*", ".eslintrc*", "eslint.config.*",
	"pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "noxfile.py", "pytest.ini", "conftest.py",
	"requirements*.txt", ".coveragerc", "Cargo.toml", "Cargo.lock", "build.rs", ".cargo/**",
	"CMakeLists.txt", "pom.xml", "build.gradle*", "Rakefile", "Gemfile*", "Dockerfile*",
	"~*_test.go", "~*.test.*", "~*.spec.*", "~test_*.py", "~*_test.py", "~tests/**", "~testdata/**",
}

// DefaultGateFiles returns the built-in list.
func DefaultGateFiles() []string { return slices.Clone(defaultGateFiles) }

// ChangedGateFiles lists the gate files that differ between two trees, in
// order. A file whose mode or kind changed differs too.
func ChangedGateFiles(base, result []git.Entry, globs []string) []string {
	was := make(map[string]git.Entry, len(base))
	for _, e := range base {
		was[key(e)] = e
	}
	var changed []string
	for _, e := range result {
		old, had := was[key(e)]
		delete(was, key(e))
		if had && old.OID == e.OID && old.Mode == e.Mode {
			continue
		}
		if gateFile(e.Path, globs, !had) {
			changed = append(changed, e.Path)
		}
	}
	for _, e := range was {
		if gateFile(e.Path, globs, false) {
			changed = append(changed, e.Path)
		}
	}
	slices.Sort(changed)
	return changed
}

func key(e git.Entry) string {
	if e.Raw != nil {
		return string(e.Raw)
	}
	return e.Path
}

// gateFile says whether name counts; added files do not count as tests.
func gateFile(name string, globs []string, added bool) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(globs, func(g string) bool {
		g, test := strings.CutPrefix(g, "~")
		return !(test && added) && matches(strings.ToLower(g), name)
	})
}

func matches(glob, name string) bool {
	if dir, ok := strings.CutSuffix(glob, "/**"); ok {
		return strings.HasPrefix(name, dir+"/") || strings.Contains(name, "/"+dir+"/")
	}
	if !strings.Contains(glob, "/") {
		name = path.Base(name)
	}
	// A pattern that cannot be parsed matches everything: deny is the safe side.
	ok, err := path.Match(glob, name)
	return ok || err != nil
}
