package a2a

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// day is when recordings begin; row n is written n seconds later.
var day = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// told is an exchange of the Messages dialect whose messages are given as
// "role: text" and whose answer is a text.
func told(seq int64, answer string, messages ...string) Exchange {
	var list []string
	for _, m := range messages {
		role, text, _ := strings.Cut(m, ": ")
		list = append(list, fmt.Sprintf(`{"role":%q,"content":%q}`, role, text))
	}
	x := recorded(seq, Anthropic, "https://api.anthropic.com/v1/messages")
	x.Request = []byte(`{"model":"m","messages":[` + strings.Join(list, ",") + `]}`)
	x.Response = fmt.Appendf(nil, `{"id":"msg_%d","type":"message","role":"assistant","content":[{"type":"text","text":%q}],"stop_reason":"end_turn"}`, seq, answer)
	return x
}

// recorded is an exchange whose outcome is the row after its intent.
func recorded(seq int64, d Dialect, target string) Exchange {
	return Exchange{
		Seq: seq, OutcomeSeq: seq + 1, Time: day.Add(time.Duration(seq) * time.Second), End: day.Add(time.Duration(seq+1) * time.Second),
		Session: "s1", Run: "r1", Stage: "work", Task: "t1", Agent: "coder", Template: "fix",
		Dialect: d, Upstream: "model", Method: "POST", Target: target, Status: 200, Result: "ok", Model: "m",
	}
}

// outline draws the messages of a tree, one a line.
func outline(tree Tree) string {
	var b strings.Builder
	for _, c := range tree.Contexts {
		fmt.Fprintln(&b, "context", c.ContextID)
		outlineTasks(&b, c.Tasks, " ")
	}
	return b.String()
}

func outlineTasks(b *strings.Builder, tasks []Task, indent string) {
	for _, t := range tasks {
		fmt.Fprintln(b, indent+"task", t.ID)
		for _, th := range t.Metadata.Info.Threads {
			fmt.Fprintf(b, "%s thread %d %s parent=%d after=%s kept=%s\n", indent, th.ID, th.Reason, th.Parent, th.After, strings.Join(th.Kept, ","))
		}
		for _, m := range t.History {
			fmt.Fprintln(b, indent+" "+line(m))
		}
		outlineTasks(b, t.Metadata.Info.Tasks, indent+"  ")
	}
}

func line(m Message) string {
	i := m.Metadata.Info
	words := []string{m.MessageID, strings.ToLower(strings.TrimPrefix(string(m.Role), "ROLE_")), string(i.Kind)}
	if i.Thread > 0 {
		words = append(words, fmt.Sprintf("thread=%d", i.Thread))
	}
	for _, f := range []struct {
		word string
		set  bool
	}{{"claimed", i.Claimed}, {"partial", i.Partial}, {"erased", i.Erased}, {"open", i.Open}} {
		if f.set {
			words = append(words, f.word)
		}
	}
	if len(i.Attempts) > 1 {
		words = append(words, fmt.Sprintf("attempts=%d chosen=%d", len(i.Attempts), i.Chosen))
	}
	for _, p := range m.Parts {
		words = append(words, partWords(p))
	}
	return strings.Join(words, " ")
}

func partWords(p Part) string {
	i := p.Metadata.Info
	s := string(i.Kind)
	if i.ID != "" {
		s += "#" + i.ID
	}
	if i.Link != "" {
		s += "→" + i.Link
	}
	if i.Unanswered {
		s += "!"
	}
	if i.Partial {
		s += "~"
	}
	switch {
	case p.Text != nil:
		return fmt.Sprintf("%s(%q)", s, *p.Text)
	case p.Data != nil:
		return s + "(" + string(p.Data) + ")"
	case p.URL != "":
		return s + "(" + p.URL + ")"
	}
	return fmt.Sprintf("%s(%d bytes)", s, len(p.Raw))
}

func check(t *testing.T, name string, exchanges []Exchange, want string) {
	t.Helper()
	got := outline(Build(exchanges))
	if want = strings.TrimSpace(strings.ReplaceAll(want, "\n\t\t", "\n")); strings.TrimSpace(got) != want {
		t.Errorf("%s:\n%s\nwant:\n%s", name, got, want)
	}
}

func TestHistoryIsToldOnce(t *testing.T) {
	check(t, "two requests", []Exchange{
		told(3, "three", "user: one", "assistant: two", "user: more"),
		told(1, "two", "user: one"),
	}, `
		context t1
		 task r1/work
		  thread 1 start parent=0 after= kept=
		  1-1 user message thread=1 text("one")
		  1-answer agent message thread=1 text("two")
		  3-1 user message thread=1 text("more")
		  3-answer agent message thread=1 text("three")`)
}
