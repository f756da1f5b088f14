// Package testreq decides what a test does when something it needs is missing:
// on a user's machine it is skipped with the reason, in CI it fails.
//
// MOECA_REQUIRE is a comma-separated list of prerequisites that must be there
// (docker, chromium, native, poly). It is the one variable read outside cmd,
// and only test binaries import this package.
package testreq

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// Need ends the test unless err is nil: skipped visibly, or failed where
// MOECA_REQUIRE names the prerequisite.
func Need(t testing.TB, name string, err error) {
	t.Helper()
	if err == nil {
		return
	}
	if slices.Contains(strings.Split(os.Getenv("MOECA_REQUIRE"), ","), name) {
		t.Fatalf("%s is required and missing: %v", name, err)
	}
	t.Skipf("needs %s: %v", name, err)
}
