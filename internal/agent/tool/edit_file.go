package tool

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"moeca/internal/llm"
)

//go:embed edit_file.md
var editFileText string

type editFile struct{ tree *Tree }

func (e *editFile) Definition() llm.Tool {
	return llm.Tool{Name: "edit_file", Description: strings.TrimSpace(editFileText), Schema: schema([]string{"path", "old", "new"},
		map[string]property{
			"path": {"string", "File to edit, relative to the tree."},
			"old":  {"string", "Text to replace, exactly as it is in the file. It must occur once."},
			"new":  {"string", "Text to put in its place. Empty to delete it."},
		})}
}

func (e *editFile) Run(_ context.Context, input json.RawMessage) Result {
	var in struct {
		Path string  `json:"path"`
		Old  string  `json:"old"`
		New  *string `json:"new"`
	}
	if err := decode(input, &in); err != nil {
		return failure("%v", err)
	}
	switch {
	case in.Path == "" || in.Old == "" || in.New == nil:
		return failure("path, old and new are required, and old is not empty")
	case in.Old == *in.New:
		return failure("edit %q: old and new are the same", in.Path)
	}
	data, err := e.tree.read(in.Path, maxFile)
	if err != nil {
		return failure("edit %q: %v", in.Path, err)
	}
	text := string(data)
	at := strings.Index(text, in.Old)
	switch {
	case at < 0:
		return failure("edit %q: the text to replace is not in the file; read the file and give it exactly", in.Path)
	case strings.Contains(text[at+1:], in.Old):
		return failure("edit %q: the text to replace occurs more than once; give more of what is around it", in.Path)
	}
	text = text[:at] + *in.New + text[at+len(in.Old):]
	if len(text) > maxFile {
		return failure("edit %q: the file would have %d bytes, the limit is %d", in.Path, len(text), maxFile)
	}
	if _, err := e.tree.replace(in.Path, []byte(text)); err != nil {
		return failure("edit %q: %v", in.Path, err)
	}
	line := 1 + strings.Count(text[:at], "\n")
	return Result{Text: fmt.Sprintf("edited %s at line %d (%d bytes now)", in.Path, line, len(text))}
}
