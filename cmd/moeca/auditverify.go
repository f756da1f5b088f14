package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"moeca/internal/board"
	"moeca/internal/hostapi"
	"moeca/internal/stack"
)

type auditVerify struct {
	Witness []string `help:"A file that somebody kept elsewhere: a list of checkpoints, one checkpoint, or what git show refs/moeca/witness:checkpoint prints. Repeat for more." placeholder:"FILE"`
}

// Run verifies the log of the data directory and compares it with what every
// witness holds. It reads the files itself, so that it works whether or not a host
// runs on it. Exit code 4: the log is broken, a witness saw another one, or a file
// that was named could not be compared.
func (a *auditVerify) Run(e *env) error {
	view := stack.ReadAudit(e.cli.Data)
	report, err := view.Verify(e.ctx, e.verifying())
	missing := errors.Is(err, fs.ErrNotExist) || board.KindOf(err) == board.NotFound
	if err != nil && !missing {
		return err
	}
	found, witnessErr := view.Witnesses(e.ctx, a.Witness)
	if witnessErr != nil {
		return witnessErr
	}
	saw := func(f hostapi.WitnessFinding) bool { return f.Found }
	if missing && !slices.ContainsFunc(found, saw) {
		return fail(exitMissing, "audit_none", "run a task first, or name the directory with --data",
			"there is no log in %s", filepath.Join(e.cli.Data, "audit"))
	}
	v := hostapi.VerifyReport{
		OK: report.OK, Records: report.Records, Head: fmt.Sprintf("%x", report.Head[:]),
		FirstBroken: report.FirstBroken, Problem: report.Problem, Open: len(report.OpenIntents),
	}
	if missing {
		v.Problem = "there is no log"
	}
	v = v.With(found)
	if e.cli.JSON {
		err = e.print(v)
	} else {
		err = showVerified(e.stdout, v, report.OK)
	}
	unread := slices.ContainsFunc(found, func(f hostapi.WitnessFinding) bool { return f.Kind == "given" && !f.OK })
	if err == nil && (!v.OK || unread) {
		return notGood()
	}
	return err
}

// showVerified prints the log in a line, and a line for each witness.
func showVerified(w io.Writer, v hostapi.VerifyReport, intact bool) error {
	p := plainPrinter{w: w}
	switch {
	case intact:
		p.printf("intact: %d rows, head %s\n", v.Records, v.Head)
	case v.FirstBroken > 0:
		p.printf("BROKEN at row %d: %s\n", v.FirstBroken, v.Problem)
	default:
		p.printf("BROKEN: %s\n", v.Problem)
	}
	for _, f := range v.Witnesses {
		state := "witness"
		switch {
		case f.Found:
			state = "ANOTHER LOG"
		case !f.OK:
			state = "NOT COMPARED"
		}
		p.printf("%s: %s%s\n", state, f.Says(), agreed(f))
	}
	return p.err
}

// agreed says what a witness confirmed.
func agreed(f hostapi.WitnessFinding) string {
	s := ""
	if f.OK && f.Rows > 0 {
		s = fmt.Sprintf(": agrees with %d rows", f.Rows)
		if f.At != nil {
			s += " it saw at " + f.At.Local().Format(time.DateTime)
		}
		if f.Compared > 1 {
			s += fmt.Sprintf(", and %d earlier states", f.Compared-1)
		}
		if f.Cosigner != "" {
			s += ", cosigned by " + f.Cosigner
		}
	}
	if f.Note != "" {
		s += " (" + f.Note + ")"
	}
	return s
}

// plainPrinter prints what may come from elsewhere and keeps the first error.
type plainPrinter struct {
	w   io.Writer
	err error
}

func (p *plainPrinter) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, plainLines(fmt.Sprintf(format, args...)))
	}
}
