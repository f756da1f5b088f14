package stack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"moeca/internal/audit"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/session"
)

// sessions is the host's side of the gateway's sessions. It remembers what it
// minted, because the gateway keeps sessions in memory only: after a restart of
// the gateway each living session is minted again at the same socket, with
// what is left of its budget by the log. A run therefore outlives its gateway;
// the request that was on its way is the only thing it loses.
//
// Sessions of programs are the exception: their token went to the program and
// cannot be had again, so they end with the gateway that minted them.
//
// The id handed out at the first mint stays the session's name on this side.
// sessions is safe for concurrent use.
type sessions struct {
	admin *gatewayapi.Client
	log   *AuditView
	trust func(context.Context) error // nil: always
	now   func() time.Time
	say   *slog.Logger

	mu   sync.Mutex
	live map[string]*liveSession // by first id
	drew tally
}

// liveSession is one that was minted and not revoked.
type liveSession struct {
	request gatewayapi.MintRequest
	expires time.Time
	id      string      // as the running gateway knows it; empty after a failed mint
	from    int64       // row after which this id's rows are
	spent   audit.Spend // under earlier ids
}

// Mint implements run.Gateway.
func (s *sessions) Mint(ctx context.Context, r gatewayapi.MintRequest) (gatewayapi.MintResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.trust != nil {
		if err := s.trust(ctx); err != nil {
			return gatewayapi.MintResponse{}, fmt.Errorf("no session begins: %w", err)
		}
	}
	from, err := s.log.Refresh()
	if err != nil {
		return gatewayapi.MintResponse{}, fmt.Errorf("look at the log before a session begins: %w", err)
	}
	m, err := s.admin.Mint(ctx, r)
	if err != nil {
		return m, err
	}
	s.live[m.ID] = &liveSession{request: r, expires: m.Expires, id: m.ID, from: from}
	return m, nil
}

// Revoke implements run.Gateway. Its figures cover every id the session had.
func (s *sessions) Revoke(ctx context.Context, first string) (gatewayapi.Revoked, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ours := s.live[first]
	if !ours {
		return s.admin.Revoke(ctx, first)
	}
	out := gatewayapi.Revoked{ID: first}
	if l.id != "" {
		r, err := s.admin.Revoke(ctx, l.id)
		if err != nil && !gatewayapi.IsNotFound(err) {
			return gatewayapi.Revoked{}, err
		}
		out.Tokens, out.Cost = r.Tokens, r.Cost
	}
	delete(s.live, first)
	out.Tokens += l.spent.Tokens
	out.Cost += l.spent.Cost
	return out, nil
}

// Sessions implements run.Gateway: what the gateway knows, under the names
// handed out here.
func (s *sessions) Sessions(ctx context.Context) ([]session.Session, error) {
	live, err := s.admin.Sessions(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	first := map[string]string{}
	for name, l := range s.live {
		first[l.id] = name
	}
	list := make([]session.Session, 0, len(live))
	for _, one := range live {
		if name, ok := first[one.ID]; ok {
			one.ID = name
		}
		list = append(list, one.Session)
	}
	return list, nil
}

// again mints every living session anew; it runs after a restart of the
// gateway. A session that cannot be minted stays refused, and its run ends by
// its own error.
func (s *sessions) again(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, err := s.log.Refresh()
	if err != nil {
		s.say.Error("sessions are not minted again: the log cannot be read", "error", err)
		return
	}
	for name, l := range s.live {
		if l.request.WithToken { // nobody could present a new token
			delete(s.live, name)
			continue
		}
		if err := s.renew(ctx, l, last); err != nil {
			l.id = ""
			s.say.Error("session not minted again", "session", name, "run", l.request.Scope.Run, "error", err)
		}
	}
}

// forget drops every session: those of a log that is broken cannot be minted
// again, because what is left of their budgets cannot be known.
func (s *sessions) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.live)
	s.drew = tally{}
}

var errSpent = errors.New("its budget is spent or its time is over")

func (s *sessions) renew(ctx context.Context, l *liveSession, last int64) error {
	used, err := s.spentBy(l.id, l.from, last)
	if err != nil {
		return err
	}
	l.spent = plus(l.spent, used)
	r := l.request
	ttl := l.expires.Sub(s.now())
	if r.TTL = int64(ttl / time.Second); r.TTL <= 0 {
		return errSpent
	}
	if r.Scope.Budget.Tokens == 0 {
		r.Scope.Budget.Tokens = gatewayapi.DefaultSessionTokens
	}
	tokens, enough := left(r.Scope.Budget.Tokens, l.spent.Tokens)
	cost, enoughMoney := left(r.Scope.Budget.CostNano, l.spent.Cost)
	if !enough || !enoughMoney {
		return errSpent
	}
	r.Scope.Budget = session.Budget{Tokens: tokens, CostNano: cost}
	m, err := s.admin.Mint(ctx, r)
	if err != nil {
		return err
	}
	l.id, l.from = m.ID, last
	return nil
}

// left is a bound less what was spent; a bound that is none or nothing stays.
func left(bound, spent int64) (rest int64, enough bool) {
	if bound <= 0 {
		return bound, true
	}
	return bound - spent, bound > spent
}

// spentBy adds up what the log says a session spent: what each call drew that
// ended, the whole reservation of every other (I6).
func (s *sessions) spentBy(id string, from, to int64) (spent audit.Spend, err error) {
	var calls audit.Spending
	for seq := from + 1; seq <= to; seq++ {
		rec, _, err := s.log.At(seq)
		if err != nil {
			return spent, err
		}
		if rec.Attribution.Session != id {
			continue
		}
		if _, one, ended := calls.Add(rec); ended {
			spent = plus(spent, one)
		}
	}
	for _, one := range calls.Open() {
		spent = plus(spent, one)
	}
	return spent, nil
}
