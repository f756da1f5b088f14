// Package auditindex answers questions about the audit log: which calls, rows,
// tasks, how many tokens, and where a text occurs.
//
// # Data
//
// The index is one SQLite database beside the log, made from it and from
// nothing else. It may be deleted at any time: it is then made again. Tables
// (schema/):
//
//	log    what was indexed: hash of the first row, number and hash of the last
//	row    every row, by what rows are filtered by
//	call   an intent joined with its outcome, or a refusal
//	node   a session's work in a stage: first and last row
//	total  sums of calls by quarter of an hour and by everything they are grouped by
//	words  searchable text of calls and other rows, by trigrams
//
// What a row says is read from the log itself; the index only finds it.
//
// # Invariants
//
//   - The state after row n depends on rows 1…n and their contents only: an
//     index that was interrupted, resumed or rebuilt answers alike.
//   - An index belongs to the log whose rows it holds. A hash at its end that the
//     log does not have, another format, a damaged file: it is deleted and made
//     again (Open). The chain makes one hash stand for all rows before it.
//   - Damage that is found later, and a file that a full disk took, are mended
//     alike by whoever applies rows next: nobody has to ask for it.
//   - Indexing only reads the log and never holds up the gateway. At damage it
//     stops, keeps answering about the rows before it, and State says where.
//   - Text is bounded per content (textLimit); a request contributes what is new
//     in it. Text whose content was erased is purged: deleted pages are
//     overwritten and the journal is cut.
//   - Every answer is bounded: pages have limits, counts stop at CountLimit, a
//     search of less than three characters looks at scanWindow calls at a time
//     and says where to go on.
//
// # Concurrency
//
// Index is safe for concurrent use. One goroutine at a time applies rows; reads
// go on meanwhile and see whole batches.
//
// # Not here
//
// Nothing is proven: audit.Verify does that. Messages and parts are made from
// contents by a2a when somebody looks.
package auditindex
