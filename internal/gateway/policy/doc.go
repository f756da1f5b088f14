// Package policy says what a request would do at its upstream, and what an
// agent may do there.
//
// # Two steps
//
// Parse turns a request into operations: a name such as "github.create-branch",
// the repository it touches, the refs it would write. It decides nothing. One
// request can hold several operations (a GraphQL document, a push); all of
// them count, whatever name or alias selects one. What cannot be understood in
// one way is an error, which the write gate answers with a denial.
//
// The gates then hold each operation to three sets of data:
//
//   - what the kind of the upstream ships as permitted (Operation.Shipped).
//     A write that no table names is not shipped, so deny is the default.
//   - the Policy of the upstream: what the user added or forbade.
//   - the scope of the session: its repositories and its protected refs.
//
// # What no rule opens
//
// An operation with Never set is refused whatever a Policy says: merging,
// approving, forcing or deleting through a push, rules and access of a
// repository. Writes to protected branches cannot be opened either: a ref must
// lie under a permitted prefix and be no protected name. Nor can rewriting: a
// push that moves a branch must show by the commits in it that the branch moves
// forward (Operation.Forced).
//
// # What reads as a write
//
// GET is a read unless its query names an action, or overrides the method; a
// GET with a body is refused. POST is a write unless the table of its kind
// names it as a search. A repository upstream also restricts reads: the key may
// open more repositories than the session was given.
//
// # Data and durability
//
// A Set keeps one Policy per upstream, in one file that is replaced whole. A
// change is planned, recorded by its caller, then applied: file first, memory
// second. Readers get copies. A Set is safe for concurrent use; plans are
// serialised by their caller.
//
// # What it does not do
//
// A push that moves a branch to commits which the remote has already is refused:
// nothing in it shows where they lead. SHA-1 collisions are the remote's to
// notice. Node ids of GraphQL name the
// repository only for repositories themselves; ids of what lies inside one
// could be forged and are not trusted by default. A GraphQL query that starts
// at a permitted repository cannot be held to it by a schema we do not have;
// the fields known to lead to other repositories are refused by name, and the
// permissions of the key remain the bound. What a comment makes somebody's bot do
// ("/merge") is not known here.
package policy
