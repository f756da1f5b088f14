package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Errors of the git program itself.
var (
	ErrNoGit  = errors.New("git is not installed: install git 2.38 or newer and start moeca again")
	ErrTooOld = errors.New("git is too old: moeca needs git 2.38 or newer (merge-tree --write-tree)")
)

// minMajor and minMinor are the first release whose merge-tree writes a tree.
const minMajor, minMinor = 2, 38

// runner starts git. Each child gets exactly env and the fixed options below;
// nothing is inherited, so a GIT_* variable or a home directory of whoever
// started the host cannot change what git does.
type runner struct {
	bin  string   // absolute path of the git program
	dir  string   // working directory of the child
	args []string // options before the subcommand
	env  []string
}

// hardened are the options every git run carries. They win over every
// configuration file, including the one in the user's repository.
func hardened() []string {
	pairs := []string{
		"core.hooksPath=/dev/null", // the reference-transaction hook runs on update-ref
		"core.fsmonitor=false",
		"core.untrackedCache=false",
		"core.attributesFile=/dev/null",
		"core.excludesFile=/dev/null",
		"core.pager=cat",
		"core.editor=false",
		"core.askPass=false",
		"core.sshCommand=false",
		"core.quotePath=true",
		"core.fsync=committed", // objects and refs survive a power cut
		"core.fsyncMethod=batch",
		"credential.helper=",
		"protocol.allow=never",
		"submodule.recurse=false",
		"fetch.recurseSubmodules=false",
		"commit.gpgSign=false",
		"log.showSignature=false",
		"gc.auto=0",
		"maintenance.auto=false",
		"safe.directory=*", // Open names one directory on purpose; nothing of it runs
	}
	args := []string{"--no-replace-objects", "--no-optional-locks", "--literal-pathspecs"}
	for _, p := range pairs {
		args = append(args, "-c", p)
	}
	return args
}

// cleanEnv is the whole environment of a git child.
func cleanEnv(bin string) []string {
	return []string{
		"PATH=" + filepath.Dir(bin),
		"HOME=/nonexistent",
		"XDG_CONFIG_HOME=/nonexistent",
		"LC_ALL=C",
		"TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_ASKPASS=false",
		"GIT_SSH_COMMAND=false",
		"GIT_OPTIONAL_LOCKS=0",
		"GIT_NO_REPLACE_OBJECTS=1",
		"GIT_NO_LAZY_FETCH=1",
		"GIT_GRAFT_FILE=/dev/null",
		"GIT_PAGER=cat",
		"GIT_EDITOR=false",
		"GIT_COMMITTER_NAME=moeca",
		"GIT_COMMITTER_EMAIL=moeca@localhost",
	}
}

// newRunner finds git and checks its version.
func newRunner(ctx context.Context) (runner, error) {
	bin, err := exec.LookPath("git")
	if err != nil {
		return runner{}, ErrNoGit
	}
	if bin, err = filepath.Abs(bin); err != nil {
		return runner{}, fmt.Errorf("git: locate the program: %w", err)
	}
	r := runner{bin: bin, dir: "/", args: hardened(), env: cleanEnv(bin)}
	out, err := r.output(ctx, nil, "version")
	if err != nil {
		return runner{}, err
	}
	return r, checkVersion(string(out))
}

var versionPattern = regexp.MustCompile(`^git version (\d+)\.(\d+)`)

func checkVersion(out string) error {
	m := versionPattern.FindStringSubmatch(out)
	if m == nil {
		return fmt.Errorf("git: unknown answer to git version: %q", out)
	}
	major, _ := strconv.Atoi(m[1]) // digits by the pattern
	minor, _ := strconv.Atoi(m[2])
	if major < minMajor || major == minMajor && minor < minMinor {
		return fmt.Errorf("%w; found %s", ErrTooOld, strings.TrimSpace(out))
	}
	return nil
}

// with returns a copy that works on gitDir with more environment.
func (r runner) with(dir, gitDir string, env ...string) runner {
	r.dir = dir
	r.args = append(append([]string{}, r.args...), "--git-dir="+gitDir)
	r.env = append(append([]string{}, r.env...), env...)
	return r
}

// ExitError is a git that ended with a status other than 0.
type ExitError struct {
	Command string // subcommand
	Code    int
	Stderr  string // what git said, at most 4 KiB
}

func (e *ExitError) Error() string {
	return fmt.Sprintf("git %s: exit %d: %s", e.Command, e.Code, e.Stderr)
}

// exitCode returns the status in err, or -1.
func exitCode(err error) int {
	var e *ExitError
	if errors.As(err, &e) {
		return e.Code
	}
	return -1
}

// output runs git and returns its whole standard output.
func (r runner) output(ctx context.Context, stdin io.Reader, args ...string) ([]byte, error) {
	var out bytes.Buffer
	err := r.run(ctx, stdin, &out, args...)
	return out.Bytes(), err
}

// line runs git and returns its output without the last line end.
func (r runner) line(ctx context.Context, args ...string) (string, error) {
	out, err := r.output(ctx, nil, args...)
	return strings.TrimSuffix(string(out), "\n"), err
}

// run runs git with standard output to w.
func (r runner) run(ctx context.Context, stdin io.Reader, w io.Writer, args ...string) error {
	cmd, stderr := r.command(ctx, stdin, args)
	cmd.Stdout = w
	return r.explain(ctx, cmd.Run(), stderr, args)
}

// stream runs git and hands its standard output to read. Output that read
// leaves unread is discarded when it returned nil; git is killed when it did not.
func (r runner) stream(outer context.Context, stdin io.Reader, read func(io.Reader) error, args ...string) error {
	ctx, cancel := context.WithCancel(outer)
	defer cancel()
	cmd, stderr := r.command(ctx, stdin, args)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("git %s: %w", args[0], err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("git %s: %w", args[0], err)
	}
	readErr := read(out)
	if readErr == nil {
		_, readErr = io.Copy(io.Discard, out)
	} else {
		cancel()
	}
	waitErr := cmd.Wait()
	var exit *exec.ExitError
	switch {
	case outer.Err() != nil:
		return fmt.Errorf("git %s: %w", args[0], context.Cause(outer))
	case readErr != nil && !(errors.As(waitErr, &exit) && exit.Exited() && exit.ExitCode() != 0):
		return fmt.Errorf("git %s: %w", args[0], readErr) // git was fine, or we ended it because of this
	}
	return r.explain(outer, waitErr, stderr, args)
}

func (r runner) command(ctx context.Context, stdin io.Reader, args []string) (*exec.Cmd, *tail) {
	cmd := exec.CommandContext(ctx, r.bin, append(append([]string{}, r.args...), args...)...)
	cmd.Dir, cmd.Env, cmd.Stdin = r.dir, r.env, stdin
	cmd.WaitDelay = 5 * time.Second
	stderr := &tail{max: 4096}
	cmd.Stderr = stderr
	return cmd, stderr
}

func (r runner) explain(ctx context.Context, err error, stderr *tail, args []string) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("git %s: %w", args[0], context.Cause(ctx))
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return &ExitError{Command: args[0], Code: exit.ExitCode(), Stderr: strings.TrimSpace(string(stderr.buf))}
	}
	return fmt.Errorf("git %s: %w: %s", args[0], err, stderr.buf)
}

// tail keeps the last max bytes written to it.
type tail struct {
	buf []byte
	max int
}

func (t *tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - t.max; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}
