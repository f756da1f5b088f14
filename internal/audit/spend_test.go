package audit

import "testing"

func TestSpending(t *testing.T) {
	intent := Record{Seq: 1, Kind: KindIntent, Attrs: []Attr{{"class", "inference"}, {AttrReserved, "100"}, {AttrReservedCost, "9000"}}}
	whole := Spend{Tokens: 100, Cost: 9000}
	for name, c := range map[string]struct {
		outcome Record
		want    Spend
	}{
		"usage told":              {Record{Usage: Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite5m: 4, CacheWrite1h: 5, Reasoning: 2}, CostNano: 70}, Spend{15, 70}},
		"nothing used":            {Record{Status: 429}, Spend{}},
		"usage not told":          {Record{Attrs: []Attr{{AttrUsage, UsageUnknown}}}, whole},
		"more was seen than that": {Record{CostNano: 9500, Attrs: []Attr{{AttrCharged, "120"}, {AttrUsage, UsageUnknown}}}, Spend{120, 9500}},
		"found open after crash":  {Record{Result: ResultUnknown}, whole},
	} {
		c.outcome.Seq, c.outcome.Ref, c.outcome.Kind = 2, 1, KindOutcome
		var s Spending
		s.Add(intent)
		for r, open := range s.Open() {
			if r.Seq != 1 || open != whole {
				t.Errorf("%s: open %+v", name, open)
			}
		}
		got, spent, ended := s.Add(c.outcome)
		if !ended || got.Seq != 1 || spent != c.want {
			t.Errorf("%s: %+v, want %+v", name, spent, c.want)
		}
		if _, _, again := s.Add(c.outcome); again {
			t.Errorf("%s: counted twice", name)
		}
	}
	var s Spending
	s.Add(Record{Seq: 1, Kind: KindIntent})
	if _, _, ended := s.Add(Record{Seq: 2, Ref: 1, Kind: KindOutcome, Usage: Usage{Input: 9}}); ended {
		t.Error("a call without a reservation drew something")
	}
}
