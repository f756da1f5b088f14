package auditindex

import (
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"moeca/internal/audit"
)

// CallState says how a call ended.
type CallState string

// States of a call. Failed and refused are bad.
const (
	StateOpen    CallState = "open"    // no outcome yet
	StateOK      CallState = "ok"      // passed on whole
	StateFailed  CallState = "failed"  // it broke off, or was answered with 400 or more
	StateRefused CallState = "refused" // a gate refused it; nothing was sent
)

// states are the stored numbers: bad states are above 1.
var states = []CallState{StateOpen, StateOK, StateFailed, StateRefused}

// Bits of Call flags.
const (
	flagScripted  = 1 << iota
	flagReplayed  // answered from the log
	flagPartial   // captured content is not whole
	flagBody      // there is captured content
	flagUnmetered // no answer told what it used
)

// Call is an intent with its outcome, or a refusal. Seq is the number of the
// intent or the refusal, Outcome that of the outcome, 0 while there is none.
type Call struct {
	Seq        int64     `json:"seq"`
	Outcome    int64     `json:"outcome,omitempty"`
	State      CallState `json:"state" enum:"open,ok,failed,refused"`
	Time       time.Time `json:"time"`
	DurationUS int64     `json:"duration_us"`
	Actor      string    `json:"actor"`
	audit.Attribution
	Upstream   string `json:"upstream,omitempty"`
	Class      string `json:"class,omitempty"`
	Method     string `json:"method,omitempty"`
	Target     string `json:"target,omitempty"`
	Model      string `json:"model,omitempty"`
	Gate       string `json:"gate,omitempty"`
	Reason     string `json:"reason,omitempty"`
	Status     int    `json:"status,omitempty"`
	Result     string `json:"result,omitempty"`
	Count      int64  `json:"count"`        // requests it stands for; more than 1 for counted refusals
	Tools      int64  `json:"tools"`        // tool calls the answer asks for
	Input      int64  `json:"tokens_in"`    // everything the model read, cached input too
	Output     int64  `json:"tokens_out"`   //
	CacheRead  int64  `json:"cache_read"`   // contained in Input
	CacheWrite int64  `json:"cache_write"`  // contained in Input
	Reasoning  int64  `json:"reasoning"`    // contained in Output
	Searches   int64  `json:"server_tools"` // tools run at the provider
	CostNano   int64  `json:"cost_nano"`    // 1e-9 USD
	BytesIn    int64  `json:"bytes_in"`
	BytesOut   int64  `json:"bytes_out"`
	Scripted   bool   `json:"scripted"`
	Replayed   bool   `json:"replayed"`
	Partial    bool   `json:"partial"`   // captured content is not whole
	HasBody    bool   `json:"has_body"`  // there is captured content
	Unmetered  bool   `json:"unmetered"` // no answer told what it used
}

// newCall makes a call of an intent or a refusal.
func newCall(r audit.Record) Call {
	c := Call{
		Seq: r.Seq, Time: r.Time, Actor: r.Actor.String(), Attribution: r.Attribution,
		Upstream: r.Upstream, Method: r.Method, Target: r.Target, Model: r.Model,
		BytesIn: r.BytesIn, Scripted: r.Scripted, Replayed: r.Replayed, State: StateOpen, Count: 1,
	}
	c.Class, _ = r.Attr("class")
	c.seeBody(r.Request)
	c.seeBody(r.Response)
	if r.Kind == audit.KindRefusal {
		c.State, c.Gate, c.Reason, c.Status = StateRefused, r.Gate, r.Reason, r.Status
		if n, _ := r.Attr("count"); n != "" {
			if count, err := strconv.ParseInt(n, 10, 64); err == nil && count > 0 {
				c.Count = count
			}
		}
	}
	return c
}

// end joins the outcome to the call.
func (c *Call) end(r audit.Record) {
	c.Outcome, c.DurationUS, c.Status, c.Result = r.Seq, r.Duration.Microseconds(), r.Status, r.Result
	c.Gate, c.Reason, c.BytesOut, c.CostNano = r.Gate, r.Reason, r.BytesOut, r.CostNano
	c.Scripted, c.Replayed = c.Scripted || r.Scripted, c.Replayed || r.Replayed
	if r.Model != "" {
		c.Model = r.Model
	}
	u := r.Usage
	c.CacheRead, c.CacheWrite = u.CacheRead, u.CacheWrite5m+u.CacheWrite1h
	c.Input, c.Output = u.Input+c.CacheRead+c.CacheWrite, u.Output
	c.Reasoning, c.Searches = u.Reasoning, u.ServerTools
	usage, _ := r.Attr(audit.AttrUsage)
	c.Unmetered = usage == audit.UsageUnknown
	c.State = StateOK
	if bad(r) {
		c.State = StateFailed
	}
	c.seeBody(r.Request)
	c.seeBody(r.Response)
}

func (c *Call) seeBody(ref *audit.BodyRef) {
	if ref != nil {
		c.HasBody = c.HasBody || ref.Pack != 0
		c.Partial = c.Partial || ref.Truncated
	}
}

// callColumns are the columns of the table in the order of fields.
const callColumns = `seq, outcome, state, at, duration, actor, run, stage, task, session, parent, template, agent,
	upstream, class, method, target, model, gate, reason, status, result, count, tools,
	input, output, cache_read, cache_write, reasoning, searches, cost, bytes_in, bytes_out, flags`

var callMarks = "?" + strings.Repeat(", ?", strings.Count(callColumns, ","))

// flags packs the booleans.
func (c *Call) flags() (n int64) {
	for bit, set := range map[int64]bool{
		flagScripted: c.Scripted, flagReplayed: c.Replayed, flagPartial: c.Partial, flagBody: c.HasBody, flagUnmetered: c.Unmetered,
	} {
		if set {
			n |= bit
		}
	}
	return n
}

// values are what is stored, in the order of callColumns.
func (c *Call) values() []any {
	return []any{
		c.Seq, c.Outcome, int64(slices.Index(states, c.State)), c.Time.UnixNano(), c.DurationUS, c.Actor,
		c.Run, c.Stage, c.Task, c.Session, c.Parent, c.Template, c.Agent,
		c.Upstream, c.Class, c.Method, c.Target, c.Model, c.Gate, c.Reason, int64(c.Status), c.Result, c.Count, c.Tools,
		c.Input, c.Output, c.CacheRead, c.CacheWrite, c.Reasoning, c.Searches, c.CostNano, c.BytesIn, c.BytesOut, c.flags(),
	}
}

// scanner is a row of an answer.
type scanner interface{ Scan(dest ...any) error }

// scan reads what values stored; more are further columns behind it.
func (c *Call) scan(row scanner, more ...any) error {
	var at, state, flags int64
	dest := []any{
		&c.Seq, &c.Outcome, &state, &at, &c.DurationUS, &c.Actor,
		&c.Run, &c.Stage, &c.Task, &c.Session, &c.Parent, &c.Template, &c.Agent,
		&c.Upstream, &c.Class, &c.Method, &c.Target, &c.Model, &c.Gate, &c.Reason, &c.Status, &c.Result, &c.Count, &c.Tools,
		&c.Input, &c.Output, &c.CacheRead, &c.CacheWrite, &c.Reasoning, &c.Searches, &c.CostNano, &c.BytesIn, &c.BytesOut, &flags,
	}
	if err := row.Scan(append(dest, more...)...); err != nil {
		return err
	}
	if state < 0 || state >= int64(len(states)) {
		return fmt.Errorf("call %d has the state %d", c.Seq, state)
	}
	c.State, c.Time = states[state], time.Unix(0, at).UTC()
	c.Scripted, c.Replayed, c.Partial = flags&flagScripted != 0, flags&flagReplayed != 0, flags&flagPartial != 0
	c.HasBody, c.Unmetered = flags&flagBody != 0, flags&flagUnmetered != 0
	return nil
}

// readCall returns the call of an intent or a refusal, or sql.ErrNoRows.
func readCall(tx interface {
	QueryRow(query string, args ...any) *sql.Row
}, seq int64,
) (c Call, err error) {
	err = c.scan(tx.QueryRow(`SELECT `+callColumns+` FROM call WHERE seq = ?`, seq))
	return c, err
}

// CallOf is the call that two rows make; the second is the zero row where there
// is none. What an answer asks for is not in rows: Tools is 0.
func CallOf(first, outcome audit.Record) Call {
	c := newCall(first)
	if outcome.Seq > 0 {
		c.end(outcome)
	}
	return c
}
