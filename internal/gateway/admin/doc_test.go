package admin

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEveryEndpointIsDocumented compares what the listeners route with the list
// in the comment of package gatewayapi.
func TestEveryEndpointIsDocumented(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	files = slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, "_test.go") })
	routed := endpoints(t, regexp.MustCompile(`"([A-Z]+) +(/v1/[^"]*)"`), files...)
	documented := endpoints(t, regexp.MustCompile(`(?m)^//\t([A-Z]+) +(/v1/\S*)`), "../gatewayapi/doc.go")
	if len(routed) < 20 || !slices.Equal(routed, documented) {
		t.Errorf("routed:\n%s\ndocumented:\n%s", strings.Join(routed, "\n"), strings.Join(documented, "\n"))
	}
}

func endpoints(t *testing.T, form *regexp.Regexp, files ...string) (out []string) {
	t.Helper()
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range form.FindAllStringSubmatch(string(text), -1) {
			out = append(out, m[1]+" "+m[2])
		}
	}
	slices.Sort(out)
	return out
}
