package usage

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"moeca/internal/strictjson"
)

// What a call may be served at instead of the ordinary tariff: faster, or in one
// part of the world. Who asks for that is found beforehand; an account can also
// be set so, and then only the answer says it.

// tariff says that the body asks to be served faster, elsewhere or otherwise
// than what a price list's ordinary columns are for, in either spelling of a
// member's name.
func tariff(top strictjson.Document) (other bool) {
	top.Each(func(key string, v strictjson.Document) bool {
		var ordinary []string
		switch strings.ReplaceAll(strictjson.Fold(key), "_", "") {
		case "servicetier":
			ordinary = []string{"auto", "default", "standard", "standard_only"}
		case "speed":
			ordinary = []string{"standard"}
		case "inferencegeo":
			ordinary = []string{"global"}
		case "promptcacheoptions": // may ask for writes that are kept longer and cost more
		default:
			return true
		}
		name, _ := v.Text()
		other = given(v) && !slices.Contains(ordinary, name)
		return !other
	})
	return other
}

// surcharges are the highest prices in percent of the ordinary ones that a page
// lists for what an answer says: priority 12.50 USD for input of gpt-5.5 instead
// of 5 (openai.com/api-priority-processing), ultrafast 12 instead of 2, fast six
// times the price of older models, "us" 1.1 times (platform.claude.com, pricing).
func surcharge(served string) int64 {
	switch strings.ToLower(served) {
	case "priority":
		return 250
	case "fast", "ultrafast":
		return 600
	case "us":
		return 110
	}
	return 0
}

// served takes over what an answer says of how it was served.
func (m *Meter) served(at gjson.Result) {
	if at.Type == gjson.String {
		m.count.Percent = max(m.count.Percent, surcharge(at.Str))
	}
}
