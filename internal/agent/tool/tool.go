// Package tool holds what a model may do to a tree: list, read, write and edit
// files. A tool is one .go file with its behaviour and one .md file with the
// text the model reads.
//
// Confinement. Every path goes through Tree, which opens files below one
// os.Root only. A path is cleaned, its symbolic links are resolved component by
// component inside the root, and every component met on the way, of the path as
// given and of what it resolved to, must be allowed: nothing git would treat as
// its own in any spelling, nothing a deny glob names in any case. Only regular
// files are opened, without blocking and without following a link. Files are
// replaced whole through a rename, so that a write never goes through a hard
// link and a reader never sees half of one.
//
// Answers. A tool never fails the loop: what went wrong is told to the model as
// a result marked Error. Results are bounded, and say so when they are cut.
//
// Grants. A Box holds only the tools that were granted; another one does not
// exist in it, neither for the request nor for a call.
//
// Concurrency. A Box belongs to one loop; calls run one after the other.
package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"moeca/internal/llm"
)

// MaxResult bounds the text of one result in bytes.
const MaxResult = 64 << 10

// Result is what the model is told.
type Result struct {
	Text  string
	Error bool
}

// Tool is one thing a model may do. Run gets the input as the model wrote it.
type Tool interface {
	Definition() llm.Tool
	Run(ctx context.Context, input json.RawMessage) Result
}

// Box is the set of granted tools.
type Box struct {
	tools map[string]Tool
	defs  []llm.Tool
}

// New returns the tools named by granted over tree, in the order of Names. A
// name that is unknown is an error: a grant that changes nothing would mislead.
func New(tree *Tree, granted []string) (*Box, error) {
	want := map[string]bool{}
	for _, g := range granted {
		want[g] = true
	}
	b := &Box{tools: map[string]Tool{}}
	for _, t := range []Tool{&listFiles{tree}, &readFile{tree}, &writeFile{tree}, &editFile{tree}} {
		d := t.Definition()
		if want[d.Name] {
			b.tools[d.Name] = t
			b.defs = append(b.defs, d)
			delete(want, d.Name)
		}
	}
	for name := range want {
		return nil, fmt.Errorf("tool: grant %q: there is no such tool; there are %s", name, strings.Join(Names(), ", "))
	}
	return b, nil
}

// Names are the names of all tools there are.
func Names() []string { return []string{"list_files", "read_file", "write_file", "edit_file"} }

// Definitions describe the granted tools.
func (b *Box) Definitions() []llm.Tool { return b.defs }

// Run runs one call.
func (b *Box) Run(ctx context.Context, name string, input json.RawMessage) Result {
	t, ok := b.tools[name]
	if !ok {
		return failure("there is no tool %q here", clip(name, 100))
	}
	if err := ctx.Err(); err != nil {
		return failure("the run is being stopped")
	}
	return t.Run(ctx, input)
}

func failure(format string, args ...any) Result {
	return Result{Text: fmt.Sprintf(format, args...), Error: true}
}

// decode reads a tool's input strictly; the error is written for the model.
func decode(input json.RawMessage, into any) error {
	d := json.NewDecoder(bytes.NewReader(input))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("the input is not what this tool takes: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("the input holds data after its object")
	}
	return nil
}

// clip cuts s after at most n bytes, between characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// schema builds the JSON schema of an object of strings and integers.
func schema(required []string, properties map[string]property) json.RawMessage {
	raw, err := json.Marshal(struct {
		Type       string              `json:"type"`
		Properties map[string]property `json:"properties"`
		Required   []string            `json:"required"`
		Additional bool                `json:"additionalProperties"`
	}{"object", properties, required, false})
	if err != nil { // strings only: it always encodes
		panic(err)
	}
	return raw
}

type property struct {
	Type        string `json:"type"`
	Description string `json:"description"`
}
