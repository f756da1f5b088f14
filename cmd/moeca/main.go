// Command moeca is the host process and its command line.
//
// Without a command it starts the host and opens the interface in a browser.
// Every other command is the same action as in the interface, done through the
// same API: it talks to the process that runs on the data directory, or starts
// one for the length of the command.
//
// Exit codes:
//
//	0  done
//	1  refused or failed; the message says what was kept and what to do
//	2  wrong usage
//	3  something needed is missing: no driver, no gateway, directory locked
//	4  checked and not good: CI failed, log broken, result has conflicts
//
// With --json a command prints one JSON document on standard output and
// nothing else; errors are {"error":{"code","message","next"}} there too.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/alecthomas/kong"

	"moeca/internal/sandbox/native"
	"moeca/internal/web"
)

// version is set by the linker.
var version = "dev"

// Exit codes, documented above.
const (
	exitOK      = 0
	exitFailed  = 1
	exitUsage   = 2
	exitMissing = 3
	exitBad     = 4
)

// cli is every command and flag.
type cli struct {
	Data    string           `help:"Data directory." placeholder:"DIR" env:"MOECA_DATA"`
	Driver  string           `help:"Sandbox driver: auto, docker or native." enum:"auto,docker,native" default:"auto" env:"MOECA_DRIVER"`
	Runtime string           `help:"Directory for sockets; short." placeholder:"DIR" env:"MOECA_RUNTIME"`
	Cache   string           `help:"Directory for built images." placeholder:"DIR" env:"MOECA_CACHE"`
	JSON    bool             `help:"Print one JSON document."`
	Version kong.VersionFlag `help:"Print the version."`

	Open     openCmd     `cmd:"" help:"Open the interface of the running process in a browser."`
	Serve    serveCmd    `cmd:"" default:"withargs" help:"Start the host; this is what moeca does without a command."`
	Demo     demoCmd     `cmd:"" help:"Run one task end to end with the scripted model, in a throw-away data directory."`
	Repo     repoCmd     `cmd:"" help:"Repositories."`
	Task     taskCmd     `cmd:"" help:"Tasks."`
	Run      runCmd      `cmd:"" help:"Runs."`
	Audit    auditCmd    `cmd:"" help:"The audit log."`
	Provider providerCmd `cmd:"" help:"Model providers and their keys."`
	Ask      askCmd      `cmd:"" help:"Requests of agents that wait for your answer."`
	Session  sessionCmd  `cmd:"" help:"Sessions for programs on this machine that go through the gateway."`
	Budget   budgetCmd   `cmd:"" help:"What may be drawn in a day, in tokens and USD."`
	Price    priceCmd    `cmd:"" help:"What models cost."`
	Image    imageCmd    `cmd:"" help:"Sandbox images."`
	Doctor   doctorCmd   `cmd:"" help:"Show what is installed, which driver is used, what is missing and how to get it."`
	OpenAPI  openAPICmd  `cmd:"" hidden:"" name:"openapi" help:"Print the API description."`
}

func main() {
	native.Init() // a re-executed sandbox stage never returns from here
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// env is what a command works with.
type env struct {
	ctx    context.Context
	cli    *cli
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer

	problem string // of the log, as it was last told
}

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var c cli
	code := -1
	parser, err := kong.New(&c,
		kong.Name("moeca"),
		kong.Description("Gives agents real work, and lets a person decide where they reach and what they see."),
		kong.Vars{"version": version},
		kong.Writers(stdout, stderr),
		kong.Exit(func(n int) { code = n }),
		kong.UsageOnError(),
	)
	if err != nil {
		fmt.Fprintln(stderr, "moeca:", err)
		return exitUsage
	}
	parsed, err := parser.Parse(args)
	if code >= 0 { // --help or --version has printed
		return code
	}
	if err != nil {
		fmt.Fprintf(stderr, "moeca: %v\nrun `moeca --help` to see the commands\n", err)
		return exitUsage
	}
	if c.Data == "" {
		c.Data = defaultData()
	}
	e := &env{ctx: ctx, cli: &c, stdin: stdin, stdout: stdout, stderr: stderr}
	return e.report(e.execute(parsed))
}

// execute runs the command. One that takes a client gets one of the running
// process, or of a process that is started for it and ended after it.
func (e *env) execute(parsed *kong.Context) error {
	end := func() {}
	defer func() { end() }()
	err := parsed.BindToProvider(func() (*client, error) {
		c, done, err := e.connect()
		if err == nil {
			end = done
		}
		return c, err
	})
	if err != nil {
		return err
	}
	return parsed.Run(e)
}

// report prints an error in the form the user asked for and picks the code.
func (e *env) report(err error) int {
	if err == nil {
		return exitOK
	}
	f := asFailure(err)
	if e.cli.JSON {
		if f.Code != "" || f.Message != "" {
			_ = e.print(map[string]any{"error": map[string]string{"code": f.Code, "message": f.Message, "next": f.Next}})
		}
		return f.exit
	}
	if f.Message != "" {
		fmt.Fprintln(e.stderr, "moeca:", f.Message)
	}
	if f.Next != "" {
		fmt.Fprintln(e.stderr, "  →", f.Next)
	}
	return f.exit
}

// print writes one JSON document.
func (e *env) print(v any) error {
	enc := json.NewEncoder(web.PlainJSON(e.stdout))
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// failure is an error with its exit code.
type failure struct {
	Code, Message, Next string
	exit                int
}

func (f *failure) Error() string { return f.Message }

func fail(exit int, code, next, format string, args ...any) *failure {
	return &failure{Code: code, Message: fmt.Sprintf(format, args...), Next: next, exit: exit}
}

// notGood ends a command with code 4 after it has printed its result.
func notGood() error { return &failure{exit: exitBad} }

func asFailure(err error) *failure {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	return failureOf(err)
}

// defaultData follows the platform's convention for application data.
func defaultData() string {
	if dir := os.Getenv("XDG_DATA_HOME"); dir != "" {
		return filepath.Join(dir, "moeca")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return filepath.Join(os.TempDir(), fmt.Sprintf("moeca-%d", os.Getuid()))
	}
	switch runtime.GOOS {
	case "darwin":
		return filepath.Join(home, "Library", "Application Support", "moeca")
	case "windows":
		return filepath.Join(home, "AppData", "Local", "moeca")
	}
	return filepath.Join(home, ".local", "share", "moeca")
}
