// Package audit is the append-only record of everything that passed the
// gateway: the one place that can say afterwards what an agent asked, what it
// was answered, what was refused, and what a person approved.
//
// # Layout
//
// A log is a directory:
//
//	lock                   held by the one writer
//	seg-000001.log         rows, oldest first
//	bodies/pack-000001.dat captured contents
//	torn-<seq>             bytes cut off after a crash, kept for inspection
//
// All integers of the file formats are little endian. A segment is a header
// (segment.go) and frames
//
//	u32 length of row | u64 first seq of the commit batch | row | u32 crc32c
//
// where the checksum covers everything before it. A row is the canonical
// encoding of a Record (encode.go). Each row holds the hash of the row before
// it, and a segment's header the hash of the row before its first, so that the
// last hash of the log, its head, commits to every byte of every row. The hash
// of a row is its RFC 6962 leaf hash: a Merkle tree over the same rows can be
// laid beside the chain without touching a row.
//
// A pack is a header and frames
//
//	u32 length of content | u8 state | 32 byte salt | content | u32 crc32c
//
// to which a row points by pack number and offset. The row holds
// SHA-256(salt ‖ content), never a plain hash, so that content can be erased
// together with its salt and then cannot be confirmed by guessing.
//
// # Invariants
//
//   - Rows are numbered from 1 without a gap, times never go backwards, and
//     nothing ever changes a row once it is written.
//   - Pending.Wait returns nil only after an fdatasync that covered the row, the
//     bodies it points to, and every row before it.
//   - The first failed write or sync ends the log for good: everything pending
//     and everything later fails, and Err says why. A sync is never repeated,
//     because a kernel may report success after it threw the pages away.
//   - A row nobody waits for may wait some milliseconds for others, so that they
//     share their syncs: an intent until Hurry or Wait is called, an outcome for
//     the next row, and every row for the turn of its commit (commit.go). A row
//     that is waited for is written at once.
//   - When the disk is full, intents are refused while outcomes are still
//     written into space that was allocated before (space.go).
//   - One process writes (flock). Readers need no lock and see whole rows only.
//
// # Crash
//
// The next batch is written only after the one before is synced, and each frame
// names its batch. Open therefore knows which damage a crash can explain: only
// bytes of the last batch. Those are moved to a torn file and a system row says
// so; any other damage is a *BrokenError and the log stays read-only. Intents
// without an outcome get one that says "unknown".
//
// # Concurrency
//
// Log and Reader are safe for concurrent use. Queue takes one lock for as long
// as encoding takes. One goroutine at a time writes and syncs: who waits for a
// row, or else the committer, which the Log owns.
//
// # Not here
//
// The package decides nothing, serves nothing and signs nothing. Verify proves
// that a log is whole and, given a head kept elsewhere, that it is still the
// same log; who keeps heads elsewhere is another package's business.
package audit
