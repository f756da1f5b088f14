package ci_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"moeca/internal/ci"
	"moeca/internal/git"
	"moeca/internal/sandbox"
)

func TestGateHashCoversEverythingThatDecides(t *testing.T) {
	base := ci.Gate{Policy: "base", Argv: []string{"/x", "a b"}, Timeout: 60}
	hash := func(g ci.Gate) string {
		h, err := g.Hash()
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	seen := map[string]string{hash(base): "itself"}
	for name, g := range map[string]ci.Gate{
		"another policy":       {Policy: "poly", Argv: base.Argv, Timeout: 60},
		"another limit":        {Policy: "base", Argv: base.Argv, Timeout: 61},
		"arguments split":      {Policy: "base", Argv: []string{"/x", "a", "b"}, Timeout: 60},
		"an argument more":     {Policy: "base", Argv: []string{"/x", "a b", ""}, Timeout: 60},
		"another program":      {Policy: "base", Argv: []string{"/y", "a b"}, Timeout: 60},
		"the default time":     {Policy: "base", Argv: base.Argv},
		"arguments and a line": {Policy: "base", Argv: []string{"/x\na b"}, Timeout: 60},
	} {
		h := hash(g)
		if other, ok := seen[h]; ok {
			t.Errorf("%s has the hash of %s", name, other)
		}
		seen[h] = name
	}
	if hash(ci.Gate{Argv: []string{"x"}}) != hash(ci.Gate{Policy: ci.DefaultPolicy, Argv: []string{"x"}, Timeout: ci.DefaultTimeout}) {
		t.Error("a default written out changes the hash")
	}
}

func TestChangedGateFiles(t *testing.T) {
	entry := func(path, oid, mode string) git.Entry { return git.Entry{Path: path, OID: oid, Mode: mode} }
	base := []git.Entry{
		entry("Makefile", "1", "100644"), entry("a.go", "1", "100644"), entry("a_test.go", "1", "100644"), entry("run", "1", "100644"),
		entry(".ci/run", "1", "100755"), entry("ui/package.json", "1", "100644"), entry("sub/.github/x.yml", "1", "100644"),
		entry("pkg/testdata/in.txt", "1", "100644"), entry("old_test.go", "1", "100644"), entry("GO.MOD", "1", "100644"),
	}
	ordinary := fstest.MapFS{"new_test.go": {Data: []byte("package x")}}
	for name, c := range map[string]struct {
		change func([]git.Entry) []git.Entry
		want   []string
	}{
		"nothing":                    {func(e []git.Entry) []git.Entry { return e }, nil},
		"code":                       {func(e []git.Entry) []git.Entry { e[1].OID = "2"; return e }, nil},
		"makefile":                   {func(e []git.Entry) []git.Entry { e[0].OID = "2"; return e }, []string{"Makefile"}},
		"a test":                     {func(e []git.Entry) []git.Entry { e[2].OID = "2"; return e }, []string{"a_test.go"}},
		"a test removed":             {func(e []git.Entry) []git.Entry { return slices.Delete(e, 8, 9) }, []string{"old_test.go"}},
		"a test added":               {func(e []git.Entry) []git.Entry { return append(e, entry("new_test.go", "1", "100644")) }, nil},
		"ci script made a symlink":   {func(e []git.Entry) []git.Entry { e[4].Mode = "120000"; return e }, []string{".ci/run"}},
		"nested package.json":        {func(e []git.Entry) []git.Entry { e[5].OID = "2"; return e }, []string{"ui/package.json"}},
		"nested workflow":            {func(e []git.Entry) []git.Entry { e[6].OID = "2"; return e }, []string{"sub/.github/x.yml"}},
		"golden data":                {func(e []git.Entry) []git.Entry { e[7].OID = "2"; return e }, []string{"pkg/testdata/in.txt"}},
		"module file in upper case":  {func(e []git.Entry) []git.Entry { e[9].OID = "2"; return e }, []string{"GO.MOD"}},
		"a new makefile":             {func(e []git.Entry) []git.Entry { return append(e, entry("sub/rules.mk", "1", "100644")) }, []string{"sub/rules.mk"}},
		"makefile removed":           {func(e []git.Entry) []git.Entry { return e[1:] }, []string{"Makefile"}},
		"workspace file added":       {func(e []git.Entry) []git.Entry { return append(e, entry("go.work", "1", "100644")) }, []string{"go.work"}},
		"a file that looks like one": {func(e []git.Entry) []git.Entry { return append(e, entry("Makefile.txt", "1", "100644")) }, nil},
	} {
		if got := (ci.Comparison{Base: base, Result: c.change(slices.Clone(base)), Globs: ci.DefaultGateFiles(), Content: ordinary}).Changed(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestPatternThatCannotBeReadCountsForEverything(t *testing.T) {
	got := ci.Comparison{Result: []git.Entry{{Path: "x", OID: "1"}}, Globs: []string{"[a"}}.Changed()
	if !slices.Equal(got, []string{"x"}) {
		t.Fatalf("got %v", got)
	}
}

func TestEnvironmentReachesNothing(t *testing.T) {
	for _, policy := range []string{sandbox.Base, sandbox.Poly} {
		env := ci.Environment(policy)
		names := map[string]string{}
		for _, kv := range env {
			name, value, _ := strings.Cut(kv, "=")
			if _, twice := names[name]; twice || name == "" {
				t.Errorf("%s: %q twice or nameless", policy, name)
			}
			if strings.Contains(value, "http") {
				t.Errorf("%s: %s names an address", policy, kv)
			}
			names[name] = value
		}
		if names["PATH"] == "" || names["HOME"] == "" {
			t.Errorf("%s: no PATH or HOME", policy)
		}
		env[0] = "changed"
		if ci.Environment(policy)[0] == "changed" {
			t.Errorf("%s: a caller can change the list", policy)
		}
	}
	env := ci.Environment(sandbox.Poly)
	for _, want := range []string{"GOTOOLCHAIN=local", "GOPROXY=off", "PIP_NO_INDEX=1", "npm_config_offline=true"} {
		if !slices.Contains(env, want) {
			t.Errorf("poly lacks %s", want)
		}
	}
	if ci.Environment("nope") != nil {
		t.Error("an unknown policy has an environment")
	}
}
