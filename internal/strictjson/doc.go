// Package strictjson reads JSON that a decision depends on. The decision is
// made here and the document is acted on elsewhere, by a reader we do not know;
// so a document that two readers could understand in two ways is refused.
//
// Refused are: a byte order mark, bytes that are not UTF-8, anything after the
// value, the wrong type at the top, nesting beyond MaxDepth, and an object with
// the same key twice. Keys are the same when they are equal in any case
// mapping that a reader may use: "ref", "REF", "\u0072ef" and names with the
// Kelvin sign, the long s or the dotless i for k, s and i.
//
// A Document is an index into the text it was read from: for each value where
// it and its key stand, and which value follows. Nothing is decoded into a copy
// that could be encoded differently, so what was checked is what is sent, byte
// for byte, as long as the caller sends those bytes. Fields are found by exact
// name, and asking for "ref" in an object that has "Ref" is an error and not an
// absence: a lenient reader would find it. Folded finds a field as the most
// lenient reader would.
//
// Reading takes one pass and does not recurse; a test holds it to what
// encoding/json takes for valid. Its memory is the text and 16 bytes for each
// value, of which there are at most MaxValues. One reading serves whoever asks:
// a Document may be used concurrently.
//
// Deeper counts nesting alone, for texts that another reader is to take.
//
// It does not judge numbers (1e999 is JSON), the length of strings, or lone
// surrogates in values: the replacement character they are read as matches no
// name a policy would permit.
package strictjson
