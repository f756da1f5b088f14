package a2a

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"
	"pgregory.net/rapid"
)

// answerParts reads an answer and draws its parts.
func answerParts(d Dialect, body []byte, cut bool) (parts []Part, whole bool) {
	x := recorded(1, d, targets[d])
	x.Request, x.Response, x.ResponseCut = []byte(`{}`), body, cut
	m := lastMessage(Build([]Exchange{x}))
	return m.Parts, !m.Metadata.Info.Partial
}

func lastMessage(tree Tree) Message {
	history := tree.Contexts[0].Tasks[0].History
	return history[len(history)-1]
}

// streams are all recorded answers in the form of events.
func streams(t testing.TB) map[Dialect][][]byte {
	all := map[Dialect][][]byte{}
	for _, r := range recordings(t) {
		d := r.exchanges[0].Dialect
		for _, forms := range r.forms {
			all[d] = append(all[d], forms["sse"])
		}
	}
	return all
}

// TestLineEndsAndNoise: a stream says the same with other line ends, comments,
// pings, unknown fields of the format, and events of kinds nobody knows.
func TestLineEndsAndNoise(t *testing.T) {
	for d, list := range streams(t) {
		for _, body := range list {
			want, _ := answerParts(d, body, false)
			for name, changed := range map[string][]byte{
				"CRLF":      bytes.ReplaceAll(body, []byte("\n"), []byte("\r\n")),
				"CR":        bytes.ReplaceAll(body, []byte("\n"), []byte("\r")),
				"BOM":       append([]byte("\xef\xbb\xbf"), body...),
				"no space":  bytes.ReplaceAll(body, []byte("\ndata: "), []byte("\ndata:")),
				"comments":  append([]byte(": hello\n\n"), bytes.ReplaceAll(body, []byte("\n\n"), []byte("\n\n:\nid: 7\nretry: 9\n\n"))...),
				"new kinds": append([]byte("data: {\"type\":\"omen\",\"index\":99}\n\n"), body...),
				"no end":    bytes.TrimRight(body, "\n"),
			} {
				got, _ := answerParts(d, changed, false)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s with %s: %s", d, name, diff)
				}
			}
		}
	}
}

// rechunk says an answer in other pieces: each delta of text in pieces of a
// few characters.
func rechunk(t *rapid.T, body []byte) []byte {
	var out strings.Builder
	events(string(body), func(doc gjson.Result) {
		for _, path := range []string{"delta.text", "delta.thinking", "delta.partial_json", "delta.signature", "delta", "choices.0.delta.content", "candidates.0.content.parts.0.text"} {
			text := doc.Get(path)
			if text.Type != gjson.String || text.Str == "" || strings.Count(doc.Raw, text.Raw) != 1 || doc.Get("candidates.0.finishReason").Exists() {
				continue
			}
			for rest := []rune(text.Str); len(rest) > 0; {
				n := rapid.IntRange(1, len(rest)).Draw(t, "runes")
				piece, _ := json.Marshal(string(rest[:n]))
				out.WriteString("data: " + strings.Replace(doc.Raw, text.Raw, string(piece), 1) + "\n\n")
				rest = rest[n:]
			}
			return
		}
		out.WriteString("data: " + doc.Raw + "\n\n")
	})
	if bytes.Contains(body, []byte("[DONE]")) {
		out.WriteString("data: [DONE]\n\n")
	}
	return []byte(out.String())
}

// TestPiecesOfAStreamDoNotMatter: a server may send the same words in other
// pieces; the tree is the same.
func TestPiecesOfAStreamDoNotMatter(t *testing.T) {
	all := streams(t)
	rapid.Check(t, func(rt *rapid.T) {
		d := rapid.SampledFrom([]Dialect{Anthropic, Chat, Responses, Gemini}).Draw(rt, "dialect")
		body := rapid.SampledFrom(all[d]).Draw(rt, "body")
		want, _ := answerParts(d, body, false)
		got, _ := answerParts(d, rechunk(rt, body), false)
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("%s: %s", d, diff)
		}
	})
}

// TestCutAnswers: an answer that ends at any byte keeps what came, in order,
// and is marked partial unless all of it had come. No cut adds anything.
func TestCutAnswers(t *testing.T) {
	for _, r := range recordings(t) {
		for i, forms := range r.forms {
			for form, body := range forms {
				d := r.exchanges[i].Dialect
				full, _ := answerParts(d, body, false)
				for n := 0; n < len(body); n += 1 + len(body)/300 {
					got, whole := answerParts(d, body[:n], true)
					if why := beginning(got, full, whole); why != "" {
						t.Fatalf("%s, answer %d as %s, cut at %d of %d: %s\n%s", r.name, i+1, form, n, len(body), why, body[:n])
					}
				}
			}
		}
	}
}

// beginning says why got is not what one can know of full.
func beginning(got, full []Part, whole bool) string {
	if whole && cmp.Diff(full, got) != "" {
		return "not marked partial"
	}
	byKind := map[PartKind][]Part{} // a whole message has its kinds in another order than its bytes
	for _, p := range full {
		byKind[p.Metadata.Info.Kind] = append(byKind[p.Metadata.Info.Kind], p)
	}
	for _, p := range got {
		kind := p.Metadata.Info.Kind
		if kind == PartRaw || kind == PartOther || kind == PartError || p.Metadata.Info.Partial && startsAny(full, p) {
			continue // what a cut part is may stand behind the cut
		}
		if len(byKind[kind]) == 0 {
			return "a part that the whole has not: " + partWords(p)
		}
		full := byKind[kind][0]
		byKind[kind] = byKind[kind][1:]
		if p.Text != nil && full.Text != nil && !strings.HasPrefix(*full.Text, *p.Text) {
			return "a text that the whole has not: " + partWords(p)
		}
	}
	return ""
}

func startsAny(full []Part, p Part) bool {
	return p.Text != nil && slices.ContainsFunc(full, func(f Part) bool { return f.Text != nil && strings.HasPrefix(*f.Text, *p.Text) })
}

// TestCutRequests: the same for requests, whose history must stay in order.
func TestCutRequests(t *testing.T) {
	for _, r := range recordings(t) {
		for _, x := range r.exchanges {
			body := x.Request
			var full []string
			for _, turn := range readRequest(&x).turns {
				full = append(full, string(turn.role))
			}
			for n := range len(body) - 2 {
				x.Request, x.RequestCut = body[:n], true
				q := readRequest(&x)
				if !q.partial {
					t.Fatalf("%s cut at %d: not partial", r.name, n)
				}
				var roles []string
				for _, turn := range q.turns {
					roles = append(roles, string(turn.role))
				}
				if known := max(len(roles)-1, 0); known > len(full) || !slices.Equal(roles[:known], full[:known]) {
					t.Fatalf("%s cut at %d: %v of %v", r.name, n, roles, full)
				}
				Build([]Exchange{x})
			}
		}
	}
}

func TestComplete(t *testing.T) {
	for in, want := range map[string]string{
		`{`: `{}`, `[`: `[]`, `{"a`: `{}`, `{"a"`: `{}`, `{"a":`: `{}`, `{"a":1`: `{}`, `{"a":1,`: `{"a":1}`, `{"a":tr`: `{}`,
		`{"a":"b`: `{"a":"b"}`, `{"a":"`: `{"a":""}`, `{"a":"b\`: `{"a":"b"}`, `{"a":"b\u00`: `{"a":"b"}`, `{"a":"b\u00e9`: `{"a":"b\u00e9"}`,
		`{"a":"b\ud83d`: `{"a":"b"}`, `{"a":"b\ud83d\udc4b`: `{"a":"b\ud83d\udc4b"}`, `{"a":"b\\`: `{"a":"b\\"}`, `{"a":"b\\\`: `{"a":"b\\"}`,
		`[{"a":[1,2`: `[{"a":[1]}]`, `[{"a":[1,"x`: `[{"a":[1,"x"]}]`, `[{"a":1},{"b`: `[{"a":1},{}]`, ` [ "x" , `: ` [ "x"]`,
		``: "!", `"abc`: "!", `12`: "!", `{}x`: "!", `{]`: "!", `nope`: "!", `{"a" 1`: "{}", `[1 2,`: "!", strings.Repeat("[", maxDepth+1): "!",
	} {
		got, used, ok := complete(in)
		if !ok {
			got = "!"
		}
		if got != want || used > len(in) {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// TestCompleteEveryBeginning: each beginning of a document is a document that
// begins the same.
func TestCompleteEveryBeginning(t *testing.T) {
	for _, r := range recordings(t) {
		for _, x := range r.exchanges {
			body := strings.TrimSpace(string(x.Request))
			for n := 1; n < len(body); n++ {
				whole, used, ok := complete(strings.ToValidUTF8(body[:n], ""))
				if !ok || !json.Valid([]byte(whole)) || used > n || whole[:used] != body[:used] {
					t.Fatalf("%s: %s became %s (%d)", r.name, body[:n], whole, used)
				}
			}
		}
	}
}
