// Command moeca-gateway is the one way from sandboxes to the outside. It
// decides about every request, records it, puts the key in, and takes the key
// out of the answer. See internal/gateway for the design and
// internal/gateway/process for the configuration file.
//
//	moeca-gateway -config FILE
//
// It ends on SIGINT or SIGTERM, and when the process named by parent_pid is
// gone. Exit status: 0 ended as asked, 1 could not start or failed, 2 wrong use.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	_ "golang.org/x/crypto/x509roots/fallback" // roots for images without any

	"moeca/internal/gateway/process"
)

// The gateway holds little for long and makes much garbage for each request, so
// it lets more of it gather (a request took 13 % less processor time, bench P3).
// Near the ceiling, half of what its container may have, it collects as ever.
const (
	garbagePercent = 400
	memoryCeiling  = 512 << 20
)

func main() { os.Exit(run()) }

func run() int {
	path := flag.String("config", "", "configuration file (JSON)")
	flag.Parse()
	if *path == "" || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "usage: moeca-gateway -config FILE")
		return 2
	}
	if err := protectMemory(); err != nil {
		fmt.Fprintln(os.Stderr, "moeca-gateway:", err)
		return 1
	}
	debug.SetGCPercent(garbagePercent)
	debug.SetMemoryLimit(memoryCeiling)
	config, err := process.Load(*path)
	if err != nil {
		fmt.Fprintln(os.Stderr, "moeca-gateway:", err)
		return 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	logger := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	if err := process.Run(ctx, config, logger); err != nil {
		fmt.Fprintln(os.Stderr, "moeca-gateway:", err)
		return 1
	}
	return 0
}
