package gatewayapi

import (
	"fmt"
	"regexp"
	"strconv"
)

// Price is one row of the price table: what a model costs in USD per million
// tokens, written as decimals ("3.75") of at most nine places. Input and Output
// must be there; another price that is left out is that of ordinary input or
// output. A call of a tool at the provider has no price unless Search names one.
type Price struct {
	// Upstream is the name of the one provider the row is for; empty is every
	// provider of the kind.
	Upstream string `json:"upstream,omitempty"`
	Kind     string `json:"kind,omitempty"`
	// Model is a name, which also stands for its dated snapshots, or the
	// beginning of names followed by an asterisk. The longest match counts.
	Model string `json:"model"`
	// UpTo is the largest input of a call the row is for, in tokens; 0 is any.
	// Rows of one model that differ in it are the steps of one tariff.
	UpTo int64 `json:"up_to,omitempty"`

	Input        string `json:"input"`
	Output       string `json:"output"`
	CacheRead    string `json:"cache_read,omitempty"`
	CacheWrite5m string `json:"cache_write_5m,omitempty"`
	CacheWrite1h string `json:"cache_write_1h,omitempty"`
	Reasoning    string `json:"reasoning,omitempty"`
	AudioInput   string `json:"audio_input,omitempty"`
	ImageInput   string `json:"image_input,omitempty"`
	AudioOutput  string `json:"audio_output,omitempty"`
	ImageOutput  string `json:"image_output,omitempty"`
	Search       string `json:"search,omitempty"` // USD per call, not per million

	// Source is the address the row was read at, Read the day it stood there so,
	// as 2006-01-02, and Note what else is to be known of it. A shipped row that
	// is not free has the first two.
	Source string `json:"source,omitempty"`
	Read   string `json:"read,omitempty"`
	Note   string `json:"note,omitempty"`
}

// PriceKey names a row.
type PriceKey struct {
	Upstream string `json:"upstream,omitempty"`
	Kind     string `json:"kind,omitempty"`
	Model    string `json:"model"`
	UpTo     int64  `json:"up_to,omitempty"`
}

// Key returns the name of the row.
func (p Price) Key() PriceKey { return PriceKey{p.Upstream, p.Kind, p.Model, p.UpTo} }

// PricePatch is the body of PATCH /v1/prices: rows to remove, then rows to set.
// All others stay.
type PricePatch struct {
	Set    []Price    `json:"set,omitempty"`
	Remove []PriceKey `json:"remove,omitempty"`
}

// Prices is the answer to GET and PATCH /v1/prices.
type Prices struct {
	Prices []Price `json:"prices"`
}

var decimal = regexp.MustCompile(`^([0-9]{1,6})(?:\.([0-9]{1,9}))?$`)

// ParseUSD reads an amount in USD as 1e-9 USD, exactly.
func ParseUSD(usd string) (nano int64, err error) {
	m := decimal.FindStringSubmatch(usd)
	if m == nil {
		return 0, fmt.Errorf(`%.40q is not an amount in USD; write it like "3.75", with at most nine places`, usd)
	}
	return strconv.ParseInt(m[1]+(m[2] + "000000000")[:9], 10, 64)
}

// USD writes 1e-9 USD for a person, to the hundredth of a cent, rounded up.
func USD(nano int64) string {
	n := nano/100_000 + min(nano%100_000, 1)
	digits := strconv.FormatInt(10_000+n%10_000, 10)
	return strconv.FormatInt(n/10_000, 10) + "." + digits[1:]
}
