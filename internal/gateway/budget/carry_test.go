package budget

import (
	"reflect"
	"testing"
	"time"
)

func TestCarryKeepsWhatWasSpentAndLimited(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	who := Who{Session: "s", Run: "r", Task: "t", Provider: "anthropic", At: now}
	old := NewLedger()
	old.Open("s", Amount{1000, 1000})
	old.Limit(Run, "r", Amount{100, Unlimited})
	old.Limit(Day, "", Amount{500, 500})
	old.Book(who, Amount{60, 6})
	if _, err := old.Reserve(who, Amount{30, 3}); err != nil { // never settled: counts as spent
		t.Fatal(err)
	}
	old.Book(Who{Run: "unlimited", Provider: "openai", At: now}, Amount{5, 1})

	next := NewLedger()
	for _, s := range old.Limits() {
		next.Limit(s.Scope, s.ID, s.Limit)
	}
	for _, s := range old.Accounts() {
		next.Carry(s)
	}
	if got, want := next.Accounts(), old.Accounts(); !reflect.DeepEqual(got, want) {
		t.Errorf("carried %+v\nhad %+v", got, want)
	}
	next.Open("s2", Amount{1000, 1000})
	who.Session = "s2"
	if _, err := next.Reserve(who, Amount{11, 0}); err == nil {
		t.Error("a spent budget of a run was refilled")
	}
	if _, err := next.Reserve(who, Amount{10, 0}); err != nil {
		t.Errorf("what was left is gone: %v", err)
	}
}

func TestCarryIgnoresWhatIsNoAccountHere(t *testing.T) {
	l := NewLedger()
	l.Book(Who{At: time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)}, Amount{1, 1})
	for name, s := range map[string]State{
		"a session":          {Scope: Session, ID: "s", Spent: Amount{9, 9}},
		"a day that is over": {Scope: Day, Day: "2026-03-01", Spent: Amount{9, 9}},
		"no day":             {Scope: Provider, ID: "x", Spent: Amount{9, 9}},
		"nothing":            {Spent: Amount{9, 9}},
	} {
		before := l.Accounts()
		if l.Carry(s); !reflect.DeepEqual(before, l.Accounts()) {
			t.Errorf("%s changed the ledger: %+v", name, l.Accounts())
		}
	}
}

func TestNarrowNeverWidens(t *testing.T) {
	for _, scope := range []Scope{Run, Task, Day, Provider} {
		l := NewLedger()
		for _, limit := range []Amount{{100, Unlimited}, {500, 7}, {Unlimited, Unlimited}, {60, 9}} {
			l.Narrow(scope, "x", limit)
		}
		l.Open("s", Amount{Unlimited, Unlimited})
		who := Who{Session: "s", Run: "x", Task: "x", Provider: "x", At: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
		if left := l.Left(who); left != (Amount{60, 7}) {
			t.Errorf("%s: %+v is left", scope, left)
		}
	}
}
