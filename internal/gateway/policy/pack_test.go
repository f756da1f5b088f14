package policy

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"strings"
	"testing"
)

// packer writes packs as git does, and as it does not.
type packer struct {
	hash func() hash.Hash
	body bytes.Buffer
	n    uint32
	z    *zlib.Writer
}

func (p *packer) at() int { return 12 + p.body.Len() }

func (p *packer) put(kind byte, size int, base, content []byte) (at int) {
	at = p.at()
	p.n++
	c := kind<<4 | byte(size&15)
	for size >>= 4; size > 0; size >>= 7 {
		p.body.WriteByte(c | 0x80)
		c = byte(size & 0x7f)
	}
	p.body.WriteByte(c)
	p.body.Write(base)
	if p.z == nil {
		p.z, _ = zlib.NewWriterLevel(nil, zlib.BestSpeed)
	}
	p.z.Reset(&p.body)
	_, _ = p.z.Write(content)
	_ = p.z.Close()
	return at
}

func (p *packer) object(kind byte, content []byte) int {
	return p.put(kind, len(content), nil, content)
}

func (p *packer) commit(text string) (at int, id string) {
	return p.object(packCommit, []byte(text)), p.id(text)
}

func (p *packer) id(text string) string {
	h := p.hash()
	fmt.Fprintf(h, "commit %d\x00%s", len(text), text)
	return hex.EncodeToString(h.Sum(nil))
}

func back(n int) []byte {
	out := []byte{byte(n & 0x7f)}
	for n >>= 7; n > 0; n >>= 7 {
		n--
		out = append([]byte{byte(n&0x7f) | 0x80}, out...)
	}
	return out
}

func (p *packer) off(baseAt int, delta []byte) int {
	return p.put(packOffDelta, len(delta), back(p.at()-baseAt), delta)
}

func (p *packer) ref(id string, delta []byte) int {
	raw, _ := hex.DecodeString(id)
	return p.put(packRefDelta, len(delta), raw, delta)
}

func (p *packer) bytes() []byte {
	out := append([]byte("PACK\x00\x00\x00\x02"), binary.BigEndian.AppendUint32(nil, p.n)...)
	return p.sealed(append(out, p.body.Bytes()...))
}

func (p *packer) sealed(b []byte) []byte {
	h := p.hash()
	_, _ = h.Write(b)
	return h.Sum(b)
}

func newPacker() *packer { return &packer{hash: sha1.New} }

// deltaOf keeps the common beginning and inserts the rest.
func deltaOf(base, to string) []byte {
	same := 0
	for same < min(len(base), len(to), 0xff) && base[same] == to[same] {
		same++
	}
	out := append(binary.AppendUvarint(nil, uint64(len(base))), binary.AppendUvarint(nil, uint64(len(to)))...)
	if same > 0 {
		out = append(out, 0x80|0x10, byte(same))
	}
	for rest := to[same:]; rest != ""; {
		n := min(len(rest), 0x7f)
		out = append(append(out, byte(n)), rest[:n]...)
		rest = rest[n:]
	}
	return out
}

var (
	treeLine = "tree " + strings.Repeat("1", 40) + "\n"
	author   = "author a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\n\nmessage\n"
)

func commitText(parents ...string) string {
	text := treeLine
	for _, p := range parents {
		text += "parent " + p + "\n"
	}
	return text + author
}

func TestCommitsComeOutOfAnyPack(t *testing.T) {
	first := commitText(oidA)
	second := commitText(newPacker().id(first))
	third := commitText(newPacker().id(second), oidB)
	for name, build := range map[string]func(p *packer){
		"whole": func(p *packer) { p.commit(first); p.commit(second); p.commit(third) },
		"among others": func(p *packer) {
			p.object(3, []byte("file"))
			p.commit(third)
			p.object(2, nil)
			p.commit(second)
			p.object(packTag, []byte("tag"))
			p.commit(first)
		},
		"deltas by offset, in a chain": func(p *packer) {
			at, _ := p.commit(first)
			p.object(3, bytes.Repeat([]byte("long way back"), 500))
			at = p.off(at, deltaOf(first, second))
			p.off(at, deltaOf(second, third))
		},
		"deltas by id, base first": func(p *packer) {
			_, id := p.commit(first)
			p.ref(id, deltaOf(first, second))
			p.ref(id, deltaOf(first, third))
		},
		"deltas by id, base last": func(p *packer) {
			p.ref(p.id(second), deltaOf(second, third))
			p.ref(p.id(first), deltaOf(first, second))
			p.commit(first)
		},
		"a delta by offset of one that waits": func(p *packer) {
			at := p.ref(p.id(first), deltaOf(first, second))
			p.off(at, deltaOf(second, third))
			p.object(3, []byte("file"))
			p.commit(first)
		},
		"beside deltas of what is not there": func(p *packer) {
			at := p.ref(oidA, []byte("delta of a tree"))
			p.off(at, []byte("delta of that"))
			at = p.object(2, []byte("tree"))
			at = p.off(at, []byte("delta of a tree"))
			p.off(at, []byte("delta of that"))
			p.commit(first)
			p.commit(second)
			p.commit(third)
		},
		"twice": func(p *packer) { p.commit(first); p.commit(first); p.commit(second); p.commit(third) },
	} {
		p := newPacker()
		build(p)
		got, err := commitsOf(p.bytes(), 40)
		if err != nil || len(got) != 3 {
			t.Errorf("%s: %d commits, %v", name, len(got), err)
			continue
		}
		for _, text := range []string{first, second, third} {
			if string(got[p.id(text)]) != text {
				t.Errorf("%s: %q", name, got[p.id(text)])
			}
		}
	}
}

func TestPackOfTheOtherObjectFormat(t *testing.T) {
	p := &packer{hash: sha256.New}
	first := strings.Replace(commitText(), treeLine, "tree "+strings.Repeat("1", 64)+"\n", 1)
	_, id := p.commit(first)
	second := strings.Replace(first, "author", "parent "+id+"\nauthor", 1)
	p.ref(id, deltaOf(first, second))
	got, err := commitsOf(p.bytes(), 64)
	if err != nil || string(got[p.id(second)]) != second || len(id) != 64 {
		t.Fatalf("%v, %v", got, err)
	}
	if fault := forced(p.bytes(), []Update{{id, p.id(second), "refs/heads/moeca/x"}}); fault != "" {
		t.Error(fault)
	}
	if _, err := commitsOf(p.bytes(), 40); !errors.Is(err, errPack) {
		t.Errorf("read by the wrong hash: %v", err)
	}
}

func TestDamagedPacksAreNoProof(t *testing.T) {
	whole := func(build func(p *packer)) []byte {
		p := newPacker()
		build(p)
		return p.bytes()
	}
	text := commitText(oidA)
	good := whole(func(p *packer) { at, _ := p.commit(text); p.off(at, deltaOf(text, commitText(oidB))) })
	for i := range good {
		if _, err := commitsOf(good[:i], 40); err == nil {
			t.Fatalf("cut at byte %d, and read", i)
		}
		bad := bytes.Clone(good)
		bad[i] ^= 0x40
		if _, err := commitsOf(bad, 40); err == nil {
			t.Fatalf("changed at byte %d, and read", i)
		}
	}
	resealed := func(edit func(b []byte) []byte) []byte {
		return newPacker().sealed(edit(bytes.Clone(good[:len(good)-20])))
	}
	for name, b := range map[string][]byte{
		"nothing":                                nil,
		"a version of tomorrow":                  resealed(func(b []byte) []byte { b[7] = 4; return b }),
		"fewer than announced":                   resealed(func(b []byte) []byte { b[11] = 3; return b }),
		"more than announced":                    resealed(func(b []byte) []byte { b[11] = 1; return b }),
		"bytes behind":                           resealed(func(b []byte) []byte { return append(b, "more"...) }),
		"cut in a stream":                        resealed(func(b []byte) []byte { return b[:len(b)-5] }),
		"cut at the sum of a stream":             resealed(func(b []byte) []byte { return b[:len(b)-1] }),
		"type 0":                                 whole(func(p *packer) { p.object(0, nil) }),
		"type 5":                                 whole(func(p *packer) { p.object(5, nil) }),
		"a size too small":                       whole(func(p *packer) { p.put(3, 3, nil, []byte("file")) }),
		"a size too large":                       whole(func(p *packer) { p.put(3, 5, nil, []byte("file")) }),
		"a commit of another size":               whole(func(p *packer) { p.put(1, 5, nil, []byte("file")) }),
		"a base before the pack":                 whole(func(p *packer) { p.put(packOffDelta, 1, back(500), []byte("x")) }),
		"a base at itself":                       whole(func(p *packer) { p.put(packOffDelta, 1, []byte{0}, []byte("x")) }),
		"a distance without end":                 whole(func(p *packer) { p.put(packOffDelta, 1, bytes.Repeat([]byte{0xff}, 30), []byte("x")) }),
		"a size without end":                     newPacker().sealed(append([]byte("PACK\x00\x00\x00\x02\x00\x00\x00\x01"), bytes.Repeat([]byte{0xff}, 30)...)),
		"a base id that is cut":                  newPacker().sealed([]byte("PACK\x00\x00\x00\x02\x00\x00\x00\x01\x71abc")),
		"an empty delta":                         whole(func(p *packer) { at, _ := p.commit(text); p.off(at, nil) }),
		"a delta of another base":                whole(func(p *packer) { at, _ := p.commit(text); p.off(at, deltaOf(text+"x", "y")) }),
		"a delta that makes less":                whole(func(p *packer) { at, _ := p.commit(text); p.off(at, append(uvarints(len(text), 9), 1, 'x')) }),
		"a delta that makes more":                whole(func(p *packer) { at, _ := p.commit(text); p.off(at, append(uvarints(len(text), 1), 2, 'x', 'y')) }),
		"a delta that inserts what is not there": whole(func(p *packer) { at, _ := p.commit(text); p.off(at, append(uvarints(len(text), 9), 9, 'x')) }),
		"a delta with the reserved instruction":  whole(func(p *packer) { at, _ := p.commit(text); p.off(at, append(uvarints(len(text), 0), 0)) }),
		"a delta that copies from behind the end": whole(func(p *packer) {
			at, _ := p.commit(text)
			p.off(at, append(uvarints(len(text), 1), 0x80|0x01|0x10, 0xff, 1))
		}),
		"a delta that copies too much": whole(func(p *packer) { at, _ := p.commit(text); p.off(at, append(uvarints(len(text), 70000), 0x80)) }),
		"a delta whose copy is cut":    whole(func(p *packer) { at, _ := p.commit(text); p.off(at, append(uvarints(len(text), 1), 0x80|0x7f, 0)) }),
		"a stream of no zlib":          newPacker().sealed([]byte("PACK\x00\x00\x00\x02\x00\x00\x00\x01\x31abcdefgh")),
	} {
		if got, err := commitsOf(b, 40); !errors.Is(err, errPack) {
			t.Errorf("%s: %d commits, %v", name, len(got), err)
		}
	}
}

func uvarints(ns ...int) (out []byte) {
	for _, n := range ns {
		out = binary.AppendUvarint(out, uint64(n))
	}
	return out
}

func TestBombsAreNotInflated(t *testing.T) {
	text := commitText()
	large := strings.Repeat("x", maxCommit-10)
	for name, build := range map[string]func(p *packer){
		"one file":                       func(p *packer) { p.object(3, make([]byte, minInflated+1<<20)) },
		"a file of an announced exabyte": func(p *packer) { p.put(3, 1<<44, nil, nil) },
		"many files": func(p *packer) {
			for range 36 {
				p.object(3, make([]byte, 1<<20))
			}
		},
		"a commit":            func(p *packer) { p.object(packCommit, make([]byte, maxCommit+1)) },
		"a delta of a commit": func(p *packer) { at, _ := p.commit(text); p.off(at, make([]byte, maxCommit+1)) },
		"commits made by deltas": func(p *packer) {
			at, _ := p.commit(large)
			n := len(large)
			for range 64 {
				at = p.off(at, append(uvarints(n, n), 0xf0, byte(n), byte(n>>8), byte(n>>16)))
			}
		},
		"commits of a megabyte": func(p *packer) {
			for i := range 20 {
				p.commit(large + fmt.Sprint(i))
			}
		},
		"deltas that all wait for one commit": func(p *packer) {
			for i := range 64 {
				p.ref(p.id(large), deltaOf(large, large[:900]+fmt.Sprint(i)+strings.Repeat("y", 1<<19)))
			}
			p.commit(large)
		},
		"more deltas than may wait": func(p *packer) {
			for range maxWaiting + 1 {
				p.ref(oidA, nil)
			}
		},
	} {
		p := newPacker()
		build(p)
		_, err := commitsOf(p.bytes(), 40)
		if !errors.Is(err, errPackLarge) {
			t.Errorf("%s, %d bytes: %v", name, p.body.Len(), err)
		}
	}
	b := newPacker().bytes()
	binary.BigEndian.PutUint32(b[8:], maxObjects+1)
	if _, err := commitsOf(newPacker().sealed(b[:12]), 40); !errors.Is(err, errPackLarge) {
		t.Errorf("more objects than are looked at: %v", err)
	}
}

// A pack that is read holds commits by the hash of their content, whatever
// else it holds.
func FuzzPack(f *testing.F) {
	p := newPacker()
	at, id := p.commit(commitText(oidA))
	p.off(at, deltaOf(commitText(oidA), commitText(oidB)))
	p.ref(id, deltaOf(commitText(oidA), commitText(oidA, oidB)))
	p.object(3, []byte("file"))
	f.Add(p.n, p.body.Bytes(), false)
	f.Add(uint32(1), []byte{0x30, 0x78, 0x9c, 3, 0, 0, 0, 0, 1}, false)
	f.Add(uint32(2), p.bytes(), true)
	f.Fuzz(func(t *testing.T, n uint32, body []byte, whole bool) {
		b := body
		if !whole {
			b = newPacker().sealed(append(binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), n), body...))
		}
		commits, err := commitsOf(b, 40)
		if err != nil {
			if !errors.Is(err, errPack) && !errors.Is(err, errPackLarge) || commits != nil {
				t.Fatalf("%d commits, %v", len(commits), err)
			}
			return
		}
		for id, content := range commits {
			if newPacker().id(string(content)) != id {
				t.Fatalf("%s is %q", id, content)
			}
		}
		_ = forced(b, []Update{{oidA, oidB, "refs/heads/moeca/x"}})
	})
}
