package a2a

import (
	"strings"

	"github.com/tidwall/gjson"
)

// anthropic reads the Messages dialect.
type anthropic struct{ *room }

func (d anthropic) request(doc gjson.Result, q *asked) {
	q.system = d.content(doc.Get("system"), PartText, d.block)
	q.tools = compact(doc.Get("tools").Raw)
	d.each(doc.Get("messages"), func(m gjson.Result) {
		role, origin := roleOf(m, "assistant")
		q.add(role, origin, d.content(m.Get("content"), PartText, d.block))
		q.read(m)
	})
}

func (d anthropic) answer(doc gjson.Result) said {
	a := said{
		id: doc.Get("id").String(), model: doc.Get("model").String(), failure: failureOf(doc),
		parts: d.content(doc.Get("content"), PartText, d.block),
	}
	a.stop = doc.Get("stop_reason").String()
	a.declined = a.stop == "refusal"
	return a
}

func (d anthropic) block(b gjson.Result) []Part {
	kind := b.Get("type").String()
	id, name := b.Get("id").String(), b.Get("name").String()
	switch kind {
	case "text":
		p := textPart(PartText, b.Get("text").String())
		p.Metadata.Info.Citations = citations(b.Get("citations"))
		return []Part{p}
	case "thinking":
		p := textPart(PartThinking, b.Get("thinking").String())
		p.Metadata.Info.Signature = b.Get("signature").String()
		return []Part{p}
	case "redacted_thinking":
		p := dataPart(PartThinking, string(quote(b.Get("data").String())))
		p.Metadata.Info.Redacted = true
		return []Part{p}
	case "tool_use":
		return []Part{usePart(PartToolUse, id, name, b.Get("input").Raw)}
	case "server_tool_use", "mcp_tool_use":
		return []Part{usePart(PartServerUse, id, name, b.Get("input").Raw)}
	case "tool_result":
		return results(PartToolResult, b.Get("tool_use_id").String(), "", b.Get("is_error").Bool(), d.content(b.Get("content"), PartText, d.inner))
	case "image", "document":
		return []Part{anthropicFile(b)}
	case "compaction":
		return []Part{textPart(PartOther, b.Get("content").String())}
	}
	if tool, ok := strings.CutSuffix(kind, "_tool_result"); ok {
		inner := b.Get("content")
		p := dataPart(PartServerResult, inner.Raw)
		failed := b.Get("is_error").Bool() || strings.HasSuffix(inner.Get("type").String(), "_error")
		return results(PartServerResult, b.Get("tool_use_id").String(), tool, failed, []Part{p})
	}
	return []Part{otherPart(b)}
}

// inner reads a block inside a result, where no result can be.
func (d anthropic) inner(b gjson.Result) []Part {
	if b.Get("type").String() == "tool_result" {
		return []Part{otherPart(b)}
	}
	return d.block(b)
}

func anthropicFile(b gjson.Result) (p Part) {
	source := b.Get("source")
	mediaType := source.Get("media_type").String()
	switch source.Get("type").String() {
	case "base64":
		p = filePart(mediaType, source.Get("data").String())
	case "url":
		p = urlPart(mediaType, source.Get("url").String())
	case "text":
		p = textPart(PartFile, source.Get("data").String())
		p.MediaType = mediaType
	default:
		p = dataPart(PartFile, source.Raw)
	}
	p.Filename = b.Get("title").String()
	return p
}

func (d anthropic) stream() stream { return &anthropicStream{d: d, at: map[int64]*anthropicGrowing{}} }

type anthropicStream struct {
	d      anthropic
	sofar  said
	blocks []*anthropicGrowing
	at     map[int64]*anthropicGrowing // by index
}

// anthropicGrowing is a block while its deltas come.
type anthropicGrowing struct {
	start                  gjson.Result
	text, signature, input strings.Builder
	citations              []string
	ended                  bool
}

func (s *anthropicStream) event(doc gjson.Result) {
	index := doc.Get("index").Int()
	switch doc.Get("type").String() {
	case "message_start":
		s.sofar.id, s.sofar.model = doc.Get("message.id").String(), doc.Get("message.model").String()
	case "content_block_start":
		s.begin(index, doc.Get("content_block"))
	case "content_block_delta":
		g := s.at[index]
		if g == nil { // its start was lost
			g = s.begin(index, gjson.Result{})
		}
		g.grow(doc.Get("delta"))
	case "content_block_stop":
		if g := s.at[index]; g != nil {
			g.ended = true
		}
	case "message_delta":
		if stop := doc.Get("delta.stop_reason").String(); stop != "" {
			s.sofar.stop = stop
		}
	case "message_stop":
		s.sofar.whole = true
	case "error":
		s.sofar.failure = failureOf(doc)
	}
}

func (s *anthropicStream) begin(index int64, block gjson.Result) *anthropicGrowing {
	g := &anthropicGrowing{start: block}
	if !s.d.take() {
		return g
	}
	s.at[index] = g
	s.blocks = append(s.blocks, g)
	return g
}

func (g *anthropicGrowing) grow(delta gjson.Result) {
	kind := delta.Get("type").String()
	if !g.start.Exists() {
		g.start = gjson.Parse(map[string]string{
			"text_delta": `{"type":"text"}`, "thinking_delta": `{"type":"thinking"}`, "input_json_delta": `{"type":"tool_use"}`,
		}[kind])
	}
	switch kind {
	case "text_delta":
		g.text.WriteString(delta.Get("text").String())
	case "thinking_delta":
		g.text.WriteString(delta.Get("thinking").String())
	case "compaction_delta":
		g.text.WriteString(delta.Get("content").String())
	case "signature_delta":
		g.signature.WriteString(delta.Get("signature").String())
	case "input_json_delta":
		g.input.WriteString(delta.Get("partial_json").String())
	case "citations_delta":
		g.citations = append(g.citations, delta.Get("citation").Raw)
	}
}

// parts is the block as it would be in an answer that is not streamed.
func (g *anthropicGrowing) parts(d anthropic) []Part {
	parts := d.block(g.start)
	p := &parts[0]
	if p.Text != nil && g.text.Len() > 0 {
		text := *p.Text + g.text.String()
		p.Text = &text
	}
	info := &p.Metadata.Info
	info.Signature += g.signature.String()
	if len(g.citations) > 0 {
		info.Citations = compact("[" + strings.Join(g.citations, ",") + "]")
	}
	if input := g.input.String(); strings.TrimSpace(input) != "" && (info.Kind == PartToolUse || info.Kind == PartServerUse) {
		*p = usePart(info.Kind, info.ID, info.Name, input)
	}
	if !g.ended {
		p.Metadata.Info.Partial = true
	}
	return parts
}

func (s *anthropicStream) said() said {
	a := s.sofar
	for _, g := range s.blocks {
		a.parts = append(a.parts, g.parts(s.d)...)
	}
	a.declined = a.stop == "refusal"
	return a
}
