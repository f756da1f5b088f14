package a2a

import (
	"crypto/sha256"
	"hash"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

type digest [sha256.Size]byte

// atom is a piece of a conversation that two requests can have in common: one
// part, or the text of an agent, however it was split. Atoms follow each other
// without gaps; thoughts belong to the atom they come before.
type atom struct {
	hash digest
	end  int // place behind its last part, counted over all turns
}

// atoms reads turns of a conversation. loose: ids of tools are not compared,
// because clients of the dialect may drop them. known has the atoms of items
// that a request may name instead of repeating them.
func atoms(turns []turn, loose bool, known map[string][]digest) (list []atom) {
	var run []string
	at, runEnd := 0, 0
	flush := func() {
		if len(run) > 0 {
			said := strings.TrimRight(strings.Join(run, ""), " \t\r\n")
			list = append(list, atom{sum("agent text", said), runEnd})
			run = nil
		}
	}
	for _, t := range turns {
		for i := range t.parts {
			p := &t.parts[i]
			at++
			switch {
			case soft(t.role, p):
			case p.Metadata.Info.Name == reference && known[p.Metadata.Info.ID] != nil:
				flush()
				for _, d := range known[p.Metadata.Info.ID] {
					list = append(list, atom{d, at})
				}
			case t.role == RoleAgent && p.Metadata.Info.Kind == PartText && p.Text != nil:
				run, runEnd = append(run, *p.Text), at
			default:
				flush()
				list = append(list, atom{hashPart(t.role, p, loose), at})
			}
		}
	}
	flush()
	switch {
	case len(list) > 0:
		list[len(list)-1].end = at
	case at > 0:
		list = []atom{{onlySoft, at}}
	}
	return list
}

// onlySoft is the atom of turns in which nothing is compared.
var onlySoft = sum("soft")

// soft says that a part is not compared: clients drop it, or have no way to
// send it back.
func soft(role Role, p *Part) bool {
	i := &p.Metadata.Info
	switch i.Kind {
	case PartThinking:
		return true
	case PartServerResult:
		return i.Name == grounding
	case PartRaw: // the end of an answer that was cut
		return role == RoleAgent
	}
	return role == RoleAgent && i.Kind == PartText && p.Text != nil && *p.Text == ""
}

// sum hashes strings so that no two lists of them have the same bytes.
func sum(parts ...string) digest {
	h := sha256.New()
	for _, p := range parts {
		field(h, p)
	}
	return result(h)
}

func field(h hash.Hash, s string) {
	io.WriteString(h, strconv.Itoa(len(s)))
	io.WriteString(h, ":")
	io.WriteString(h, s)
}

func result(h hash.Hash) (d digest) {
	h.Sum(d[:0])
	return d
}

func hashPart(role Role, p *Part, loose bool) digest {
	i := &p.Metadata.Info
	h := sha256.New()
	field(h, string(role))
	field(h, string(i.Kind))
	field(h, i.Name)
	if !loose {
		field(h, i.ID)
	}
	field(h, p.URL)
	field(h, string(p.Raw))
	if p.Text != nil {
		field(h, "text")
		field(h, *p.Text)
	}
	if len(p.Data) > 0 {
		field(h, "data")
		canonical(h, gjson.ParseBytes(p.Data))
	}
	return result(h)
}

// canonical writes a value so that two ways to spell it give the same bytes:
// keys in order, strings without escapes, numbers by value. Cache marks are
// left out: clients move them from message to message.
func canonical(h hash.Hash, v gjson.Result) {
	switch {
	case v.IsObject():
		canonicalObject(h, v)
	case v.IsArray():
		io.WriteString(h, "[")
		v.ForEach(func(_, e gjson.Result) bool {
			canonical(h, e)
			return true
		})
		io.WriteString(h, "]")
	case v.Type == gjson.String:
		io.WriteString(h, `"`)
		field(h, v.Str)
	case v.Type == gjson.Number && strings.ContainsAny(v.Raw, ".eE"):
		io.WriteString(h, strconv.FormatFloat(v.Num, 'f', -1, 64)+";")
	default:
		io.WriteString(h, v.Raw+";")
	}
}

func canonicalObject(h hash.Hash, v gjson.Result) {
	type member struct {
		key   string
		value gjson.Result
	}
	var members []member
	v.ForEach(func(k, e gjson.Result) bool {
		if k.Str != "cache_control" {
			members = append(members, member{k.Str, e})
		}
		return true
	})
	slices.SortStableFunc(members, func(a, b member) int { return strings.Compare(a.key, b.key) })
	io.WriteString(h, "{")
	for _, m := range members {
		field(h, m.key)
		canonical(h, m.value)
	}
	io.WriteString(h, "}")
}
