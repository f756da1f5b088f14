package e2e

import (
	"fmt"
	"testing"

	"moeca/internal/testreq"
)

// needPoly builds the poly image or ends the test where it cannot be built.
func needPoly(t *testing.T) {
	t.Helper()
	out, err := command(t, shortDir(t), "image", "build", "poly").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	testreq.Need(t, "poly", err)
}
