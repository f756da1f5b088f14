package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"moeca/internal/board"
	"moeca/internal/stack"
	"moeca/ui"
)

// options gathers what a stack needs from flags and environment.
func (e *env) options() (stack.Options, error) {
	exe, err := os.Executable()
	if err != nil {
		return stack.Options{}, err
	}
	if real, err := filepath.EvalSymlinks(exe); err == nil {
		exe = real
	}
	files, err := ui.Files()
	if err != nil {
		return stack.Options{}, err
	}
	return stack.Options{
		Data:       e.cli.Data,
		Runtime:    runtimeBase(e.cli.Runtime),
		Cache:      cacheDir(e.cli.Cache),
		Bin:        filepath.Dir(exe),
		Driver:     e.cli.Driver,
		DockerHost: os.Getenv("DOCKER_HOST"),
		Version:    version,
		UI:         files,
		Logger:     slog.New(slog.NewTextHandler(e.stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		NoKeychain: os.Getenv("MOECA_NO_KEYCHAIN") != "",
		Path:       os.Getenv("PATH"),
		Home:       os.Getenv("HOME"),
	}, nil
}

func runtimeBase(flag string) string {
	if flag != "" {
		return flag
	}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" && runtime.GOOS == "linux" {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir
		}
	}
	return filepath.Join("/tmp", "moeca-run-"+strconv.Itoa(os.Getuid()))
}

func cacheDir(flag string) string {
	if flag != "" {
		return flag
	}
	if dir, err := os.UserCacheDir(); err == nil {
		return filepath.Join(dir, "moeca")
	}
	return ""
}

// connect returns a client of the process that runs on the data directory. If
// none runs, one is started inside this command and stopped by close.
func (e *env) connect() (c *client, closeAll func(), err error) {
	if c := e.running(); c != nil {
		return c, func() {}, nil
	}
	opts, err := e.options()
	if err != nil {
		return nil, nil, err
	}
	opts.Listen, opts.GatewayListen = "127.0.0.1:0", "127.0.0.1:0"
	s, err := stack.Open(e.ctx, opts)
	if err != nil {
		return nil, nil, err
	}
	return clientOf(s), func() { s.Close(context.WithoutCancel(e.ctx)) }, nil
}

// clientOf is a client of a host that lives in this command.
func clientOf(s *stack.Stack) *client {
	return &client{base: s.Endpoints().URL, token: s.Endpoints().Token, person: s.PersonToken, own: true}
}

// running returns a client of a live process, or nil.
func (e *env) running() *client {
	ep, ok := stack.Running(e.cli.Data)
	if !ok {
		return nil
	}
	c := &client{base: ep.URL, token: ep.Token, person: func() string {
		raw, err := os.ReadFile(filepath.Join(e.cli.Data, "run", "person.token"))
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(raw))
	}}
	if c.do(e.ctx, "GET", "/api/status", nil, nil) != nil {
		return nil // left behind by a process that is gone
	}
	return c
}

// failureOf maps errors that are no failure yet.
func failureOf(err error) *failure {
	var known *board.Error
	var netErr *net.OpError
	switch {
	case errors.Is(err, context.Canceled):
		return fail(exitFailed, "interrupted", "", "interrupted")
	case errors.Is(err, stack.ErrLocked), errors.Is(err, stack.ErrNewer), errors.Is(err, stack.ErrMissing), errors.Is(err, stack.ErrUntrusted):
		return fail(exitMissing, "unavailable", "", "%v", err)
	case errors.As(err, &known):
		return fail(exitFailed, known.Code, known.Next, "%s", known.Message)
	case errors.As(err, &netErr):
		return fail(exitMissing, "network", "", "%v", err)
	case errors.Is(err, fs.ErrPermission):
		return fail(exitMissing, "permission", "check who owns the file", "%v", err)
	case errors.Is(err, fs.ErrNotExist):
		return fail(exitMissing, "not_there", "check the path, or choose another data directory with --data", "%v", err)
	}
	return fail(exitFailed, "error", "", "%v", err)
}
