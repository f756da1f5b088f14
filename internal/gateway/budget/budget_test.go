package budget

import (
	"errors"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func TestUnknownAccountHasNothing(t *testing.T) {
	l := NewLedger()
	if _, err := l.Reserve("x", 0); !errors.Is(err, ErrNoAccount) {
		t.Fatal(err)
	}
	if l.Left("x") != 0 || l.Close("x") != 0 {
		t.Fatal("an unknown account has something")
	}
}

func TestNegativeBudgetIsNothing(t *testing.T) {
	l := NewLedger()
	l.Open("x", -5)
	if _, err := l.Reserve("x", 1); !errors.Is(err, ErrExhausted) {
		t.Fatal(err)
	}
	if _, err := l.Reserve("x", -1); !errors.Is(err, ErrExhausted) {
		t.Fatal("a negative reservation was taken")
	}
}

func TestOpeningAgainForgivesNothing(t *testing.T) {
	l := NewLedger()
	l.Open("x", 10)
	lease, _ := l.Reserve("x", 10)
	lease.SettleWhole()
	l.Open("x", 10)
	if l.Left("x") != 0 {
		t.Fatal("a second open refilled the account")
	}
}

func TestLeasesOutAtTheEndAreSpent(t *testing.T) {
	l := NewLedger()
	l.Open("x", 10)
	if _, err := l.Reserve("x", 7); err != nil {
		t.Fatal(err)
	}
	if got := l.Close("x"); got != 7 {
		t.Fatal(got)
	}
}

// The model: spent is the sum of settled amounts, reserved that of open ones.
func TestLedgerModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(0, 1000).Draw(t, "limit")
		l := NewLedger()
		l.Open("s", limit)
		var open []*Lease
		var spent, reserved int64
		t.Repeat(map[string]func(*rapid.T){
			"reserve": func(t *rapid.T) {
				n := rapid.Int64Range(0, 300).Draw(t, "n")
				lease, err := l.Reserve("s", n)
				if fits := spent+reserved+n <= limit; fits != (err == nil) {
					t.Fatalf("reserve %d with %d+%d of %d: %v", n, spent, reserved, limit, err)
				}
				if err == nil {
					open, reserved = append(open, lease), reserved+n
				}
			},
			"settle": func(t *rapid.T) {
				if len(open) == 0 {
					t.Skip("nothing open")
				}
				i := rapid.IntRange(0, len(open)-1).Draw(t, "i")
				lease := open[i]
				used := rapid.Int64Range(0, lease.Amount).Draw(t, "used")
				lease.Settle(used)
				lease.SettleWhole()
				open = append(open[:i], open[i+1:]...)
				reserved, spent = reserved-lease.Amount, spent+used
			},
			"": func(t *rapid.T) {
				if spent > limit || l.Left("s") != limit-spent-reserved {
					t.Fatalf("spent %d reserved %d of %d, left %d", spent, reserved, limit, l.Left("s"))
				}
			},
		})
	})
}

func TestFiftyParallelReservations(t *testing.T) {
	l := NewLedger()
	l.Open("s", 100)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var spent int64
	for range 50 {
		wg.Go(func() {
			lease, err := l.Reserve("s", 30)
			if err != nil {
				return
			}
			lease.Settle(25)
			mu.Lock()
			defer mu.Unlock()
			spent += 25
		})
	}
	wg.Wait()
	if spent > 100 || spent < 75 || l.Close("s") != spent {
		t.Fatalf("spent %d of 100", spent)
	}
}
