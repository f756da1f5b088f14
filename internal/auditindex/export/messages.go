package export

import (
	"encoding/json"

	"moeca/internal/a2a"
	"moeca/internal/auditindex"
)

// message is one of gen_ai.input.messages or gen_ai.output.messages.
type message struct {
	Role   string `json:"role"`
	Parts  []part `json:"parts"`
	Finish string `json:"finish_reason,omitempty"`
}

// part is a part of a message in the conventions' shape.
type part struct {
	Type      string          `json:"type"`
	Content   string          `json:"content,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Response  json.RawMessage `json:"response,omitempty"`
	MIME      string          `json:"mime_type,omitempty"`
}

// said writes what a call said and was answered.
func (t *tracer) said(a *attributes, x exchange) {
	e := auditindex.ExchangeOf(x.first, x.outcome)
	if x.first.Request != nil {
		e.Request, _ = t.log.Body(x.first.Request)
	}
	if x.outcome.Response != nil {
		e.Response, _ = t.log.Body(x.outcome.Response)
	}
	var input, output []message
	var instructions []part
	var finish []string
	for _, c := range a2a.Build([]a2a.Exchange{e}).Contexts {
		for _, task := range c.Tasks {
			for _, m := range task.History {
				info := m.Metadata.Info
				answered := len(info.Attempts) > 0 && info.Kind == a2a.KindMessage
				switch {
				case info.Kind == a2a.KindSystem:
					for _, p := range m.Parts {
						if p.Metadata.Info.Kind == a2a.PartTools {
							a.text("gen_ai.tool.definitions", string(p.Data))
						} else {
							instructions = append(instructions, partOf(p))
						}
					}
				case info.Kind != a2a.KindMessage, len(m.Parts) == 0:
				case answered:
					stop := info.Attempts[info.Chosen].Stop
					output = append(output, message{Role: "assistant", Parts: partsOf(m.Parts), Finish: stop})
					if stop != "" {
						finish = append(finish, stop)
					}
				default:
					input = append(input, message{Role: role(m), Parts: partsOf(m.Parts)})
				}
			}
		}
	}
	a.list("gen_ai.response.finish_reasons", finish)
	a.document("gen_ai.system_instructions", instructions, len(instructions))
	a.document("gen_ai.input.messages", input, len(input))
	a.document("gen_ai.output.messages", output, len(output))
}

// document writes JSON as text, as the conventions ask for where a backend has
// no structured attributes.
func (a *attributes) document(key string, v any, n int) {
	if n == 0 {
		return
	}
	if raw, err := json.Marshal(v); err == nil {
		a.text(key, string(raw))
	}
}

func role(m a2a.Message) string {
	if m.Role == a2a.RoleAgent {
		return "assistant"
	}
	for _, p := range m.Parts {
		if p.Metadata.Info.Kind == a2a.PartToolResult {
			return "tool"
		}
	}
	return "user"
}

func partsOf(parts []a2a.Part) []part {
	out := []part{}
	for _, p := range parts {
		out = append(out, partOf(p))
	}
	return out
}

func partOf(p a2a.Part) part {
	info := p.Metadata.Info
	q := part{Type: string(info.Kind)}
	text := string(p.Data)
	if p.Text != nil {
		text = *p.Text
	}
	switch info.Kind {
	case a2a.PartText, a2a.PartDeclined, a2a.PartError:
		q.Type, q.Content = "text", text
	case a2a.PartThinking:
		q.Type, q.Content = "reasoning", text
	case a2a.PartToolUse, a2a.PartServerUse:
		q.Type, q.ID, q.Name, q.Arguments = "tool_call", info.ID, info.Name, p.Data
	case a2a.PartToolResult, a2a.PartServerResult:
		q.Type, q.ID, q.Response = "tool_call_response", info.ID, p.Data
		if p.Text != nil {
			q.Response, _ = json.Marshal(text)
		}
	case a2a.PartFile:
		q.MIME, q.Content = p.MediaType, p.URL // its bytes stay in the log
	default:
		q.Content = text
	}
	return q
}
