// Command moeca-scripted is the scripted model as a process of its own: it
// serves internal/llm/scripted on a Unix socket, like any provider behind the
// gateway, until it gets TERM or its parent is gone.
//
// Exit codes: 0 after a signal or the parent's end, 1 when it cannot serve, 2
// for wrong usage.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"moeca/internal/llm/scripted"
)

type config struct {
	socket  string        // path of the Unix socket
	keyFile string        // file that holds the key to accept
	latency time.Duration // before each answer
	parent  int           // process to end with; 0 = none
	gid     int           // group that may connect; -1 = only the own user
}

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	var c config
	f := flag.NewFlagSet("moeca-scripted", flag.ContinueOnError)
	f.StringVar(&c.socket, "socket", "", "`path` of the Unix socket to serve on")
	f.StringVar(&c.keyFile, "key-file", "", "`file` with the key that requests must carry in x-api-key")
	f.DurationVar(&c.latency, "latency", 0, "wait before each answer")
	f.IntVar(&c.parent, "parent-pid", 0, "end when this process is gone; 0 = never")
	f.IntVar(&c.gid, "socket-gid", -1, "group that may connect; -1 = only the own user")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if c.socket == "" || c.keyFile == "" || f.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "moeca-scripted: -socket and -key-file are required, and nothing else is taken")
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := serve(ctx, c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func serve(ctx context.Context, c config) error {
	key, err := os.ReadFile(c.keyFile)
	if err != nil {
		return fmt.Errorf("moeca-scripted: read the key: %w", err)
	}
	trimmed := strings.TrimSpace(string(key))
	if trimmed == "" {
		return fmt.Errorf("moeca-scripted: read the key: %s is empty", c.keyFile)
	}
	l, err := listen(c.socket, c.gid)
	if err != nil {
		return err
	}
	if c.parent > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		go watchParent(ctx, c.parent, cancel)
	}
	srv := &http.Server{
		Handler:           scripted.New(trimmed, c.latency),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       5 * time.Minute,
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	select {
	case err := <-ended:
		return fmt.Errorf("moeca-scripted: serve: %w", err)
	case <-ctx.Done():
		return srv.Close()
	}
}

// listen makes the socket. A socket that a dead process left behind is
// replaced; one that answers is somebody's.
func listen(path string, gid int) (net.Listener, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("moeca-scripted: look at the socket: %w", err)
	case info.Mode()&fs.ModeSocket == 0:
		return nil, fmt.Errorf("moeca-scripted: %s exists and is not a socket", path)
	default:
		if c, err := net.Dial("unix", path); err == nil {
			c.Close()
			return nil, fmt.Errorf("moeca-scripted: another process serves on %s; end it first", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("moeca-scripted: remove a socket left behind: %w", err)
		}
	}
	// Nobody may connect between bind and chmod.
	old := syscall.Umask(0o177)
	l, err := net.Listen("unix", path)
	syscall.Umask(old)
	if err != nil {
		return nil, fmt.Errorf("moeca-scripted: listen: %w", err)
	}
	if gid < 0 {
		return l, nil
	}
	if err := errors.Join(os.Chown(path, -1, gid), os.Chmod(path, 0o660)); err != nil {
		l.Close()
		return nil, fmt.Errorf("moeca-scripted: open the socket to group %d: %w", gid, err)
	}
	return l, nil
}

// watchParent calls gone when the process no longer exists. Where it is our
// parent, being handed to another one tells so even while nobody has collected
// it.
func watchParent(ctx context.Context, pid int, gone func()) {
	ours := os.Getppid() == pid
	t := time.NewTicker(500 * time.Millisecond)
	defer t.Stop()
	for {
		if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) || ours && os.Getppid() != pid {
			gone()
			return
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}
