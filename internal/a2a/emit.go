package a2a

import (
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// rules are what holds for a call besides what was said.
type rules struct {
	system []digest // of each part
	tools  digest
	all    digest
}

func rulesOf(q *asked) (r rules) {
	h, all := sha256.New(), sha256.New()
	if len(q.tools) > 0 {
		canonical(h, gjson.ParseBytes(q.tools))
	}
	r.tools = result(h)
	all.Write(r.tools[:])
	for i := range q.system {
		d := hashPart(RoleUser, &q.system[i], false)
		r.system = append(r.system, d)
		all.Write(d[:])
	}
	r.all = result(all)
	return r
}

// emitter makes messages of what is new in one request.
type emitter struct {
	s    *session
	x    *Exchange
	th   *thread
	made int
}

func (e *emitter) message(kind MessageKind, role Role, parts []Part) *message {
	e.made++
	m := e.s.task.message(e.x, e.th, strconv.Itoa(e.made))
	m.Role, m.Parts = role, slices.Clone(parts)
	m.info().Kind = kind
	for i := range m.Parts {
		m.Parts[i].detach()
		m.info().Partial = m.info().Partial || m.Parts[i].Metadata.Info.Partial
	}
	e.s.tools.link(m, m.Parts, e.x.Dialect)
	return m
}

// system says which instructions and tools hold from here on: those that did
// not before. Some clients change a line of many with each request.
func (e *emitter) system(q *asked, r rules) {
	var parts []Part
	held := map[digest]bool{}
	for i, d := range r.system {
		if !held[d] && !e.th.system[d] {
			parts = append(parts, q.system[i])
		}
		held[d] = true
	}
	if len(held) > 0 {
		e.th.system = held
	}
	if len(q.tools) > 0 && string(q.tools) != "[]" && r.tools != e.th.tools {
		parts, e.th.tools = append(parts, dataPart(PartTools, string(q.tools))), r.tools
	}
	if len(parts) > 0 {
		e.message(KindSystem, RoleUser, parts)
	}
}

// nothing stands for a request of which nothing is there.
func (e *emitter) nothing() {
	m := e.message(KindMessage, RoleUser, nil)
	m.info().Erased, m.info().Partial = e.x.RequestErased, !e.x.RequestErased
}

// turns adds the atoms of a request from the one at known on, and returns the
// node of the last.
func (e *emitter) turns(turns []turn, list []atom, known int, at *node, k kept) *node {
	first, last := known+k.from, known+k.from+len(k.nodes) // of what was kept
	at = e.fresh(turns, list, known, first, at)
	for i, n := range k.nodes {
		at = e.s.grow(at, list[first+i].hash, e.th, n.msg, n.attempt)
	}
	return e.fresh(turns, list, last, len(list), at)
}

// fresh adds the atoms from a up to b as new messages. What a request says the
// agent said, and no recorded answer said, is claimed.
func (e *emitter) fresh(turns []turn, list []atom, a, b int, at *node) *node {
	if a >= b {
		return at
	}
	from, to := 0, list[b-1].end
	if a > 0 {
		from = list[a-1].end
	}
	start := 0 // of the turn, counted in parts
	for _, t := range turns {
		lo, hi := max(from, start)-start, min(to, start+len(t.parts))-start
		start += len(t.parts)
		if lo >= hi {
			continue
		}
		m := e.message(KindMessage, t.role, t.parts[lo:hi])
		m.info().Origin = strings.Clone(t.origin)
		recorded := e.s.said[list[min(a, b-1)].hash]
		for end := start - len(t.parts) + hi; a < b && list[a].end <= end; a++ {
			recorded = recorded && e.s.said[list[a].hash]
			at = e.s.grow(at, list[a].hash, e.th, m, 0)
		}
		m.info().Claimed = t.role == RoleAgent && !recorded
	}
	return at
}
