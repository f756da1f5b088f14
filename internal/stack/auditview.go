package stack

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unicode/utf8"

	"moeca/internal/audit"
	"moeca/internal/auditindex"
	"moeca/internal/board"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/hostapi"
)

// AuditView reads the log the gateway writes. It opens the files read-only and
// takes no lock, so that reading and verifying never hold up traffic.
//
// It is also the log's first witness: the furthest head the gateway has told is
// kept in a file of the host, which the gateway cannot write, and every
// verification must reach it. A tail that was cut while nobody looked is then
// found, also after a restart.
type AuditView struct {
	dir     string
	pinFile string
	version string             // of this program, for exports
	admin   *gatewayapi.Client // nil where no host runs

	// Progress, when it is set, is told how far the index is while one is made for
	// a question that waits for it.
	Progress func(auditindex.State)

	indexed indexed
	trees   trees

	mu     sync.Mutex
	reader *audit.Reader
	pin    *audit.Head
}

// newAuditView opens the log of a data directory.
func newAuditView(data string) *AuditView {
	v := &AuditView{dir: filepath.Join(data, "audit"), pinFile: filepath.Join(data, "audit.head")}
	if raw, err := os.ReadFile(v.pinFile); err == nil {
		if head, err := audit.ParseHead(strings.TrimSpace(string(raw))); err == nil {
			v.pin = &head
		}
	}
	return v
}

// open returns the reader with everything new picked up, and the last row.
func (v *AuditView) open() (*audit.Reader, int64, error) {
	r, err := v.source()
	if err != nil {
		return nil, 0, err
	}
	last, err := r.Refresh()
	if err != nil {
		return nil, 0, unreadable(err)
	}
	return r, last, nil
}

// Page implements hostapi.AuditLog: the index finds the rows, the log says what
// they hold.
func (v *AuditView) Page(ctx context.Context, q hostapi.AuditQuery) (hostapi.AuditPage, error) {
	x, err := v.ready(ctx)
	if err != nil {
		return hostapi.AuditPage{}, err
	}
	found, err := x.Rows(ctx, auditindex.Query{Filter: q.Filter, Limit: q.Limit, Oldest: q.Oldest})
	if err != nil {
		return hostapi.AuditPage{}, indexError(err)
	}
	state := x.State()
	page := hostapi.AuditPage{Total: state.Last, Next: found.Last, Count: found.Count, Problem: state.Problem, Indexed: state.Head}
	for _, item := range found.Items {
		row, err := v.row(item.Seq)
		if err != nil {
			return page, err
		}
		row.Call = item.Call
		page.Items = append(page.Items, row)
	}
	return page, nil
}

// row reads one row that was found.
func (v *AuditView) row(seq int64) (hostapi.AuditRow, error) {
	log, err := v.source()
	if err != nil {
		return hostapi.AuditRow{}, err
	}
	rec, hash, err := log.At(seq)
	if err != nil {
		return hostapi.AuditRow{}, unreadable(err)
	}
	return rowOf(rec, hash), nil
}

// Entry implements hostapi.AuditLog.
func (v *AuditView) Entry(_ context.Context, seq int64) (hostapi.AuditRow, error) {
	rec, hash, _, err := v.at(seq)
	if err != nil {
		return hostapi.AuditRow{}, err
	}
	return rowOf(rec, hash), nil
}

func (v *AuditView) at(seq int64) (audit.Record, audit.Hash, *audit.Reader, error) {
	r, err := v.source()
	if err != nil {
		return audit.Record{}, audit.Hash{}, nil, err
	}
	last, err := r.Refresh()
	var broken *audit.BrokenError // the rows before it can be read
	if err != nil && !errors.As(err, &broken) {
		return audit.Record{}, audit.Hash{}, nil, unreadable(err)
	}
	if seq > last && broken != nil {
		return audit.Record{}, audit.Hash{}, nil, &board.Error{Kind: board.NotFound, Code: "audit_row", Message: "this row cannot be read: " + broken.Error(), Next: "list the rows before it"}
	}
	if seq > last {
		return audit.Record{}, audit.Hash{}, nil, &board.Error{Kind: board.NotFound, Code: "audit_row", Message: "the log has no such row", Next: "list the rows"}
	}
	rec, hash, err := r.At(seq)
	if err != nil {
		return rec, hash, r, unreadable(err)
	}
	return rec, hash, r, nil
}

// Bodies implements hostapi.AuditLog.
func (v *AuditView) Bodies(_ context.Context, seq int64) (hostapi.AuditBodies, error) {
	rec, _, r, err := v.at(seq)
	if err != nil {
		return hostapi.AuditBodies{}, err
	}
	return hostapi.AuditBodies{Request: bodyOf(r, rec.Request), Response: bodyOf(r, rec.Response)}, nil
}

func bodyOf(r *audit.Reader, ref *audit.BodyRef) *hostapi.AuditBody {
	if ref == nil {
		return nil
	}
	b := &hostapi.AuditBody{Size: ref.Size, Truncated: ref.Truncated}
	if ref.Pack == 0 {
		b.Problem = "nothing of it was kept"
		return b
	}
	raw, err := r.Body(ref)
	if err != nil {
		b.Problem = err.Error()
		return b
	}
	b.Binary = !utf8.Valid(raw)
	b.Text = strings.ToValidUTF8(string(raw), "\uFFFD")
	return b
}

// Verify implements hostapi.AuditLog: the whole log, bodies too, and it must
// reach the furthest head this process saw.
func (v *AuditView) Verify(ctx context.Context, progress func(seq int64)) (audit.Report, error) {
	v.mu.Lock()
	pin := v.pin
	v.mu.Unlock()
	report, err := audit.Verify(ctx, v.dir, audit.VerifyOptions{Head: pin, Bodies: true, Progress: progress})
	if err != nil {
		return report, unreadable(err)
	}
	return report, nil
}

// saw remembers a head the gateway reported, when it is further than the one
// that is held.
func (v *AuditView) saw(seq int64, hexHash string) error {
	raw, err := hex.DecodeString(hexHash)
	if err != nil || len(raw) != audit.HashSize || seq == 0 {
		return nil // no row yet
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.pin != nil && v.pin.Seq >= seq {
		return nil
	}
	head := audit.Head{Seq: seq, Hash: audit.Hash(raw)}
	if err := writeFile(v.pinFile, []byte(head.String()+"\n"), 0o600); err != nil {
		return fmt.Errorf("keep the head of the log: %w", err)
	}
	v.pin = &head
	return nil
}

// missing says what the log no longer holds of what this host has seen, or "".
func (v *AuditView) missing() string {
	v.mu.Lock()
	pin := v.pin
	v.mu.Unlock()
	if pin == nil {
		return ""
	}
	r, last, err := v.open()
	if err != nil {
		return ""
	}
	if last < pin.Seq {
		return fmt.Sprintf("the log ends at row %d, and this host has seen row %d: rows were cut off. Run `moeca audit verify`", last, pin.Seq)
	}
	if _, hash, err := r.At(pin.Seq); err != nil || hash != pin.Hash {
		return fmt.Sprintf("row %d of the log is not the one this host has seen: the log was rewritten. Run `moeca audit verify`", pin.Seq)
	}
	return ""
}

func unreadable(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return &board.Error{Kind: board.NotFound, Code: "audit_none", Message: "there is no log yet", Next: "run a task first"}
	}
	return &board.Error{Kind: board.Unavailable, Code: "audit_unreadable", Message: "the log cannot be read: " + err.Error(), Next: "run `moeca audit verify` to see where it is broken"}
}

func rowOf(rec audit.Record, hash audit.Hash) hostapi.AuditRow {
	row := hostapi.AuditRow{
		Seq: rec.Seq, Time: rec.Time, Hash: hex.EncodeToString(hash[:]), Prev: hex.EncodeToString(rec.Prev[:]),
		Kind: rec.Kind.String(), Source: rec.Source.String(), Actor: rec.Actor.String(),
		Session: rec.Attribution.Session, Run: rec.Attribution.Run, Stage: rec.Attribution.Stage,
		Task: rec.Attribution.Task, Agent: rec.Attribution.Agent,
		Ref: rec.Ref, Upstream: rec.Upstream, Method: rec.Method, Target: rec.Target,
		Gate: rec.Gate, Reason: rec.Reason, Status: rec.Status, Result: rec.Result,
		BytesIn: rec.BytesIn, BytesOut: rec.BytesOut, Duration: rec.Duration.Microseconds(),
		Model: rec.Model, Input: rec.Usage.Input + rec.Usage.CacheRead + rec.Usage.CacheWrite5m + rec.Usage.CacheWrite1h,
		Output: rec.Usage.Output, CostNano: rec.CostNano, Scripted: rec.Scripted, Subject: rec.Subject, Detail: string(rec.Detail),
		HasBody: rec.Request != nil || rec.Response != nil,
	}
	for _, ref := range []*audit.BodyRef{rec.Request, rec.Response} {
		row.Partial = row.Partial || ref != nil && ref.Truncated
	}
	for _, a := range rec.Attrs {
		if row.Attrs == nil {
			row.Attrs = map[string]string{}
		}
		row.Attrs[a.Key] = a.Value
	}
	return row
}

// ReadAudit reads the log of a data directory, whether or not a host runs on
// it.
func ReadAudit(data string) *AuditView { return newAuditView(data) }

// Refresh and At make the view the board's reader.
func (v *AuditView) Refresh() (int64, error) {
	_, last, err := v.open()
	return last, err
}

// At returns one row.
func (v *AuditView) At(seq int64) (audit.Record, audit.Hash, error) {
	rec, hash, _, err := v.at(seq)
	return rec, hash, err
}
