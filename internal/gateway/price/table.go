package price

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"moeca/internal/gateway/gatewayapi"
)

// ErrInvalid is wrapped by every refusal of a row.
var ErrInvalid = errors.New("price: invalid row")

const (
	maxRows  = 4096
	maxPrice = 100_000 // USD; ten thousand times what anything costs
)

//go:embed prices.json
var shipped []byte

// Table is the price table.
type Table struct {
	mu   sync.RWMutex
	rows map[gatewayapi.PriceKey]entry
}

type entry struct {
	wire gatewayapi.Price
	row  row
}

// Empty returns a table that prices nothing.
func Empty() *Table { return &Table{rows: map[gatewayapi.PriceKey]entry{}} }

// file is the form of prices.json: rows that were read at one place.
type file struct {
	Groups []struct {
		Source string             `json:"source"`
		Read   string             `json:"read"`
		Note   string             `json:"note"`
		Prices []gatewayapi.Price `json:"prices"`
	} `json:"groups"`
}

// NewTable returns the table that is shipped.
func NewTable() (*Table, error) {
	rows, err := load(shipped)
	if err != nil {
		return nil, fmt.Errorf("price: shipped table: %w", err)
	}
	t := Empty()
	c, err := t.Plan(gatewayapi.PricePatch{Set: rows})
	if err != nil {
		return nil, fmt.Errorf("price: shipped table: %w", err)
	}
	c.Apply()
	return t, nil
}

// load reads a table whose rows say where they are from: what costs something
// must have an address and a day, and no row is there twice.
func load(table []byte) (rows []gatewayapi.Price, err error) {
	var f file
	d := json.NewDecoder(bytes.NewReader(table))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return nil, err
	}
	seen := map[gatewayapi.PriceKey]bool{}
	for _, g := range f.Groups {
		for _, row := range g.Prices {
			row.Source, row.Read, row.Note = g.Source, g.Read, g.Note
			if free := row.Input == "0" && row.Output == "0"; !free && (row.Source == "" || row.Read == "") {
				return nil, fmt.Errorf("model %q: nothing says where and when its price was read", row.Model)
			}
			if seen[row.Key()] {
				return nil, fmt.Errorf("model %q up to %d is there twice", row.Model, row.UpTo)
			}
			seen[row.Key()] = true
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// List returns the rows in order of their keys.
func (t *Table) List() gatewayapi.Prices {
	t.mu.RLock()
	defer t.mu.RUnlock()
	out := gatewayapi.Prices{Prices: make([]gatewayapi.Price, 0, len(t.rows))}
	for _, e := range t.rows {
		out.Prices = append(out.Prices, e.wire)
	}
	slices.SortFunc(out.Prices, func(a, b gatewayapi.Price) int {
		return cmp.Or(cmp.Compare(a.Upstream, b.Upstream), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Model, b.Model), cmp.Compare(a.UpTo, b.UpTo))
	})
	return out
}

// Quote returns the tariff of a model at an upstream.
func (t *Table) Quote(upstream, kind, model string) (Quote, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	best, rank := gatewayapi.PriceKey{}, -1
	for k := range t.rows {
		if r := rankOf(k, upstream, kind, model); r > rank {
			best, rank = k, r
		}
	}
	if rank < 0 {
		return Quote{}, false
	}
	var q Quote
	for k, e := range t.rows {
		if best.UpTo = k.UpTo; k == best {
			q.steps = append(q.steps, e.row)
		}
	}
	slices.SortFunc(q.steps, func(a, b row) int { return cmp.Compare(a.upTo, b.upTo) })
	return q, true
}

// rankOf says how well a row fits, negative for not at all: by name before by
// kind, then the longer name, then the whole name before a beginning.
func rankOf(k gatewayapi.PriceKey, upstream, kind, model string) int {
	if k.Upstream != "" && k.Upstream != upstream || k.Kind != "" && k.Kind != kind {
		return -1
	}
	name, open := strings.CutSuffix(k.Model, "*")
	rest, ok := strings.CutPrefix(model, name)
	if !ok || !open && rest != "" && !snapshot.MatchString(rest) {
		return -1
	}
	rank := 8 * len(name)
	if !open {
		rank += 4
	}
	if k.Kind != "" {
		rank++
	}
	if k.Upstream != "" {
		rank += 8 * (maxModel + 1)
	}
	return rank
}

// snapshot is what providers put after a name to pin one version of a model.
var snapshot = regexp.MustCompile(`^[-@](latest|[0-9]{3,8}|[0-9]{4}-[0-9]{2}-[0-9]{2})$`)

// Change is a planned change.
type Change struct {
	table *Table
	rows  map[gatewayapi.PriceKey]entry
}

// Plan checks a patch against the table.
func (t *Table) Plan(p gatewayapi.PricePatch) (*Change, error) {
	t.mu.RLock()
	rows := maps.Clone(t.rows)
	t.mu.RUnlock()
	for _, k := range p.Remove {
		if _, ok := rows[k]; !ok {
			return nil, fmt.Errorf("%w: there is no row for %s to remove; name it as it was set, with its provider or kind", ErrInvalid, keyWords(k))
		}
		delete(rows, k)
	}
	for _, w := range p.Set {
		r, err := parse(w)
		if err != nil {
			return nil, fmt.Errorf("%w: model %.140q: %v", ErrInvalid, w.Model, err)
		}
		rows[w.Key()] = entry{w, r}
	}
	if len(rows) > maxRows {
		return nil, fmt.Errorf("%w: more than %d rows", ErrInvalid, maxRows)
	}
	return &Change{t, rows}, nil
}

func keyWords(k gatewayapi.PriceKey) string {
	words := fmt.Sprintf("model %q", k.Model)
	switch {
	case k.Upstream != "":
		words += " of provider " + k.Upstream
	case k.Kind != "":
		words += " of kind " + k.Kind
	}
	if k.UpTo != 0 {
		words += fmt.Sprintf(" up to %d tokens of input", k.UpTo)
	}
	return words
}

// Apply makes the change.
func (c *Change) Apply() {
	c.table.mu.Lock()
	defer c.table.mu.Unlock()
	c.table.rows = c.rows
}

const (
	maxModel = 128
	maxText  = 512
)

// origin checks what a row says of where it was read.
func origin(w gatewayapi.Price) error {
	if u, err := url.Parse(w.Source); w.Source != "" && (err != nil || u.Scheme != "https" || u.Host == "") {
		return fmt.Errorf("source %.80q is not an https address", w.Source)
	}
	if _, err := time.Parse(time.DateOnly, w.Read); w.Read != "" && err != nil {
		return fmt.Errorf("read %.40q is not a day like 2026-01-31", w.Read)
	}
	return nil
}

// parse reads a row and fills what it leaves out.
func parse(w gatewayapi.Price) (r row, err error) {
	switch name := strings.TrimSuffix(w.Model, "*"); {
	case len(w.Model) > maxModel || !utf8.ValidString(w.Model) || strings.Contains(name, "*"):
		return r, errors.New("the name is not a name of at most 128 bytes, or its beginning and *")
	case w.Upstream == "" && (name == "" || w.Kind == ""):
		return r, errors.New("name the provider, or its kind and the model")
	case len(w.Upstream) > maxModel || len(w.Kind) > maxModel:
		return r, errors.New("the provider's name is too long")
	case w.UpTo < 0:
		return r, errors.New("up_to is negative")
	case len(w.Source) > maxText || len(w.Note) > maxText || !utf8.ValidString(w.Source+w.Note):
		return r, fmt.Errorf("source and note are texts of at most %d bytes", maxText)
	}
	if err := origin(w); err != nil {
		return r, err
	}
	if r.upTo = w.UpTo; r.upTo == 0 {
		r.upTo = math.MaxInt64
	}
	var errs []error
	read := func(name, s string, otherwise int64) int64 {
		if s == "" && otherwise >= 0 {
			return otherwise
		}
		n, err := parseUSD(s)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
		return n
	}
	r.input, r.output = read("input", w.Input, -1), read("output", w.Output, -1)
	r.cacheRead = read("cache_read", w.CacheRead, r.input)
	r.write5m = read("cache_write_5m", w.CacheWrite5m, r.input)
	r.write1h = read("cache_write_1h", w.CacheWrite1h, r.write5m)
	r.audioIn, r.imageIn = read("audio_input", w.AudioInput, r.input), read("image_input", w.ImageInput, r.input)
	r.reasoning = read("reasoning", w.Reasoning, r.output)
	r.audioOut, r.imageOut = read("audio_output", w.AudioOutput, r.output), read("image_output", w.ImageOutput, r.output)
	r.search, r.searches = read("search", w.Search, 0), w.Search != ""
	return r, errors.Join(errs...)
}

// parseUSD reads a price in USD as 1e-9 USD.
func parseUSD(usd string) (nano int64, err error) {
	nano, err = gatewayapi.ParseUSD(usd)
	if err == nil && nano > maxPrice*1_000_000_000 {
		err = fmt.Errorf("%s is more than %d USD", usd, maxPrice)
	}
	return nano, err
}
