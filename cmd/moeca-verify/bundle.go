package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"

	"moeca/internal/audit"
)

var (
	errRowHead = errors.New("a bundle is compared with a checkpoint, not with a row and its hash")
	errOther   = errors.New("the bundle is proven to a checkpoint of another number of rows than the one you hold: have it made for yours")
)

func (c config) verifyBundle(ctx context.Context, stdout io.Writer) (ok bool, err error) {
	if c.options.Head != nil || c.options.Since != nil {
		return false, errRowHead
	}
	f, err := os.Open(c.path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	rep, err := audit.VerifyBundle(ctx, bufio.NewReaderSize(f, 1<<16))
	if err != nil {
		return false, err
	}
	if rep.OK {
		if err := c.known(&rep); err != nil {
			return false, err
		}
	}
	if c.json {
		return rep.OK, showJSON(stdout, rep)
	}
	return rep.OK, showBundle(stdout, rep)
}

// known compares a bundle that is whole in itself with what the caller knows.
func (c config) known(rep *audit.BundleReport) error {
	differs := func(problem string) {
		rep.OK, rep.Entry, rep.FirstBroken, rep.Problem = false, audit.CheckpointFile, rep.Manifest.First, problem
	}
	if c.vkey != "" && c.vkey != rep.Vkey {
		differs("it is not signed with the key you know")
	}
	for _, held := range []*audit.Checkpoint{c.options.Held, c.options.From} {
		switch {
		case held == nil:
		case held.Origin != rep.Manifest.Origin:
			differs("it is that of another log than the one you hold a checkpoint of")
		case held.Size != rep.Manifest.LogRows:
			return errOther
		case held.Root != rep.Manifest.Root:
			differs("it is not the checkpoint you hold: the log was rewritten")
		}
	}
	return nil
}

func showBundle(w io.Writer, rep audit.BundleReport) error {
	p, m := &printer{w: w}, rep.Manifest
	if !rep.OK {
		p.printf("broken: first broken row is %d\nproblem: %s: %s\nproven before it: %d rows\n", rep.FirstBroken, rep.Entry, rep.Problem, rep.Records)
		return p.err
	}
	what, name := "run", m.Query.Run
	if name == "" {
		what, name = "task", m.Query.Task
	}
	p.printf("intact: %d rows of %s %q, and %d that belong to them\n", m.Own, what, name, m.Rows-m.Own)
	p.printf("rows: %d to %d; %d between them are not in the bundle\n", m.First, m.Last, m.Between)
	p.printf("contents: %d, erased %d, withheld %d, not kept %d\n", m.Bodies, m.Erased, m.Withheld, m.NotKept)
	if m.Open > 0 {
		p.printf("open: %d requests without outcome\n", m.Open)
	}
	p.printf("checkpoint: covers %d rows, signed with %s\n", m.LogRows, rep.Vkey)
	for _, s := range m.NotShown {
		p.printf("not proven: %s\n", s)
	}
	return p.err
}
