// Package llm is a neutral model of a conversation with a language model, and a
// client that carries it over any dialect.
//
// Model. A Request is a system text, messages and tools; an answer is a
// Response with parts, a stop reason and usage. Parts keep what a provider
// needs back unchanged: a thinking part its signature, a tool call its id and
// its input byte for byte. Input of tools is JSON that this package never
// interprets.
//
// Dialects (llm/anthropic) translate a Request into bytes and an answer, whole
// or streamed, back. They do no I/O. Client sends, bounds and retries.
//
// Invariants. A Response is whole: a stream that broke off is an error, never a
// shorter answer. Whatever ended an answer is told by Stop; only StopEnd and
// StopTools mean that the model said what it wanted to say. A refusal of our own
// gateway is an *Error with Gate set, and is not retried.
//
// Concurrency. A Client is safe for concurrent use; requests are not shared.
//
// It keeps no history and runs no tools.
package llm

import "encoding/json"

// Role is who said a message.
type Role string

// Roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Kind says which fields of a Part count.
type Kind string

// Kinds of part.
const (
	KindText     Kind = "text"
	KindThinking Kind = "thinking"
	KindCall     Kind = "call"   // the model calls a tool
	KindResult   Kind = "result" // our answer to a call
)

// Part is one piece of a message.
type Part struct {
	Kind      Kind
	Text      string          // text, thinking, or the text of a result
	Signature string          // thinking: the provider's proof, sent back unchanged
	Redacted  string          // thinking: opaque data instead of Text
	ID        string          // call and result: the call's id
	Tool      string          // call: name of the tool
	Input     json.RawMessage // call: a JSON object
	Error     bool            // result: the tool failed
}

// Message is a run of parts of one role.
type Message struct {
	Role  Role
	Parts []Part
}

// Tool is what the model may call.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON schema of the input object
}

// Request asks for one answer.
type Request struct {
	Model     string
	System    string
	Messages  []Message
	Tools     []Tool
	MaxTokens int
}

// Stop is why an answer ended.
type Stop string

// Stops. An unknown reason of a provider stays unknown: it never means success.
const (
	StopUnknown   Stop = "unknown"
	StopEnd       Stop = "end"        // said what it wanted to say
	StopTools     Stop = "tools"      // waits for results
	StopMaxTokens Stop = "max tokens" // cut at MaxTokens
	StopContext   Stop = "context"    // cut at the model's context window
	StopRefusal   Stop = "refusal"
	StopPause     Stop = "pause"    // a server-side turn was paused
	StopSequence  Stop = "sequence" // met a stop sequence; we send none
)

// Usage counts tokens as the provider reported them.
type Usage struct {
	Input      int64 // not from a cache
	Output     int64
	CacheRead  int64
	CacheWrite int64
}

// Response is one whole answer.
type Response struct {
	ID     string
	Model  string
	Parts  []Part
	Stop   Stop
	Detail string // the provider's own word where Stop is StopUnknown or a refusal
	Usage  Usage
}

// Text is the text parts joined by newlines.
func (r *Response) Text() string {
	var s string
	for _, p := range r.Parts {
		if p.Kind == KindText && p.Text != "" {
			if s != "" {
				s += "\n"
			}
			s += p.Text
		}
	}
	return s
}

// Calls are the tool calls in order.
func (r *Response) Calls() []Part {
	var calls []Part
	for _, p := range r.Parts {
		if p.Kind == KindCall {
			calls = append(calls, p)
		}
	}
	return calls
}
