package budget

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"moeca/internal/audit"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func who(session string) Who {
	return Who{Session: session, Run: "r", Task: "t", Provider: "p", At: noon}
}

func tokens(n int64) Amount { return Amount{Tokens: n} }

func limit(n int64) Amount { return Amount{Tokens: n, Cost: Unlimited} }

func TestUnknownAccountHasNothing(t *testing.T) {
	l := NewLedger()
	if _, err := l.Reserve(who("x"), tokens(0)); !errors.Is(err, ErrNoAccount) {
		t.Fatal(err)
	}
	if l.Left(who("x")) != (Amount{}) || l.Close("x") != (Amount{}) {
		t.Fatal("an unknown account has something")
	}
}

func TestOddReservationsAreRefused(t *testing.T) {
	l := NewLedger()
	l.Open("x", Amount{Unlimited, Unlimited})
	for _, a := range []Amount{{-1, 0}, {0, -1}, {most + 1, 0}, {0, Unlimited}} {
		if _, err := l.Reserve(who("x"), a); !errors.Is(err, ErrExhausted) {
			t.Errorf("%+v: %v", a, err)
		}
	}
}

func TestOpeningAgainForgivesNothing(t *testing.T) {
	l := NewLedger()
	l.Open("x", limit(10))
	lease, _ := l.Reserve(who("x"), tokens(10))
	lease.Settle(lease.Amount)
	l.Open("x", limit(10))
	if l.Left(who("x")).Tokens != 0 {
		t.Fatal("a second open refilled the account")
	}
}

func TestLeasesOutAtTheEndAreSpent(t *testing.T) {
	l := NewLedger()
	l.Open("x", Amount{10, 10})
	if _, err := l.Reserve(who("x"), Amount{7, 3}); err != nil {
		t.Fatal(err)
	}
	if got := l.Close("x"); got != (Amount{7, 3}) {
		t.Fatal(got)
	}
}

// Each scope refuses by itself, takes nothing from the others when it does, and
// says which it was.
func TestAllAccountsOrNone(t *testing.T) {
	for _, scope := range []Scope{Session, Run, Task, Day, Provider} {
		for name, a := range map[string]Amount{"tokens": {5, Unlimited}, "money": {Unlimited, 5}} {
			l := NewLedger()
			if scope == Session {
				l.Open("s", a)
			} else {
				l.Open("s", Amount{Unlimited, Unlimited})
				l.Limit(scope, map[Scope]string{Run: "r", Task: "t", Provider: "p"}[scope], a)
			}
			before := l.Left(who("s"))
			_, err := l.Reserve(who("s"), Amount{6, 6})
			var e *ExhaustedError
			if !errors.As(err, &e) || e.Scope != scope || e.Money != (name == "money") || !errors.Is(err, ErrExhausted) {
				t.Errorf("%s, %s: %v", scope, name, err)
			}
			if l.Left(who("s")) != before {
				t.Errorf("%s, %s: a refusal took something", scope, name)
			}
			money, lasting := l.Bounded(who("s"))
			if money != (name == "money") || lasting != (scope != Session) {
				t.Errorf("%s, %s: bounded %v %v", scope, name, money, lasting)
			}
			if _, err := l.Reserve(who("s"), Amount{5, 5}); err != nil {
				t.Errorf("%s, %s: what fits was refused: %v", scope, name, err)
			}
		}
	}
}

func TestADayBeginsAtMidnightUTC(t *testing.T) {
	l := NewLedger()
	l.Limit(Day, "", limit(10))
	l.Limit(Provider, "p", limit(10))
	l.Open("s", limit(1000))
	at := func(h, d int) Who {
		w := who("s")
		w.At = time.Date(2026, 3, d, h, 59, 0, 0, time.UTC)
		return w
	}
	late, err := l.Reserve(at(23, 4), tokens(10))
	if err != nil {
		t.Fatal(err)
	}
	east := at(23, 4)
	east.At = east.At.In(time.FixedZone("east", 10*3600)) // already the fifth there
	if _, err := l.Reserve(east, tokens(1)); !errors.Is(err, ErrExhausted) {
		t.Fatal("another zone has another day")
	}
	if _, err := l.Reserve(at(0, 5), tokens(10)); err != nil {
		t.Fatal("no new day", err)
	}
	late.Settle(late.Amount) // belongs to the day it began on
	if left := l.Left(at(1, 5)).Tokens; left != 0 {
		t.Fatal(left)
	}
	if _, err := l.Reserve(at(23, 4), tokens(1)); !errors.Is(err, ErrExhausted) {
		t.Fatal("a clock put back opened a budget anew")
	}
}

func TestALimitSetLaterCountsWhatWasSpentBefore(t *testing.T) {
	l := NewLedger()
	l.Open("s", limit(1000))
	for range 3 {
		lease, err := l.Reserve(who("s"), tokens(10))
		if err != nil {
			t.Fatal(err)
		}
		lease.Settle(tokens(5))
	}
	for _, scope := range []Scope{Run, Task, Day, Provider} {
		l.Limit(scope, map[Scope]string{Run: "r", Task: "t", Provider: "p"}[scope], limit(20))
		if left := l.Left(who("s")).Tokens; left != 5 {
			t.Errorf("%s: %d left", scope, left)
		}
		l.Limit(scope, map[Scope]string{Run: "r", Task: "t", Provider: "p"}[scope], limit(Unlimited))
	}
}

func TestStates(t *testing.T) {
	l := NewLedger()
	l.Limit(Provider, "other", limit(7))
	l.Limit(Task, "t", Amount{50, 60})
	l.Open("s", limit(1000))
	lease, _ := l.Reserve(who("s"), Amount{10, 20})
	lease.Settle(Amount{4, 8})
	_, _ = l.Reserve(who("s"), Amount{1, 2})
	none := Amount{Unlimited, Unlimited}
	want := []State{
		{Day, "", "2026-03-04", none, Amount{4, 8}, Amount{1, 2}},
		{Provider, "other", "2026-03-04", limit(7), Amount{}, Amount{}},
		{Provider, "p", "2026-03-04", none, Amount{4, 8}, Amount{1, 2}},
		{Task, "t", "", Amount{50, 60}, Amount{4, 8}, Amount{1, 2}},
	}
	if got := l.States(noon); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("%+v", got)
	}
}

// world is what TestLedgerModel plays with: a ledger, the log it leaves behind,
// and what the provider really bills.
type world struct {
	ledger  *Ledger
	log     []audit.Record // rows in order
	durable int            // rows of it that survive a crash
	open    []call
	billed  Amount
	limits  Amount // of the day, the provider, the run and the task alike
	boot    int
}

type call struct {
	lease *Lease
	seq   int64
	sent  bool
}

func (w *world) who() Who { return who("s" + strconv.Itoa(w.boot)) }

func (w *world) start() {
	w.ledger = NewLedger()
	w.ledger.Limit(Day, "", w.limits)
	w.ledger.Limit(Provider, "p", w.limits)
	w.ledger.Limit(Run, "r", w.limits)
	w.ledger.Limit(Task, "t", w.limits)
	var s audit.Spending
	for _, r := range w.log {
		if _, spent, ended := s.Add(r); ended {
			w.ledger.Book(w.who(), Amount(spent))
		}
	}
	for _, spent := range s.Open() {
		w.ledger.Book(w.who(), Amount(spent))
	}
	w.ledger.Open(w.who().Session, Amount{Unlimited, Unlimited})
}

func (w *world) queue(r audit.Record) int64 {
	r.Seq = int64(len(w.log)) + 1
	w.log = append(w.log, r)
	return r.Seq
}

// TestLedgerModel: whatever the order of reservations, egress, settlements,
// commits and crashes, what the provider bills is within every budget, and what
// the ledger holds spent is never less than what was billed.
func TestLedgerModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{limits: Amount{rapid.Int64Range(0, 1000).Draw(t, "tokens"), rapid.Int64Range(0, 1000).Draw(t, "cost")}}
		w.start()
		pick := func(t *rapid.T, sent bool) int {
			for i, c := range w.open {
				if c.sent == sent && rapid.Bool().Draw(t, "this") {
					return i
				}
			}
			t.Skip("none")
			return 0
		}
		t.Repeat(map[string]func(*rapid.T){
			"reserve": func(t *rapid.T) {
				a := Amount{rapid.Int64Range(1, 300).Draw(t, "tokens"), rapid.Int64Range(0, 300).Draw(t, "cost")}
				lease, err := w.ledger.Reserve(w.who(), a)
				if err != nil {
					return
				}
				seq := w.queue(audit.Record{Kind: audit.KindIntent, Attrs: []audit.Attr{
					{Key: audit.AttrReserved, Value: strconv.FormatInt(a.Tokens, 10)}, {Key: audit.AttrReservedCost, Value: strconv.FormatInt(a.Cost, 10)},
				}})
				w.open = append(w.open, call{lease: lease, seq: seq})
			},
			"commit": func(t *rapid.T) { w.durable = rapid.IntRange(w.durable, len(w.log)).Draw(t, "rows") },
			"send": func(t *rapid.T) {
				if i := pick(t, false); w.open[i].seq <= int64(w.durable) { // no egress before that
					w.open[i].sent = true
					w.billed = w.billed.plus(w.open[i].lease.Amount) // until it says otherwise
				}
			},
			"settle": func(t *rapid.T) {
				i := pick(t, true)
				c := w.open[i]
				used := Amount{rapid.Int64Range(0, c.lease.Tokens).Draw(t, "used"), rapid.Int64Range(0, c.lease.Cost).Draw(t, "cost")}
				r := audit.Record{Kind: audit.KindOutcome, Ref: c.seq, Usage: audit.Usage{Input: used.Tokens}, CostNano: used.Cost}
				if rapid.Bool().Draw(t, "unknown") {
					used, r = c.lease.Amount, audit.Record{Kind: audit.KindOutcome, Ref: c.seq, Attrs: []audit.Attr{{Key: audit.AttrUsage, Value: audit.UsageUnknown}}}
				}
				c.lease.Settle(used)
				c.lease.Settle(c.lease.Amount) // settling twice does nothing
				w.billed = w.billed.minus(c.lease.Amount).plus(used)
				w.queue(r)
				w.open = append(w.open[:i], w.open[i+1:]...)
			},
			"crash": func(*rapid.T) {
				w.log, w.open = w.log[:w.durable], nil
				w.boot++
				w.start()
			},
			"": func(t *rapid.T) {
				if !w.billed.within(w.limits) {
					t.Fatalf("billed %+v of %+v", w.billed, w.limits)
				}
				for _, s := range w.ledger.States(noon) {
					if all := s.Spent.plus(s.Reserved); !all.within(s.Limit) || !w.billed.within(all) {
						t.Fatalf("billed %+v, account %+v", w.billed, s)
					}
				}
			},
		})
	})
}

func TestFiftyParallelReservations(t *testing.T) {
	l := NewLedger()
	l.Open("s", limit(1_000_000))
	l.Limit(Day, "", limit(100))
	var wg sync.WaitGroup
	var mu sync.Mutex
	var spent int64
	for i := range 50 {
		wg.Go(func() {
			w := who("s")
			w.Run, w.Provider = "r"+strconv.Itoa(i%3), "p"+strconv.Itoa(i%2)
			lease, err := l.Reserve(w, tokens(30))
			if err != nil {
				return
			}
			lease.Settle(tokens(25))
			mu.Lock()
			defer mu.Unlock()
			spent += 25
		})
	}
	wg.Wait()
	if spent > 100 || spent < 75 || l.Close("s").Tokens != spent {
		t.Fatalf("spent %d of 100", spent)
	}
}
