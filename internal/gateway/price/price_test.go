package price

import (
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"moeca/internal/audit"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/usage"
)

func table(t testing.TB, rows ...gatewayapi.Price) *Table {
	t.Helper()
	p, err := NewTable()
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.Plan(gatewayapi.PricePatch{Set: rows})
	if err != nil {
		t.Fatal(err)
	}
	c.Apply()
	return p
}

func TestCostOfEachPart(t *testing.T) {
	q, ok := table(t, gatewayapi.Price{
		Kind: "x", Model: "m", Input: "1", Output: "10", CacheRead: "0.1", CacheWrite5m: "1.25", CacheWrite1h: "2",
		Reasoning: "20", AudioInput: "3", ImageInput: "4", AudioOutput: "30", ImageOutput: "40", Search: "0.01",
	}).Quote("any", "x", "m")
	if !ok {
		t.Fatal("no price")
	}
	const million = 1_000_000
	for name, c := range map[string]struct {
		count usage.Count
		want  int64
	}{
		"nothing":                    {usage.Count{}, 0},
		"one token, rounded up":      {usage.Count{Usage: audit.Usage{CacheRead: 1}}, 100},
		"input":                      {usage.Count{Usage: audit.Usage{Input: million}}, 1e9},
		"cached":                     {usage.Count{Usage: audit.Usage{CacheRead: million}}, 1e8},
		"written for five minutes":   {usage.Count{Usage: audit.Usage{CacheWrite5m: million}}, 125e7},
		"written for an hour":        {usage.Count{Usage: audit.Usage{CacheWrite1h: million}}, 2e9},
		"output":                     {usage.Count{Usage: audit.Usage{Output: million}}, 10e9},
		"output, a half of thoughts": {usage.Count{Usage: audit.Usage{Output: million, Reasoning: million / 2}}, 15e9},
		"sound in":                   {usage.Count{Usage: audit.Usage{Input: million}, AudioIn: million}, 3e9},
		"an image in":                {usage.Count{Usage: audit.Usage{Input: million}, ImageIn: million}, 4e9},
		"sound out":                  {usage.Count{Usage: audit.Usage{Output: million}, AudioOut: million}, 30e9},
		"an image out":               {usage.Count{Usage: audit.Usage{Output: million}, ImageOut: million}, 40e9},
		"three searches":             {usage.Count{Searches: 3}, 3e7},
	} {
		if got, known := q.Cost(c.count); got != c.want || !known {
			t.Errorf("%s: %d, want %d, known %v", name, got, c.want, known)
		}
	}
}

func TestStepsOfATariff(t *testing.T) {
	q, ok := table(t).Quote("anthropic", "anthropic", "claude-sonnet-4-5-20250929")
	if !ok {
		t.Fatal("no price")
	}
	short, _ := q.Cost(usage.Count{Usage: audit.Usage{Input: 100_000, CacheRead: 100_000, Output: 1000}})
	long, _ := q.Cost(usage.Count{Usage: audit.Usage{Input: 100_000, CacheRead: 100_001, Output: 1000}})
	if short != 300_000_000+30_000_000+15_000_000 || long != 600_000_000+60_000_600+22_500_000 {
		t.Fatalf("%d, %d", short, long)
	}
	q, ok = table(t).Quote("openai", "openai", "gpt-5.5-pro")
	if _, known := q.Cost(usage.Count{Usage: audit.Usage{Input: 272_001}}); !ok || known {
		t.Fatal("a call longer than any step has a price")
	}
	if _, known := q.Most(usage.Bound{Input: 272_001}); known {
		t.Fatal("a call that may be longer than any step has a bound")
	}
}

func TestWhichRowCounts(t *testing.T) {
	own := gatewayapi.Price{Upstream: "mine", Model: "*", Input: "7", Output: "7"}
	exact := gatewayapi.Price{Upstream: "mine", Kind: "openai", Model: "big", Input: "8", Output: "8"}
	p := table(t, own, exact, gatewayapi.Price{Kind: "openai", Model: "llama-*", Input: "0.5", Output: "0.5"})
	for name, c := range map[string]struct {
		upstream, kind, model string
		input                 string // per million; empty: no price
	}{
		"the name":                        {"openai", "openai", "gpt-5", "1.25"},
		"a dated snapshot":                {"openai", "openai", "gpt-5-2025-08-07", "1.25"},
		"a dated snapshot of the longer":  {"openai", "openai", "gpt-5-mini-2025-08-07", "0.25"},
		"a later model is not the older":  {"openai", "openai", "gpt-5-ultra", ""},
		"nor one with another point":      {"openai", "openai", "gpt-5.7", ""},
		"nor one that begins alike":       {"openai", "openai", "gpt-5x", ""},
		"the latest":                      {"anthropic", "anthropic", "claude-3-5-haiku-latest", "0.8"},
		"4-5 is not a snapshot of 4":      {"anthropic", "anthropic", "claude-opus-4-5-20251101", "5"},
		"an unknown one is not of 4":      {"anthropic", "anthropic", "claude-opus-4-99", ""},
		"another kind":                    {"gemini", "gemini", "gpt-5", ""},
		"no model":                        {"openai", "openai", "", ""},
		"an open beginning":               {"openai", "openai", "llama-9-huge", "0.5"},
		"the provider by name goes first": {"mine", "openai", "gpt-5", "7"},
		"and the longer of its rows":      {"mine", "openai", "big", "8"},
		"the scripted model":              {"demo", "anthropic", "scripted-1", "0"},
	} {
		q, ok := p.Quote(c.upstream, c.kind, c.model)
		if ok != (c.input != "") {
			t.Errorf("%s: priced %v", name, ok)
			continue
		}
		if ok {
			want, _ := parseUSD(c.input)
			if got, known := q.Cost(usage.Count{Usage: audit.Usage{Input: 1000}}); got != want/1000 || !known {
				t.Errorf("%s: %d, want %d", name, got, want/1000)
			}
		}
	}
}

func TestRowsThatAreRefused(t *testing.T) {
	ok := gatewayapi.Price{Kind: "openai", Model: "m", Input: "1", Output: "1"}
	for name, edit := range map[string]func(*gatewayapi.Price){
		"no input":             func(p *gatewayapi.Price) { p.Input = "" },
		"no output":            func(p *gatewayapi.Price) { p.Output = "" },
		"a negative price":     func(p *gatewayapi.Price) { p.Input = "-1" },
		"a float":              func(p *gatewayapi.Price) { p.CacheRead = "1e3" },
		"a currency":           func(p *gatewayapi.Price) { p.Input = "$1" },
		"ten places":           func(p *gatewayapi.Price) { p.Input = "0.0000000001" },
		"more than anything":   func(p *gatewayapi.Price) { p.Input = "100000.1" },
		"every model there is": func(p *gatewayapi.Price) { p.Model = "*" },
		"no model":             func(p *gatewayapi.Price) { p.Model = "" },
		"no kind":              func(p *gatewayapi.Price) { p.Kind = "" },
		"an inner asterisk":    func(p *gatewayapi.Price) { p.Model = "a*b" },
		"a negative step":      func(p *gatewayapi.Price) { p.UpTo = -1 },
	} {
		row := ok
		edit(&row)
		if _, err := table(t).Plan(gatewayapi.PricePatch{Set: []gatewayapi.Price{row}}); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := table(t).Plan(gatewayapi.PricePatch{Remove: []gatewayapi.PriceKey{{Model: "none", Kind: "openai"}}}); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), `model "none" of kind openai to remove`) {
		t.Error("a row that is not there was removed")
	}
}

func TestAPlanThatIsNotAppliedChangesNothing(t *testing.T) {
	p := table(t)
	before := len(p.List().Prices)
	c, err := p.Plan(gatewayapi.PricePatch{Remove: []gatewayapi.PriceKey{{Kind: "openai", Model: "gpt-5"}}})
	if err != nil || len(p.List().Prices) != before {
		t.Fatal("planned and done", err)
	}
	c.Apply()
	if _, ok := p.Quote("openai", "openai", "gpt-5"); ok || len(p.List().Prices) != before-1 {
		t.Fatal("not removed")
	}
}

// amounts draws counts from small to the largest a meter believes.
func amount(t *rapid.T, name string, most int64) int64 {
	return rapid.Int64Range(0, most).Draw(t, name)
}

func anyRow(t *rapid.T) row {
	p := func(name string) int64 { return rapid.Int64Range(0, maxPrice*1_000_000_000).Draw(t, name) }
	return row{
		upTo: math.MaxInt64, input: p("input"), cacheRead: p("read"), write5m: p("5m"), write1h: p("1h"), audioIn: p("ain"), imageIn: p("iin"),
		output: p("output"), reasoning: p("reasoning"), audioOut: p("aout"), imageOut: p("iout"), search: p("search"), searches: true,
	}
}

// The cost is what exact arithmetic gives, rounded up, and never wraps.
func TestCostIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, c := anyRow(t), usage.Count{}
		c.AudioIn, c.ImageIn = amount(t, "ai", 1<<20), amount(t, "ii", 1<<20)
		c.Input = c.AudioIn + c.ImageIn + amount(t, "in", 1<<40)
		c.CacheRead, c.CacheWrite5m, c.CacheWrite1h = amount(t, "cr", 1<<40), amount(t, "w5", 1<<40), amount(t, "w1", 1<<40)
		c.AudioOut, c.ImageOut, c.Reasoning = amount(t, "ao", 1<<20), amount(t, "io", 1<<20), amount(t, "re", 1<<30)
		c.Output = c.AudioOut + c.ImageOut + c.Reasoning + amount(t, "out", 1<<40)
		c.Searches = amount(t, "se", 1000)
		sum := new(big.Int)
		for _, part := range [][2]int64{
			{c.Input - c.AudioIn - c.ImageIn, r.input},
			{c.AudioIn, r.audioIn},
			{c.ImageIn, r.imageIn},
			{c.CacheRead, r.cacheRead},
			{c.CacheWrite5m, r.write5m},
			{c.CacheWrite1h, r.write1h},
			{c.Output - c.Reasoning - c.AudioOut - c.ImageOut, r.output},
			{c.Reasoning, r.reasoning},
			{c.AudioOut, r.audioOut},
			{c.ImageOut, r.imageOut},
		} {
			sum.Add(sum, new(big.Int).Mul(big.NewInt(part[0]), big.NewInt(part[1])))
		}
		sum.Add(sum, big.NewInt(perMillion-1)).Div(sum, big.NewInt(perMillion))
		sum.Add(sum, new(big.Int).Mul(big.NewInt(c.Searches), big.NewInt(r.search)))
		want := int64(math.MaxInt64)
		if sum.IsInt64() {
			want = sum.Int64()
		}
		if got, known := (Quote{[]row{r}}).Cost(c); got != want || !known {
			t.Fatalf("%d, want %d", got, want)
		}
	})
}

// What stays within its bound never costs more than the bound.
func TestNoCallWithinItsBoundCostsMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low, high := anyRow(t), anyRow(t)
		low.upTo = rapid.Int64Range(0, 3_000_000).Draw(t, "step")
		q := Quote{[]row{low, high}}
		b := usage.Bound{
			Input: amount(t, "input", 4_000_000), Output: amount(t, "output", 1_000_000), Searches: amount(t, "searches", 128),
			CacheWrites: rapid.Bool().Draw(t, "writes"), Media: rapid.Bool().Draw(t, "media"),
		}
		var c usage.Count
		c.Input = amount(t, "in", b.Input)
		c.CacheRead = amount(t, "read", b.Input-c.Input)
		if b.CacheWrites {
			c.CacheWrite5m = amount(t, "5m", b.Input-c.Context())
			c.CacheWrite1h = amount(t, "1h", b.Input-c.Context())
		}
		if b.Media {
			c.AudioIn = amount(t, "audio", c.Input)
			c.ImageIn = amount(t, "image", c.Input-c.AudioIn)
		}
		c.Output = amount(t, "out", b.Output)
		c.Reasoning = amount(t, "reasoning", c.Output)
		c.AudioOut = amount(t, "spoken", c.Output-c.Reasoning)
		c.Searches = amount(t, "searched", b.Searches)
		cost, known := q.Cost(c)
		most, bounded := q.Most(b)
		if !known || !bounded || cost > most {
			t.Fatalf("cost %d of at most %d", cost, most)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"3.75", "0", "0.000000001", "100000", "1.", ".5", "1e3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := parseUSD(s)
		if err == nil && (n < 0 || n > maxPrice*1_000_000_000) {
			t.Fatalf("%q is %d", s, n)
		}
	})
}
