package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"moeca/internal/audit"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"moeca-verify": main})
}

// TestScripts runs testdata/script, which is the specification of the command.
// Its own commands change logs as an attacker would.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"mklog": mklog, "flip": flip, "cut": cut, "save-head": saveHead, "unreadable": unreadableCmd, "bundle": bundleCmd, "see": see,
		},
	})
}

// mklog DIR N [SEGMENTBYTES|RUN] writes a log of N exchanges.
func mklog(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	o := audit.Options{}
	var of audit.Attribution
	if len(args) > 2 {
		if o.SegmentBytes, err = strconv.ParseInt(args[2], 10, 64); err != nil {
			of.Run = args[2]
		}
	}
	tick := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	o.Now = func() time.Time { tick = tick.Add(time.Second); return tick }
	l, err := audit.Open(ts.MkAbs(args[0]), o)
	ts.Check(err)
	for i := range n {
		body := audit.NewCapture(1 << 10)
		fmt.Fprintf(body, "request %d", i)
		p, err := l.Queue(audit.Record{Kind: audit.KindIntent, Actor: audit.ActorAgent, Upstream: "demo", Attribution: of}, body.Body(), nil)
		ts.Check(err)
		_, err = l.Queue(audit.Record{Kind: audit.KindOutcome, Ref: p.Seq(), Result: audit.ResultOK, Attribution: of}, nil, nil)
		ts.Check(err)
	}
	ts.Check(l.Close())
}

// bundle DIR FILE RUN writes the evidence bundle of a run.
func bundleCmd(ts *testscript.TestScript, _ bool, args []string) {
	f, err := os.Create(ts.MkAbs(args[1]))
	ts.Check(err)
	_, err = audit.WriteBundle(context.Background(), ts.MkAbs(args[0]), f, audit.BundleQuery{Run: args[2]})
	ts.Check(errors.Join(err, f.Close()))
}

// see DIR FILE appends the checkpoint of a log to a list, as a witness does.
func see(ts *testscript.TestScript, _ bool, args []string) {
	c, _, err := audit.ReadCheckpoint(ts.MkAbs(args[0]))
	ts.Check(err)
	f, err := os.OpenFile(ts.MkAbs(args[1]), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	ts.Check(err)
	_, err = f.WriteString(audit.Sighting{At: time.Date(2026, 1, 2, 4, 0, 0, 0, time.UTC), Checkpoint: c}.String())
	ts.Check(errors.Join(err, f.Close()))
}

// flip FILE TEXT inverts a bit of the first byte of TEXT in FILE.
func flip(ts *testscript.TestScript, _ bool, args []string) {
	name := ts.MkAbs(args[0])
	b := []byte(ts.ReadFile(name))
	i := strings.Index(string(b), args[1])
	if i < 0 {
		ts.Fatalf("%q is not in %s", args[1], args[0])
	}
	b[i] ^= 1
	ts.Check(os.WriteFile(name, b, 0o600))
}

// cut FILE removes the last frame of a segment.
func cut(ts *testscript.TestScript, _ bool, args []string) {
	name := ts.MkAbs(args[0])
	b := []byte(ts.ReadFile(name))
	off, before := 84, 84
	for off < len(b) {
		before, off = off, off+12+int(binary.LittleEndian.Uint32(b[off:]))+4
	}
	ts.Check(os.WriteFile(name, b[:before], 0o600))
}

// save-head FILE writes the head that the last command printed.
func saveHead(ts *testscript.TestScript, _ bool, args []string) {
	_, rest, ok := strings.Cut(ts.ReadFile("stdout"), "head: ")
	if !ok {
		ts.Fatalf("no head was printed")
	}
	head, _, _ := strings.Cut(rest, "\n")
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(head+"\n"), 0o600))
}

// unreadableCmd ARGS runs moeca-verify and wants exit status 2.
func unreadableCmd(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec("moeca-verify", args...)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != unreadable {
		ts.Fatalf("want exit status %d, got %v", unreadable, err)
	}
}

func TestImportsOnlyTheLogFormat(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range strings.Fields(string(out)) {
		ours := path == "moeca/internal/audit" || path == "moeca/cmd/moeca-verify"
		if !ours && !strings.HasPrefix(path, "golang.org/x/") && !strings.HasPrefix(path, "google.golang.org/protobuf/") {
			t.Errorf("imports %s", path)
		}
	}
}

func TestCancelledIsUnreadable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	l, err := audit.Open(dir, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs strings.Builder
	if code := run(ctx, []string{dir}, &out, &errs); code != unreadable || out.Len() > 0 {
		t.Errorf("exit %d, %s%s", code, out.String(), errs.String())
	}
}
