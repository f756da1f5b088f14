package diff_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"moeca/internal/diff"
)

// The list is closed: the description of the API has every constant.
func TestListOfWarningsIsWhole(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "warn.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	ast.Inspect(f, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(v.Names[0].Name, "Warn") {
			code, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			codes = append(codes, code)
		}
		return true
	})
	field, _ := reflect.TypeFor[diff.File]().FieldByName("Warnings")
	if tag := field.Tag.Get("doc"); tag != "codes of a closed list: "+strings.Join(codes, ", ") {
		t.Errorf("the description lists %s", tag)
	}
}

func TestLinksThatLeadOut(t *testing.T) {
	for _, c := range []struct {
		path, target string
		want         bool
	}{
		{"a", "b", false},
		{"d/a", "../b", false},
		{"d/e/a", "../../b/./c", false},
		{"d/a", "x/../../b", false},
		{"a", "..b/c", false},
		{"a", "/etc/passwd", true},
		{"a", "..", true},
		{"d/a", "../..", true},
		{"d/a", "../../x", true},
		{"a", "b/../../x", true},
		{"a", "..\\x", true},
		{"a", `C:\Windows`, true},
		{"a", `\\host\share`, true},
		{"a", ".git/config", true},
		{"a", "d/.GIT/hooks", true},
		{"a", "", true},
	} {
		if got := diff.LeadsOut(c.path, c.target); got != c.want {
			t.Errorf("%s -> %q: %v", c.path, c.target, got)
		}
	}
}
