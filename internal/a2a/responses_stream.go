package a2a

import (
	"strings"

	"github.com/tidwall/gjson"
)

func (d responses) stream() stream {
	return &responsesStream{d: d, at: map[int64]*responsesItem{}}
}

// responsesStream gathers the items of an answer. The last event has all of
// them again; where it is missing, each item is what its own events say.
type responsesStream struct {
	d     responses
	sofar said
	items []*responsesItem
	at    map[int64]*responsesItem // by output index
	last  gjson.Result             // the whole response
}

// responsesItem is an item while its events come.
type responsesItem struct {
	start, done gjson.Result
	pieces      []*responsesPiece
	at          map[string]*responsesPiece
	input       strings.Builder
}

// responsesPiece is one text of an item.
type responsesPiece struct {
	kind PartKind
	text strings.Builder
}

func (s *responsesStream) event(doc gjson.Result) {
	switch kind := doc.Get("type").String(); kind {
	case "response.created", "response.in_progress", "response.queued":
		s.sofar.id, s.sofar.model = doc.Get("response.id").String(), doc.Get("response.model").String()
	case "response.completed", "response.incomplete", "response.failed":
		s.last, s.sofar.whole = doc.Get("response"), true
	case "error":
		s.sofar.failure = &Failure{Type: strings.Clone(doc.Get("code").String()), Message: strings.Clone(doc.Get("message").String()), raw: doc.Raw}
		if f := failureOf(doc); f != nil {
			s.sofar.failure = f
		}
	case "response.output_item.added":
		s.item(doc).start = doc.Get("item")
	case "response.output_item.done":
		s.item(doc).done = doc.Get("item")
	default:
		if strings.HasSuffix(kind, ".delta") {
			s.item(doc).grow(s.d, kind, doc)
		} else if f := failureOf(doc); f != nil {
			s.sofar.failure = f
		}
	}
}

func (s *responsesStream) item(doc gjson.Result) *responsesItem {
	index := doc.Get("output_index").Int()
	it := s.at[index]
	if it == nil {
		it = &responsesItem{at: map[string]*responsesPiece{}}
		if s.d.take() {
			s.at[index] = it
			s.items = append(s.items, it)
		}
	}
	return it
}

func (it *responsesItem) grow(d responses, kind string, doc gjson.Result) {
	delta := doc.Get("delta").String()
	switch kind {
	case "response.output_text.delta":
		it.piece(d, PartText, doc.Get("content_index").Raw, delta)
	case "response.refusal.delta":
		it.piece(d, PartDeclined, doc.Get("content_index").Raw, delta)
	case "response.reasoning_summary_text.delta":
		it.piece(d, PartThinking, "summary "+doc.Get("summary_index").Raw, delta)
	case "response.reasoning_text.delta":
		it.piece(d, PartThinking, "text "+doc.Get("content_index").Raw, delta)
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta", "response.mcp_call_arguments.delta", "response.code_interpreter_call_code.delta":
		it.input.WriteString(delta)
	}
}

func (it *responsesItem) piece(d responses, kind PartKind, index, delta string) {
	key := string(kind) + " " + index
	p := it.at[key]
	if p == nil {
		if !d.take() {
			return
		}
		p = &responsesPiece{kind: kind}
		it.at[key] = p
		it.pieces = append(it.pieces, p)
	}
	p.text.WriteString(delta)
}

func (it *responsesItem) id() string {
	if it.done.Exists() {
		return it.done.Get("id").String()
	}
	return it.start.Get("id").String()
}

// parts is the item: whole where its end was seen, else what came of it.
func (it *responsesItem) parts(d responses) (parts []Part) {
	if it.done.Exists() {
		return d.said(it.done)
	}
	for _, p := range it.pieces {
		parts = append(parts, textPart(p.kind, p.text.String()))
	}
	if len(parts) > 0 {
		return parts
	}
	parts = d.said(it.start)
	if input := it.input.String(); input != "" && len(parts) > 0 {
		info := parts[0].Metadata.Info
		if it.start.Get("type").String() == "custom_tool_call" {
			*parts[0].Text = input
		} else if info.Kind == PartToolUse || info.Kind == PartServerUse {
			parts[0] = usePart(info.Kind, info.ID, info.Name, input)
		}
		parts[0].Metadata.Info.Partial = true
	}
	return parts
}

func (s *responsesStream) said() said {
	a := s.sofar
	if s.last.Get("output.0").Exists() {
		whole := s.d.answer(s.last)
		whole.whole = true
		return whole
	}
	for _, it := range s.items {
		a.add(it.id(), it.parts(s.d))
	}
	if s.last.Exists() {
		end := said{id: s.last.Get("id").String(), model: s.last.Get("model").String(), failure: failureOf(s.last), parts: a.parts, items: a.items}
		end.finish(s.last)
		end.whole = true
		return end
	}
	return a
}
