package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"

	"moeca/internal/llm"
)

// Wire shapes of a request. Field order is that of the encoded body, with what
// changes least first.
type (
	request struct {
		Model     string    `json:"model"`
		MaxTokens int       `json:"max_tokens"`
		Stream    bool      `json:"stream"`
		Tools     []tool    `json:"tools,omitempty"`
		System    []block   `json:"system,omitempty"`
		Messages  []message `json:"messages"`
	}
	tool struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"input_schema"`
		Cache       *cache          `json:"cache_control,omitempty"`
	}
	message struct {
		Role    llm.Role `json:"role"`
		Content []block  `json:"content"`
	}
	block struct {
		Type      string          `json:"type"`
		Text      string          `json:"text,omitempty"`
		Thinking  *string         `json:"thinking,omitempty"` // required, also when empty
		Signature string          `json:"signature,omitempty"`
		Data      string          `json:"data,omitempty"`
		ID        string          `json:"id,omitempty"`
		Name      string          `json:"name,omitempty"`
		Input     json.RawMessage `json:"input,omitempty"`
		ToolUseID string          `json:"tool_use_id,omitempty"`
		Content   *string         `json:"content,omitempty"` // text of a tool result, also when empty
		IsError   bool            `json:"is_error,omitempty"`
		Cache     *cache          `json:"cache_control,omitempty"`
	}
	cache struct {
		Type string `json:"type"`
	}
)

var ephemeral = &cache{Type: "ephemeral"}

// Encode builds the body of a streamed request.
func (Dialect) Encode(r llm.Request) ([]byte, error) {
	out := request{Model: r.Model, MaxTokens: r.MaxTokens, Stream: true}
	for _, t := range r.Tools {
		out.Tools = append(out.Tools, tool{Name: t.Name, Description: t.Description, InputSchema: t.Schema})
	}
	if n := len(out.Tools); n > 0 {
		out.Tools[n-1].Cache = ephemeral
	}
	if r.System != "" {
		out.System = []block{{Type: "text", Text: r.System, Cache: ephemeral}}
	}
	for _, m := range r.Messages {
		blocks, err := encodeParts(m.Parts)
		if err != nil {
			return nil, err
		}
		if len(blocks) > 0 { // the provider refuses a message without content
			out.Messages = append(out.Messages, message{Role: m.Role, Content: blocks})
		}
	}
	markPrefixes(out.Messages)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(out); err != nil {
		return nil, fmt.Errorf("anthropic: encode request: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// markPrefixes marks the end of the last two messages of the user: the newer
// writes the cache, the older is where the last request wrote it.
func markPrefixes(messages []message) {
	left := 2
	for i := len(messages) - 1; i >= 0 && left > 0; i-- {
		if m := messages[i]; m.Role == llm.RoleUser {
			m.Content[len(m.Content)-1].Cache = ephemeral
			left--
		}
	}
}

func encodeParts(parts []llm.Part) ([]block, error) {
	var blocks []block
	for _, p := range parts {
		switch p.Kind {
		case llm.KindText:
			if p.Text != "" { // an empty text block is refused by the provider
				blocks = append(blocks, block{Type: "text", Text: p.Text})
			}
		case llm.KindThinking:
			if p.Redacted != "" {
				blocks = append(blocks, block{Type: "redacted_thinking", Data: p.Redacted})
				continue
			}
			blocks = append(blocks, block{Type: "thinking", Thinking: &p.Text, Signature: p.Signature})
		case llm.KindCall:
			blocks = append(blocks, block{Type: "tool_use", ID: p.ID, Name: p.Tool, Input: p.Input})
		case llm.KindResult:
			blocks = append(blocks, block{Type: "tool_result", ToolUseID: p.ID, Content: &p.Text, IsError: p.Error})
		default:
			return nil, fmt.Errorf("anthropic: encode a part of kind %q", p.Kind)
		}
	}
	return blocks, nil
}
