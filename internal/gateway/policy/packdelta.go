package policy

import "errors"

var errDelta = errors.New("a delta that does not fit its base")

// apply makes an object from its base and a delta: the sizes of both, then
// instructions that copy from the base or insert what follows.
func (p *pack) apply(base, delta []byte) ([]byte, error) {
	from, delta, ok := deltaSize(delta)
	to, delta, ok2 := deltaSize(delta)
	if !ok || !ok2 || from != int64(len(base)) || to > maxCommit {
		return nil, errDelta
	}
	if p.inflated += to; p.inflated > p.most {
		return nil, errPackLarge
	}
	out := make([]byte, 0, to)
	for len(delta) > 0 {
		op := delta[0]
		delta = delta[1:]
		var piece []byte
		switch {
		case op&0x80 != 0:
			if piece, delta, ok = copied(op, base, delta); !ok {
				return nil, errDelta
			}
		case op == 0 || int(op) > len(delta):
			return nil, errDelta
		default:
			piece, delta = delta[:op], delta[op:]
		}
		if int64(len(out)+len(piece)) > to {
			return nil, errDelta
		}
		out = append(out, piece...)
	}
	if int64(len(out)) != to {
		return nil, errDelta
	}
	return out, nil
}

// deltaSize reads a size of at most six groups of seven bits, lowest first.
func deltaSize(d []byte) (size int64, rest []byte, ok bool) {
	for i := range min(len(d), 6) {
		size |= int64(d[i]&0x7f) << (7 * i)
		if d[i]&0x80 == 0 {
			return size, d[i+1:], true
		}
	}
	return 0, nil, false
}

// copied reads the offset and the length of a copy; its bits say which of their
// bytes are there.
func copied(op byte, base, delta []byte) (piece, rest []byte, ok bool) {
	var values [7]int
	for i := range values {
		if op&(1<<i) == 0 {
			continue
		}
		if len(delta) == 0 {
			return nil, nil, false
		}
		values[i], delta = int(delta[0]), delta[1:]
	}
	at := values[0] | values[1]<<8 | values[2]<<16 | values[3]<<24
	size := values[4] | values[5]<<8 | values[6]<<16
	if size == 0 {
		size = 0x10000
	}
	if at > len(base) || size > len(base)-at {
		return nil, nil, false
	}
	return base[at : at+size], delta, true
}
