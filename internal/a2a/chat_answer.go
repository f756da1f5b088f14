package a2a

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

func (d chat) answer(doc gjson.Result) said {
	s := d.stream().(*chatStream)
	s.chunk(doc, "message")
	return s.said()
}

func (d chat) stream() stream {
	return &chatStream{d: d, at: map[int64]*chatMessage{}}
}

// chatStream gathers the chunks of an answer; one that is not streamed is one
// chunk.
type chatStream struct {
	d       chat
	sofar   said
	choices []*chatMessage
	at      map[int64]*chatMessage // by index
}

func (s *chatStream) event(doc gjson.Result) { s.chunk(doc, "delta") }

func (s *chatStream) chunk(doc gjson.Result, key string) {
	s.sofar.tell(doc, "id", "model")
	eachChoice(doc.Get("choices"), func(index int64, c gjson.Result) {
		m := s.at[index]
		if m == nil {
			m = s.d.newMessage()
			m.index = index
			s.at[index] = m
			s.choices = append(s.choices, m)
		}
		m.grow(c.Get(key))
		if stop := c.Get("finish_reason").String(); stop != "" && index == 0 {
			s.sofar.stop, s.sofar.whole = stop, true
		}
	})
}

func (s *chatStream) said() said {
	a := s.sofar
	slices.SortStableFunc(s.choices, func(a, b *chatMessage) int { return cmp.Compare(a.index, b.index) })
	for i, m := range s.choices {
		parts := m.parts()
		for j := range parts {
			parts[j].Metadata.Info.Choice = i
			a.declined = a.declined || parts[j].Metadata.Info.Kind == PartDeclined
		}
		a.parts = append(a.parts, parts...)
	}
	a.declined = a.declined || a.stop == "content_filter"
	return a
}

// chatMessage is a message of the model, whole or growing.
type chatMessage struct {
	d                        chat
	index                    int64
	blocks                   []Part // content that is a list
	thinking, text, declined strings.Builder
	calls                    []*chatCall
	at                       map[int64]*chatCall // by index
	audio, transcript        strings.Builder
	annotations              []string
}

type chatCall struct {
	id, name string
	custom   bool // its input is text of any form
	input    strings.Builder
}

func (c *chatCall) part() Part {
	if !c.custom {
		return usePart(PartToolUse, c.id, c.name, c.input.String())
	}
	p := textPart(PartToolUse, c.input.String())
	p.Metadata.Info.ID, p.Metadata.Info.Name = c.id, c.name
	return p
}

func (d chat) newMessage() *chatMessage {
	d.take()
	return &chatMessage{d: d, at: map[int64]*chatCall{}}
}

// message reads a message that is whole.
func (d chat) message(m gjson.Result) *chatMessage {
	c := d.newMessage()
	c.grow(m)
	return c
}

func (c *chatMessage) grow(m gjson.Result) {
	if text := m.Get("content"); text.Type == gjson.String {
		c.text.WriteString(text.Str)
	} else {
		c.blocks = append(c.blocks, c.d.content(text, PartText, c.d.block)...)
	}
	for _, key := range []string{"reasoning_content", "reasoning"} {
		if thought := m.Get(key); thought.Type == gjson.String {
			c.thinking.WriteString(thought.Str)
			break
		}
	}
	if words := m.Get("refusal"); words.Type == gjson.String {
		c.declined.WriteString(words.Str)
	}
	place := int64(0)
	m.Get("tool_calls").ForEach(func(_, t gjson.Result) bool {
		if index := t.Get("index"); index.Exists() {
			place = index.Int()
		}
		c.call(place, t)
		place++
		return true
	})
	if f := m.Get("function_call"); f.IsObject() {
		c.function(-1, f)
	}
	c.audio.WriteString(m.Get("audio.data").String())
	c.transcript.WriteString(m.Get("audio.transcript").String())
	m.Get("annotations").ForEach(func(_, a gjson.Result) bool {
		c.annotations = append(c.annotations, a.Raw)
		return true
	})
}

func (c *chatMessage) call(index int64, t gjson.Result) {
	f, custom := t.Get("function"), t.Get("custom")
	if custom.IsObject() {
		f = custom
	}
	call := c.function(index, f)
	if call == nil {
		return
	}
	call.custom = call.custom || custom.IsObject()
	if id := t.Get("id").String(); id != "" {
		call.id = id
	}
}

func (c *chatMessage) function(index int64, f gjson.Result) *chatCall {
	call := c.at[index]
	if call == nil {
		if !c.d.take() {
			return nil
		}
		call = &chatCall{}
		c.at[index] = call
		c.calls = append(c.calls, call)
	}
	if name := f.Get("name").String(); name != "" {
		call.name = name
	}
	for _, key := range []string{"arguments", "input"} {
		call.input.WriteString(f.Get(key).String())
	}
	return call
}

func (c *chatMessage) parts() (parts []Part) {
	if c.thinking.Len() > 0 {
		parts = append(parts, textPart(PartThinking, c.thinking.String()))
	}
	if c.text.Len() > 0 {
		p := textPart(PartText, c.text.String())
		if len(c.annotations) > 0 {
			p.Metadata.Info.Citations = compact("[" + strings.Join(c.annotations, ",") + "]")
		}
		parts = append(parts, p)
	}
	parts = append(parts, c.blocks...)
	if c.declined.Len() > 0 {
		parts = append(parts, textPart(PartDeclined, c.declined.String()))
	}
	for _, call := range c.calls {
		parts = append(parts, call.part())
	}
	if c.audio.Len() > 0 {
		parts = append(parts, filePart("audio", c.audio.String()))
	}
	if c.transcript.Len() > 0 {
		parts = append(parts, textPart(PartText, c.transcript.String()))
	}
	return parts
}
