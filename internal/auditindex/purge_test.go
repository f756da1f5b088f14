package auditindex

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"moeca/internal/audit"
)

// TestErasedTextLeavesNothingInTheFiles uses letters no other text has, so that
// each trigram of the erased text would show.
func TestErasedTextLeavesNothingInTheFiles(t *testing.T) {
	const rare = "\U00013080" // in every third character
	secret := strings.Repeat("ab"+rare, 40)
	question := func(text string) string {
		return `{"model":"m","messages":[{"role":"user","content":"` + text + `"}]}`
	}
	before := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	never := time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)
	for how, choose := range map[string]func(seq, end int64) audit.Selection{
		"by rows":                        func(seq, end int64) audit.Selection { return audit.Selection{Rows: []int64{seq, end}} },
		"by task":                        func(int64, int64) audit.Selection { return audit.Selection{Task: "1"} },
		"by run":                         func(int64, int64) audit.Selection { return audit.Selection{Run: "r"} },
		"by time":                        func(int64, int64) audit.Selection { return audit.Selection{Before: &before} },
		"by a time that no row can have": func(int64, int64) audit.Selection { return audit.Selection{Before: &never} },
	} {
		t.Run(how, func(t *testing.T) {
			r := newRig(t)
			a := who("1", "r", "s")
			for range 20 {
				r.append(intent(a), question("something else"), "")
			}
			seq := r.append(intent(a), question(secret), "")
			r.sync() // the text is indexed before the outcome, and again with it
			end := r.append(outcome(a, seq, 1, 1), "", `{"type":"message","role":"assistant","content":[{"type":"text","text":"`+secret+`"}]}`)
			for range 20 {
				r.append(intent(a), question("something else"), "")
			}
			r.sync()
			if len(r.seqs(Filter{Text: rare + "ab"})) != 1 || !r.holds(rare) {
				t.Fatal("the text was not indexed")
			}
			_, err := r.log.Erase(t.Context(), audit.Erasure{Select: choose(seq, end), Actor: audit.ActorPerson, Reason: "asked"})
			r.check(err)
			r.sync()
			if r.holds(rare) {
				t.Error("a file of the index still holds the erased text")
			}
			if got := r.seqs(Filter{Text: rare + "ab"}); got != nil {
				t.Errorf("found in %v", got)
			}
			if got := r.seqs(Filter{Text: "something else"}); how == "by rows" && len(got) != 40 {
				t.Errorf("%d other calls", len(got))
			}
			if got := r.seqs(Filter{Text: "api.example.org"}); len(got) != 41 {
				t.Errorf("%d calls by their target", len(got))
			}
		})
	}
}

// holds says whether a file of the index has these bytes.
func (r *rig) holds(text string) bool {
	r.t.Helper()
	for _, end := range []string{"", "-wal"} {
		raw, err := os.ReadFile(r.path() + end)
		if err != nil && !os.IsNotExist(err) {
			r.t.Fatal(err)
		}
		if bytes.Contains(raw, []byte(text)) {
			return true
		}
	}
	return false
}
