// Package budget counts what model calls draw, in tokens and in money, against
// the budgets of the session, the run, the task, the day and the provider they
// belong to. A day is a day in UTC; a provider's budget is one per day too.
//
// An account has a limit, an amount spent and an amount reserved. A call
// reserves its upper bound before anything goes upstream, on every account it
// belongs to or on none, and settles what it really used afterwards; a call
// whose usage was never seen settles its whole reservation. Reserving and
// settling are one critical section each, so
//
//	spent + reserved ≤ limit
//
// holds for every account after every reservation, for every interleaving, and
// spent ≤ limit as long as a reservation bounds its call, which is what packages
// usage and price are for. A call that used more than it reserved is booked as
// what it was: the account is then overdrawn, says so, and reserves nothing any
// more.
//
// # Crashes
//
// A Ledger lives in memory. Its durable form is the audit log and nothing else:
// the reservation is in the intent row of a call, what it drew in the outcome,
// and a lease without an outcome counts as spent (audit.Spending). Book puts
// that back at a start. Accounts therefore exist for every run and task of the
// log, also those without a limit: a limit set later counts what was spent
// before. Where an account other than the session's has a limit, the caller
// makes the intent durable before egress (Bounded), so that no crash forgets a
// call that may have been billed.
//
// A Ledger is safe for concurrent use.
package budget

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"time"
)

// Errors of a ledger.
var (
	ErrExhausted = errors.New("budget: not enough left")
	ErrNoAccount = errors.New("budget: no account")
)

// Scope is what an account is for.
type Scope string

// Scopes, from the narrowest.
const (
	Session  Scope = "session"
	Run      Scope = "run"
	Task     Scope = "task"
	Day      Scope = "day"
	Provider Scope = "provider"
)

// Amount is tokens and 1e-9 USD.
type Amount struct{ Tokens, Cost int64 }

// Unlimited is no limit, in either field of a limit.
const Unlimited = math.MaxInt64

// noLimit is one that bounds neither field.
func noLimit() Amount { return Amount{Unlimited, Unlimited} }

// most bounds one reservation: a million dollars or a peta-token is no call,
// and sums of such stay far from the end of the number.
const most = 1 << 50

func (a Amount) plus(b Amount) Amount {
	return Amount{add(a.Tokens, b.Tokens), add(a.Cost, b.Cost)}
}

func (a Amount) minus(b Amount) Amount { return Amount{a.Tokens - b.Tokens, a.Cost - b.Cost} }

func (a Amount) within(b Amount) bool { return a.Tokens <= b.Tokens && a.Cost <= b.Cost }

// add stays at the end of the number instead of wrapping.
func add(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Who says what a call belongs to. Run and Task may be empty.
type Who struct {
	Session, Run, Task, Provider string
	At                           time.Time
}

// key names an account.
type key struct {
	scope Scope
	id    string
	day   string // of accounts that are one per day
}

type account struct {
	key
	limit           Amount
	spent, reserved Amount
}

func (a *account) left() Amount { return a.limit.minus(a.spent).minus(a.reserved) }

// Ledger holds all accounts.
type Ledger struct {
	mu        sync.Mutex
	accounts  map[key]*account
	day       string // the latest any call was made on; a clock put back opens no budget anew
	daily     Amount // limit of a day
	providers map[string]Amount
}

// NewLedger returns a ledger in which only sessions will have a limit.
func NewLedger() *Ledger {
	return &Ledger{accounts: map[key]*account{}, daily: noLimit(), providers: map[string]Amount{}}
}

// Open makes the account of a session. Opening twice keeps the first account.
func (l *Ledger) Open(session string, limit Amount) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := key{scope: Session, id: session}
	if _, ok := l.accounts[k]; !ok {
		l.accounts[k] = &account{key: k, limit: limit}
	}
}

// Limit sets the limit of a run, a task, a day (id is not used) or a provider.
// What was spent and what is out stays; less than that may be left than nothing.
func (l *Ledger) Limit(scope Scope, id string, limit Amount) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch scope {
	case Day:
		l.daily = limit
		if a := l.accounts[key{Day, "", l.day}]; a != nil {
			a.limit = limit
		}
	case Provider:
		l.providers[id] = limit
		if a := l.accounts[key{Provider, id, l.day}]; a != nil {
			a.limit = limit
		}
	default:
		l.account(key{scope: scope, id: id}).limit = limit
	}
}

// account finds or makes an account of any scope but Session.
func (l *Ledger) account(k key) *account {
	a, ok := l.accounts[k]
	if !ok {
		a = &account{key: k, limit: noLimit()}
		if k.scope == Day {
			a.limit = l.daily
		} else if limit, ok := l.providers[k.id]; ok && k.scope == Provider {
			a.limit = limit
		}
		l.accounts[k] = a
	}
	return a
}

// of returns the accounts of a call, or nothing when its session has none.
func (l *Ledger) of(w Who) []*account {
	l.turn(w.At)
	own, ok := l.accounts[key{scope: Session, id: w.Session}]
	if !ok {
		return nil
	}
	return l.shared(append(make([]*account, 0, 5), own), w)
}

// shared appends the accounts a call has besides its session's.
func (l *Ledger) shared(to []*account, w Who) []*account {
	for _, k := range [...]key{{scope: Run, id: w.Run}, {scope: Task, id: w.Task}, {Day, "", l.day}, {Provider, w.Provider, l.day}} {
		if k.id != "" || k.scope == Day {
			to = append(to, l.account(k))
		}
	}
	return to
}

// turn begins a new day and forgets the days before, but for those on which
// something is still out: its lease holds them.
func (l *Ledger) turn(now time.Time) {
	day := now.UTC().Format(time.DateOnly)
	if day <= l.day {
		return
	}
	l.day = day
	for k := range l.accounts {
		if k.day != "" && k.day != day {
			delete(l.accounts, k)
		}
	}
}

// Left returns what can still be reserved on the account of a call that has
// least left, by field. A session without an account has nothing.
func (l *Ledger) Left(w Who) Amount {
	l.mu.Lock()
	defer l.mu.Unlock()
	accounts := l.of(w)
	if accounts == nil {
		return Amount{}
	}
	left := noLimit()
	for _, a := range accounts {
		at := a.left()
		left = Amount{min(left.Tokens, at.Tokens), min(left.Cost, at.Cost)}
	}
	return left
}

// Bounded says which limits a call is under: whether any is in money, and
// whether any is of an account that outlives its session.
func (l *Ledger) Bounded(w Who) (money, lasting bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range l.of(w) {
		money = money || a.limit.Cost != Unlimited
		lasting = lasting || a.scope != Session && a.limit != noLimit()
	}
	return money, lasting
}

// ExhaustedError says which account has too little left.
type ExhaustedError struct {
	Scope Scope
	ID    string
	Left  Amount
	Money bool // it is the money that does not suffice
}

func (e *ExhaustedError) Error() string {
	return fmt.Sprintf("%v: %s %s has %d tokens and %d nano-USD", ErrExhausted, e.Scope, e.ID, e.Left.Tokens, e.Left.Cost)
}

// Is makes it an ErrExhausted.
func (e *ExhaustedError) Is(err error) bool { return err == ErrExhausted }

// Reserve sets amount aside on every account of the call, or on none.
func (l *Ledger) Reserve(w Who, amount Amount) (*Lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	accounts := l.of(w)
	if accounts == nil {
		return nil, ErrNoAccount
	}
	if amount.Tokens < 0 || amount.Cost < 0 || !amount.within(Amount{most, most}) {
		return nil, ErrExhausted
	}
	for _, a := range accounts {
		if left := a.left(); !amount.within(left) {
			return nil, &ExhaustedError{Scope: a.scope, ID: a.id, Left: left, Money: amount.Tokens <= left.Tokens}
		}
	}
	for _, a := range accounts {
		a.reserved = a.reserved.plus(amount)
	}
	return &Lease{Amount: amount, ledger: l, accounts: accounts}, nil
}

// Book puts back what a call of an earlier process drew on the accounts that
// outlive a session.
func (l *Ledger) Book(w Who, spent Amount) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn(w.At)
	for _, a := range l.shared(nil, w) {
		a.spent = a.spent.plus(spent)
	}
}

// Close ends the account of a session and returns what it spent; leases that
// are still out count as spent.
func (l *Ledger) Close(session string) Amount {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := key{scope: Session, id: session}
	a, ok := l.accounts[k]
	if !ok {
		return Amount{}
	}
	delete(l.accounts, k)
	return a.spent.plus(a.reserved)
}

// Lease is one reservation. It is settled once; settling again does nothing.
type Lease struct {
	Amount
	ledger   *Ledger
	accounts []*account
	settled  bool // guarded by ledger.mu
}

// Settle books what the call used.
func (l *Lease) Settle(used Amount) {
	l.ledger.mu.Lock()
	defer l.ledger.mu.Unlock()
	if l.settled {
		return
	}
	l.settled = true
	used = Amount{max(used.Tokens, 0), max(used.Cost, 0)}
	for _, a := range l.accounts {
		a.reserved = a.reserved.minus(l.Amount)
		a.spent = a.spent.plus(used)
	}
}
