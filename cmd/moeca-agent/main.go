// Command moeca-agent is pid 1 of a sandbox. It takes no argument and reads no
// environment: it prints a "ready" event, waits for one work order on its
// standard input, carries it out, and exits with the code of the stage. See
// internal/agent.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"moeca/internal/agent"
)

// Loopback ports that children of a stage use; the controller puts them into
// the environment of the order.
const (
	gatewayAddr  = "127.0.0.1:8787"
	registryAddr = "127.0.0.1:8791"
)

// grace is what a command gets between TERM and KILL. The driver's own grace
// for the whole sandbox is longer.
const grace = 5 * time.Second

func main() { os.Exit(run()) }

func run() int {
	// First of all, so that no child exists and no order was read before it.
	ch, err := agent.Harden()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return agent.ExitFailed
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer stop()
	reap := make(chan os.Signal, 1)
	signal.Notify(reap, syscall.SIGCHLD)
	return agent.Run(ctx, agent.Config{
		In: ch.In, Out: ch.Out,
		GatewayAddr: gatewayAddr, RegistryAddr: registryAddr,
		Reap: reap, Now: time.Now, Grace: grace,
	})
}
