package stack

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"moeca/internal/netguard"
)

// relays carry a gateway that runs in a container to model servers on the
// host's loopback, which it cannot reach. Each is a Unix socket beside the
// scripted model's, and leads to one exact address. The gateway has checked,
// recorded and priced what comes; a relay adds nothing to that and passes
// inference, embeddings and the list of models only, so that a gateway that
// were broken could still not pull, delete or load a model, or speak to
// anything else on this machine. relays are safe for concurrent use.
type relays struct {
	runtime *Runtime
	share   func(socket string) error

	mu sync.Mutex
	by map[string]*relay
}

type relay struct {
	base   string
	socket string
	server *http.Server
}

// sync opens, keeps or closes the relay of a provider. The socket is empty
// where none is needed: only loopback is out of a container's reach.
func (r *relays) sync(name string, local bool, base string) (socket string, err error) {
	u, err := url.Parse(base)
	if !local || err != nil || !loopback(u.Host) {
		r.close(name)
		return "", nil
	}
	r.mu.Lock()
	open, ok := r.by[name]
	r.mu.Unlock()
	if ok && open.base == base {
		return open.socket, nil
	}
	r.close(name)
	return r.open(name, base, u)
}

func loopback(hostport string) bool {
	at, err := netip.ParseAddrPort(hostport)
	return err == nil && at.Addr().IsLoopback()
}

func (r *relays) open(name, base string, u *url.URL) (string, error) {
	guard := netguard.New(netguard.Options{})
	if err := guard.SetExempt(map[string]netguard.Exemption{u.Host: {}}); err != nil {
		return "", fmt.Errorf("relay to %s: %w", name, err)
	}
	sum := sha256.Sum256([]byte(name))
	socket := r.runtime.Join("m", "l-"+hex.EncodeToString(sum[:6]))
	if err := os.Remove(socket); err != nil && !os.IsNotExist(err) {
		return "", fmt.Errorf("relay to %s: %w", name, err)
	}
	listener, err := net.Listen("unix", socket)
	if err == nil {
		err = r.share(socket)
	}
	if err != nil {
		return "", fmt.Errorf("relay to %s: %w", name, err)
	}
	server := &http.Server{Handler: relayTo(u, guard), ReadHeaderTimeout: 15 * time.Second, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = server.Serve(listener) }()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by == nil {
		r.by = map[string]*relay{}
	}
	r.by[name] = &relay{base: base, socket: socket, server: server}
	return socket, nil
}

// close ends the relay of a provider, if it has one.
func (r *relays) close(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if open, ok := r.by[name]; ok {
		_ = open.server.Close()
		delete(r.by, name)
	}
}

func (r *relays) closeAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, open := range r.by {
		_ = open.server.Close()
		delete(r.by, name)
	}
}

// relayTo is the handler of one relay.
func relayTo(u *url.URL, guard *netguard.Guard) http.Handler {
	target := &url.URL{Scheme: u.Scheme, Host: u.Host}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(pr *httputil.ProxyRequest) { pr.SetURL(target) },
		Transport:     &http.Transport{DialContext: guard.DialContext, DisableCompression: true, MaxIdleConns: 8, IdleConnTimeout: 90 * time.Second},
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/v1/") {
			r.URL.Path = "/v1" + r.URL.Path
		}
		r.URL.RawPath = ""
		if !relayed(r.Method, r.URL.Path) || r.Header.Get("Upgrade") != "" {
			http.Error(w, "the relay passes inference, embeddings and the list of models only", http.StatusForbidden)
			return
		}
		proxy.ServeHTTP(w, r)
	})
}

// relayed lists what passes.
func relayed(method, path string) bool {
	switch path {
	case "/v1/chat/completions", "/v1/responses", "/v1/embeddings", "/v1/messages", "/v1/messages/count_tokens":
		return method == http.MethodPost
	case "/v1/models":
		return method == http.MethodGet || method == http.MethodHead
	}
	return false
}
