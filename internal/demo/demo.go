// Package demo is the small job that `moeca demo` and the first run perform
// without a key: a repository of units of measure, a task whose part the
// scripted model plays, and a CI gate that needs the base image only.
//
// The repository holds a table of units (units.csv), a page that documents
// them (docs/units.md), and the gate (ci/check), a static program committed
// with it. The gate reads both files and fails when they disagree, so a change
// of one file without the other does not pass. Nothing here is special to the
// product: repository, task and gate go through the same doors as a person's.
package demo

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"moeca/internal/board"
	"moeca/internal/git"
)

//go:embed README.demo.md
var readme []byte

//go:embed units.csv
var unitsCSV []byte

//go:embed units.md
var unitsMD []byte

// GateLabel says what the demo's CI gate is.
const GateLabel = "a static test program in the base image"

// Gate is the demo's CI gate.
func Gate() board.Gate {
	return board.Gate{Policy: "base", Argv: []string{"./ci/check"}, Timeout: 60}
}

// CreateRepository makes the demo repository at dir. check is the path of the
// gate's program.
func CreateRepository(ctx context.Context, dir, check string) error {
	program, err := os.ReadFile(check)
	if err != nil {
		return fmt.Errorf("demo: the gate's program is missing: %w; build it with `make build`", err)
	}
	files := []git.NewFile{
		{Path: "README.md", Content: readme},
		{Path: "ci/check", Content: program, Executable: true},
		{Path: "docs/units.md", Content: unitsMD},
		{Path: "units.csv", Content: unitsCSV},
	}
	who := git.Identity{Name: "moeca demo", Email: "demo@moeca.invalid"}
	if _, err := git.Create(ctx, dir, "main", files, "Begin the table of units", who, time.Now()); err != nil {
		return fmt.Errorf("demo: make repository: %w", err)
	}
	return nil
}

// step is one turn of the scripted model.
type step struct {
	Text  string `json:"text"`
	Calls []call `json:"calls,omitempty"`
}

type call struct {
	Tool  string `json:"tool"`
	Input any    `json:"input"`
}

// Task is the demo's task. The part the scripted model plays stands in the
// detail, where a person can read it.
func Task(repoID string) board.NewTask {
	return board.NewTask{
		RepoID: repoID, Title: "Add the nautical mile",
		Detail: "Add the nautical mile (nmi, 1852 m) to units.csv and document it in docs/units.md.\n\n" +
			"The scripted model plays this part:\n\n```moeca-script\n" + script() + "```\n",
		Template: "solo", Provider: "demo",
	}
}

func script() string {
	type edit struct {
		Path string `json:"path"`
		Old  string `json:"old"`
		New  string `json:"new"`
	}
	const csvRow, mdRow = "mile,mi,1609.344\n", "| mile | mi | 1609.344 m |\n"
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	_ = enc.Encode(map[string]any{ // a map of strings and plain structs always encodes
		"steps": []step{
			{Text: "I look at what is there.", Calls: []call{{"list_files", map[string]string{"path": "."}}}},
			{Text: "I read the table and its page.", Calls: []call{
				{"read_file", map[string]string{"path": "units.csv"}},
				{"read_file", map[string]string{"path": "docs/units.md"}},
			}},
			{Text: "I add the unit to both, so that they agree.", Calls: []call{
				{"edit_file", edit{"units.csv", csvRow, csvRow + "nautical mile,nmi,1852\n"}},
				{"edit_file", edit{"docs/units.md", mdRow, mdRow + "| nautical mile | nmi | 1852 m |\n"}},
			}},
		},
		"final": "Added the nautical mile to units.csv and docs/units.md.",
	})
	return out.String()
}
