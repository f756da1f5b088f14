// Moeca-verify checks an audit log, or an evidence bundle of one, without the
// program that wrote it. It reads, changes nothing and imports nothing but the
// log's format, so that it can be read in an hour and kept by someone else.
//
//	moeca-verify DIR [--head HEAD] [--since HEAD] [--vkey KEY] [--bodies] [--json]
//	moeca-verify BUNDLE [--head HEAD] [--vkey KEY] [--json]
//
// A HEAD is a checkpoint of the log, or what an earlier run printed as "head",
// itself or in a file, or the list of checkpoints that a witness has written: then
// the log must continue each of them. Whoever keeps it elsewhere learns of every later change
// to the rows up to it, including a log that was cut or written anew with its
// key; with --since only rows behind it are read. A bundle holds its contents
// and is compared with a checkpoint of the same number of rows only: let it be
// made for the one you hold. A KEY is the verifier key by which you know the
// log, itself or in a file. Exit status: 0 intact, 1 broken (the first broken
// row is on standard output), 2 it could not be read or the call was wrong.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"time"

	"moeca/internal/audit"
)

// Exit codes.
const (
	intact     = 0
	broken     = 1
	unreadable = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

type config struct {
	path    string
	vkey    string
	json    bool
	options audit.VerifyOptions
	seen    []audit.Sighting // further checkpoints of a list
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return intact
	}
	ok := false
	if err == nil {
		ok, err = c.verify(ctx, stdout)
	}
	switch {
	case err != nil:
		fmt.Fprintln(stderr, "moeca-verify:", err)
		return unreadable
	case !ok:
		return broken
	}
	return intact
}

func (c config) verify(ctx context.Context, stdout io.Writer) (ok bool, err error) {
	st, err := os.Stat(c.path)
	if err != nil {
		return false, err
	}
	if !st.IsDir() {
		return c.verifyBundle(ctx, stdout)
	}
	rep, err := audit.Verify(ctx, c.path, c.options)
	if err != nil {
		return false, err
	}
	if rep.OK && c.vkey != "" && !signedWith(c.vkey, rep.Checkpoint) {
		rep.OK, rep.FirstBroken, rep.Problem = false, rep.Records+1, "the checkpoint is not signed with the key you know"
	}
	if rep.OK {
		if err := c.compare(ctx, &rep); err != nil {
			return false, err
		}
	}
	if c.json {
		return rep.OK, showJSON(stdout, rep)
	}
	return rep.OK, showText(stdout, rep, c.options.Bodies)
}

// signedWith says whether the checkpoint that was verified is signed with a key.
func signedWith(vkey, checkpoint string) bool {
	c, err := audit.ParseCheckpoint(checkpoint)
	return err == nil && c.Verify(vkey) == nil
}

// compare holds the rest of a list against a log whose rows were verified.
func (c config) compare(ctx context.Context, rep *audit.Report) error {
	if len(c.seen) == 0 {
		return nil
	}
	now, _, err := audit.ReadCheckpoint(c.path)
	if err != nil {
		return err
	}
	for _, s := range c.seen {
		err := audit.Continues(ctx, c.path, now, s.Checkpoint)
		var diverged *audit.DivergedError
		if errors.As(err, &diverged) {
			rep.OK, rep.FirstBroken = false, min(s.Checkpoint.Size, rep.Records)
			rep.Problem = fmt.Sprintf("the list saw %d rows at %s: %s", s.Checkpoint.Size, s.At.Format(time.DateTime), diverged.Problem)
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// parse accepts flags before and after the path.
func parse(args []string, stderr io.Writer) (config, error) {
	var c config
	flags := flag.NewFlagSet("moeca-verify", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: moeca-verify DIR|BUNDLE [--head HEAD] [--since HEAD] [--vkey KEY] [--bodies] [--json]")
		flags.PrintDefaults()
	}
	flags.Func("head", "what you hold, a checkpoint or SEQ:HEX or a file with it: the log must contain it", headFlag(&c.options.Head, &c.options.Held, &c.seen))
	flags.Func("since", "likewise, up to which you verified before: rows up to it are not read again", headFlag(&c.options.Since, &c.options.From, nil))
	flags.Func("vkey", "verifier key by which you know the log, or a file with it", func(s string) error {
		if b, err := os.ReadFile(s); err == nil {
			s = string(b)
		}
		c.vkey = strings.TrimSpace(s)
		return nil
	})
	flags.BoolVar(&c.options.Bodies, "bodies", false, "check captured contents too")
	flags.BoolVar(&c.json, "json", false, "print the report as JSON")
	var paths []string
	for {
		if err := flags.Parse(args); err != nil {
			return c, err
		}
		if flags.NArg() == 0 {
			break
		}
		paths, args = append(paths, flags.Arg(0)), flags.Args()[1:]
	}
	if len(paths) != 1 {
		flags.Usage()
		return c, fmt.Errorf("one directory or bundle is needed, %d are given", len(paths))
	}
	c.path = paths[0]
	return c, nil
}

// headFlag reads a head or a checkpoint, as it is or from a file, or a list of
// checkpoints where there may be one: the last of them is the checkpoint.
func headFlag(head **audit.Head, checkpoint **audit.Checkpoint, more *[]audit.Sighting) func(string) error {
	set := func(text string) bool {
		if h, err := audit.ParseHead(text); err == nil {
			*head = &h
			return true
		}
		c, err := audit.ParseCheckpoint(text)
		if err == nil {
			*checkpoint = &c
		}
		return err == nil
	}
	setList := func(text string) bool {
		list, _ := audit.ParseSightings(text)
		if more == nil || len(list) == 0 {
			return false
		}
		*checkpoint = &list[len(list)-1].Checkpoint
		*more = append(*more, list[:len(list)-1]...)
		return true
	}
	return func(s string) error {
		if set(s) {
			return nil
		}
		b, err := os.ReadFile(s)
		if errors.Is(err, fs.ErrNotExist) {
			return errors.New("is neither a checkpoint, nor SEQ:HEX, nor a file")
		}
		if err == nil && !set(string(b)) && !setList(string(b)) {
			err = errors.New("the file holds neither a checkpoint nor a head, which is written as row number, colon, 64 hex digits")
		}
		return err
	}
}

func showText(w io.Writer, rep audit.Report, bodies bool) error {
	p := &printer{w: w}
	if rep.OK {
		p.printf("intact: %d rows\n", rep.Records)
	} else {
		p.printf("broken: first broken row is %d\nproblem: %s\nintact before it: %d rows\n", rep.FirstBroken, rep.Problem, rep.Records)
	}
	if rep.Records > 0 {
		p.printf("head: %v\n", audit.Head{Seq: rep.Records, Hash: rep.Head})
	}
	if rep.Signed > 0 {
		p.printf("checkpoint: covers %d rows\n", rep.Signed)
	}
	if bodies {
		p.printf("bodies: %d checked, %d erased\n", rep.Bodies, rep.Erased)
	}
	if n := len(rep.OpenIntents); n > 0 {
		p.printf("open: %d requests without outcome, the first is row %d\n", n, rep.OpenIntents[0])
	}
	return p.err
}

func showJSON(w io.Writer, rep any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(rep)
}

// printer keeps the first write error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}
