// Command polyimage makes the poly root file system ready in the user's cache,
// where moeca and its tests find it. It takes minutes the first time and a
// moment afterwards. Run it from the root of the repository:
//
//	go run ./scripts/polyimage [-cache DIR]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"moeca/internal/sandbox/image"
)

func main() {
	cache := flag.String("cache", "", "where root file systems are kept (default: the user's cache directory, moeca)")
	build := flag.String("build", filepath.Join("images", "poly"), "directory with build.sh")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *cache, *build); err != nil {
		fmt.Fprintln(os.Stderr, "polyimage:", err)
		os.Exit(1)
	}
}

// run builds an agent of its own, because the image is not whole without one,
// and keeps only the root file system.
func run(ctx context.Context, cache, build string) error {
	if cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return fmt.Errorf("find the cache directory: %w (or say -cache DIR)", err)
		}
		cache = filepath.Join(dir, "moeca")
	}
	work, err := os.MkdirTemp("", "polyimage-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	agent := filepath.Join(work, "moeca-agent")
	compile := exec.CommandContext(ctx, "go", "build", "-o", agent, "moeca/cmd/moeca-agent")
	compile.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := compile.CombinedOutput(); err != nil {
		return fmt.Errorf("build the agent: %w\n%s", err, out)
	}
	store := image.New(image.Options{Dir: filepath.Join(work, "images"), Cache: cache, AgentBinary: agent, PolyBuild: build})
	root, err := store.Poly(ctx, func(line string) { fmt.Println(line) })
	if err != nil {
		return err
	}
	fmt.Println(root.Digest, root.RootDir)
	return nil
}
