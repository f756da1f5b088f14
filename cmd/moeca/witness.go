package main

import (
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	"moeca/internal/hostapi"
)

type auditWitness struct {
	List   witnessList   `cmd:"" help:"Show who keeps checkpoints of the log, and when each saw it last."`
	Add    witnessAdd    `cmd:"" help:"Add a witness."`
	Repo   witnessRepo   `cmd:"" help:"Keep checkpoints in a repository, under refs/moeca/witness, or not; they are kept unless it is off."`
	Remove witnessRemove `cmd:"" help:"Forget a witness; needs a terminal and a typed confirmation."`
}

const witnessPath = "/api/audit/witnesses"

type witnessList struct{}

// Run lists.
func (witnessList) Run(e *env, c *client) error {
	var got hostapi.WitnessList
	if err := c.do(e.ctx, "GET", witnessPath, nil, &got); err != nil {
		return err
	}
	return printList(e, got.Items, witnessText)
}

func witnessText(w hostapi.Witness) string {
	s := plain(w.ID)
	if w.Kind == "repo" {
		s += " (" + plain(w.Name) + ")"
	}
	switch {
	case w.Off:
		return s + ": off"
	case w.At == nil && w.Kind == "repo" && w.Problem == "":
		s += ": from the next merge on"
	case w.At == nil:
		s += ": has seen nothing yet"
	default:
		s += fmt.Sprintf(": saw %d rows at %s", w.Rows, w.At.Local().Format(time.DateTime))
	}
	switch {
	case w.Diverged:
		s += "; ANOTHER LOG: " + plain(w.Problem)
	case w.Problem != "":
		s += "; not since: " + plain(w.Problem)
	}
	if w.Note != "" {
		s += " (" + plain(w.Note) + ")"
	}
	return s
}

type witnessAdd struct {
	File witnessAddFile `cmd:"" help:"A list of checkpoints in a file on another volume; it is made here and only appended to."`
	URL  witnessAddURL  `cmd:"" name:"url" help:"A C2SP witness, which cosigns checkpoints; it is given no row, only hashes."`
}

type witnessAddFile struct {
	Path string `arg:"" help:"The file; not in the data directory, and no symlink on the way."`
}

// Run adds a file.
func (w *witnessAddFile) Run(e *env, c *client) error {
	path, err := filepath.Abs(w.Path)
	if err != nil {
		return err
	}
	return putWitness(e, c, hostapi.WitnessInput{Kind: "file", Path: path})
}

type witnessAddURL struct {
	URL   string `arg:"" help:"Address, to which add-checkpoint is appended; https."`
	Key   string `required:"" help:"The verifier key of the witness, as it publishes it: name+hash+base64."`
	Local bool   `help:"A witness of your own: http to a literal loopback or private address."`
}

// Run adds a C2SP witness.
func (w *witnessAddURL) Run(e *env, c *client) error {
	return putWitness(e, c, hostapi.WitnessInput{Kind: "url", URL: w.URL, Key: w.Key, Local: w.Local})
}

type witnessRepo struct {
	Repo   string `arg:"" help:"Name or id of the repository."`
	Switch string `arg:"" enum:"on,off" help:"on or off."`
}

// Run switches a repository on or off.
func (w *witnessRepo) Run(e *env, c *client) error {
	return putWitness(e, c, hostapi.WitnessInput{Kind: "repo", Repo: w.Repo, Off: w.Switch == "off"})
}

// putWitness sets a witness and shows how its first sight of the log went.
func putWitness(e *env, c *client, in hostapi.WitnessInput) error {
	var got hostapi.Witness
	if err := c.asPerson(e.ctx, "PUT", witnessPath, in, &got); err != nil {
		return err
	}
	if e.cli.JSON {
		return e.print(got)
	}
	fmt.Fprintln(e.stdout, witnessText(got))
	return nil
}

type witnessRemove struct {
	ID string `arg:"" help:"As the list names it; host is what this host saw itself."`
}

// Run forgets a witness after a person has typed which.
func (w *witnessRemove) Run(e *env, c *client) error {
	fmt.Fprintln(e.stderr, "What this witness saw no longer speaks against the log. A list, a repository and the witness itself keep what they have.")
	if w.ID == "host" {
		fmt.Fprintln(e.stderr, "The log is then taken as it is now: rows that are missing or changed are no longer told.")
	}
	if err := e.confirm("forget " + w.ID); err != nil {
		return err
	}
	if err := c.asPerson(e.ctx, "DELETE", witnessPath+"?id="+url.QueryEscape(w.ID), nil, nil); err != nil {
		return err
	}
	if e.cli.JSON {
		return e.print(map[string]string{"removed": w.ID})
	}
	fmt.Fprintf(e.stdout, "forgot %s\n", plain(w.ID))
	return nil
}
