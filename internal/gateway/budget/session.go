package budget

// OfSession is the account of a live session; zero for any other.
func (l *Ledger) OfSession(id string) State {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.accounts[key{scope: Session, id: id}]
	if a == nil {
		return State{}
	}
	return State{Scope: Session, ID: id, Limit: a.limit, Spent: a.spent, Reserved: a.reserved}
}
