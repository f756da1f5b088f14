package git

import (
	"io/fs"
	"time"
)

// Info is what Open found out about a user's repository. Nothing in it needs
// the work tree.
type Info struct {
	Path          string   `json:"path"`           // as given, cleaned and absolute
	GitDir        string   `json:"git_dir"`        // common git directory
	Bare          bool     `json:"bare"`           //
	ObjectFormat  string   `json:"object_format"`  // sha1 | sha256
	DefaultBranch string   `json:"default_branch"` // detected target: origin/HEAD, init.defaultBranch, HEAD, else main/master
	Head          string   `json:"head"`           // branch checked out, or "" when detached
	HeadOID       string   `json:"head_oid"`
	Branches      []string `json:"branches"`
	Shallow       bool     `json:"shallow"`
	LFS           bool     `json:"lfs"`        // .gitattributes of the default branch names the lfs filter
	Submodules    bool     `json:"submodules"` // the default branch has gitlinks
}

// Skipped is a path the snapshot left out, with the reason it did.
type Skipped struct {
	Path   string `json:"path"`
	Reason string `json:"reason"` // fifo, socket, device, git-directory, unreadable, too-large, ignored-tracked …
}

// SnapshotResult is the commit made from a tree.
type SnapshotResult struct {
	Commit       string        `json:"commit"` // equals the parent when nothing changed
	Tree         string        `json:"tree"`
	Changed      bool          `json:"changed"`
	Hashed       int           `json:"hashed"`                  // files read again
	Files        int           `json:"files"`                   // files in the tree
	Skipped      []Skipped     `json:"skipped,omitempty"`       // at most 1,000
	SkippedTotal int           `json:"skipped_total,omitempty"` // all that were left out
	Ignored      int           `json:"ignored,omitempty"`       // paths the base's ignore rules leave out, a directory counted once
	CacheProblem string        `json:"cache_problem,omitempty"` // the next snapshot will read every file
	Took         time.Duration `json:"took_ns"`
}

// Preview is the result of merging head into target, made without touching any
// ref. It is what is shown, checked and approved.
type Preview struct {
	Target     string     `json:"target"`      // branch
	TargetOID  string     `json:"target_oid"`  // where it stood
	Head       string     `json:"head"`        // commit
	MergeBase  string     `json:"merge_base"`  //
	ResultTree string     `json:"result_tree"` // empty when there are conflicts
	Ahead      int        `json:"ahead"`       // commits of head not in target
	Behind     int        `json:"behind"`      // commits of target not in head
	Conflicts  []Conflict `json:"conflicts,omitempty"`
	UpToDate   bool       `json:"up_to_date"`          // head adds nothing
	Unrelated  bool       `json:"unrelated,omitempty"` // no common commit: cannot be merged
}

// Conflict is one path that needs a person.
type Conflict struct {
	Path   string   `json:"path"`
	Kinds  []string `json:"kinds"` // content, add/add, modify/delete, rename …
	Stages []string `json:"stages"`
}

// Identity signs commits made by the host.
type Identity struct {
	Name  string
	Email string
}

// Entry is one entry of a tree.
type Entry struct {
	Path string      `json:"path"`
	Raw  []byte      `json:"-"`
	Mode string      `json:"mode"`
	Kind string      `json:"kind"` // blob, symlink, submodule
	OID  string      `json:"oid"`
	Size int64       `json:"size"`
	Perm fs.FileMode `json:"-"`
}
