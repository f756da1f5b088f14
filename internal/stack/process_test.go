package stack

import (
	"os"
	"path/filepath"
	"testing"
)

// Why an earlier start failed is not why this one did.
func TestLogEndIsOfThisStartOnly(t *testing.T) {
	file := filepath.Join(t.TempDir(), "gateway.log")
	if at := logSize(file); at != 0 {
		t.Errorf("a log that is not there yet has %d bytes", at)
	}
	if err := os.WriteFile(file, []byte("address in use\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	from := logSize(file)
	if got := logEnd(file, from); got != "" {
		t.Errorf("a start that said nothing: %q", got)
	}
	if err := os.WriteFile(file, []byte("address in use\nno such file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := logEnd(file, from); got != "no such file" {
		t.Errorf("%q", got)
	}
}
