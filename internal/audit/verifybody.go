package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

func (v *verifier) checkBodies(r *Record) error {
	for _, ref := range []*BodyRef{r.Request, r.Response} {
		if ref == nil || ref.Pack == 0 {
			continue
		}
		pack, err := v.pack(ref.Pack)
		if err == nil {
			_, err = readKept(pack, v.id, ref)
		}
		switch {
		case errors.Is(err, ErrErased):
			v.erased++
		case err != nil:
			return fmt.Errorf("body in pack %d: %w", ref.Pack, damage(err.Error()))
		default:
			v.bodies++
		}
	}
	return nil
}

// openPacks is how many packs are open at a time.
const openPacks = 16

func (v *verifier) pack(num int64) (*os.File, error) {
	if f := v.packs[num]; f != nil {
		return f, nil
	}
	f, err := openRegular(filepath.Join(packPath(v.dir), packName(num)))
	if err != nil {
		return nil, err
	}
	if err := checkPackHeader(f, v.id, num); err != nil {
		f.Close()
		return nil, err
	}
	if len(v.packs) == openPacks { // rows use packs in their order
		oldest := slices.Min(slices.Collect(maps.Keys(v.packs)))
		v.packs[oldest].Close()
		delete(v.packs, oldest)
	}
	v.packs[num] = f
	return f, nil
}

// checkErased says whether the log says of each content that it was erased, and
// whether those of erasures that are done are gone. It reads the rows a second
// time, and only where something was erased: erasures come after the rows they
// select, which are more than anybody could remember.
func (v *verifier) checkErased(ctx context.Context) error {
	if v.erased == 0 && len(v.erasures) == 0 {
		return nil
	}
	said, done := v.erasures.selected(false), v.erasures.selected(true)
	for r, err := range v.again(ctx) {
		if err != nil {
			return err
		}
		for _, p := range parts(&r) {
			if p.ref.Pack == 0 || v.before(r.Seq) {
				continue
			}
			cause, err := v.erasedRightly(&r, p.ref, said, done)
			if err != nil {
				return err
			}
			if cause != "" {
				v.chain = chain{seq: r.Seq - 1, hash: r.Prev}
				return &BrokenError{Seq: r.Seq, File: packName(p.ref.Pack), Offset: p.ref.Offset, Cause: damage("the content of the row " + cause)}
			}
		}
	}
	return nil
}

// erasedRightly says what is wrong with a content and what the rows say of its
// erasing.
func (v *verifier) erasedRightly(r *Record, ref *BodyRef, said, done *selected) (cause string, err error) {
	pack, err := v.pack(ref.Pack)
	if err != nil {
		return "", err
	}
	marked := erasedAlready(pack, ref)
	switch {
	case !marked && done.has(r):
		return "was erased, and is there again: erase it once more", nil
	case marked && done.has(r) && !isErased(pack, v.id, ref):
		return "was erased, and something is there", nil
	case !marked || said.has(r):
		return "", nil
	}
	// The row that says so may have come since we began, and was durable before
	// the mark.
	if v.late != nil && v.late.has(r) {
		return "", nil
	}
	if v.late, err = v.selectedSince(); err == nil && !v.late.has(r) {
		cause = "is marked erased, and no row says so"
	}
	return cause, err
}

// selectedSince are the rows that were selected since the verification began.
func (v *verifier) selectedSince() (*selected, error) {
	rows, err := OpenReader(v.dir)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	last, err := rows.Refresh()
	if err != nil && !isBroken(err) {
		return nil, err
	}
	since := make(erasures)
	for seq := v.chain.seq + 1; seq <= last; seq++ {
		r, _, err := rows.At(seq)
		if err != nil {
			return nil, err
		}
		since.note(&r)
	}
	return since.selected(false), nil
}

// again reads the rows that were verified once more.
func (v *verifier) again(ctx context.Context) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for num, seq := v.from, int64(0); seq < v.chain.seq; num++ {
			f, err := openRegular(filepath.Join(v.dir, segmentName(num)))
			if err != nil {
				yield(Record{}, err)
				return
			}
			frames := newFrameReader(f, v.id, segmentHeader)
			for more := true; more && seq < v.chain.seq; {
				var r Record
				if r, more, err = nextRow(ctx, frames); !more && err == nil {
					break
				}
				if seq = r.Seq; !yield(r, err) || err != nil {
					f.Close()
					return
				}
			}
			f.Close()
		}
	}
}

// nextRow decodes the next row, if there is one.
func nextRow(ctx context.Context, frames *frameReader) (r Record, more bool, err error) {
	if ctx.Err() != nil {
		return Record{}, false, context.Cause(ctx)
	}
	f, err := frames.next()
	if err == io.EOF {
		return Record{}, false, nil
	}
	if err == nil {
		r, err = Decode(f.row)
	}
	return r, err == nil, err
}
