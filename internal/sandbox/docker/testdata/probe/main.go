// Command probe is what the tests run inside sandboxes and services: it tries
// one thing and says how that went.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

const patience = 3 * time.Second

func main() {
	if len(os.Args) < 2 {
		os.Exit(64)
	}
	run := map[string]func([]string) error{
		"dial": dial, "lookup": lookup, "interfaces": interfaces, "exit": exit,
		"eat": eat, "block": block, "flood": flood, "serve": serve, "cat": cat, "stderr": stderr,
	}[os.Args[1]]
	if run == nil {
		os.Exit(64)
	}
	if err := run(os.Args[2:]); err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
}

// dial says of each network and address pair whether something answered.
func dial(args []string) error {
	for i := 0; i+1 < len(args); i += 2 {
		conn, err := net.DialTimeout(args[i], args[i+1], patience)
		if err == nil && strings.HasPrefix(args[i], "udp") {
			err = ask(conn)
		}
		if err != nil {
			fmt.Printf("blocked %s %s: %v\n", args[i], args[i+1], err)
			continue
		}
		conn.Close()
		fmt.Printf("REACHED %s %s\n", args[i], args[i+1])
	}
	return nil
}

// ask sends a datagram and waits for any answer.
func ask(conn net.Conn) error {
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := conn.Write([]byte("x")); err != nil {
		return err
	}
	_, err := conn.Read(make([]byte, 1))
	return err
}

func lookup(args []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, name := range args {
		if found, err := net.DefaultResolver.LookupHost(ctx, name); err != nil {
			fmt.Printf("blocked %s: %v\n", name, err)
		} else {
			fmt.Printf("REACHED %s: %v\n", name, found)
		}
	}
	return nil
}

func interfaces([]string) error {
	all, err := net.Interfaces()
	for _, i := range all {
		fmt.Println("interface", i.Name)
	}
	return err
}

func exit(args []string) error {
	var code int
	if _, err := fmt.Sscan(args[0], &code); err != nil {
		return err
	}
	os.Exit(code)
	return nil
}

func stderr(args []string) error {
	fmt.Fprintln(os.Stderr, strings.Join(args, " "))
	return fmt.Errorf("as asked")
}

// eat takes memory until it is killed.
func eat([]string) error {
	var all [][]byte
	for {
		block := make([]byte, 64<<20)
		for i := 0; i < len(block); i += 4096 {
			block[i] = 1
		}
		all = append(all, block)
	}
}

// block ignores TERM.
func block([]string) error {
	signal.Ignore(syscall.SIGTERM)
	fmt.Println("blocking")
	for {
		time.Sleep(time.Hour)
	}
}

func flood([]string) error {
	line := []byte(strings.Repeat("x", 1023) + "\n")
	for {
		if _, err := os.Stdout.Write(line); err != nil {
			return err
		}
	}
}

func cat(args []string) error {
	for _, name := range args {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		if _, err := io.Copy(os.Stdout, f); err != nil {
			return err
		}
	}
	return nil
}

// serve answers HTTP on an address until it is told to stop.
func serve(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	srv := &http.Server{Addr: args[0], Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "uid %d gid %d", os.Getuid(), os.Getgid())
	})}
	go func() {
		<-ctx.Done()
		srv.Close()
	}()
	if err := srv.ListenAndServe(); err != http.ErrServerClosed {
		return err
	}
	return nil
}
