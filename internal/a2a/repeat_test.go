package a2a

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// utterance is a message of a made-up conversation: what the user asks, what a tool
// gave (number of the call), or what the agent answered to a request.
type utterance struct {
	agent bool
	text  string
	call  string // id of the tool call it makes or answers
}

// write spells a conversation in a dialect.
func write(d Dialect, list []utterance, mark bool) []byte {
	items := instructions(d)
	for i, m := range list {
		items = append(items, spell(d, m, mark && i == len(list)-1))
	}
	key := map[Dialect]string{Anthropic: "messages", Chat: "messages", Responses: "input", Gemini: "contents"}[d]
	raw, _ := json.Marshal(map[string]any{"a": 1, key: items, "tools": []any{}, "z": d})
	return raw
}

// instructions stand before the messages in the dialects that have them there.
func instructions(d Dialect) []any {
	if d == Chat || d == Responses {
		return []any{obj{"role": "system", "content": "s1"}, obj{"role": "developer", "content": "s2"}}
	}
	return nil
}

type obj = map[string]any

func spell(d Dialect, m utterance, mark bool) any {
	switch d {
	case Anthropic:
		block := obj{"type": "text", "text": m.text}
		if m.call != "" && m.agent {
			block = obj{"type": "tool_use", "id": m.call, "name": "x", "input": obj{"t": m.text}}
		} else if m.call != "" {
			block = obj{"type": "tool_result", "tool_use_id": m.call, "content": m.text}
		}
		if mark {
			block["cache_control"] = obj{"type": "ephemeral"}
		}
		return obj{"role": roleWord(m.agent, "assistant"), "content": []any{block}}
	case Chat:
		if m.call != "" && m.agent {
			return obj{"role": "assistant", "tool_calls": []any{obj{"id": m.call, "function": obj{"name": "x", "arguments": string(quote(m.text))}}}}
		} else if m.call != "" {
			return obj{"role": "tool", "tool_call_id": m.call, "content": m.text}
		}
		return obj{"role": roleWord(m.agent, "assistant"), "content": m.text}
	case Responses:
		if m.call != "" && m.agent {
			return obj{"type": "function_call", "call_id": m.call, "name": "x", "arguments": string(quote(m.text))}
		} else if m.call != "" {
			return obj{"type": "function_call_output", "call_id": m.call, "output": m.text}
		}
		return obj{"role": roleWord(m.agent, "assistant"), "content": m.text}
	}
	part := obj{"text": m.text}
	if m.call != "" && m.agent {
		part = obj{"functionCall": obj{"name": "x", "args": obj{"t": m.text}}}
	} else if m.call != "" {
		part = obj{"functionResponse": obj{"name": "x", "response": obj{"t": m.text}}}
	}
	return obj{"role": roleWord(m.agent, "model"), "parts": []any{part}}
}

func roleWord(agent bool, word string) string {
	if agent {
		return word
	}
	return "user"
}

// answerOf spells one message as an answer.
func answerOf(d Dialect, m utterance) []byte {
	var v any
	switch item := spell(d, m, false).(obj); d {
	case Anthropic:
		v = obj{"content": item["content"], "stop_reason": "end_turn"}
	case Chat:
		v = obj{"choices": []any{obj{"message": item, "finish_reason": "stop"}}}
	case Responses:
		if m.call == "" {
			item["type"], item["content"] = "message", []any{obj{"type": "output_text", "text": m.text}}
		}
		v = obj{"status": "completed", "output": []any{item}}
	default:
		v = obj{"candidates": []any{obj{"content": item, "finishReason": "STOP"}}}
	}
	raw, _ := json.Marshal(v)
	return raw
}

// drawSession is a client that goes on, tries again, branches, sums up, and speaks
// of something else in between; calls may overlap.
func drawSession(t *rapid.T) (list []Exchange) {
	d := rapid.SampledFrom([]Dialect{Anthropic, Chat, Responses, Gemini}).Draw(t, "dialect")
	mark := rapid.Bool().Draw(t, "mark")
	talk := []utterance{{text: "task"}}
	var late []int // exchanges whose outcome is to come
	for seq := int64(1); seq < int64(rapid.IntRange(4, 24).Draw(t, "rows")); seq++ {
		if len(late) > 0 && rapid.Bool().Draw(t, "outcome") {
			list[late[0]].OutcomeSeq, late = seq, late[1:]
			continue
		}
		answer := utterance{agent: true, text: fmt.Sprint("a", rapid.IntRange(0, 3).Draw(t, "answer"))}
		if rapid.Bool().Draw(t, "tool") {
			answer.call = fmt.Sprint("call", seq)
		}
		asked := talk
		switch rapid.SampledFrom([]string{"on", "on", "on", "again", "branch", "compact", "side"}).Draw(t, "step") {
		case "on":
			talk = append(slices.Clone(talk), answer, utterance{text: fmt.Sprint("u", seq), call: answer.call})
		case "branch":
			talk = append(slices.Clone(talk[:rapid.IntRange(1, len(talk)).Draw(t, "keep")]), utterance{text: fmt.Sprint("b", seq)})
		case "compact":
			talk = append([]utterance{{text: "summary"}}, talk[rapid.IntRange(0, len(talk)-1).Draw(t, "from"):]...)
		case "side":
			asked = []utterance{{text: fmt.Sprint("side", seq%2)}}
		}
		x := recorded(seq, d, targets[d])
		x.OutcomeSeq, x.End = 0, x.Time
		x.Request, x.Response = write(d, asked, mark), answerOf(d, answer)
		if x.RequestCut = rapid.IntRange(0, 9).Draw(t, "cut") == 0; x.RequestCut {
			x.Request = x.Request[:len(x.Request)-35] // within the last message
		}
		list, late = append(list, x), append(late, len(list))
	}
	return list
}

// spaced writes each request with another number of spaces at its beginning, so
// that no two have a beginning in common.
func spaced(list []Exchange) []Exchange {
	list = slices.Clone(list)
	for i := range list {
		if body := list[i].Request; len(body) > 0 && body[0] == '{' {
			list[i].Request = append([]byte("{"+strings.Repeat(" ", i)), body[1:]...)
		}
	}
	return list
}

// inRows adds exchanges in the order of their rows and looks in between. Outcomes
// are known before their rows, as Build knows them.
func inRows(list []Exchange) Tree {
	b := NewBuilder()
	for i := range list {
		if x := &list[i]; x.OutcomeSeq > x.Seq {
			b.outcomes[x.Seq] = x
		}
	}
	for row := int64(1); row < 64; row++ {
		for _, x := range list {
			if x.Seq == row {
				b.Add(x.intent())
			} else if x.OutcomeSeq == row {
				b.Add(x)
			}
		}
		b.Tree()
	}
	return b.Tree()
}

// TestSessions: what a session becomes does not depend on whether repeated
// history was read again, on the order in which exchanges are given, or on
// when they are.
func TestSessions(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		list := drawSession(rt)
		want := asJSON(t, Build(list))
		other := slices.Clone(list)
		slices.Reverse(other)
		for name, tree := range map[string]Tree{"read whole": Build(spaced(list)), "reversed": Build(other), "row by row": inRows(list)} {
			if got := asJSON(t, tree); !bytes.Equal(want, got) {
				rt.Fatalf("%s: %s\n%s", name, cmp.Diff(string(want), string(got)), outline(Build(list)))
			}
		}
		sound(t, list)
	})
}

// TestRepeatedHistoryIsNotReadAgain: of a request that goes on, only what is new
// is read, and its places are those of the whole body.
func TestRepeatedHistoryIsNotReadAgain(t *testing.T) {
	for _, d := range []Dialect{Anthropic, Chat, Responses, Gemini} {
		s := newSession("s", &task{}, func(int64) *Exchange { return nil })
		talk := []utterance{{text: "task"}, {agent: true, text: "ä", call: "c1"}, {text: "r", call: "c1"}}
		ask := func(mark bool) asked {
			x := recorded(int64(len(talk)), d, targets[d])
			x.Request = write(d, talk, mark)
			q, _ := s.read(&x)
			lead := len(instructions(d))
			for i, e := range q.elements[lead:] {
				want, _ := json.Marshal(spell(d, talk[i], mark && i == len(talk)-1))
				if got := string(x.Request[e.start:e.end]); got != string(want) {
					t.Errorf("%s: element %d stands at %q", d, i, got)
				}
			}
			s.ask(&x)
			return q
		}
		if q := ask(true); len(q.turns) != 3 {
			t.Errorf("%s: %d turns of the first request", d, len(q.turns))
		}
		talk = append(talk, utterance{agent: true, text: "done"}, utterance{text: "more"})
		known := map[bool]int{true: 2, false: 4}[d != Anthropic] // the cache mark of the first request moved on
		if q := ask(true); len(q.turns) != known || len(q.elements) != 5+len(instructions(d)) {
			t.Errorf("%s: %d turns and %d elements of the second request", d, len(q.turns), len(q.elements))
		}
		talk = append(talk, utterance{agent: true, text: "yes"}, utterance{text: "end"})
		ask(false)
	}
}
