package stack

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"

	"moeca/internal/audit"
	"moeca/internal/board"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/hostapi"
	"moeca/internal/web"
)

// Endpoints is what other programs of this user need to reach the host. The
// token is a program's: it cannot approve, merge, or set a key.
type Endpoints struct {
	URL      string `json:"url"`
	Token    string `json:"token"`
	PID      int    `json:"pid"`
	Gateway  string `json:"gateway"`  // loopback address for clients with a session token
	Admin    string `json:"admin"`    // admin socket of the gateway
	Registry string `json:"registry"` // empty: no registry proxy runs
}

// serve opens the host API and writes where it is.
func (s *Stack) serve(context.Context) error {
	l, err := listen(s.opts.Listen)
	if err != nil {
		return err
	}
	addr := l.Addr().String()
	api := hostapi.New(hostapi.Deps{
		Board: s.board, Bus: s.bus, Audit: s.audit, Providers: s.providers, Budgets: budgets{s.gateway.Admin, s.providers},
		Policies: policies{s.gateway.Admin}, Asks: asks{s.gateway.Admin},
		Sessions:  programs{sessions: s.sessions, providers: s.providers, address: s.gateway.Address},
		Witnesses: witnesses{s}, RestartLog: s.restartLog, Retention: s.retention,
		Status: s.Status, Doctor: func(ctx context.Context) hostapi.Doctor { return s.doctor(ctx) },
		Demo: s.beginDemo, Record: s.record, Tokens: s.tokens, OwnPeer: ownPeer, UI: s.opts.UI, Logger: s.log, Version: s.opts.Version, Now: time.Now,
	})
	guard, err := web.NewGuard(addr, api)
	if err != nil {
		l.Close()
		return err
	}
	s.server = &http.Server{
		Handler:           guard,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
	go func() { s.failed <- s.server.Serve(l) }()
	s.onClose(s.closeServer)
	s.person = s.tokens.Mint("person", hostapi.PersonScopes())
	s.endpoints = Endpoints{
		URL: "http://" + addr, Token: s.tokens.Mint("program", hostapi.ProgramScopes()), PID: os.Getpid(),
		Admin: s.runtime.Join("g", "admin.sock"),
	}
	close(s.serving)
	s.onClose(func(context.Context) {
		os.Remove(s.data.Join("run", "endpoints.json"))
		os.Remove(s.data.Join("run", "person.token"))
	})
	return s.writeEndpoints()
}

// record appends what a person changed; it returns when the row is durable.
func (s *Stack) record(ctx context.Context, action, object string, change any) error {
	detail, err := json.Marshal(map[string]any{"action": action, "object": object, "change": change})
	if err != nil {
		return err
	}
	_, err = s.gateway.Append.Append(ctx, gatewayapi.AppendRequest{
		Kind: "admin", Actor: "person", Subject: action + " " + audit.Clip(object, 200), Detail: detail,
	})
	return err
}

// closeServer ends open event streams at once: they have nothing to lose.
func (s *Stack) closeServer(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if s.server.Shutdown(ctx) != nil {
		s.server.Close()
	}
}

// writeEndpoints writes where everything is now; the gateway's address can
// change when it is started again. Before the API serves there is nothing to
// write.
func (s *Stack) writeEndpoints() error {
	select {
	case <-s.serving:
	default:
		return nil
	}
	if err := writeFile(s.data.Join("run", "person.token"), []byte(s.person+"\n"), 0o600); err != nil {
		return fmt.Errorf("write endpoints: %w", err)
	}
	if err := writeJSON(s.data.Join("run", "endpoints.json"), s.Endpoints()); err != nil {
		return fmt.Errorf("write endpoints: %w", err)
	}
	if s.opts.ReadyFile == "" {
		return nil
	}
	if err := writeJSON(s.opts.ReadyFile, s.Endpoints()); err != nil {
		return fmt.Errorf("ready file: %w", err)
	}
	return nil
}

// Endpoints says where everything is.
func (s *Stack) Endpoints() Endpoints {
	e := s.endpoints
	e.Gateway = s.gateway.Address()
	return e
}

// PersonToken is a bearer with a person's scopes, for commands that have asked
// a person.
func (s *Stack) PersonToken() string { return s.person }

// LaunchURL is a URL that opens the interface once. The token is in the
// fragment, which no browser sends anywhere.
func (s *Stack) LaunchURL() string { return s.endpoints.URL + "/#launch=" + s.tokens.Launch() }

// DriverName is "docker" or "native".
func (s *Stack) DriverName() string { return s.driver.Name() }

// Wait returns when ctx ends or the API can no longer be served.
func (s *Stack) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-s.failed:
		return fmt.Errorf("serve the host API: %w", err)
	}
}

// Status implements the status strip.
func (s *Stack) Status(ctx context.Context) hostapi.Status {
	st := hostapi.Status{
		Version: s.opts.Version, Driver: s.driver.Name(), DriverNote: s.note,
		Isolation: "not proven", Demo: s.opts.Demo, Data: s.data.Path,
	}
	health, err := s.gateway.Admin.Health(ctx)
	if err != nil {
		st.Gateway.Cause = "the gateway does not answer"
		return st
	}
	st.Gateway = hostapi.GatewayStatus{
		OK: health.OK && health.Writable, Records: health.Records, Head: health.Head, Cause: health.Cause,
	}
	if b := health.Broken; b != nil {
		broken := hostapi.LogBroken(*b)
		st.Gateway.Broken = &broken
	} else if err := s.trust(ctx); err != nil {
		st.Gateway.OK, st.Gateway.Cause = false, err.Error()
	}
	st.Witness = s.witnessStatus()
	st.Gateway.Follows = s.audit.follows()
	s.heard(health)
	return st
}

// heard keeps the head of the log as the gateway tells it. What a host has seen
// and the log no longer holds is kept as it was: it is the evidence.
func (s *Stack) heard(h gatewayapi.Health) {
	if s.audit.missing() != "" {
		return
	}
	if err := s.audit.saw(h.Records, h.Head); err != nil {
		s.log.Warn("audit", "error", err)
	}
}

// Board is the service behind the API, for callers in the same process.
func (s *Stack) Board() *board.Service { return s.board }
