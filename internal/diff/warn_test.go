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
