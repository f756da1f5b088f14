package board_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain keeps the model test short unless a number of checks is asked for:
// each runs real merges.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "20"); err != nil {
		panic(err)
	}
	flag.Parse()
	os.Exit(m.Run())
}
