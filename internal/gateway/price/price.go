// Package price knows what a call costs in money.
//
// The table has a row per model with prices per million tokens, for plain and
// cached input, cache writes of five minutes and one hour, output, reasoning,
// sound and images either way, and for one search at the provider. A model whose
// tariff depends on the length of its input has a row per step. Rows are shipped
// with the gateway (prices.json; each says at which address and on which day its
// figures stood) and are changed through the admin listener; a row for one
// provider by name goes before those for its kind, and the longest match of a
// model's name counts. Where pages differ or a date is near, the dearer counts.
//
// Rows are the ordinary tariff. A call that asks for another one is not priced;
// an answer that says it was served at a dearer one all the same, because the
// account is set so, costs more by what usage.Count says. Cheaper ones (batch,
// flex) are asked for, and so have no price either.
//
// A name matches a row that is equal to it or of which it is a dated snapshot.
// It does not match because it begins alike, unless the row ends in an asterisk:
// "gpt-5-pro" is not "gpt-5" and costs twelve times as much. What matches nothing
// has no price, and a call under a cost budget is then refused.
//
// All arithmetic is in whole numbers: prices in 1e-9 USD per million tokens,
// costs in 1e-9 USD rounded up, sums of 128 bits, never a float. For every call
// that stays within its bound, Cost ≤ Most.
//
// A Quote is the price at one moment; the caller settles with the quote it
// reserved with. A Table is safe for concurrent use; plans are serialised by
// their caller.
package price

import (
	"math"
	"math/bits"

	"moeca/internal/gateway/usage"
)

// perMillion is what prices are per.
const perMillion = 1_000_000

// row is a price in 1e-9 USD per million tokens; search in 1e-9 USD per call.
type row struct {
	upTo                               int64
	input, cacheRead, write5m, write1h int64
	audioIn, imageIn                   int64
	output, reasoning                  int64
	audioOut, imageOut                 int64
	search                             int64
	searches                           bool // search is a price
}

// Quote is the tariff of one model: its steps by length of input, ascending.
type Quote struct{ steps []row }

// Free is the tariff of what costs nothing.
func Free() Quote { return Quote{[]row{{upTo: math.MaxInt64, searches: true}}} }

// Cost returns what a call that used c costs. It is not known when no step is
// for so long an input, or when a search has no price.
func (q Quote) Cost(c usage.Count) (nano int64, known bool) {
	for _, r := range q.steps {
		if c.Context() <= r.upTo {
			nano, known = r.cost(c)
			return surcharge(nano, c.Percent), known
		}
	}
	return 0, false
}

// surcharge is a cost at a dearer tariff, rounded up; it never wraps.
func surcharge(nano, percent int64) int64 {
	switch {
	case percent <= 100:
		return nano
	case nano > (math.MaxInt64-99)/percent:
		return math.MaxInt64
	}
	return (nano*percent + 99) / 100
}

func (r row) cost(c usage.Count) (nano int64, known bool) {
	if c.Searches > 0 && !r.searches {
		return 0, false
	}
	var s sum
	s.add(c.Input-c.AudioIn-c.ImageIn, r.input)
	s.add(c.AudioIn, r.audioIn)
	s.add(c.ImageIn, r.imageIn)
	s.add(c.CacheRead, r.cacheRead)
	s.add(c.CacheWrite5m, r.write5m)
	s.add(c.CacheWrite1h, r.write1h)
	s.add(c.Output-c.Reasoning-c.AudioOut-c.ImageOut, r.output)
	s.add(c.Reasoning, r.reasoning)
	s.add(c.AudioOut, r.audioOut)
	s.add(c.ImageOut, r.imageOut)
	return r.total(s, c.Searches), true
}

// Most returns what a call within a bound can cost at most: every token at the
// highest price it could have, at the dearest step it could reach.
func (q Quote) Most(b usage.Bound) (nano int64, known bool) {
	if b.Unpriced {
		return 0, false
	}
	for _, r := range q.steps {
		if b.Searches > 0 && !r.searches {
			return 0, false
		}
		in := max(r.input, r.cacheRead)
		if b.CacheWrites {
			in = max(in, r.write5m, r.write1h)
		}
		if b.Media {
			in = max(in, r.audioIn, r.imageIn)
		}
		var s sum
		s.add(b.Input, in)
		s.add(b.Output, max(r.output, r.reasoning, r.audioOut, r.imageOut))
		nano = max(nano, r.total(s, b.Searches))
		if b.Input <= r.upTo {
			return nano, true
		}
	}
	return 0, false
}

// total rounds up and never wraps.
func (r row) total(s sum, searches int64) int64 {
	hi, searched := bits.Mul64(uint64(max(searches, 0)), uint64(r.search))
	tokens := s.perMillion()
	if hi > 0 || searched > math.MaxInt64 || tokens > math.MaxInt64-int64(searched) {
		return math.MaxInt64
	}
	return tokens + int64(searched)
}

// sum is a sum of products of 128 bits.
type sum struct{ hi, lo uint64 }

// add adds tokens at a price; both are small enough for no sum of ten to wrap.
// A negative count, which no meter makes, adds nothing.
func (s *sum) add(tokens, price int64) {
	hi, lo := bits.Mul64(uint64(max(tokens, 0)), uint64(price))
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, lo, 0)
	s.hi, _ = bits.Add64(s.hi, hi, carry)
}

// perMillion divides by a million and rounds up.
func (s sum) perMillion() int64 {
	lo, carry := bits.Add64(s.lo, perMillion-1, 0)
	hi := s.hi + carry
	if hi >= perMillion {
		return math.MaxInt64
	}
	quo, _ := bits.Div64(hi, lo, perMillion)
	return int64(min(quo, math.MaxInt64))
}
