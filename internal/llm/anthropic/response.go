package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"moeca/internal/llm"
)

// Wire shapes of an answer.
type (
	answer struct {
		ID         string        `json:"id"`
		Type       string        `json:"type"`
		Role       string        `json:"role"`
		Model      string        `json:"model"`
		Content    []answerBlock `json:"content"`
		StopReason string        `json:"stop_reason"`
		Usage      usage         `json:"usage"`
	}
	answerBlock struct {
		Type      string          `json:"type"`
		Text      string          `json:"text"`
		Thinking  string          `json:"thinking"`
		Signature string          `json:"signature"`
		Data      string          `json:"data"`
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Input     json.RawMessage `json:"input"`
	}
	usage struct {
		Input      *int64 `json:"input_tokens"`
		Output     *int64 `json:"output_tokens"`
		CacheRead  *int64 `json:"cache_read_input_tokens"`
		CacheWrite *int64 `json:"cache_creation_input_tokens"`
	}
)

func bad(format string, args ...any) error {
	return &llm.Error{Class: llm.ClassAnswer, Message: fmt.Sprintf(format, args...)}
}

func decodeMessage(body io.Reader) (*llm.Response, error) {
	raw, err := io.ReadAll(body)
	if err != nil {
		return nil, fmt.Errorf("anthropic: read answer: %w", err)
	}
	var a answer
	if err := json.Unmarshal(raw, &a); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) && syntax.Offset >= int64(len(raw)) {
			// It broke off; asking again may help.
			return nil, &llm.Error{Class: llm.ClassNetwork, Message: "the answer broke off"}
		}
		return nil, bad("the answer is not a message: %v", err)
	}
	if a.Type != "message" || a.Role != "assistant" {
		return nil, bad("the answer is a %q of role %q", clip(a.Type), clip(a.Role))
	}
	r := &llm.Response{ID: a.ID, Model: a.Model}
	for _, b := range a.Content {
		if err := addBlock(r, b); err != nil {
			return nil, err
		}
	}
	r.Stop, r.Detail = stopOf(a.StopReason)
	a.Usage.addTo(&r.Usage)
	return r, nil
}

// addBlock appends a finished block. Blocks of kinds we did not ask for are
// passed over.
func addBlock(r *llm.Response, b answerBlock) error {
	switch b.Type {
	case "text":
		r.Parts = append(r.Parts, llm.Part{Kind: llm.KindText, Text: b.Text})
	case "thinking":
		r.Parts = append(r.Parts, llm.Part{Kind: llm.KindThinking, Text: b.Thinking, Signature: b.Signature})
	case "redacted_thinking":
		r.Parts = append(r.Parts, llm.Part{Kind: llm.KindThinking, Redacted: b.Data})
	case "tool_use":
		in := bytes.TrimSpace(b.Input)
		if len(in) == 0 {
			in = []byte("{}")
		}
		if b.ID == "" || b.Name == "" {
			return bad("a tool call has no id or no name")
		}
		if in[0] != '{' || !json.Valid(in) {
			return bad("the input of a call of %q is not a JSON object", clip(b.Name))
		}
		r.Parts = append(r.Parts, llm.Part{Kind: llm.KindCall, ID: b.ID, Tool: b.Name, Input: in})
	}
	return nil
}

// addTo takes over what was reported: later figures of a stream replace earlier
// ones, and absent ones leave them.
func (u usage) addTo(out *llm.Usage) {
	for _, f := range []struct {
		from *int64
		to   *int64
	}{{u.Input, &out.Input}, {u.Output, &out.Output}, {u.CacheRead, &out.CacheRead}, {u.CacheWrite, &out.CacheWrite}} {
		if f.from != nil {
			*f.to = max(*f.from, 0)
		}
	}
}
