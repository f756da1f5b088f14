package policy

import (
	"strings"
	"testing"
)

func TestForced(t *testing.T) {
	id := func(text string) string { return newPacker().id(text) }
	// old ─ a ─ b ─ m(erge), with s beside a; none of the chain knows other.
	a := commitText(oidA)
	b := commitText(id(a))
	side := commitText(oidB)
	merge := commitText(id(b), id(side))
	pack := func(texts ...string) []byte {
		p := newPacker()
		for _, text := range texts {
			p.commit(text)
		}
		return p.bytes()
	}
	const ref = "refs/heads/moeca/x"
	for name, c := range map[string]struct {
		pack    []byte
		updates []Update
		want    string
	}{
		"one commit on top":                   {pack(a), []Update{{oidA, id(a), ref}}, ""},
		"several, in any order":               {pack(b, a), []Update{{oidA, id(b), ref}}, ""},
		"a merge, by its first parent":        {pack(merge, side, b, a), []Update{{oidA, id(merge), ref}}, ""},
		"a merge, by its second parent":       {pack(merge, side, b, a), []Update{{oidB, id(merge), ref}}, ""},
		"two branches":                        {pack(a, side), []Update{{oidA, id(a), ref}, {oidB, id(side), ref + "2"}}, ""},
		"a creation, beside nothing":          {nil, []Update{{zero, id(a), ref}}, ""},
		"a creation with a pack nobody reads": {[]byte("PACK"), []Update{{zero, id(a), ref}}, ""},
		"no move at all":                      {nil, []Update{{oidA, oidA, ref}}, ""},
		"a rewrite":                           {pack(side), []Update{{oidA, id(side), ref}}, ForcedUnshown},
		"a rewrite beside a forward move":     {pack(a, side), []Update{{oidA, id(a), ref}, {oidA, id(side), ref + "2"}}, ForcedUnshown},
		"a rewrite beside a creation":         {pack(side), []Update{{zero, id(side), ref + "2"}, {oidA, id(side), ref}}, ForcedUnshown},
		"back to an ancestor":                 {pack(a, b), []Update{{id(b), id(a), ref}}, ForcedUnshown},
		"a new root":                          {pack(commitText()), []Update{{oidA, id(commitText()), ref}}, ForcedUnshown},
		"a link that is missing":              {pack(b), []Update{{oidA, id(b), ref}}, ForcedUnshown},
		"the right chain, and another goal":   {pack(a, b), []Update{{oidA, oidB, ref}}, ForcedUnshown},
		"to a commit that is there already":   {pack(), []Update{{oidA, oidB, ref}}, ForcedNoPack},
		"no pack":                             {nil, []Update{{oidA, oidB, ref}}, ForcedNoPack},
		"a pack that cannot be read":          {[]byte("PACK"), []Update{{oidA, oidB, ref}}, "cannot be read"},
		"a parent in the message":             {pack(commitText() + "\nparent " + oidA + "\n"), []Update{{oidA, id(commitText() + "\nparent " + oidA + "\n"), ref}}, ForcedUnshown},
		"a parent behind the author": {
			pack(treeLine + "author a <a@b> 1 +0000\nparent " + oidA + "\n\nm"),
			[]Update{{oidA, id(treeLine + "author a <a@b> 1 +0000\nparent " + oidA + "\n\nm"), ref}},
			ForcedUnshown,
		},
		"a parent before the tree": {pack("parent " + oidA + "\n" + commitText()), []Update{{oidA, id("parent " + oidA + "\n" + commitText()), ref}}, ForcedUnshown},
		"a parent in capitals":     {pack(commitText(strings.ToUpper(oidA))), []Update{{oidA, id(commitText(strings.ToUpper(oidA))), ref}}, ForcedUnshown},
		"a parent with a tail":     {pack(commitText(oidA + "0")), []Update{{oidA, id(commitText(oidA + "0")), ref}}, ForcedUnshown},
		"a tree of that text": {
			func() []byte { p := newPacker(); p.object(2, []byte(a)); p.commit(side); return p.bytes() }(),
			[]Update{{oidA, id(a), ref}},
			ForcedUnshown,
		},
	} {
		got := forced(c.pack, c.updates)
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	p := newPacker()
	p.put(3, 1<<44, nil, nil)
	if got := forced(p.bytes(), []Update{{oidA, oidB, ref}}); got != ForcedTooLarge {
		t.Errorf("a bomb: %q", got)
	}
}

// A history as long as one push can hold is walked, and a loop would not be
// walked for ever: ids are hashes, so there is none to test with.
func TestForcedWalksLongHistories(t *testing.T) {
	p := newPacker()
	at, id, text := 0, oidA, ""
	for i := range 5_000 {
		next := commitText(id)
		if i%50 == 0 {
			at, id = p.commit(next)
		} else {
			at, id = p.off(at, deltaOf(text, next)), p.id(next)
		}
		text = next
	}
	if got := forced(p.bytes(), []Update{{oidA, id, "refs/heads/moeca/x"}}); got != "" {
		t.Error(got)
	}
}
