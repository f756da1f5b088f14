package scripted

import (
	"encoding/json"
	"fmt"
	"net/http"
	"unicode/utf8"
)

// pieceLen is the size in bytes of one delta of a stream.
const pieceLen = 48

// signature goes with thinking; a client sends it back and nobody reads it.
const signature = "c2NyaXB0ZWQ="

// answer is one message, ready to be sent either way.
type answer struct {
	id            string
	blocks        []map[string]any
	stop          string
	input, output int
}

// compose makes the message of a step, cut at the request's max_tokens.
func compose(r *request, s Step, requestBytes int) answer {
	key := turnKey(r)
	a := answer{id: "msg_scripted_" + key, stop: s.StopReason, input: tokens(requestBytes)}
	room := r.MaxTokens * 4
	cut := false
	add := func(size int, b map[string]any) bool {
		if cut = cut || size > room; cut {
			return false
		}
		room -= size
		a.blocks = append(a.blocks, b)
		return true
	}
	if s.Thinking != "" {
		add(len(s.Thinking), map[string]any{"type": "thinking", "thinking": s.Thinking, "signature": signature})
	}
	if s.Text != "" && !add(len(s.Text), map[string]any{"type": "text", "text": s.Text}) {
		a.blocks = append(a.blocks, map[string]any{"type": "text", "text": s.Text[:cutAt(s.Text, room)]})
		room = 0
	}
	for i, c := range s.Calls {
		add(len(c.Tool)+len(c.Input), map[string]any{
			"type": "tool_use", "id": fmt.Sprintf("toolu_scripted_%s_%d", key, i), "name": c.Tool, "input": c.Input,
		})
	}
	a.output = max(r.MaxTokens-room/4, 1)
	switch {
	case cut:
		a.stop, a.output = "max_tokens", r.MaxTokens
	case a.stop == "" && len(s.Calls) > 0:
		a.stop = "tool_use"
	case a.stop == "":
		a.stop = "end_turn"
	}
	return a
}

func tokens(bytes int) int { return (bytes + 3) / 4 }

// cutAt is the greatest length up to n that does not split a character.
func cutAt(s string, n int) int {
	n = min(n, len(s))
	for n > 0 && n < len(s) && !utf8.RuneStart(s[n]) {
		n--
	}
	return n
}

func (a answer) usage(output int) map[string]any {
	return map[string]any{
		"input_tokens": a.input, "output_tokens": output,
		"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
	}
}

func (a answer) envelope(content []map[string]any, stop any, output int) map[string]any {
	if content == nil {
		content = []map[string]any{}
	}
	return map[string]any{
		"id": a.id, "type": "message", "role": "assistant", "model": Model,
		"content": content, "stop_reason": stop, "stop_sequence": nil, "usage": a.usage(output),
	}
}

// message is the whole message.
func (a answer) message() map[string]any { return a.envelope(a.blocks, a.stop, a.output) }

// stream sends the message as events.
func (a answer) stream(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	flush := http.NewResponseController(w)
	send := func(kind string, fields map[string]any) bool {
		fields["type"] = kind
		raw, err := json.Marshal(fields)
		if err != nil {
			return false
		}
		if _, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, raw); err != nil {
			return false
		}
		return flush.Flush() == nil
	}
	ok := send("message_start", map[string]any{"message": a.envelope(nil, nil, 1)}) &&
		send("ping", map[string]any{})
	for i := 0; ok && i < len(a.blocks); i++ {
		ok = streamBlock(send, i, a.blocks[i])
	}
	_ = ok && // a client that is gone ends the stream
		send("message_delta", map[string]any{
			"delta": map[string]any{"stop_reason": a.stop, "stop_sequence": nil}, "usage": map[string]any{"output_tokens": a.output},
		}) &&
		send("message_stop", map[string]any{})
}

func streamBlock(send func(string, map[string]any) bool, index int, b map[string]any) bool {
	start, field, kind, text := map[string]any{"type": b["type"]}, "", "", ""
	switch b["type"] {
	case "text":
		start["text"], field, kind = "", "text", "text_delta"
		text, _ = b["text"].(string)
	case "thinking":
		start["thinking"], start["signature"], field, kind = "", "", "thinking", "thinking_delta"
		text, _ = b["thinking"].(string)
	case "tool_use":
		start["id"], start["name"], start["input"] = b["id"], b["name"], map[string]any{}
		field, kind = "partial_json", "input_json_delta"
		raw, _ := b["input"].(json.RawMessage)
		text = string(raw)
	}
	delta := func(d map[string]any) bool {
		return send("content_block_delta", map[string]any{"index": index, "delta": d})
	}
	if !send("content_block_start", map[string]any{"index": index, "content_block": start}) {
		return false
	}
	for text != "" {
		n := max(cutAt(text, pieceLen), 1)
		if !delta(map[string]any{"type": kind, field: text[:n]}) {
			return false
		}
		text = text[n:]
	}
	if b["type"] == "thinking" && !delta(map[string]any{"type": "signature_delta", "signature": signature}) {
		return false
	}
	return send("content_block_stop", map[string]any{"index": index})
}
