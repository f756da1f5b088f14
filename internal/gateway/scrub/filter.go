package scrub

// Filter removes the keys of a set from one stream.
type Filter struct {
	set  *Set
	trie *trie
	buf  []byte // from base on: held back, then not yet read
	base int64  // place of buf[0] in the stream
	end  int64  // bytes read
	hits int64

	live  []thread // readings that could still become a form; without the root
	esc   escape
	moved []thread // scratch
	spare [][]int64
}

// thread is one reading: a state, and where each of its characters began.
type thread struct {
	state int32
	at    []int64 // of the last characters; the state's are the last depth of them
}

// Filter returns a filter for one stream.
func (s *Set) Filter() *Filter { return &Filter{set: s, trie: s.body} }

// Hits is how many occurrences were replaced.
func (f *Filter) Hits() int64 { return f.hits }

// Holds says whether bytes are held back.
func (f *Filter) Holds() bool { return len(f.buf) > 0 }

// Skip returns how many bytes of p no form can begin in, while none is held
// back. They leave as they are, and the rest is for Push.
func (f *Filter) Skip(p []byte) int {
	if f.Holds() {
		return 0
	}
	n := f.trie.next(p, 0)
	f.base += int64(n)
	f.end += int64(n)
	return n
}

// Push appends to dst what of p, and of what was held back, may leave now.
func (f *Filter) Push(dst, p []byte) []byte {
	f.buf = append(f.buf, p...)
	f.scan()
	n := int(f.earliest() - f.base)
	dst = append(dst, f.buf[:n]...)
	f.buf = f.buf[:copy(f.buf, f.buf[n:])]
	f.base += int64(n)
	return dst
}

// Flush appends what was held back: the stream is over, it was no key. The
// filter is as new.
func (f *Filter) Flush(dst []byte) []byte {
	dst = append(dst, f.buf...)
	f.reset()
	return dst
}

// String replaces the keys in a header value or a message. It must not be
// called in the middle of a stream.
func (f *Filter) String(s string) string {
	f.buf = append(f.buf, s...)
	hits := f.hits
	f.scan()
	if f.hits != hits {
		s = string(f.buf)
	}
	f.reset()
	return s
}

// String replaces the keys in one text.
func (s *Set) String(text string) string { return s.Filter().String(text) }

// Named says whether a header's name holds a key, in whatever case. As String,
// it is for the time between streams.
func (f *Filter) Named(name string) bool {
	for i := range len(name) {
		f.buf = append(f.buf, lower(name[i]))
	}
	hits := f.hits
	f.trie = f.set.names
	f.scan()
	f.trie = f.set.body
	f.reset()
	return f.hits != hits
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

func (f *Filter) reset() {
	f.buf, f.base, f.end = f.buf[:0], 0, 0
	f.live = f.drop(f.live)
	f.esc.open = false
	f.esc.before = f.drop(f.esc.before)
}

// scan reads what is in the buffer and was not read.
func (f *Filter) scan() {
	for i := int(f.end - f.base); i < len(f.buf); i++ {
		if len(f.live) == 0 && !f.esc.open {
			next := f.trie.next(f.buf, i)
			f.end += int64(next - i)
			if i = next; i == len(f.buf) {
				return
			}
		}
		f.feed(f.buf[i])
	}
}

// earliest is the place of the first byte that could still be part of a form.
func (f *Filter) earliest() int64 {
	first := f.end
	for _, t := range f.live {
		first = min(first, f.begin(t))
	}
	if f.esc.open {
		first = min(first, f.esc.at)
		for _, t := range f.esc.before {
			first = min(first, f.begin(t))
		}
	}
	return first
}

func (f *Filter) begin(t thread) int64 {
	return t.at[len(t.at)-int(f.trie.nodes[t.state].depth)]
}

// feed moves every reading over one byte.
func (f *Filter) feed(b byte) {
	at := f.end
	f.end++
	done := f.esc.open && f.esc.next(b)
	var before []thread
	if isLead(b) {
		before = f.copies(f.live)
	}
	moving := f.live
	f.live, f.moved = f.moved[:0], moving
	f.move(moving, b, at)
	if done {
		f.move(f.esc.before, f.esc.value, f.esc.at)
		f.esc.before = f.esc.before[:0]
	}
	if !f.esc.open {
		f.esc.before = f.drop(f.esc.before)
	}
	if isLead(b) {
		f.esc = escape{open: true, lead: b, at: at, length: 1, before: append(f.esc.before, before...)}
	}
}

// move takes readings, which end here, over one character that began at.
func (f *Filter) move(from []thread, c byte, at int64) {
	if len(from) == 0 {
		f.keep(thread{at: f.places()}, c, at)
	}
	for _, t := range from {
		f.keep(t, c, at)
	}
}

// keep moves one reading, replaces the form that ended, and keeps what could
// still become one.
func (f *Filter) keep(t thread, c byte, at int64) {
	trie := f.trie
	t.state, t.at = trie.step(t.state, c), append(t.at, at)
	if n := int(trie.nodes[t.state].found); n > 0 {
		f.hits++
		hidden := f.buf[t.at[len(t.at)-n]-f.base : f.end-f.base]
		for i := range hidden {
			hidden[i] = f.set.mask
		}
	}
	t.state = trie.settle(t.state)
	depth := int(trie.nodes[t.state].depth)
	if depth == 0 {
		f.spare = append(f.spare, t.at[:0])
		return
	}
	if old := len(t.at) - depth; old > depth+64 {
		t.at = t.at[:copy(t.at, t.at[old:])]
	}
	for _, other := range f.live {
		if other.state == t.state {
			earlier(other.at[len(other.at)-depth:], t.at[len(t.at)-depth:])
			f.spare = append(f.spare, t.at[:0])
			return
		}
	}
	f.live = append(f.live, t)
}

// earlier keeps the earlier of two places of each character: both are places
// where some reading of it and of what follows began.
func earlier(a, b []int64) {
	for i := range a {
		a[i] = min(a[i], b[i])
	}
}

func (f *Filter) copies(list []thread) []thread {
	var all []thread
	for _, t := range list {
		all = append(all, thread{t.state, append(f.places(), t.at...)})
	}
	return all
}

// drop ends readings and keeps their memory.
func (f *Filter) drop(list []thread) []thread {
	for _, t := range list {
		f.spare = append(f.spare, t.at[:0])
	}
	return list[:0]
}

func (f *Filter) places() []int64 {
	if n := len(f.spare) - 1; n >= 0 {
		p := f.spare[n]
		f.spare = f.spare[:n]
		return p
	}
	return nil
}
