package a2a

import (
	"encoding/json"
	"time"
)

// Extension is the URI of our extension, the key of our metadata. The number at
// its end changes when a reader of the old one would misread the new one.
const Extension = "urn:moeca:a2a:recorded:1"

// Tree is everything that was said, by context.
type Tree struct {
	Contexts []Context `json:"contexts"`
}

// Context is a task on the board: the protocol's contextId.
type Context struct {
	ContextID string `json:"contextId"`
	Tasks     []Task `json:"tasks"`
}

// Task is a stage of a run, or the session of a sub-agent.
type Task struct {
	ID        string       `json:"id"`
	ContextID string       `json:"contextId"`
	Status    TaskStatus   `json:"status"`
	Artifacts []Artifact   `json:"artifacts,omitempty"`
	History   []Message    `json:"history,omitempty"`
	Metadata  TaskMetadata `json:"metadata"`
}

// TaskState is the protocol's enum.
type TaskState string

// States that traffic shows.
const (
	StateUnspecified TaskState = "TASK_STATE_UNSPECIFIED"
	StateWorking     TaskState = "TASK_STATE_WORKING"
)

// TaskStatus is a state and when it was last known to hold.
type TaskStatus struct {
	State     TaskState `json:"state"`
	Timestamp time.Time `json:"timestamp,omitzero"`
}

// TaskMetadata holds our extension of a task.
type TaskMetadata struct {
	Info TaskInfo `json:"urn:moeca:a2a:recorded:1"`
}

// TaskInfo is what the protocol has no field for.
type TaskInfo struct {
	Run      string   `json:"run,omitempty"`
	Stage    string   `json:"stage,omitempty"`
	Agent    string   `json:"agent,omitempty"`
	Template string   `json:"template,omitempty"`
	Sessions []string `json:"sessions,omitempty"`
	Parent   string   `json:"parent,omitempty"` // session of the parent, of a sub-agent
	Threads  []Thread `json:"threads,omitempty"`
	Tasks    []Task   `json:"tasks,omitempty"` // of sub-agents
}

// Why a thread began.
const (
	ThreadStart      = "start"      // shares nothing with what its session said before
	ThreadBranch     = "branch"     // leaves another thread after a message
	ThreadCompaction = "compaction" // kept the last messages, not those before them
)

// Thread is a run of messages each of which was sent together with those before
// it. The messages of a branch come after those of its parent up to After.
type Thread struct {
	ID      int      `json:"id"` // 1-based within the task
	Session string   `json:"session,omitempty"`
	Reason  string   `json:"reason"`
	Parent  int      `json:"parent,omitempty"` // thread it left
	After   string   `json:"after,omitempty"`  // last message shared with the parent
	Kept    []string `json:"kept,omitempty"`   // messages a compaction kept, in order
	Seq     int64    `json:"seq"`              // row of the request that began it
}

// Role is the protocol's enum.
type Role string

// Roles.
const (
	RoleUser  Role = "ROLE_USER"
	RoleAgent Role = "ROLE_AGENT"
)

// Message is one thing said, or one request made.
type Message struct {
	MessageID  string          `json:"messageId"`
	ContextID  string          `json:"contextId"`
	TaskID     string          `json:"taskId"`
	Role       Role            `json:"role"`
	Parts      []Part          `json:"parts"`
	Metadata   MessageMetadata `json:"metadata"`
	Extensions []string        `json:"extensions"`
}

// MessageMetadata holds our extension of a message.
type MessageMetadata struct {
	Info MessageInfo `json:"urn:moeca:a2a:recorded:1"`
}

// MessageKind says what a message is.
type MessageKind string

// Kinds of message.
const (
	KindMessage MessageKind = "message" // said to or by a model
	KindSystem  MessageKind = "system"  // instructions and tools that hold from here on
	KindRequest MessageKind = "request" // a call of something else than a model
	KindRefusal MessageKind = "refusal" // a gate refused
)

// MessageInfo is what the protocol has no field for.
type MessageInfo struct {
	Kind     MessageKind `json:"kind"`
	Seqs     []int64     `json:"seqs"` // rows it came from, ascending
	Time     time.Time   `json:"time,omitzero"`
	Thread   int         `json:"thread,omitempty"`
	Origin   string      `json:"origin,omitempty"`   // the dialect's own role, where it is another word
	Claimed  bool        `json:"claimed,omitempty"`  // said to be the agent's by a request; no answer has it
	Partial  bool        `json:"partial,omitempty"`  // more was said than could be kept or read
	Erased   bool        `json:"erased,omitempty"`   // content was erased from the log
	Open     bool        `json:"open,omitempty"`     // an answer is awaited
	Chosen   int         `json:"chosen,omitempty"`   // index of the attempt that Parts is of
	Attempts []Attempt   `json:"attempts,omitempty"` // of answers, requests and refusals
}

// Attempt is one exchange that tried to get an answer.
type Attempt struct {
	Seq        int64     `json:"seq"`
	OutcomeSeq int64     `json:"outcomeSeq,omitempty"`
	Time       time.Time `json:"time,omitzero"`
	DurationUs int64     `json:"durationUs,omitempty"`
	Open       bool      `json:"open,omitempty"`
	Dialect    Dialect   `json:"dialect,omitempty"`
	Upstream   string    `json:"upstream,omitempty"`
	Method     string    `json:"method,omitempty"`
	Target     string    `json:"target,omitempty"`
	Status     int       `json:"status,omitempty"`
	Result     string    `json:"result,omitempty"`
	Model      string    `json:"model,omitempty"`
	Streamed   bool      `json:"streamed,omitempty"`
	Stop       string    `json:"stop,omitempty"`     // why the model ended, in the dialect's word
	Declined   bool      `json:"declined,omitempty"` // the model or its provider would not answer
	Error      *Failure  `json:"error,omitempty"`
	Refusal    *Refusal  `json:"refusal,omitempty"`
	Usage      Usage     `json:"usage,omitzero"`
	Scripted   bool      `json:"scripted,omitempty"`
	Replayed   bool      `json:"replayed,omitempty"`
	Partial    bool      `json:"partial,omitempty"`
	Erased     bool      `json:"erased,omitempty"`
	Parts      []Part    `json:"parts,omitempty"` // what it brought, where another was chosen
}

// Failure is an error the upstream reported, or what broke the exchange.
type Failure struct {
	Type    string `json:"type,omitempty"`
	Message string `json:"message,omitempty"`
	raw     string // as the dialect has it
}

// Part is a piece of a message. One of Text, Raw, URL and Data is set.
type Part struct {
	Text      *string         `json:"text,omitempty"`
	Raw       []byte          `json:"raw,omitempty"`
	URL       string          `json:"url,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"`
	Metadata  PartMetadata    `json:"metadata"`
	Filename  string          `json:"filename,omitempty"`
	MediaType string          `json:"mediaType,omitempty"`
}

// PartMetadata holds our extension of a part.
type PartMetadata struct {
	Info PartInfo `json:"urn:moeca:a2a:recorded:1"`
}

// PartKind says what a part is.
type PartKind string

// Kinds of part.
const (
	PartText         PartKind = "text"
	PartThinking     PartKind = "thinking"
	PartToolUse      PartKind = "tool-use"           // the model calls a tool of the client
	PartToolResult   PartKind = "tool-result"        // what the client's tool gave back
	PartServerUse    PartKind = "server-tool-use"    // the provider ran a tool of its own
	PartServerResult PartKind = "server-tool-result" // what that gave
	PartFile         PartKind = "file"               // an image, a document, sound
	PartDeclined     PartKind = "declined"           // the model's words of refusal
	PartTools        PartKind = "tools"              // what the model may call
	PartError        PartKind = "error"              // an error in place of an answer
	PartRequest      PartKind = "request-body"       // of a request that is no model call
	PartResponse     PartKind = "response-body"
	PartOther        PartKind = "other" // read, but of a kind not known here
	PartRaw          PartKind = "raw"   // bytes that could not be read
)

// PartInfo is what the protocol has no field for.
type PartInfo struct {
	Kind       PartKind        `json:"kind"`
	ID         string          `json:"id,omitempty"`         // of a tool use, on both its parts
	Name       string          `json:"name,omitempty"`       // of the tool
	Link       string          `json:"link,omitempty"`       // message with the result of this use, or the use of this result
	Unanswered bool            `json:"unanswered,omitempty"` // a use without a result
	Error      bool            `json:"error,omitempty"`      // the tool failed
	Signature  string          `json:"signature,omitempty"`  // the provider's proof of a thought
	Redacted   bool            `json:"redacted,omitempty"`   // a thought that only the provider can read
	Citations  json.RawMessage `json:"citations,omitempty"`  // as the dialect has them
	Choice     int             `json:"choice,omitempty"`     // of several answers to one request, from 0
	Artifact   string          `json:"artifact,omitempty"`   // the artifact this content is in
	Partial    bool            `json:"partial,omitempty"`
}

// Artifact is a file an agent's answer brought.
type Artifact struct {
	ArtifactID string           `json:"artifactId"`
	Name       string           `json:"name,omitempty"`
	Parts      []Part           `json:"parts"`
	Metadata   ArtifactMetadata `json:"metadata"`
	Extensions []string         `json:"extensions"`
}

// ArtifactMetadata holds our extension of an artifact.
type ArtifactMetadata struct {
	Info ArtifactInfo `json:"urn:moeca:a2a:recorded:1"`
}

// ArtifactInfo says where an artifact came from.
type ArtifactInfo struct {
	MessageID string  `json:"messageId"`
	Seqs      []int64 `json:"seqs"`
}
