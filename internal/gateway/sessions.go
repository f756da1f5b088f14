package gateway

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/upstream"
	"moeca/internal/session"
)

// SocketName is the name of a sandbox's socket in its directory.
const SocketName = "gateway.sock"

// maxSocketPath: what fits into sockaddr_un with its terminating zero.
const maxSocketPath = 107

// settleTime bounds how long Revoke waits for streams it cut.
const settleTime = 10 * time.Second

// answerTime is how long answers may take that are on their way when the gateway
// ends a session by itself.
const answerTime = time.Second

// ErrSocketDir is wrapped by refusals of a socket directory.
var ErrSocketDir = errors.New("gateway: socket directory refused")

var errClosed = errors.New("gateway: closed")

// live is a session with what must end when it does.
type live struct {
	id      string
	path    string
	ctx     context.Context // ends with the session; only the cause of a cut
	end     context.CancelFunc
	server  *http.Server // nil for token clients
	timer   *time.Timer
	who     session.Session
	serving atomic.Int64 // exchanges, from when their session is known
	held    atomic.Int64 // bytes of bodies in memory
	kept    atomic.Int64 // bytes of bodies in the log, with what is set aside for answers under way
	records atomic.Int64 // intents and outcomes
	denied  atomic.Int64 // refusals
	denials *fold
	ending  atomic.Bool    // it has too much of something
	calls   sync.WaitGroup // exchanges under way; Add only with Gateway.mu held
}

// Minted is a session that exists but is not served yet: the caller records it
// and then serves or drops it.
type Minted struct {
	Session  session.Session
	Token    string
	g        *Gateway
	listener net.Listener
	path     string
}

// Mint makes a session and binds its socket. Nobody is served before Serve.
func (g *Gateway) Mint(r gatewayapi.MintRequest) (*Minted, error) {
	m := &Minted{g: g}
	if err := g.checkRepoIDs(r.Scope); err != nil {
		return nil, err
	}
	if r.SocketDir != "" {
		path, err := g.socketPath(r.SocketDir)
		if err != nil {
			return nil, err
		}
		m.path = path
		if m.listener, err = g.bind(path); err != nil {
			return nil, err
		}
	}
	if r.Scope.Budget.Tokens == 0 { // written out, so that it is what a child's is compared with
		r.Scope.Budget.Tokens = g.limits.SessionTokens
	}
	s, token, err := g.o.Sessions.Mint(r.Scope, time.Duration(r.TTL)*time.Second, r.WithToken)
	if err != nil {
		m.Drop()
		return nil, err
	}
	m.Session, m.Token = s, token
	return m, nil
}

// checkRepoIDs: the ids of a scope are of one host of repositories. With two of
// them, one's id would stand for whatever the other numbers so.
func (g *Gateway) checkRepoIDs(s session.Scope) error {
	hosts := 0
	for _, name := range s.Upstreams {
		if u, ok := g.o.Upstreams.Get(name); ok && u.Kind == upstream.KindGitHub {
			hosts++
		}
	}
	if len(s.RepoIDs) > 0 && hosts > 1 {
		return fmt.Errorf("%w: ids of repositories, and %d upstreams they could be of; leave the ids out or mint a session for each", session.ErrScope, hosts)
	}
	return nil
}

// Drop undoes a mint that was not served.
func (m *Minted) Drop() {
	if m.listener != nil {
		_ = m.listener.Close()
		m.g.release(m.path)
	}
	m.g.o.Sessions.Revoke(m.Session.ID)
}

// Serve opens the account of the session and starts to serve it. After an error
// the caller drops the mint.
func (m *Minted) Serve() error {
	g, id := m.g, m.Session.ID
	l := &live{id: id, path: m.path, who: m.Session, denials: g.newFold(g.limits.DenialRows)}
	l.ctx, l.end = context.WithCancel(context.Background())
	g.openBudgets(m.Session)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		l.end()
		return errClosed
	}
	g.lives[id] = l
	l.timer = time.AfterFunc(m.Session.Expires.Sub(g.o.Now()), func() { g.endByItself(id, ActionExpired, "") })
	if m.listener != nil {
		l.server = g.newServer(sandboxHead)
		door := newDoor(g.limits.SessionConns, func() { g.recordFull(id) })
		go func() { _ = l.server.Serve(listener{Listener: m.listener, socket: id, door: door}) }()
	}
	return nil
}

// Revoke ends a session: it is unknown from now on, its socket is unlinked, its
// connections are closed, its streams are cut. When it returns they are settled,
// or ctx is over. It says whether there was such a session.
func (g *Gateway) Revoke(ctx context.Context, id string) (gatewayapi.Revoked, bool) {
	return g.endSession(ctx, id, nil)
}

// endSession also has a row written, by whoever is the one that ended it.
func (g *Gateway) endSession(ctx context.Context, id string, record func(*live, gatewayapi.Revoked)) (gatewayapi.Revoked, bool) {
	_, known := g.o.Sessions.Revoke(id)
	g.mu.Lock()
	l := g.lives[id]
	delete(g.lives, id)
	g.mu.Unlock()
	if l == nil {
		return gatewayapi.Revoked{ID: id}, known
	}
	l.timer.Stop()
	l.end()
	if l.server != nil {
		if record != nil { // let the answer out that tells why
			short, cancel := context.WithTimeout(ctx, answerTime)
			_ = l.server.Shutdown(short)
			cancel()
		}
		_ = l.server.Close()
		_ = os.Remove(l.path)
		g.release(l.path)
	}
	settled := make(chan struct{})
	go func() { l.calls.Wait(); close(settled) }()
	select {
	case <-settled:
	case <-ctx.Done():
	}
	g.rate.Forget(id)
	spent := g.ledger.Close(id)
	out := gatewayapi.Revoked{ID: id, Tokens: spent.Tokens, Cost: spent.Cost}
	g.closeFold(l.denials)
	if record != nil {
		record(l, out)
	}
	return out, true
}

// SessionStates lists the live sessions with what each has drawn, oldest first.
func (g *Gateway) SessionStates() []gatewayapi.SessionState {
	live := g.o.Sessions.Live()
	out := make([]gatewayapi.SessionState, 0, len(live))
	for _, s := range live {
		a := g.ledger.OfSession(s.ID)
		out = append(out, gatewayapi.SessionState{Session: s, Spent: drawn(a.Spent), Reserved: drawn(a.Reserved)})
	}
	return out
}

// enter counts an exchange of a session; leave must follow. It fails when the
// session ended since the session gate looked.
func (g *Gateway) enter(id string) (l *live, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if l, ok = g.lives[id]; ok {
		l.calls.Add(1)
	}
	return l, ok
}

// maxHeld bounds the bodies of one session that are in memory at once: one
// sandbox must not make the gateway run out of it.
const maxHeld = 64 << 20

// hold counts n bytes of a session's bodies until release is called.
func (g *Gateway) hold(id string, n int64) (release func(), ok bool) {
	g.mu.Lock()
	l := g.lives[id]
	g.mu.Unlock()
	if l == nil {
		return nil, false
	}
	release = func() { l.held.Add(-n) }
	if l.held.Add(n) > maxHeld {
		release()
		return nil, false
	}
	return release, true
}

func (l *live) leave() { l.calls.Done() }

// Close ends all sessions and servers.
func (g *Gateway) Close(ctx context.Context) {
	g.mu.Lock()
	g.closed = true
	g.asks.close()
	ids := make([]string, 0, len(g.lives))
	for id := range g.lives {
		ids = append(ids, id)
	}
	g.mu.Unlock()
	var wg sync.WaitGroup
	for _, id := range ids {
		wg.Go(func() { g.Revoke(ctx, id) })
	}
	wg.Wait()
	g.ends.Wait()
	g.hosts.mu.Lock()
	defer g.hosts.mu.Unlock()
	for _, srv := range g.hosts.srv {
		_ = srv.Close()
	}
	g.closeFold(g.strangers)
	g.idle()
}

// socketPath checks the directory the host made. It must be a real directory
// where the host may put sockets, not a link somebody planted.
func (g *Gateway) socketPath(dir string) (string, error) {
	path := filepath.Join(dir, SocketName)
	switch {
	case !filepath.IsAbs(dir) || filepath.Clean(dir) != dir:
		return "", fmt.Errorf("%w: %q is not an absolute clean path", ErrSocketDir, dir)
	case len(path) > maxSocketPath:
		return "", fmt.Errorf("%w: %q is longer than %d bytes", ErrSocketDir, path, maxSocketPath)
	case g.o.SocketTop != "" && !strings.HasPrefix(dir, g.o.SocketTop+"/"):
		return "", fmt.Errorf("%w: %q is not below %s", ErrSocketDir, dir, g.o.SocketTop)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", fmt.Errorf("%w: %v", ErrSocketDir, err)
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%w: %q is not a directory", ErrSocketDir, dir)
	}
	return path, nil
}

// bind listens on the path. A socket that a killed gateway left there is
// removed; one that a live session of ours uses is not.
func (g *Gateway) bind(path string) (net.Listener, error) {
	if !g.claim(path) {
		return nil, fmt.Errorf("%w: a live session listens on %s", ErrSocketDir, path)
	}
	l, err := g.bindClaimed(path)
	if err != nil {
		g.release(path)
	}
	return l, err
}

func (g *Gateway) bindClaimed(path string) (net.Listener, error) {
	if info, err := os.Lstat(path); err == nil {
		if info.Mode().Type() != fs.ModeSocket {
			return nil, fmt.Errorf("%w: %s exists and is no socket", ErrSocketDir, path)
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("gateway: remove stale socket: %w", err)
		}
	}
	return ListenUnix(path, 0o660, g.o.SocketGID)
}

// claim marks a path as ours, from bind until the session's socket is gone.
func (g *Gateway) claim(path string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.paths[path] {
		return false
	}
	g.paths[path] = true
	return true
}

func (g *Gateway) release(path string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.paths, path)
}

// ListenUnix binds a socket and sets its mode and group before anyone is served.
func ListenUnix(path string, mode fs.FileMode, gid int) (net.Listener, error) {
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("gateway: listen on %s: %w", path, err)
	}
	err = os.Chmod(path, mode)
	if err == nil && gid >= 0 {
		err = os.Chown(path, -1, gid)
	}
	if err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("gateway: set owner and mode of %s: %w", path, err)
	}
	return l, nil
}
