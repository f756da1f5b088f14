package handoff

import "encoding/json"

// WorkOrder is what an agent process receives: one JSON document on one line
// of its standard input, at release. Before it the process holds nothing.
type WorkOrder struct {
	Version int      `json:"version"` // 1
	Run     string   `json:"run"`
	Stage   string   `json:"stage"`
	Kind    string   `json:"kind"` // agent | command
	Agent   *Agent   `json:"agent,omitempty"`
	Command *Command `json:"command,omitempty"`
	// Gateway and Registry say which sockets exist in SocketDir.
	Gateway   bool   `json:"gateway"`
	Registry  bool   `json:"registry"`
	SocketDir string `json:"socket_dir"` // /run/moeca
	Tree      string `json:"tree"`       // /work
	// Env is the exact environment of every child process.
	Env []string `json:"env,omitempty"`
}

// Agent configures the tool loop.
type Agent struct {
	Name      string   `json:"name"`
	Dialect   string   `json:"dialect"`   // anthropic
	BasePath  string   `json:"base_path"` // "/demo": prefix of the route at the gateway
	Model     string   `json:"model"`
	System    string   `json:"system"`
	Prompt    string   `json:"prompt"`
	MaxTurns  int      `json:"max_turns"`
	MaxTokens int      `json:"max_tokens"`
	Tools     []string `json:"tools"`      // granted tools; one that is not here does not exist
	DenyGlobs []string `json:"deny_globs"` // never read or written, case-insensitive
}

// Command configures a command stage. Argv is run without a shell.
type Command struct {
	Argv           []string `json:"argv"`
	Dir            string   `json:"dir,omitempty"` // relative to Tree
	TimeoutSeconds int      `json:"timeout_seconds"`
}

// Event is one line of an agent's standard output. Everything in it is claimed
// by the agent, never measured by us.
type Event struct {
	Time  int64           `json:"t"` // Unix milliseconds by the agent's clock
	Type  string          `json:"type"`
	Turn  int             `json:"turn,omitempty"`
	Role  string          `json:"role,omitempty"`  // assistant, tool, system
	Text  string          `json:"text,omitempty"`  // text, thinking, output
	Tool  string          `json:"tool,omitempty"`  // tool name
	ID    string          `json:"id,omitempty"`    // tool call id
	Input json.RawMessage `json:"input,omitempty"` // tool input
	Error bool            `json:"error,omitempty"`
	Code  int             `json:"code,omitempty"` // exit code of a command
	Usage *Usage          `json:"usage,omitempty"`
	Cause string          `json:"cause,omitempty"` // why a done event is an error: one of the Cause constants
	Cut   bool            `json:"cut,omitempty"`   // Text or Input is not the whole of it
}

// Causes of a failed done event.
const (
	CauseRefused  = "refused"   // the model refused
	CauseCutShort = "cut short" // the answer ended at a limit or was paused
	CauseTurns    = "turns"     // MaxTurns reached
	CauseLoop     = "loop"      // the same call again and again
	CauseDenied   = "denied"    // the gateway refused; Text names gate and reason
	CauseModel    = "model"     // the model could not be reached or answered nonsense
	CauseTimeout  = "timeout"   // the command ran out of time
	CauseStopped  = "stopped"   // asked to end
	CauseCommand  = "command"   // the command ended with an exit code other than 0
	CauseOrder    = "order"     // the work order could not be carried out
)

// Types of Event.
const (
	EventReady    = "ready"    // pid 1 defends itself and waits for its order
	EventStarted  = "started"  // work order parsed
	EventText     = "text"     // model text
	EventThinking = "thinking" // model thinking
	EventToolUse  = "tool_use"
	EventResult   = "tool_result"
	EventOutput   = "output" // a chunk of a command's output, stdout and stderr
	EventNote     = "note"   // retries, limits, compaction
	EventDone     = "done"   // last event: Text is the summary, Error tells failure
)

// Usage as the model answered it; the measured figures come from the gateway.
type Usage struct {
	Input  int64 `json:"input"`
	Output int64 `json:"output"`
}
