package importtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var namedTest = regexp.MustCompile("`(?:[a-z]+\\.)?((?:Test|Fuzz)[A-Za-z0-9]+)`")

// TestThreatsNameTestsThatExist keeps docs/THREATS.md true: a threat whose test
// was renamed or removed is a threat nobody attacks.
func TestThreatsNameTestsThatExist(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join(root(t), "docs", "THREATS.md"))
	if err != nil {
		t.Fatal(err)
	}
	exist := declared(t)
	named := namedTest.FindAllStringSubmatch(string(doc), -1)
	for _, m := range named {
		if !exist[m[1]] {
			t.Errorf("docs/THREATS.md names %s, which does not exist", m[1])
		}
	}
	if len(named) < 60 {
		t.Errorf("docs/THREATS.md names only %d tests", len(named))
	}
}

var testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Za-z0-9]+)\(`)

// declared finds every test, and every exported suite a test calls.
func declared(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, top := range []string{"cmd", "internal", "e2e"} {
		err := filepath.WalkDir(filepath.Join(root(t), top), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
				return err
			}
			raw, err := os.ReadFile(path)
			for _, m := range testFunc.FindAllStringSubmatch(string(raw), -1) {
				names[m[1]] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return names
}
