package hostapi

import (
	"time"

	"moeca/internal/auditindex"
)

// AuditQuery selects rows. Below and Above of the filter bound their numbers.
type AuditQuery struct {
	auditindex.Filter
	Limit  int
	Oldest bool // oldest first
}

// AuditPage is a page of rows. Next is the Before of the following page, or its
// After where the oldest come first, and 0 at the end. Total counts all rows of
// the log, Count those that fit: exactly up to 10,000, 10,001 beyond, -1 where
// that is not known. Rows after Indexed are not searched yet.
type AuditPage struct {
	Items   []AuditRow `json:"items"`
	Next    int64      `json:"next"`
	Total   int64      `json:"total"`
	Count   int64      `json:"count,omitempty"`
	Indexed int64      `json:"indexed,omitempty"`
	Problem string     `json:"problem,omitempty"` // why rows after Total cannot be read
}

// AuditRow is one row of the log as the UI shows it.
type AuditRow struct {
	Seq      int64             `json:"seq"`
	Time     time.Time         `json:"time"`
	Hash     string            `json:"hash"`
	Prev     string            `json:"prev"`
	Kind     string            `json:"kind"`
	Source   string            `json:"source"`
	Actor    string            `json:"actor"`
	Session  string            `json:"session,omitempty"`
	Run      string            `json:"run,omitempty"`
	Stage    string            `json:"stage,omitempty"`
	Task     string            `json:"task,omitempty"`
	Agent    string            `json:"agent,omitempty"`
	Ref      int64             `json:"ref,omitempty"`
	Call     int64             `json:"call,omitempty"` // intent or refusal it belongs to; of lists
	Upstream string            `json:"upstream,omitempty"`
	Method   string            `json:"method,omitempty"`
	Target   string            `json:"target,omitempty"`
	Gate     string            `json:"gate,omitempty"`
	Reason   string            `json:"reason,omitempty"`
	Status   int               `json:"status,omitempty"`
	Result   string            `json:"result,omitempty"`
	BytesIn  int64             `json:"bytes_in"`
	BytesOut int64             `json:"bytes_out"`
	Duration int64             `json:"duration_us"`
	Model    string            `json:"model,omitempty"`
	Input    int64             `json:"tokens_in"`
	Output   int64             `json:"tokens_out"`
	CostNano int64             `json:"cost_nano,omitempty"` // 1e-9 USD
	Scripted bool              `json:"scripted"`
	Subject  string            `json:"subject,omitempty"`
	Detail   string            `json:"detail,omitempty"`
	Attrs    map[string]string `json:"attrs,omitempty"`
	HasBody  bool              `json:"has_body"`
	Partial  bool              `json:"partial"` // captured content is not whole
}

// AuditBodies is the captured content of a row.
type AuditBodies struct {
	Request  *AuditBody `json:"request,omitempty"`
	Response *AuditBody `json:"response,omitempty"`
}

// AuditBody is one captured body. Text is valid UTF-8; bytes that are not were
// replaced and Binary says so.
type AuditBody struct {
	Text      string `json:"text"`
	Binary    bool   `json:"binary"`
	Size      int64  `json:"size"`
	Truncated bool   `json:"truncated"`
	Problem   string `json:"problem,omitempty"` // erased, or not what the row commits to
}
