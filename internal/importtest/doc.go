// Package importtest holds the rules of the import graph as a test: which
// layer a package belongs to, which zones may never meet, which package owns
// which danger, and that every package says what it is for.
//
// Imports point one way: base ← mechanisms ← zone ← cmd. A zone is code that
// runs in one trust domain; zones meet in wire types only (gatewayapi,
// handoff). A new package must be entered in the table, so that the choice of
// its layer is a decision somebody sees in review.
package importtest
