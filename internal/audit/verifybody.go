package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

func (v *verifier) checkBodies(before chain, r *Record) error {
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
			v.gone = append(v.gone, goneBody{before, Record{Seq: r.Seq, Time: r.Time, Attribution: r.Attribution}, ref})
		case err != nil:
			return fmt.Errorf("body in pack %d: %w", ref.Pack, damage(err.Error()))
		default:
			v.bodies++
		}
	}
	return nil
}

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
	v.packs[num] = f
	return f, nil
}

// goneBody is a content that a verifier found marked erased.
type goneBody struct {
	before chain  // up to the row before
	row    Record // as far as a Selection looks at it
	ref    *BodyRef
}

// checkGone says whether the log says of each content that it was erased, and
// whether those of erasures that are done are gone.
func (v *verifier) checkGone() error {
	for _, g := range v.gone {
		said, done := false, false
		for seq, e := range v.erasures {
			if seq > g.row.Seq && e.matches(&g.row) {
				said, done = true, done || e.done
			}
		}
		cause := ""
		if !said {
			cause = "is marked erased, and no row says so"
		} else if pack := v.packs[g.ref.Pack]; done && !isErased(pack, v.id, g.ref) {
			cause = "was erased, and something is there"
		}
		if cause != "" {
			v.chain = g.before
			return &BrokenError{Seq: g.row.Seq, File: packName(g.ref.Pack), Offset: g.ref.Offset, Cause: damage("the content of the row " + cause)}
		}
	}
	return nil
}
