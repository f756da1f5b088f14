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
//	tree/0, tree/1, …      hashes of the Merkle tree, one file a level (tree.go)
//	checkpoint             the last signed checkpoint (checkpoint.go)
//	checkpoint.vkey        the key that it can be checked with
//	checkpoint.key         the key that signs; nobody's but the writer's
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
// of a row is its RFC 6962 leaf hash: the Merkle tree over the same rows lies
// beside the chain and touches no row. Tree and checkpoints have the forms of
// C2SP tlog-tiles and tlog-checkpoint, so that programs of others read them
// (ExportTiles).
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
//     the next row, and every row for the turn of its commit (turns.go). A row
//     that is waited for is written at once.
//   - When the disk is full, intents are refused while outcomes are still
//     written into space that was allocated before (space.go).
//   - One process writes (flock). Readers need no lock and see whole rows only.
//   - A checkpoint covers durable rows, and what it covers never changes: Open
//     refuses a log that does not agree with the last one that was signed.
//   - Tree and checkpoint are derived. They lag behind the rows, are made again
//     from them, and no trouble with them keeps a row from being written.
//
// # Crash
//
// The next batch is written only after the one before is synced, and each frame
// names its batch. Open therefore knows which damage a crash can explain: only
// bytes of the last batch. Those are moved to a torn file and a system row says
// so; any other damage is a *BrokenError and the log stays read-only. Intents
// without an outcome get one that says "unknown".
//
// # Broken logs and other versions
//
// A broken log is never repaired and never written again. A person keeps it whole
// under another name and a new log begins in its place, whose first row names the
// broken one, its last intact row and head (restart.go). A newer format is refused
// untouched. There is one version so far; rows of an older one are to be migrated
// the same way, by copy and never in place: a log written beside the old one,
// which stays, put in its place by the same renames.
//
// # Concurrency
//
// Log and Reader are safe for concurrent use. Queue takes one lock for as long
// as encoding takes. One goroutine at a time writes and syncs: who waits for a
// row, or else the committer, which the Log owns; another lays the tree and signs
// (notary.go).
//
// # Not here
//
// The package decides nothing and serves nothing. Verify proves that a log is
// whole and, given a head or a checkpoint kept elsewhere, that it is still the
// same log: whoever holds the key can write another one. Who keeps checkpoints
// elsewhere is another package's business; how they are kept and compared is in
// witness.go and sighting.go. A bundle proves that rows are in the log, not that
// it has no others of the run (bundle.go); erasing destroys contents, not rows
// (erase.go).
package audit
