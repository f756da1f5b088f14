// Package witness keeps what the audit log was, outside of the log: whoever can
// write the log, its key and its tree can still not make others forget what they
// saw. It is the host's, which the gateway cannot write.
//
// # Witnesses
//
//	host  the furthest checkpoint this host has seen, in the data directory
//	file  a list of checkpoints that a person put on another volume
//	repo  refs/moeca/witness in the user's repository, at its merges and each day
//	url   a C2SP witness, asked through the gateway; its cosignature is kept
//
// What each can tell depends on who reaches it. The host's own pin tells of a
// gateway that changes its log, and of a log directory that was deleted or set
// back; it is set back itself with the whole data directory or machine. A file on
// another volume and a pushed ref stay where they are then, and a witness of
// others stays even where somebody has taken over this machine.
//
// # Data
//
// witness.json in the data directory, replaced in one step: what a person set, and
// what each witness took last. A file of sightings (audit.Sighting) is appended to
// and synced; it is never created again once it is gone, never reached through a
// symlink and never in the data directory.
//
// # Invariants
//
//   - Nothing is told to a witness before the log was proven to continue what the
//     host saw, and what that witness says it saw itself. A log that does not is
//     told to nobody: the evidence stays as it is.
//   - A witness that holds something the log does not continue makes Trust fail
//     until a person removes it, which is a row.
//   - A witness that cannot be reached stops nothing. It is shown since when, and
//     tried again.
//
// # Concurrency
//
// A Keeper is safe for concurrent use; one round runs at a time. One process has
// one, which holds the data directory's lock; other processes look with Look.
package witness

import (
	"context"
	"errors"
	"time"

	"moeca/internal/audit"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/git"
)

// Kinds of witnesses.
const (
	KindHost = "host"
	KindFile = "file"
	KindRepo = "repo"
	KindURL  = "url"
)

// HostID is the id of the host's own pin.
const HostID = "host"

// How often a witness is told of a log that has grown, and of one that has not.
const (
	roundEvery = time.Minute
	filePace   = 5 * time.Minute
	urlPace    = 10 * time.Minute
	repoPace   = 24 * time.Hour
	idlePace   = 12 * time.Hour
	retryPace  = 30 * time.Minute // a witness that failed, each time of which is two rows

	// StaleAfter is when the last witness is too long ago.
	StaleAfter = 24 * time.Hour
)

// Setting is what a person said about a witness.
type Setting struct {
	Kind  string    `json:"kind"`
	Path  string    `json:"path,omitempty"`  // file
	URL   string    `json:"url,omitempty"`   // url
	Key   string    `json:"key,omitempty"`   // url
	Local bool      `json:"local,omitempty"` // url
	Repo  string    `json:"repo,omitempty"`  // repo: id
	Off   bool      `json:"off,omitempty"`   // repo: not kept there
	Since time.Time `json:"since"`
}

// ID names a witness.
func (s Setting) ID() string {
	switch s.Kind {
	case KindFile:
		return KindFile + ":" + s.Path
	case KindURL:
		return KindURL + ":" + s.URL
	case KindRepo:
		return KindRepo + ":" + s.Repo
	}
	return HostID
}

// State is what a witness took last.
type State struct {
	Name     string    `json:"name"` // path or URL, for a person
	At       time.Time `json:"at,omitzero"`
	Size     int64     `json:"size"`
	Text     string    `json:"text,omitempty"` // the checkpoint, with cosignature
	Own      int64     `json:"own,omitempty"`  // rows since that only tell of witnesses
	Tried    time.Time `json:"tried,omitzero"`
	Problem  string    `json:"problem,omitempty"` // of the last try
	Diverged bool      `json:"diverged,omitempty"`
	Note     string    `json:"note,omitempty"`
	After    time.Time `json:"after,omitzero"` // of a repository: what is older was set aside by a person
}

// View is a witness with its state.
type View struct {
	ID      string
	Setting Setting
	State   State
}

// Gateway is what is asked of the gateway. *gatewayapi.Client is one.
type Gateway interface {
	Checkpoint(ctx context.Context) (gatewayapi.Checkpoint, error)
	AskWitness(ctx context.Context, a gatewayapi.WitnessAsk) (gatewayapi.Witnessed, error)
}

// Repo is a repository of the user.
type Repo struct{ ID, Path string }

// History is where a repository keeps checkpoints. *git.Store is one.
type History interface {
	AddWitness(ctx context.Context, content []byte, message string, who git.Identity, when time.Time) error
	Witnessed(ctx context.Context, most int) ([]git.WitnessState, error)
}

// Errors a person can do something about.
var (
	ErrSetting = errors.New("this witness cannot be used")
	ErrUnknown = errors.New("there is no such witness")
)

// Finding is what one witness says about the log as it is.
type Finding struct {
	ID       string
	Kind     string
	Name     string
	OK       bool // the log continues everything it saw
	Found    bool // it saw something that the log does not continue
	Entries  int  // checkpoints that were compared
	Size     int64
	At       time.Time // when it saw Size rows
	Problem  string    // why not OK
	Cosigner string    // whose key cosigned it
	Note     string
}

// at is how a time is said to a person.
func at(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// checkpoint reads what a state holds.
func (s State) checkpoint() (audit.Checkpoint, bool) {
	c, err := audit.ParseCheckpoint(s.Text)
	return c, s.Text != "" && err == nil
}
