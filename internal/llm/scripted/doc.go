// Package scripted is a model server that needs no model: it speaks the
// Anthropic Messages dialect, whole and streamed, and plays what a script or a
// fixed job says. It stands behind the same gates, key injection and records as
// any provider, and is named scripted wherever it shows.
//
// Behaviour. A fenced block "moeca-script" in the first message of the user is
// played step by step, one assistant turn each (see Script). Without one, the
// default job looks at the tree, reads a document of it, changes or creates two
// files and says so (job.go); each step follows from what the tools returned.
// The server is stateless between requests: the turn is told by the
// conversation. The one exception is an error step, which is answered once and
// then played.
//
// Key. The x-api-key header must equal the key the server was started with, a
// canary: it exists to prove that the gateway put it there and nobody else saw
// it. Only its hash is kept.
//
// Usage is reported as one token per four bytes, rounded up. An answer longer
// than max_tokens is cut like a real one.
//
// A Server is safe for concurrent use. It opens no socket itself.
package scripted
