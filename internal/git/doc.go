// Package git is the only code that runs git. It turns a user's repository into
// plain directories that agents may write in, turns what they wrote into
// commits, compares, previews merges and lands them.
//
// # Three places
//
//	Source   the user's repository     refs are read; update-ref moves one ref at a time
//	Store    our clean git directory   configuration and attributes; objects are the user's
//	a tree   a plain directory         written by an agent; git never runs in it
//
// The user's repository may configure filters, diff and merge drivers, hooks,
// fsmonitor. Some of that is chosen by attributes, which an agent can write, so
// every operation that reads attributes or walks trees runs in the Store, which
// has no drivers, no hooks and an info/attributes that switches all conversion
// off. In the user's git directory only commands run that read or move refs.
//
// # Where new objects go
//
// Objects are written into the user's object store (GIT_OBJECT_DIRECTORY), not
// into one of ours: a branch in the user's repository must never name an object
// that only moeca has, or the user's own git would call the repository broken
// once our directory is gone. Objects no ref names yet are protected by git's
// two weeks of grace; Hold names what must live longer. When the host is root
// and the repository is not, new files are given to the repository's owner.
//
// # Invariants
//
//   - Nothing an agent wrote is executed, or decides what is (I7): trees are read
//     and written with descriptors relative to their directory, never through a
//     symlink, and objects are named and stored from memory.
//   - Nothing outside a tree is read or written for an agent's path (I8).
//   - A landed commit has exactly the tree and the parents of its Preview, and the
//     target moves only from where the Preview saw it (I9).
//   - The user's index and work tree are never touched.
//   - A snapshot lists what it left out; a diff flags what it does not show (I13).
//
// # Environment
//
// Each child gets exactly the environment of cleanEnv and the options of
// hardened: no system or global configuration, no replace objects, no grafts, no
// lazy fetch, no protocol, no prompt, no hook. git 2.38 or newer.
//
// # Not here
//
// Cloning, fetching, pushing, and moving the user's checkout after a landing.
// SHA-1 names are made here but judged by git's collision detection, as git
// reads every pack we give it.
package git
