// Package handoff is the channel between the controller and the process inside
// a sandbox: one work order in, a stream of events out.
//
// Layout. Both directions are lines of JSON. The controller writes exactly one
// line, the WorkOrder; the agent writes one Event a line, first "ready", last
// "done". Nothing else crosses: no second order, no answer to an event.
//
// Trust. The order comes from the controller, so ReadOrder is strict: an
// unknown key, a second document or a field out of range is an error and
// nothing is started. Events come from untrusted code, so Reader is the
// opposite: it never fails because of what a line contains. What is not a
// well-formed event becomes an output event holding the text, and says so where
// something was cut. The only errors are those of the stream itself and the
// caller's bound on its size.
//
// Concurrency. A Writer may be shared; a Reader belongs to one goroutine.
//
// It does not judge what events say. Everything in them is a claim.
package handoff
