// Package a2a rebuilds what was said from recorded traffic: the hierarchy
// Context → Task → Message → Part of the Agent2Agent protocol 1.0, from the
// requests and answers of four dialects (Anthropic Messages, OpenAI Chat
// Completions, OpenAI Responses, Gemini generateContent), streamed or not. It is
// pure: it reads bytes it is given and does no I/O.
//
// # Mapping
//
// A Context is a task on the board, a Task is a stage of one run; the session of
// a sub-agent is a Task inside the Task of its parent. A Task's history holds
// messages in the order they appeared. Names and JSON are those of the protocol
// (ProtoJSON: camelCase, TASK_STATE_…, ROLE_…); a Context, which the protocol
// knows as an id only, is a list around them. Whatever the protocol has no field
// for is in the metadata of its object under the one key Extension, so that a
// strict A2A reader accepts every Task, Message, Part and Artifact:
//
//	Task      run, stage, agent, sessions, threads, tasks of sub-agents
//	Message   kind (system, message, request, refusal), the rows it came from,
//	          thread, attempts; claimed, partial, erased, open
//	Part      kind (text, thinking, tool-use, tool-result, …), id and name of a
//	          tool, the link between a use and its result
//	Artifact  the rows and the message it came from
//
// The state of a Task is not in its traffic. It is TASK_STATE_WORKING while a
// call is open and TASK_STATE_UNSPECIFIED otherwise; a caller who knows sets it.
//
// # Conversations
//
// Each request repeats the history. Messages are compared piece by piece by a
// hash of what they say: not by how the dialect spells it (a string or blocks,
// order of keys), not by cache marks, and without thinking, which clients may
// drop. The pieces seen in a session form a tree; a request is a walk from its
// root. What the walk finds are messages already there, what is left is new.
// A request that continues the end of a thread belongs to it. Another starts a
// thread: a branch where it leaves a known one, a compaction where the last
// messages were kept and those before them were not. A request equal to an
// earlier one is another attempt at the same answer. A message of the agent's
// role that a request has and no answer given to the Builder had is marked
// claimed. Where the provider keeps the conversation (Responses), a request goes
// on after the answer, item or conversation that it names.
//
// History that a client repeats byte for byte is compared and not read again, so
// a session costs its bytes once and not once per turn.
//
// Rows are processed in their order, an intent apart from its outcome. So a
// Builder that was given each exchange when its intent was read, and again when
// its outcome was, has the tree that Build makes of all of them at once. One case
// is left to Build: a client may repeat an answer before the row that it was
// sent, and that it was the model's is known only to who has that row.
//
// # Bad input
//
// Bodies are what an agent and an upstream wrote; none makes it panic and none
// is dropped. What cannot be read is kept raw (kind raw: text where it is text,
// else bytes); a body that was cut is read as far as it goes, and the unread end
// is kept raw; a stream that broke off keeps what came. Each of these is marked
// partial, a part that was cut likewise. A content block of an unknown kind is
// kept as JSON (kind other). An erased body leaves a message marked erased. A
// body nested beyond maxDepth, or with more than maxPieces messages and parts,
// is raw as a whole. Time and memory are linear in the bytes given.
//
// What is no content (sampling settings, pings, counters of a stream) is not in
// the tree; Seqs leads to the rows whose bodies have it.
//
// A Builder is not safe for concurrent use. A Tree shares no memory that later
// Adds change.
package a2a
