package auditindex

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"moeca/internal/audit"
)

// ErrInvalid: a filter or a cursor that cannot be meant.
var ErrInvalid = errors.New("not a valid query")

// None stands for the rows that have no value: of no task, of no run.
const None = "-"

// Filter selects calls or rows. Empty fields do not restrict; None in Task, Run,
// Stage, Agent, Model or Upstream selects what has none.
type Filter struct {
	Task, Run, Stage, Session string
	Agent, Model, Upstream    string
	Kind                      string // of rows: a kind's name
	State                     string // of calls: open, ok, failed, refused; bad is failed or refused
	Status                    string // 404, or 4xx
	From, To                  time.Time
	Below, Above              int64 // rows before and after these; 0 is no bound
	Text                      string
}

// condition is a WHERE clause.
type condition struct {
	terms []string
	args  []any
}

func (c *condition) add(term string, args ...any) {
	c.terms, c.args = append(c.terms, term), append(c.args, args...)
}

func (c *condition) String() string {
	if len(c.terms) == 0 {
		return "1"
	}
	return strings.Join(c.terms, " AND ")
}

func (c *condition) equal(column, value string) {
	switch value {
	case "":
	case None:
		c.add(column + " = ''")
	default:
		c.add(column+" = ?", value)
	}
}

// common is the condition that calls and rows share.
func (f Filter) common() (*condition, error) {
	c := &condition{}
	for _, e := range [][2]string{
		{"task", f.Task}, {"run", f.Run}, {"stage", f.Stage}, {"session", f.Session}, {"agent", f.Agent}, {"model", f.Model}, {"upstream", f.Upstream},
	} {
		c.equal(e[0], e[1])
	}
	if !f.From.IsZero() {
		c.add("at >= ?", nanos(f.From))
	}
	if !f.To.IsZero() {
		c.add("at < ?", nanos(f.To))
	}
	if f.Below > 0 {
		c.add("seq < ?", f.Below)
	}
	if f.Above > 0 {
		c.add("seq > ?", f.Above)
	}
	low, high, err := f.statuses()
	if f.Status != "" {
		c.add("status BETWEEN ? AND ?", low, high)
	}
	return c, err
}

// nanos is a time as rows have it. Times of rows lie between the years 1970 and
// 2262; one that is asked for may not, and then is a bound before or after all.
func nanos(t time.Time) int64 {
	switch {
	case t.Before(time.Unix(0, 0)):
		return 0
	case t.After(time.Unix(0, math.MaxInt64)):
		return math.MaxInt64
	}
	return t.UnixNano()
}

// statuses are the lowest and highest status that is asked for.
func (f Filter) statuses() (low, high int64, err error) {
	if f.Status == "" {
		return 0, 0, nil
	}
	digits, class := strings.CutSuffix(f.Status, "xx")
	n, err := strconv.ParseUint(digits, 10, 16)
	switch {
	case err != nil || len(f.Status) != 3:
		return 0, 0, fmt.Errorf("%w: a status is written like 404 or 4xx", ErrInvalid)
	case class:
		return int64(n) * 100, int64(n)*100 + 99, nil
	}
	return int64(n), int64(n), nil
}

var errState = fmt.Errorf("%w: a state is open, ok, failed, refused or bad", ErrInvalid)

// invalid makes an error one about the query.
func invalid(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrInvalid, err)
}

// calls is the condition of calls.
func (f Filter) calls() (*condition, error) {
	c, err := f.common()
	if err != nil {
		return nil, err
	}
	if f.Kind != "" && f.Kind != "intent" && f.Kind != "outcome" && f.Kind != "refusal" {
		return nil, fmt.Errorf("%w: calls are of the kinds intent, outcome and refusal", ErrInvalid)
	}
	switch f.Kind {
	case "intent":
		c.add("state <> 3")
	case "outcome":
		c.add("outcome > 0")
	case "refusal":
		c.add("state = 3")
	}
	switch f.State {
	case "":
	case "bad":
		c.add("state > 1")
	case "open":
		c.add("state = 0")
	case "ok":
		c.add("state = 1")
	case "failed":
		c.add("state > 1 AND state = 2")
	case "refused":
		c.add("state > 1 AND state = 3")
	default:
		return nil, errState
	}
	f.words(c, "seq")
	return c, nil
}

// rows is the condition of rows.
func (f Filter) rows() (*condition, error) {
	c, err := f.common()
	if err != nil {
		return nil, err
	}
	if f.Kind != "" {
		kind, err := audit.ParseKind(f.Kind)
		if err != nil {
			return nil, invalid(err)
		}
		c.add("kind = ?", int64(kind))
	}
	switch f.State {
	case "":
	case "bad":
		c.add("failed = 1")
	case "failed":
		c.add("failed = 1 AND kind <> ?", int64(audit.KindRefusal))
	case "refused":
		c.add("kind = ?", int64(audit.KindRefusal))
	case "ok":
		c.add("failed = 0 AND kind = ?", int64(audit.KindOutcome))
	case "open":
		c.add("kind = ? AND EXISTS (SELECT 1 FROM call WHERE call.seq = row.seq AND call.state = 0)", int64(audit.KindIntent))
	default:
		return nil, errState
	}
	f.words(c, "call")
	return c, nil
}

// trigrams bounds what of a search is looked up; all of it is compared.
const trigrams = 24

// words restricts to calls whose text has all trigrams of the search. The text
// itself is compared by the caller: see matches.
func (f Filter) words(c *condition, column string) {
	text := []rune(f.needle())
	if len(text) < 3 {
		return
	}
	var terms []string
	for i := 0; i+3 <= len(text) && len(terms) < trigrams; i++ {
		terms = append(terms, `"`+strings.ReplaceAll(string(text[i:i+3]), `"`, `""`)+`"`)
	}
	c.add(column+" IN (SELECT rowid FROM words WHERE words MATCH ?)", strings.Join(terms, " AND "))
}

// needle is what is searched for.
func (f Filter) needle() string {
	return strings.ReplaceAll(strings.ToLower(strings.ToValidUTF8(f.Text, "\uFFFD")), "\x00", "")
}

// short says that the search has too few characters for the index.
func (f Filter) short() bool {
	n := utf8.RuneCountInString(f.needle())
	return n > 0 && n < 3
}

// matches says whether a text holds the search. The trigrams were found in any
// order, and fold letters in more ways than this does.
func (f Filter) matches(text string) bool {
	return strings.Contains(strings.ToLower(text), f.needle())
}

// Cursor says where a page ended. It is opaque to others and only good for the
// query it came from.
type Cursor string

// cursorOf makes a cursor that goes on after a row.
func cursorOf(seq int64, query string) Cursor {
	b := binary.AppendVarint(nil, seq)
	b = binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE([]byte(query)))
	return Cursor(base64.RawURLEncoding.EncodeToString(b))
}

// seq returns the row after which a page of the query goes on; 0 is its begin.
func (c Cursor) seq(query string) (int64, error) {
	if c == "" {
		return 0, nil
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(string(c))
	if err == nil {
		seq, n := binary.Varint(b)
		if n > 0 && seq > 0 && len(b) == n+4 && binary.LittleEndian.Uint32(b[n:]) == crc32.ChecksumIEEE([]byte(query)) {
			return seq, nil
		}
	}
	return 0, fmt.Errorf("%w: the cursor is not one of this query", ErrInvalid)
}

// name tells queries apart.
func (f Filter) name(what string, newest bool) string {
	f.From, f.To = f.From.UTC(), f.To.UTC()
	return fmt.Sprintf("%s %v %+v", what, newest, f)
}
