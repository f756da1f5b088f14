package image

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// build runs the build script into a fresh directory and renames it to dir.
func (s *Store) build(ctx context.Context, dir string, progress func(string)) error {
	script := filepath.Join(s.o.PolyBuild, "build.sh")
	if !exists(script) {
		return fmt.Errorf("image: poly: no build script at %s", script)
	}
	if err := os.RemoveAll(dir); err != nil { // a build that was interrupted
		return fmt.Errorf("image: poly: %w", err)
	}
	return publish(dir, func(tmp string) error {
		last, err := runScript(ctx, progress, script, tmp)
		if err != nil {
			return fmt.Errorf("image: poly: build script: %w; its last lines:\n%s", err, strings.Join(last, "\n"))
		}
		for _, name := range []string{polyTar, polySum} {
			if !exists(filepath.Join(tmp, name)) {
				return fmt.Errorf("image: poly: build script left no %s", name)
			}
		}
		return nil
	})
}

// runScript runs a program and passes its output on line by line. It returns
// the last lines for an error.
func runScript(ctx context.Context, progress func(string), script string, args ...string) ([]string, error) {
	const keep = 15
	r, w := io.Pipe()
	cmd := exec.CommandContext(ctx, script, args...)
	cmd.Stdout, cmd.Stderr = w, w
	var last []string
	done := make(chan struct{})
	go func() { // ends when w is closed below
		defer close(done)
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			progress(lines.Text())
			if last = append(last, lines.Text()); len(last) > keep {
				last = last[1:]
			}
		}
		io.Copy(io.Discard, r) // after a line over the limit
	}()
	err := cmd.Run()
	w.Close()
	<-done
	return last, err
}
