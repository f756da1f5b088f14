package scrub

// trie is an Aho–Corasick automaton over characters. State 0 is the root.
type trie struct {
	nodes []node
	edges []edge
	root  [256]int32    // transitions of the root
	pairs [1 << 13]byte // bitmap of the pairs of bytes that a form, or the escape of its first character, begins with
	leads [256]bool     // the bytes it begins with
}

type node struct {
	fail  int32 // the state of the longest proper suffix
	depth int32 // characters read
	found int32 // characters of the longest form that ends here; 0: none
	first int32 // index of its edges
	count int32
}

type edge struct {
	to int32
	by byte
}

func newTrie(forms []string) *trie {
	t := &trie{nodes: []node{{}}}
	children := t.grow(forms)
	t.edges = make([]edge, 0, len(children))
	for i, list := range children {
		t.nodes[i].first, t.nodes[i].count = int32(len(t.edges)), int32(len(list))
		t.edges = append(t.edges, list...)
	}
	for _, e := range children[0] {
		t.root[e.by] = e.to
	}
	t.link()
	t.prepare()
	return t
}

// grow adds the forms as paths and returns the edges of each node.
func (t *trie) grow(forms []string) [][]edge {
	children := [][]edge{nil}
	for _, form := range forms {
		at := int32(0)
		for i := range len(form) {
			next := lookup(children[at], form[i])
			if next == 0 {
				next = int32(len(t.nodes))
				t.nodes = append(t.nodes, node{depth: int32(i) + 1})
				children = append(children, nil)
				children[at] = append(children[at], edge{next, form[i]})
			}
			at = next
		}
		t.nodes[at].found = t.nodes[at].depth
	}
	return children
}

func lookup(edges []edge, by byte) int32 {
	for _, e := range edges {
		if e.by == by {
			return e.to
		}
	}
	return 0
}

// link sets fail and found, breadth first: a suffix is shorter than its text.
func (t *trie) link() {
	queue := make([]int32, 0, len(t.nodes))
	for _, e := range t.out(0) {
		queue = append(queue, e.to)
	}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, e := range t.out(at) {
			n := &t.nodes[e.to]
			n.fail = t.step(t.nodes[at].fail, e.by)
			n.found = max(n.found, t.nodes[n.fail].found)
			queue = append(queue, e.to)
		}
	}
}

func (t *trie) out(at int32) []edge {
	n := &t.nodes[at]
	return t.edges[n.first : n.first+n.count]
}

// step returns the state after one more character.
func (t *trie) step(at int32, by byte) int32 {
	for at != 0 {
		if to := lookup(t.out(at), by); to != 0 {
			return to
		}
		at = t.nodes[at].fail
	}
	return t.root[by]
}

// settle leaves a state that nothing can follow for the suffix that could
// still grow.
func (t *trie) settle(at int32) int32 {
	for at != 0 && t.nodes[at].count == 0 {
		at = t.nodes[at].fail
	}
	return at
}

// prepare fills the tables that skip.
func (t *trie) prepare() {
	for _, e := range t.out(0) {
		for _, next := range t.out(e.to) {
			t.pair(e.by, next.by)
			for _, spelled := range escapes(next.by) {
				t.pair(e.by, spelled[0])
			}
		}
		for _, spelled := range escapes(e.by) {
			t.pair(spelled[0], spelled[1])
		}
	}
}

func (t *trie) pair(a, b byte) {
	i := int(a)<<8 | int(b)
	t.pairs[i>>3] |= 1 << (i & 7)
	t.leads[a] = true
}

// next returns the index of the first byte of p, from i on, that a form could
// begin with, or len(p).
func (t *trie) next(p []byte, i int) int {
	for ; i+1 < len(p); i++ {
		k := int(p[i])<<8 | int(p[i+1])
		if t.pairs[k>>3]&(1<<(k&7)) != 0 && t.begins(p[i:]) {
			return i
		}
	}
	if i < len(p) && t.leads[p[i]] {
		return i
	}
	return len(p)
}

// ahead is how many characters begins looks at.
const ahead = 4

// begins looks further where the first two bytes could begin a form. It answers
// yes in doubt.
func (t *trie) begins(p []byte) bool {
	if isLead(p[0]) {
		return true
	}
	at := t.root[p[0]]
	for k := 1; k < len(p) && k < ahead; k++ {
		to := lookup(t.out(at), p[k])
		switch {
		case to != 0:
			at = to
		case !isLead(p[k]):
			return false
		default:
			return k+1 == len(p) || t.spells(at, p[k], p[k+1])
		}
		if isLead(p[k]) {
			return true
		}
	}
	return true
}

// spells says whether lead and the byte after it could be the escape of a
// character that continues at.
func (t *trie) spells(at int32, lead, b byte) bool {
	_, isHex := hexDigit(b)
	switch {
	case lead == '%':
		return isHex
	case b == '/' || b == '"' || b == '\\':
		return lookup(t.out(at), b) != 0
	}
	return b == 'u'
}
