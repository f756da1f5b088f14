// Package budget counts the tokens of sessions.
//
// An account has a limit, an amount spent and an amount reserved. A call
// reserves its upper bound before anything goes upstream and settles what it
// really used afterwards; a call whose usage was never seen settles its whole
// reservation. Reserving and settling are one critical section each, so
//
//	spent + reserved ≤ limit
//
// holds after every reservation, for every interleaving, and spent ≤ limit as
// long as a reservation bounds its call, which is what package gateway's
// estimate is for. A call that used more than it reserved is booked as what it
// was: the account is then overdrawn, says so, and reserves nothing any more.
//
// A Ledger is safe for concurrent use. It lives in memory with its sessions;
// each reservation is written into the intent row of its call, so that a crash
// leaves behind in the log what was out at that moment.
package budget

import (
	"errors"
	"sync"
)

// Errors of a ledger.
var (
	ErrExhausted = errors.New("budget: not enough left")
	ErrNoAccount = errors.New("budget: no account")
)

type account struct{ limit, spent, reserved int64 }

func (a *account) left() int64 { return a.limit - a.spent - a.reserved }

// Ledger holds the accounts of the live sessions.
type Ledger struct {
	mu       sync.Mutex
	accounts map[string]*account
}

// NewLedger returns an empty ledger.
func NewLedger() *Ledger { return &Ledger{accounts: map[string]*account{}} }

// Open makes an account with a limit; a negative limit is nothing at all.
// Opening twice keeps the first account.
func (l *Ledger) Open(id string, limit int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.accounts[id]; !ok {
		l.accounts[id] = &account{limit: max(limit, 0)}
	}
}

// Left returns what can still be reserved. An unknown account has nothing.
func (l *Ledger) Left(id string) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a, ok := l.accounts[id]; ok {
		return a.left()
	}
	return 0
}

// Reserve sets amount aside, or nothing at all.
func (l *Ledger) Reserve(id string, amount int64) (*Lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a, ok := l.accounts[id]
	if !ok {
		return nil, ErrNoAccount
	}
	if amount < 0 || amount > a.left() {
		return nil, ErrExhausted
	}
	a.reserved += amount
	return &Lease{ledger: l, account: a, Amount: amount}, nil
}

// Close ends an account and returns what it spent; leases that are still out
// count as spent.
func (l *Ledger) Close(id string) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	a, ok := l.accounts[id]
	if !ok {
		return 0
	}
	delete(l.accounts, id)
	return a.spent + a.reserved
}

// Lease is one reservation. It is settled once; settling again does nothing.
type Lease struct {
	Amount  int64
	ledger  *Ledger
	account *account
	settled bool // guarded by ledger.mu
}

// Settle books what the call used.
func (l *Lease) Settle(used int64) {
	l.ledger.mu.Lock()
	defer l.ledger.mu.Unlock()
	if l.settled {
		return
	}
	l.settled = true
	l.account.reserved -= l.Amount
	l.account.spent += max(used, 0)
}

// SettleWhole books the whole reservation: usage was never seen.
func (l *Lease) SettleWhole() { l.Settle(l.Amount) }
