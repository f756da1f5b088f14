package tool

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"moeca/internal/llm"
)

// maxFile bounds a file that is written or edited, in bytes.
const maxFile = 4 << 20

//go:embed write_file.md
var writeFileText string

type writeFile struct{ tree *Tree }

func (w *writeFile) Definition() llm.Tool {
	return llm.Tool{Name: "write_file", Description: strings.TrimSpace(writeFileText), Schema: schema([]string{"path", "content"},
		map[string]property{
			"path":    {"string", "File to write, relative to the tree."},
			"content": {"string", "The whole new content of the file."},
		})}
}

func (w *writeFile) Run(_ context.Context, input json.RawMessage) Result {
	var in struct {
		Path    string  `json:"path"`
		Content *string `json:"content"`
	}
	if err := decode(input, &in); err != nil {
		return failure("%v", err)
	}
	if in.Path == "" || in.Content == nil {
		return failure("path and content are required")
	}
	if len(*in.Content) > maxFile {
		return failure("write %q: %d bytes, the limit is %d", in.Path, len(*in.Content), maxFile)
	}
	created, err := w.tree.replace(in.Path, []byte(*in.Content))
	if err != nil {
		return failure("write %q: %v", in.Path, err)
	}
	verb := "replaced"
	if created {
		verb = "created"
	}
	return Result{Text: fmt.Sprintf("%s %s (%d bytes)", verb, in.Path, len(*in.Content))}
}
