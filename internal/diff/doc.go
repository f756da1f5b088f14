// Package diff reads what git says about two trees into files, hunks and lines,
// without losing or guessing anything.
//
// # Input
//
// One stream of diff-tree: raw -z entries, numstat -z entries, then the patch.
// Which files changed, with what names, modes and object ids, comes from the raw
// part, where NUL ends every field. The patch part is read by counting: a hunk
// header says how many lines follow, so a line such as "+++ b/README.md" inside
// a hunk is content, whatever it looks like. Object ids in the patch must be
// those of the raw part, and the lines counted those of numstat; a difference is
// an error, not a guess.
//
// # Output
//
// Names and lines are text when they are UTF-8. Otherwise the shown form is
// escaped and the bytes stand beside it. Carriage returns stay in the text.
// Content over a limit is left out, and the line, the file and the set say so;
// the list of files and all counts stay whole. Warnings name what a reader could
// be fooled by: reordering and invisible characters, look-alike scripts in names.
//
// The package depends on the standard library alone and runs no program. A
// parser is used by one goroutine; values it returned may be shared.
package diff
