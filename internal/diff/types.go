package diff

// Set is a lossless diff between two trees.
type Set struct {
	From  string `json:"from"` // object ids of the trees or commits compared
	To    string `json:"to"`
	Files []File `json:"files"`
	// Truncated is set when content was left out because a cap was reached; the
	// list of files is always whole.
	Truncated bool `json:"truncated"`
	Added     int  `json:"added"`   // lines
	Deleted   int  `json:"deleted"` // lines
}

// File is one changed path. Names are raw bytes: Path is the name when it is
// valid UTF-8, else its escaped form, and PathRaw holds the bytes.
type File struct {
	Path       string `json:"path"`
	PathRaw    []byte `json:"path_raw,omitempty"`
	OldPath    string `json:"old_path,omitempty"` // renames and copies
	OldPathRaw []byte `json:"old_path_raw,omitempty"`
	Status     string `json:"status"` // added, deleted, modified, renamed, copied, type-changed
	OldMode    string `json:"old_mode"`
	NewMode    string `json:"new_mode"`
	OldOID     string `json:"old_oid"`
	NewOID     string `json:"new_oid"`
	Kind       string `json:"kind"`       // text, binary, symlink, submodule, lfs
	Similarity int    `json:"similarity"` // percent, renames and copies
	OldSize    int64  `json:"old_size"`
	NewSize    int64  `json:"new_size"`
	Added      int    `json:"added"`
	Deleted    int    `json:"deleted"`
	Hunks      []Hunk `json:"hunks"`
	Truncated  bool   `json:"truncated"`
	// Warnings are codes of the closed list of constants Warn….
	Warnings []string `json:"warnings,omitempty" doc:"codes of a closed list: name-bidi, name-hidden, name-mixed-script, name-not-utf8, name-twin, bidi, nul, not-utf8, control, attributes-driver, submodules, symlink-outside, lfs-not-pointer"`
}

// Name is the path as it is in the tree: raw bytes.
func (f *File) Name() string { return raw(f.Path, f.PathRaw) }

// Hunk is a run of lines; line numbers are 1-based.
type Hunk struct {
	OldStart int    `json:"old_start"`
	OldLines int    `json:"old_lines"`
	NewStart int    `json:"new_start"`
	NewLines int    `json:"new_lines"`
	Section  string `json:"section,omitempty"`
	Lines    []Line `json:"lines"`
}

// Line is one line of a hunk. Text has no line end; CR is kept in Text.
type Line struct {
	Op    string `json:"op"` // " ", "+", "-"
	Text  string `json:"text"`
	NoEOL bool   `json:"no_eol,omitempty"` // "\ No newline at end of file" follows
	Raw   []byte `json:"raw,omitempty"`    // the bytes, where Text is escaped because they are not UTF-8
	// Truncated is set when the line is longer than what is shown of it.
	Truncated bool `json:"truncated,omitempty"`
}
