package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
)

// repeatLimit is how often in a row the same call ends the loop.
const repeatLimit = 3

// repeatGuard finds a model that makes the same call again and again. Calls in
// a row count; the same call after a different one is work, such as reading a
// file again after an edit.
type repeatGuard struct {
	last  [sha256.Size]byte
	name  string
	count int
	over  bool
}

// saw takes notice of a call. Inputs that differ only in white space are the same.
func (g *repeatGuard) saw(name string, input json.RawMessage) {
	var compact bytes.Buffer
	if json.Compact(&compact, input) != nil {
		compact.Reset()
		compact.Write(input)
	}
	h := sha256.Sum256(append([]byte(name+"\x00"), compact.Bytes()...))
	if h != g.last {
		g.last, g.name, g.count = h, name, 0
	}
	g.count++
	g.over = g.over || g.count >= repeatLimit
}

// looping names the tool that is called over and over, or is empty.
func (g *repeatGuard) looping() string {
	if g.over {
		return g.name
	}
	return ""
}
