package a2a

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// sound checks what holds of every tree, whatever it was made of.
func sound(t testing.TB, exchanges []Exchange) Tree {
	t.Helper()
	tree := Build(exchanges)
	raw, err := json.Marshal(tree)
	if err != nil {
		t.Fatalf("the tree has no JSON: %v", err)
	}
	if again, _ := json.Marshal(Build(exchanges)); string(again) != string(raw) {
		t.Fatal("two trees of the same exchanges differ")
	}
	size := 0
	for _, x := range exchanges {
		size += len(x.Request) + len(x.Response)
	}
	if most := 4096*len(exchanges) + 64*1024 + 400*size; len(raw) > most {
		t.Fatalf("%d bytes became a tree of %d", size, len(raw))
	}
	ids := map[string]bool{}
	messages(tree, func(m Message) {
		if ids[m.MessageID] {
			t.Fatalf("two messages are %s", m.MessageID)
		}
		ids[m.MessageID] = true
	})
	messages(tree, func(m Message) {
		for _, p := range m.Parts {
			if link := p.Metadata.Info.Link; link != "" && !ids[link] {
				t.Fatalf("message %s links to %s, which is not there", m.MessageID, link)
			}
			if contents(p) != 1 {
				t.Fatalf("message %s has a part with %d contents", m.MessageID, contents(p))
			}
		}
	})
	return tree
}

// contents counts what the protocol allows one of.
func contents(p Part) (n int) {
	for _, there := range []bool{p.Text != nil, len(p.Raw) > 0, p.URL != "", len(p.Data) > 0} {
		if there {
			n++
		}
	}
	return n
}

func messages(tree Tree, f func(Message)) {
	var walk func([]Task)
	walk = func(tasks []Task) {
		for _, t := range tasks {
			for _, m := range t.History {
				f(m)
			}
			walk(t.Metadata.Info.Tasks)
		}
	}
	for _, c := range tree.Contexts {
		walk(c.Tasks)
	}
}

// fuzz feeds two exchanges of one session, of which the second may go on with
// the first, and the same answer cut short.
func fuzz(f *testing.F, d Dialect, form string) {
	for _, r := range recordings(f) {
		if r.exchanges[0].Dialect != d {
			continue
		}
		for i, x := range r.exchanges {
			f.Add(x.Request, r.forms[i][form], r.exchanges[len(r.exchanges)-1].Request, len(x.Request)/2)
		}
	}
	f.Fuzz(func(t *testing.T, request, response, next []byte, at int) {
		if len(request)+len(response)+len(next) > 1<<16 {
			return
		}
		a, b, c := recorded(1, d, targets[d]), recorded(3, d, targets[d]), recorded(5, d, targets[d])
		a.Request, a.Response = request, response
		b.Request, b.Response = next, response
		cut := max(0, min(at, len(request)))
		c.Request, c.RequestCut = request[:cut], true
		c.Response, c.ResponseCut = response[:max(0, min(at, len(response)))], true
		sound(t, []Exchange{a, b, c})
		again := []Exchange{a, b}
		if tree := Build(again); !bytes.Contains(asJSON(t, tree), []byte(`"raw"`)) && outline(tree) != outline(Build(spaced(again))) {
			t.Fatalf("read whole it is another tree:\n%s\n%s", outline(tree), outline(Build(spaced(again))))
		}
		Texts(a)
		Texts(c)
	})
}

func FuzzMessages(f *testing.F)        { fuzz(f, Anthropic, "json") }
func FuzzMessagesStream(f *testing.F)  { fuzz(f, Anthropic, "sse") }
func FuzzChat(f *testing.F)            { fuzz(f, Chat, "json") }
func FuzzChatStream(f *testing.F)      { fuzz(f, Chat, "sse") }
func FuzzResponses(f *testing.F)       { fuzz(f, Responses, "json") }
func FuzzResponsesStream(f *testing.F) { fuzz(f, Responses, "sse") }
func FuzzGemini(f *testing.F)          { fuzz(f, Gemini, "json") }
func FuzzGeminiStream(f *testing.F)    { fuzz(f, Gemini, "sse") }
func FuzzGeminiArray(f *testing.F)     { fuzz(f, Gemini, "array") }

// FuzzComplete: what is closed is JSON that begins like what was given.
func FuzzComplete(f *testing.F) {
	f.Add(`{"a":[1,{"b":"\ud83d`)
	f.Fuzz(func(t *testing.T, s string) {
		whole, used, ok := complete(s)
		if ok && (!json.Valid([]byte(whole)) || used > len(s) || whole[:used] != s[:used]) {
			t.Fatalf("%q became %q (%d)", s, whole, used)
		}
	})
}

// hostile are bodies made to cost more than they weigh. n is about how many
// bytes each has.
func hostile(d Dialect, n int) map[string]Exchange {
	x := recorded(1, d, targets[d])
	list := map[Dialect]string{Anthropic: "messages", Chat: "messages", Responses: "input", Gemini: "contents"}[d]
	of := func(item string) []byte {
		return []byte(`{"` + list + `":[` + strings.Repeat(item+",", n/(len(item)+1)) + item + `]}`)
	}
	deep := strings.Repeat("[", n/2) + strings.Repeat("]", n/2)
	all := map[string]Exchange{}
	add := func(name string, request, response []byte) {
		y := x
		y.Request, y.Response = request, response
		all[name] = y
	}
	ask := of(`{"role":"user","content":"x","parts":[{"text":"x"}]}`)[:0]
	ask = append(ask, []byte(`{"`+list+`":[{"role":"user","content":"x","parts":[{"text":"x"}]}]}`)...)
	add("empty messages", of(`{}`), nil)
	add("numbers for messages", of(`1`), nil)
	add("tiny parts", []byte(`{"`+list+`":[{"role":"user","content":[`+strings.Repeat(`"",`, n/3)+`""],"parts":[{}]}]}`), nil)
	add("tiny results", []byte(`{"`+list+`":[{"role":"user","content":[{"type":"tool_result","content":[`+strings.Repeat(`"",`, n/3)+`""]}]}]}`), nil)
	add("deep", []byte(`{"`+list+`":`+deep+`}`), []byte(deep))
	add("deep within the limit", []byte(`{"`+list+`":[{"role":"user","content":[{"type":"x","y":`+strings.Repeat("[", 50)+strings.Repeat("1,", n/2)+"1"+strings.Repeat("]", 50)+`}]}]}`), nil)
	nested := strings.Repeat(`{"type":"tool_result","content":[`, 25) + strings.Repeat(`"a",`, n/4) + `"a"` + strings.Repeat(`]}`, 25)
	add("results in results", []byte(`{"`+list+`":[{"role":"user","content":[`+nested+`]}]}`), nil)
	add("many keys", []byte(`{`+strings.Repeat(`"a":1,`, n/6)+`"`+list+`":[]}`), []byte(`{`+strings.Repeat(`"a":1,`, n/6)+`"b":[]}`))
	for name, event := range map[string]string{
		"block starts": `{"type":"content_block_start","index":0,"content_block":{}}`,
		"text deltas":  `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}`,
		"lost starts":  `{"type":"content_block_delta","index":%d,"delta":{"type":"text_delta","text":"x"}}`,
		"choices":      `{"choices":[{"index":%d,"delta":{"content":"x"},"message":{"content":"x"}}]}`,
		"calls":        `{"choices":[{"delta":{"tool_calls":[{"index":%d,"function":{"arguments":"{"}}]}}]}`,
		"items":        `{"type":"response.output_text.delta","output_index":%d,"content_index":%d,"delta":"x"}`,
		"pieces":       `{"type":"response.output_text.delta","output_index":0,"content_index":%d,"delta":"x"}`,
		"ends":         `{"type":"response.completed","response":{"output":[{"type":"message","content":[]}]}}`,
		"candidates":   `{"candidates":[{"index":%d,"content":{"parts":[{"text":"x"}]}}]}`,
		"parts":        `{"candidates":[{"content":{"parts":[{"text":"x"},{"functionCall":{}}]}}]}`,
		"lines":        `x`,
	} {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			b.WriteString("data: " + strings.ReplaceAll(event, "%d", fmt.Sprint(i)) + "\n\n")
		}
		add("stream of "+name, ask, []byte(b.String()))
	}
	add("stream of empty lines", ask, []byte("data: 1"+strings.Repeat("\n", n)))
	add("stream of one event in many lines", ask, []byte(strings.Repeat("data:\n", n/6)))
	add("array", ask, []byte(`[`+strings.Repeat(`{},`, n/3)+`{}]`))
	add("image", []byte(`{"`+list+`":[{"role":"user","content":[{"type":"image","source":{"type":"base64","data":"`+base64.StdEncoding.EncodeToString(make([]byte, n*3/4))+`"}}]}]}`), nil)
	add("no UTF-8", append(append([]byte(`{"`+list+`":"`), strings.Repeat("\xff", n)...), `"}`...), []byte(strings.Repeat("\xff", n)))
	return all
}

// TestHostileBodiesAreNoWorseThanTheirWeight: memory is in proportion to the
// bytes of a body, and the tree is sound.
func TestHostileBodiesAreNoWorseThanTheirWeight(t *testing.T) {
	const n = 1 << 17
	for _, d := range []Dialect{Anthropic, Chat, Responses, Gemini} {
		for name, x := range hostile(d, n) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			Build([]Exchange{x})
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; used > 160*n+1024*maxPieces {
				t.Errorf("%s, %s: %d MiB were allocated for %d bytes", d, name, used>>20, len(x.Request)+len(x.Response))
			}
			sound(t, []Exchange{x})
		}
	}
}

// TestManyExchanges: a long session costs what its bytes weigh, however its
// requests relate.
func TestManyExchanges(t *testing.T) {
	const n = 800
	for name, request := range map[string]func(i int) []string{
		"the same request":        func(int) []string { return []string{"user: u"} },
		"a branch each time":      func(i int) []string { return []string{"user: u", fmt.Sprint("user: ", i)} },
		"a conversation each":     func(i int) []string { return []string{fmt.Sprint("user: ", i)} },
		"all messages are equal":  func(i int) []string { return strings.Split(strings.Repeat("user: u,", i%50+1)+"user: u", ",") },
		"the last answer is kept": func(i int) []string { return []string{fmt.Sprint("user: ", i), fmt.Sprint("assistant: a", 2*i-1)} },
	} {
		var list []Exchange
		size := 0
		for i := range n {
			x := told(int64(2*i+1), fmt.Sprint("a", 2*i+1), request(i)...)
			size += len(x.Request) + len(x.Response)
			list = append(list, x)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		Build(list)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > uint64(200*size) {
			t.Errorf("%s: %d MiB were allocated for %d bytes", name, used>>20, size)
		}
		sound(t, list)
	}
}
