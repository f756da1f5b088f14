package e2e

import (
	"errors"
	"os/exec"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

func gjsonString(doc, path string) string { return gjson.Get(doc, path).String() }

func containsLine(text, line string) bool {
	return slices.Contains(strings.Split(text, "\n"), line)
}

func stderrOf(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return string(exit.Stderr)
	}
	return ""
}
