package auditindex

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"moeca/internal/audit"
)

// erasing is a log of which some contents were erased.
type erasing struct {
	Log
	erased map[int64]bool // by offset of the body
}

func (e *erasing) Body(ref *audit.BodyRef) ([]byte, error) {
	if e.erased[ref.Offset] {
		return nil, fmt.Errorf("read body: %w", audit.ErrErased)
	}
	return e.Log.Body(ref)
}

// TestErasedTextLeavesNothingInTheFiles uses letters no other text has, so that
// each trigram of the erased text would show.
func TestErasedTextLeavesNothingInTheFiles(t *testing.T) {
	const rare = "\U00013080" // in every third character
	secret := strings.Repeat("ab"+rare, 40)
	question := func(text string) string {
		return `{"model":"m","messages":[{"role":"user","content":"` + text + `"}]}`
	}
	for _, how := range []string{"the rows are named", "it is found"} {
		t.Run(how, func(t *testing.T) {
			r := newRig(t)
			log := &erasing{Log: r.read, erased: map[int64]bool{}}
			r.check(r.x.Close())
			x, err := Open(t.Context(), r.path(), log)
			r.check(err)
			t.Cleanup(func() { x.Close() })
			r.x = x
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
			for _, at := range []int64{seq, end} {
				rec, _, err := r.read.At(at)
				r.check(err)
				for _, ref := range []*audit.BodyRef{rec.Request, rec.Response} {
					if ref != nil {
						log.erased[ref.Offset] = true
					}
				}
			}
			if how == "it is found" {
				r.check(x.PurgeErased(t.Context()))
			} else {
				r.check(x.Purge(t.Context(), seq, end, 9999))
			}
			if r.holds(rare) {
				t.Error("a file of the index still holds the erased text")
			}
			if got := r.seqs(Filter{Text: rare + "ab"}); got != nil {
				t.Errorf("found in %v", got)
			}
			if got := r.seqs(Filter{Text: "something else"}); len(got) != 40 {
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
