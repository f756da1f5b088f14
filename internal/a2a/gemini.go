package a2a

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// gemini reads the generateContent dialect. Its JSON may spell names in camel
// case or with underscores.
type gemini struct{ *room }

func (d gemini) request(doc gjson.Result, q *asked) {
	system := either(doc, "systemInstruction", "system_instruction")
	if q.system = d.parts(system.Get("parts")); system.Type == gjson.String {
		q.system = []Part{textPart(PartText, system.Str)}
	}
	q.tools = compact(doc.Get("tools").Raw)
	contents := doc.Get("contents")
	if contents.IsObject() {
		d.turn(q, contents)
	}
	d.each(contents, func(c gjson.Result) {
		d.turn(q, c)
		q.read(c)
	})
}

func (d gemini) turn(q *asked, c gjson.Result) {
	role, origin := roleOf(c, "model")
	parts := c.Get("parts")
	if parts.IsObject() {
		q.add(role, origin, d.part(parts))
		return
	}
	q.add(role, origin, d.parts(parts))
}

// either returns the value under the first of two names that is there.
func either(v gjson.Result, a, b string) gjson.Result {
	if r := v.Get(a); r.Exists() {
		return r
	}
	return v.Get(b)
}

func (d gemini) parts(list gjson.Result) (parts []Part) {
	d.each(list, func(p gjson.Result) { parts = append(parts, d.part(p)...) })
	return parts
}

func (d gemini) part(v gjson.Result) []Part {
	parts := d.bare(v)
	if signature := either(v, "thoughtSignature", "thought_signature").String(); signature != "" {
		parts[0].Metadata.Info.Signature = signature
	}
	return parts
}

func (d gemini) bare(v gjson.Result) []Part {
	if text := v.Get("text"); text.Type == gjson.String {
		if v.Get("thought").Bool() {
			return []Part{textPart(PartThinking, text.Str)}
		}
		return []Part{textPart(PartText, text.Str)}
	}
	if f := either(v, "inlineData", "inline_data"); f.IsObject() {
		p := filePart(either(f, "mimeType", "mime_type").String(), f.Get("data").String())
		p.Filename = either(f, "displayName", "display_name").String()
		return []Part{p}
	}
	if f := either(v, "fileData", "file_data"); f.IsObject() {
		return []Part{urlPart(either(f, "mimeType", "mime_type").String(), either(f, "fileUri", "file_uri").String())}
	}
	if f := either(v, "functionCall", "function_call"); f.IsObject() {
		return []Part{usePart(PartToolUse, f.Get("id").String(), f.Get("name").String(), f.Get("args").Raw)}
	}
	if f := either(v, "functionResponse", "function_response"); f.IsObject() {
		return d.response(f)
	}
	return d.server(v)
}

func (d gemini) response(f gjson.Result) []Part {
	inner := f.Get("response")
	parts := []Part{dataPart(PartToolResult, inner.Raw)}
	d.each(f.Get("parts"), func(v gjson.Result) {
		if either(v, "functionResponse", "function_response").Exists() { // no response is inside another
			parts = append(parts, otherPart(v))
		} else {
			parts = append(parts, d.part(v)...)
		}
	})
	return results(PartToolResult, f.Get("id").String(), f.Get("name").String(), inner.Get("error").Exists(), parts)
}

// server reads what the provider's own tools did.
func (d gemini) server(v gjson.Result) []Part {
	if f := either(v, "executableCode", "executable_code"); f.IsObject() {
		return []Part{usePart(PartServerUse, f.Get("id").String(), "code_execution", f.Raw)}
	}
	if f := either(v, "codeExecutionResult", "code_execution_result"); f.IsObject() {
		outcome := f.Get("outcome").String()
		return results(PartServerResult, f.Get("id").String(), "code_execution", outcome != "OUTCOME_OK", []Part{dataPart(PartServerResult, f.Raw)})
	}
	if f := either(v, "toolCall", "tool_call"); f.IsObject() {
		return []Part{usePart(PartServerUse, f.Get("id").String(), either(f, "toolType", "tool_type").String(), f.Get("args").Raw)}
	}
	if f := either(v, "toolResponse", "tool_response"); f.IsObject() {
		name := either(f, "toolType", "tool_type").String()
		return results(PartServerResult, f.Get("id").String(), name, false, []Part{dataPart(PartServerResult, f.Get("response").Raw)})
	}
	return []Part{otherPart(v)}
}

func (d gemini) answer(doc gjson.Result) said {
	s := d.stream()
	s.event(doc)
	return s.said()
}

func (d gemini) stream() stream {
	return &geminiStream{d: d, at: map[int64]*geminiCandidate{}}
}

type geminiStream struct {
	d          gemini
	sofar      said
	candidates []*geminiCandidate
	at         map[int64]*geminiCandidate // by index
}

type geminiCandidate struct {
	index     int64
	parts     []*geminiPart
	grounding string
}

// grounding names what Gemini says beside an answer about its searches.
const grounding = "grounding"

// geminiPart is a part whose text may go on in the next chunk.
type geminiPart struct {
	Part
	text strings.Builder
}

func (s *geminiStream) event(doc gjson.Result) {
	a := &s.sofar
	a.tell(doc, "responseId", "modelVersion")
	if reason := doc.Get("promptFeedback.blockReason").String(); reason != "" {
		a.stop, a.declined, a.whole = reason, true, true
	}
	eachChoice(doc.Get("candidates"), s.candidate)
}

func (s *geminiStream) candidate(index int64, v gjson.Result) {
	c := s.at[index]
	if c == nil {
		if !s.d.take() {
			return
		}
		c = &geminiCandidate{index: index}
		s.at[index] = c
		s.candidates = append(s.candidates, c)
	}
	if list := v.Get("content.parts"); list.IsArray() {
		list.ForEach(func(_, p gjson.Result) bool {
			c.add(s.d, p)
			return true
		})
	}
	if g := v.Get("groundingMetadata"); g.IsObject() && len(g.Raw) > 2 {
		c.grounding = g.Raw
	}
	if stop := v.Get("finishReason").String(); stop != "" && index == 0 {
		s.sofar.stop, s.sofar.whole = stop, true
	}
}

// add appends a part; text goes on where the part before is of the same kind.
func (c *geminiCandidate) add(d gemini, v gjson.Result) {
	signature := either(v, "thoughtSignature", "thought_signature").String()
	if text := v.Get("text"); text.Type == gjson.String && len(c.parts) > 0 {
		kind := PartText
		if v.Get("thought").Bool() {
			kind = PartThinking
		}
		last := c.parts[len(c.parts)-1]
		if info := &last.Metadata.Info; info.Kind == kind && last.Text != nil && (signature == "" || info.Signature == "") {
			last.text.WriteString(text.Str)
			info.Signature += signature
			return
		}
	}
	if !d.take() {
		return
	}
	for _, p := range d.part(v) {
		g := &geminiPart{Part: p}
		if p.Text != nil {
			g.text.WriteString(*p.Text)
		}
		c.parts = append(c.parts, g)
	}
}

// blocked are the reasons to finish by which a provider would not answer.
func blocked(reason string) bool {
	switch reason {
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "IMAGE_SAFETY":
		return true
	}
	return false
}

func (s *geminiStream) said() said {
	a := s.sofar
	a.declined = a.declined || blocked(a.stop)
	slices.SortStableFunc(s.candidates, func(a, b *geminiCandidate) int { return cmp.Compare(a.index, b.index) })
	for i, c := range s.candidates {
		from := len(a.parts)
		for _, g := range c.parts {
			p := g.Part
			if p.Text != nil {
				text := g.text.String()
				p.Text = &text
			}
			a.parts = append(a.parts, p)
		}
		if c.grounding != "" {
			a.parts = append(a.parts, results(PartServerResult, "", grounding, false, []Part{dataPart(PartServerResult, c.grounding)})...)
		}
		for j := from; j < len(a.parts); j++ {
			a.parts[j].Metadata.Info.Choice = i
		}
	}
	return a
}
