// Package sdk drives the gateway with the clients that people really use,
// unchanged: the SDKs of Anthropic, OpenAI and Google for Go and for npm, git
// over smart HTTP, and calls of GitHub's REST and GraphQL interfaces.
//
// Base URL is the gateway's loopback listener, the API key is a session token;
// the upstream is a stub that speaks the real dialect, for git the real server
// side of git. Each client does its job without a key. The stub sees the key
// and nothing of the session; what the gateway keeps on disk holds neither; and
// a refusal reaches the caller as the client's own kind of error, with the gate
// and the reason in it. The package holds tests only.
package sdk
