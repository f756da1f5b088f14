package ci

import (
	"path"
	"slices"
	"strings"

	"moeca/internal/git"
)

// defaultGateFiles are the globs of files that decide what a gate does.
// A pattern without a slash matches the last element at any depth; one that ends
// in "/**" matches everything below that directory; any other matches the whole
// path. Case does not count. A pattern that starts with
// "~" names tests themselves: adding such a file is ordinary work unless it
// steers the whole run (steers), changing or removing one is not.
var defaultGateFiles = []string{
	// what a gate starts
	"Makefile", "GNUmakefile", "*.mk", "justfile", ".justfile", "Taskfile*.yml", "Taskfile*.yaml", "magefile.go", "Rakefile", "Earthfile",
	"*.sh", "*.bash", "*.ps1", "*.bat", "*.cmd", "scripts/**", "gradlew", "mvnw", "configure",
	".ci/**", ".github/**", ".gitlab-ci.yml", ".circleci/**", "Jenkinsfile", ".pre-commit-config.yaml", ".travis.yml", "azure-pipelines.yml",
	"Dockerfile*", "Containerfile*", "docker-compose*", "compose*.yml", "compose*.yaml",
	// what git makes of the files a gate sees
	".gitattributes", ".gitmodules",
	// tools and their versions
	".tool-versions", "mise.toml", ".mise.toml", ".envrc", ".env", ".editorconfig", "buf*.yaml",
	// Go
	"go.mod", "go.sum", "go.work", "go.work.sum", "vendor/modules.txt", ".golangci.*", "staticcheck.conf",
	// JavaScript
	"package.json", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "pnpm-workspace.yaml", ".pnpmfile.cjs", "yarn.lock",
	".npmrc", ".yarnrc*", "bun.lock*", "bunfig.toml", "deno.json*", "deno.lock", ".nvmrc", ".node-version",
	"tsconfig*.json", "jsconfig*.json", "vitest.*", "vite.config.*", "jest.*", "jest-*", "playwright.config.*", "cypress.config.*", "karma.conf.*",
	"wdio.conf.*", "ava.config.*", ".mocharc*", ".nycrc*", ".c8rc*", "babel.config.*", ".babelrc*", ".swcrc", "webpack.config.*", "rollup.config.*",
	"biome.json*", ".eslintrc*", ".eslintignore", "eslint.config.*", ".prettierrc*", "turbo.json", "nx.json", "lerna.json",
	"setupTests.*", "setup-tests.*", "test-setup.*", "testSetup.*", "globalSetup.*", "global-setup.*", "*.setup.*", "__mocks__/**",
	// Python
	"pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "noxfile.py", "pytest.ini", ".pytest.ini", "conftest.py", "requirements*.txt",
	"constraints*.txt", "Pipfile*", "poetry.lock", "uv.lock", "uv.toml", ".coveragerc", "ruff.toml", ".ruff.toml", "mypy.ini", ".mypy.ini",
	".flake8", ".pylintrc", "pyrightconfig.json", "sitecustomize.py", "usercustomize.py", "*.pth", ".python-version",
	// Rust
	"Cargo.toml", "Cargo.lock", "build.rs", ".cargo/**", "rust-toolchain*", "rustfmt.toml", ".rustfmt.toml", "clippy.toml", ".clippy.toml",
	// the rest
	"CMakeLists.txt", "*.cmake", "meson.build", "BUILD", "BUILD.bazel", "WORKSPACE*", "MODULE.bazel", ".bazelrc",
	"pom.xml", ".mvn/**", "build.gradle*", "settings.gradle*", "gradle.properties", "gradle/**", "build.sbt",
	"Gemfile*", ".rspec", "spec_helper.rb", "phpunit.xml*", "composer.json", "composer.lock", "mix.exs", "mix.lock", "Package.swift",
	"*.csproj", "*.sln", "Directory.Build.*", "global.json",
	// tests
	"~*_test.go", "~*.test.*", "~*.spec.*", "~test_*.py", "~*_test.py", "~*_spec.rb", "~*_test.rb", "~*Test.java", "~*Test.php", "~*Tests.cs",
	"~test/**", "~tests/**", "~__tests__/**", "~spec/**", "~testdata/**", "~__snapshots__/**", "~*.snap", "~*.golden",
}

// DefaultGateFiles returns the built-in list.
func DefaultGateFiles() []string { return slices.Clone(defaultGateFiles) }

// Comparison is what gate files are looked for in.
type Comparison struct {
	Base, Result []git.Entry
	Globs        []string
	Argv         []string // of the gate: what it names in the tree decides too
	Content      Content  // of the result
}

// Changed lists the gate files that differ between base and result, in order:
// those the globs match, those the gate's own command names, and added tests
// that steer the whole run. A file whose mode or kind changed differs too.
func (c Comparison) Changed() []string {
	was := make(map[string]git.Entry, len(c.Base))
	for _, e := range c.Base {
		was[key(e)] = e
	}
	named := c.named()
	packages := goPackages(c.Base)
	var changed []string
	for _, e := range c.Result {
		old, had := was[key(e)]
		delete(was, key(e))
		if had && old.OID == e.OID && old.Mode == e.Mode {
			continue
		}
		kind := kindOf(e.Path, c.Globs)
		if kind == decides || kind == isTest && (had || c.steers(e, packages)) || named[strings.ToLower(e.Path)] {
			changed = append(changed, e.Path)
		}
	}
	for _, e := range was {
		if kindOf(e.Path, c.Globs) != ordinary || named[strings.ToLower(e.Path)] {
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

// fileKind is what the globs say of a file.
type fileKind int

const (
	ordinary fileKind = iota
	isTest            // matched by a "~" pattern only
	decides
)

func kindOf(name string, globs []string) fileKind {
	name = strings.ToLower(name)
	kind := ordinary
	for _, g := range globs {
		g, test := strings.CutPrefix(g, "~")
		switch {
		case test && kind != ordinary || !matches(strings.ToLower(g), name):
		case test:
			kind = isTest
		default:
			return decides
		}
	}
	return kind
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
