// Package gateway is the one chokepoint between sandboxes and the outside: it
// decides, records, injects, forwards, scrubs, measures.
//
// # Listeners
//
// Each sandbox has a Unix socket of its own; the socket is its identity, and a
// token presented on it is stripped without a look. Clients on the host use one
// loopback TCP listener and name their session by token. Both run the same
// hardened server (listen.go) over connections that notice framing which the
// standard parser tolerates and hides (conn.go), through a door that bounds
// their number (door.go).
//
// # One request
//
//	gates in order (options.go)     → the first denial answers, and is a row
//	ask a person (hold.go)          → where a rule says so; then the gates once more
//	reserve every budget (spend.go) → 402, a row
//	queue the intent row            → the log cannot be written: 503, nothing is sent
//	wait for the row to be durable  → before egress for writes, for what acts at the
//	                                  provider, and under a budget that outlives the
//	                                  session; else the upstream works meanwhile, the
//	                                  committer is woken when the request has left,
//	                                  and the wait is before the first answered byte
//	strip, inject (inject.go)       → ReverseProxy.Rewrite, after hop-by-hop removal
//	forward (forward.go)            → guarded dialer, no proxy, no redirect followed
//	scrub, measure, capture         → frame by frame (answer.go)
//	settle, outcome row             → deferred: survives disconnect and panic
//
// # What it keeps
//
// Sessions, asks and reservations are in memory. Limits, prices and how long
// contents are kept are rows of the log, which is read when the gateway starts
// (restore.go); a log that follows a broken one begins with what it takes over
// (carry.go). Policies are a file of package policy. Definitions of upstreams and
// their keys come from the host at each start.
//
// # Invariants
//
//   - I2 the key is put into exactly one header of exactly one request; this
//     key and all others are replaced wherever an answer carries one back, in
//     the forms that package scrub lists, and the outcome row counts it.
//   - I3 no byte goes upstream before its row is queued; no byte of an answer
//     reaches the caller before that row is durable; 1xx answers of the
//     upstream are dropped for that reason.
//   - I4 rows take their attribution from the session and nothing else.
//   - I5 what errs, panics or cannot be parsed is refused.
//   - I6 a call is reserved at its upper bound, in tokens and money, on every
//     budget it belongs to or on none, and settled at what the answer says it
//     cost; at the whole reservation when it does not say. A stream that exceeds
//     its reservation is cut between two frames (cut.go). What outlives the
//     process is read back from the log when it starts (restore.go).
//   - each denial is exactly one row that names the gate, or, after the first
//     few of a kind, one of those that a row counts (fold.go); each intent has
//     exactly one outcome.
//   - a request that waits for a person holds its connection and its body and
//     nothing else; it goes on by one recorded answer, given to it alone.
//   - what a session can put into the log is bounded: in refusals and rows, after
//     which it is ended (end.go), and in bodies, after which commitments stand
//     for them. A caller without a session leaves counts (denial.go).
//
// # Concurrency
//
// A Gateway is safe for concurrent use. An exchange belongs to the goroutine
// of its request. Sessions end by Revoke, by their time, by their quotas, or by
// Close; each of these unlinks the socket, closes its connections, cuts its
// streams and waits until they are settled.
package gateway
