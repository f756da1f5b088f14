package scripted

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// job is the default behaviour: look, read one document, change two files, sum
// up. Every step is decided from the calls made so far and their answers.
type job struct {
	title string
	req   *request
	calls []call
}

func newJob(r *request) job {
	return job{title: titleOf(r.prompt()), req: r, calls: r.calls()}
}

func (j job) next() Step {
	switch {
	case j.req.granted("list_files") && !j.called("list_files"):
		return j.act("I look at the tree first.", "list_files", map[string]any{})
	case j.req.granted("read_file") && !j.called("read_file") && j.document() != "":
		return j.act("Then I read "+j.document()+".", "read_file", map[string]any{"path": j.document()})
	case j.changed() < 2 && j.tries() < 2:
		if s, ok := j.change(); ok {
			return s
		}
	}
	return Step{Text: j.summary(), StopReason: "end_turn"}
}

// change edits the document that was read, where it can be, and creates new
// files until two are changed.
func (j job) change() (Step, bool) {
	s := Step{Text: "Now I make the changes."}
	missing := 2 - j.changed()
	if name, old, eol, ok := j.anchor(); ok && j.tries() == 0 {
		section := old + eol + eol + "## " + j.title + eol + eol +
			"Noted by the scripted model while it worked on this task." + eol
		s.Calls = append(s.Calls, newCall("edit_file", map[string]any{"path": name, "old": old, "new": section}))
		missing--
	}
	if j.req.granted("write_file") {
		for _, name := range j.freshNames(missing) {
			s.Calls = append(s.Calls, newCall("write_file", map[string]any{"path": name, "content": j.notes()}))
		}
	}
	return s, len(s.Calls) > 0
}

func (j job) act(text, tool string, input map[string]any) Step {
	return Step{Text: text, Calls: []Call{newCall(tool, input)}}
}

func newCall(tool string, input map[string]any) Call {
	raw, err := json.Marshal(input)
	if err != nil { // strings only: it always encodes
		panic(err)
	}
	return Call{Tool: tool, Input: raw}
}

func (j job) called(tool string) bool {
	return slices.ContainsFunc(j.calls, func(c call) bool { return c.tool == tool })
}

func isChange(c call) bool { return c.tool == "edit_file" || c.tool == "write_file" }

// changed counts the changes that worked.
func (j job) changed() (n int) {
	for _, c := range j.calls {
		if isChange(c) && !c.failed {
			n++
		}
	}
	return n
}

// tries is 0 before the first change, 1 after it, 2 once a failed one was made
// good.
func (j job) tries() (n int) {
	turns := map[int]bool{}
	for i, m := range j.req.Messages {
		for _, b := range m.Content {
			if b.Type == "tool_use" && (b.Name == "edit_file" || b.Name == "write_file") {
				turns[i] = true
			}
		}
	}
	return len(turns)
}

var listed = regexp.MustCompile(`^([^"\[].*) \((\d+) bytes\)$`)

// files are the paths of the listing, as list_files writes them.
func (j job) files() []string {
	var out []string
	for _, c := range j.calls {
		if c.tool != "list_files" || c.failed {
			continue
		}
		for line := range strings.Lines(c.result) {
			if m := listed.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil {
				out = append(out, m[1])
			}
		}
	}
	return out
}

// document is the file worth reading first: the README, else the first text
// near the top of the tree.
func (j job) document() string {
	best, rank := "", 4
	for _, f := range j.files() {
		r := 3
		switch ext := strings.ToLower(path.Ext(f)); {
		case path.Dir(f) == "." && strings.HasPrefix(strings.ToLower(f), "readme") && prose(f):
			r = 0
		case path.Dir(f) == "." && prose(f):
			r = 1
		case prose(f):
			r = 2
		case !slices.Contains([]string{".go", ".js", ".ts", ".py", ".rs", ".java", ".c", ".h", ".html", ".css"}, ext):
			continue
		}
		if r < rank {
			best, rank = f, r
		}
	}
	return best
}

// prose says whether a section of text may be added to a file of this name.
func prose(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown", ".txt":
		return true
	case "":
		return strings.EqualFold(path.Base(name), "readme")
	}
	return false
}

// anchor is the last line of the document that occurs in it once: the new
// section goes behind it.
func (j job) anchor() (name, line, eol string, ok bool) {
	i := slices.IndexFunc(j.calls, func(c call) bool { return c.tool == "read_file" && !c.failed })
	if i < 0 || !j.req.granted("edit_file") {
		return "", "", "", false
	}
	name, _ = j.calls[i].input["path"].(string)
	if !prose(name) {
		return "", "", "", false
	}
	text, eol := j.calls[i].result, "\n"
	if strings.Contains(text, "\r\n") {
		eol = "\r\n"
	}
	lines := strings.Split(text, "\n")
	for _, l := range slices.Backward(lines) {
		l = strings.TrimRight(l, "\r")
		if strings.TrimSpace(l) != "" && !strings.HasPrefix(l, "[") && strings.Count(text, l) == 1 {
			return name, l, eol, true
		}
	}
	return "", "", "", false
}

// freshNames are n names that the listing does not have.
func (j job) freshNames(n int) []string {
	taken := map[string]bool{}
	for _, f := range j.files() {
		taken[strings.ToLower(f)] = true
	}
	for _, c := range j.calls {
		if p, ok := c.input["path"].(string); ok && isChange(c) {
			taken[strings.ToLower(p)] = true
		}
	}
	var out []string
	candidates := []string{"NOTES.md", "README.md"}
	for i := 0; len(out) < n; i++ {
		name := fmt.Sprintf("NOTES-%d.md", i)
		if i < len(candidates) {
			name = candidates[i]
		}
		if !taken[strings.ToLower(name)] {
			out = append(out, name)
		}
	}
	return out
}

func (j job) notes() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Notes: %s\n\nWritten by the scripted model.\n\n", j.title)
	fmt.Fprintf(&b, "- files seen: %d\n", len(j.files()))
	for _, c := range j.calls {
		if p, ok := c.input["path"].(string); ok && c.tool == "read_file" && !c.failed {
			fmt.Fprintf(&b, "- read: %s, %d lines\n", p, strings.Count(c.result, "\n"))
		}
	}
	return b.String()
}

// summary says what was done, and what was not.
func (j job) summary() string {
	var did, not []string
	for _, c := range j.calls {
		p, _ := c.input["path"].(string)
		switch {
		case !isChange(c):
		case c.failed:
			not = append(not, p)
		case c.tool == "edit_file":
			did = append(did, "added a section to "+p)
		default:
			did = append(did, "wrote "+p)
		}
	}
	text := "Task: " + j.title + "\n\n"
	if len(did) == 0 {
		text += "I changed nothing."
	} else {
		text += "I " + strings.Join(did, " and ") + "."
	}
	if len(not) > 0 {
		text += " I could not change " + strings.Join(not, " and ") + "."
	}
	return text + " This was the scripted model: it follows a fixed job and understands nothing."
}

// titleOf is the first line of a prompt that says something.
func titleOf(prompt string) string {
	for line := range strings.Lines(prompt) {
		line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "#"))
		if rest, ok := strings.CutPrefix(line, "Task:"); ok {
			line = strings.TrimSpace(rest)
		}
		line = strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return -1
			}
			return r
		}, line)
		if line == "" {
			continue
		}
		if r := []rune(line); len(r) > 72 {
			line = strings.TrimSpace(string(r[:71])) + "…"
		}
		return line
	}
	return "untitled"
}
