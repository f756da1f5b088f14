package scripted

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Model is the name of the one model.
const Model = "scripted-1"

// request is what the server reads of a request. What real clients send besides
// is passed over.
type request struct {
	Model     string    `json:"model"`
	MaxTokens int       `json:"max_tokens"`
	Stream    bool      `json:"stream"`
	Messages  []message `json:"messages"`
	Tools     []struct {
		Name string `json:"name"`
	} `json:"tools"`
}

type message struct {
	Role    string  `json:"role"`
	Content content `json:"content"`
}

// content is a string or a list of blocks; a string becomes one text block.
type content []block

type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   content         `json:"content"`
	IsError   bool            `json:"is_error"`
}

func (c *content) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		*c = content{{Type: "text", Text: text}}
		return nil
	}
	var blocks []block
	if err := json.Unmarshal(raw, &blocks); err != nil {
		return fmt.Errorf("content is neither a string nor a list of blocks: %w", err)
	}
	*c = blocks
	return nil
}

func (c content) text() string {
	var b strings.Builder
	for _, x := range c {
		if x.Type == "text" {
			if b.Len() > 0 {
				b.WriteString("\n")
			}
			b.WriteString(x.Text)
		}
	}
	return b.String()
}

func (r *request) validate() error {
	switch {
	case r.Model == "":
		return errors.New("model: field required")
	case r.MaxTokens < 1:
		return errors.New("max_tokens: must be at least 1")
	case len(r.Messages) == 0:
		return errors.New("messages: at least one message is required")
	case r.Messages[0].Role != "user":
		return errors.New("messages: the first message must be of role user")
	}
	return r.checkResults()
}

// checkResults holds a conversation to the provider's rule: the message after
// calls answers each of them, and nothing else is answered.
func (r *request) checkResults() error {
	open := map[string]bool{}
	for i, m := range r.Messages {
		if m.Role != "user" && m.Role != "assistant" {
			return fmt.Errorf("messages.%d: unexpected role %q", i, m.Role)
		}
		for _, b := range m.Content {
			if b.Type == "tool_result" {
				if m.Role != "user" || !open[b.ToolUseID] {
					return fmt.Errorf("messages.%d: unexpected tool_use_id %q in a tool_result block", i, b.ToolUseID)
				}
				delete(open, b.ToolUseID)
			}
		}
		for id := range open {
			return fmt.Errorf("messages.%d: tool_use %q has no tool_result", i, id)
		}
		for _, b := range m.Content {
			if b.Type == "tool_use" {
				open[b.ID] = true
			}
		}
	}
	for id := range open {
		return fmt.Errorf("messages: tool_use %q has no tool_result", id)
	}
	return nil
}

// turn is the number of assistant turns so far.
func (r *request) turn() int {
	n := 0
	for _, m := range r.Messages {
		if m.Role == "assistant" {
			n++
		}
	}
	return n
}

func (r *request) prompt() string { return r.Messages[0].Content.text() }

func (r *request) granted(tool string) bool {
	for _, t := range r.Tools {
		if t.Name == tool {
			return true
		}
	}
	return false
}

// call is a tool call of the conversation with its answer.
type call struct {
	tool   string
	input  map[string]any
	result string
	failed bool
}

// calls are all calls so far, in order.
func (r *request) calls() []call {
	var out []call
	at := map[string]int{}
	for _, m := range r.Messages {
		for _, b := range m.Content {
			switch b.Type {
			case "tool_use":
				c := call{tool: b.Name}
				if json.Unmarshal(b.Input, &c.input) != nil {
					c.input = nil // an input of another shape has no named values
				}
				at[b.ID] = len(out)
				out = append(out, c)
			case "tool_result":
				if i, ok := at[b.ToolUseID]; ok {
					out[i].result, out[i].failed = b.Content.text(), b.IsError
				}
			}
		}
	}
	return out
}
