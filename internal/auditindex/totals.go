package auditindex

import (
	"reflect"
	"strings"
	"time"
)

// Totals are sums over calls. Calls counts requests that passed the gates,
// Failed and Open are among them; Refused counts those that did not.
type Totals struct {
	Calls      int64 `json:"calls"`
	Open       int64 `json:"open"`
	Failed     int64 `json:"failed"`
	Refused    int64 `json:"refused"`
	Unmetered  int64 `json:"unmetered"` // calls that no answer told the use of
	Tools      int64 `json:"tools"`     // tool calls that answers asked for
	Input      int64 `json:"tokens_in"`
	Output     int64 `json:"tokens_out"`
	CacheRead  int64 `json:"cache_read"`   // contained in Input
	CacheWrite int64 `json:"cache_write"`  // contained in Input
	Reasoning  int64 `json:"reasoning"`    // contained in Output
	Searches   int64 `json:"server_tools"` // tools run at the provider
	CostNano   int64 `json:"cost_nano"`    // 1e-9 USD
	DurationUS int64 `json:"duration_us"`  // of all calls together
	BytesIn    int64 `json:"bytes_in"`
	BytesOut   int64 `json:"bytes_out"`
}

// Tokens is everything that was read and written.
func (t Totals) Tokens() int64 { return t.Input + t.Output }

// totalColumns are the columns of the sums in the order of fields.
const totalColumns = `calls, open, failed, refused, unmetered, tools, input, output, cache_read, cache_write, reasoning, searches, cost, duration, bytes_in, bytes_out`

// sumColumns sums each of them.
var sumColumns = "coalesce(sum(" + strings.ReplaceAll(totalColumns, ", ", "), 0), coalesce(sum(") + "), 0)"

// fields are pointers to the sums in the order of totalColumns.
func (t *Totals) fields() []any {
	return []any{
		&t.Calls, &t.Open, &t.Failed, &t.Refused, &t.Unmetered, &t.Tools, &t.Input, &t.Output,
		&t.CacheRead, &t.CacheWrite, &t.Reasoning, &t.Searches, &t.CostNano, &t.DurationUS, &t.BytesIn, &t.BytesOut,
	}
}

// values are the sums in the order of totalColumns.
func (t *Totals) values() (v []any) {
	for _, p := range t.fields() {
		v = append(v, *p.(*int64))
	}
	return v
}

// add adds o n times; n is 1 or −1.
func (t *Totals) add(o Totals, n int64) {
	to, from := t.fields(), o.fields()
	for i := range to {
		*to[i].(*int64) += n * *from[i].(*int64)
	}
}

// Add adds o.
func (t *Totals) Add(o Totals) { t.add(o, 1) }

func (t Totals) zero() bool { return reflect.ValueOf(t).IsZero() }

// slotLength is what time sums are kept by: every zone of the world is a whole
// number of quarters of an hour from UTC, so days and hours can be made of it.
const slotLength = 15 * time.Minute

// totalKey is what sums are kept by.
type totalKey struct {
	slot                                              int64
	task, run, stage, session, agent, upstream, model string
}

func (c *Call) totalKey() totalKey {
	return totalKey{
		c.Time.Unix() / int64(slotLength/time.Second), c.Task, c.Run, c.Stage, c.Session, c.Agent, c.Upstream, c.Model,
	}
}

// totals is what a call adds to the sums.
func (c *Call) totals() Totals {
	if c.State == StateRefused {
		return Totals{Refused: c.Count, BytesIn: c.BytesIn}
	}
	t := Totals{
		Calls: 1, Tools: c.Tools, Input: c.Input, Output: c.Output, CacheRead: c.CacheRead, CacheWrite: c.CacheWrite,
		Reasoning: c.Reasoning, Searches: c.Searches, CostNano: c.CostNano, DurationUS: c.DurationUS,
		BytesIn: c.BytesIn, BytesOut: c.BytesOut,
	}
	switch c.State {
	case StateOpen:
		t.Open = 1
	case StateFailed:
		t.Failed = 1
	}
	if c.Unmetered {
		t.Unmetered = 1
	}
	return t
}
