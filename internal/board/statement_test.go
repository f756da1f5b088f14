package board

import (
	"fmt"
	"strings"
	"testing"
)

func TestStatementStaysWithinARowOfTheLog(t *testing.T) {
	var many []string
	for i := range 20_000 {
		many = append(many, fmt.Sprintf("directory/with/a/long/name/file-%d.txt", i))
	}
	got := bounded(many)
	if n := len(strings.Join(got, " ")); n > maxListed+200 || !strings.Contains(got[len(got)-1], "of all 20000: ") {
		t.Fatalf("%d bytes, last %q", n, got[len(got)-1])
	}
	many[19_999] = "another"
	if other := bounded(many); other[len(other)-1] == got[len(got)-1] {
		t.Fatal("a file that is not spelled out does not count")
	}
	if few := bounded([]string{"b", "a", "b"}); len(few) != 2 || few[0] != "a" {
		t.Fatalf("short list %v", few)
	}
	if none := bounded(nil); none == nil || len(none) != 0 {
		t.Fatal("no list is not an empty list")
	}
}
