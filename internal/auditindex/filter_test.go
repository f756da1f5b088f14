package auditindex

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"moeca/internal/audit"
)

// world is a log with calls that differ in what they are filtered by.
func world(t *testing.T) (r *rig, named map[string]int64) {
	r = newRig(t)
	named = map[string]int64{}
	a, b := who("1", "run-1", "s1"), who("2", "run-2", "s2")
	b.Agent = "codex"
	named["plain"] = r.call(a, 10, 1)
	other := intent(b)
	other.Upstream, other.Model = "openai", "gpt"
	named["other"] = r.append(other, "", "")
	end := outcome(b, named["other"], 5, 5)
	end.Upstream, end.Model, end.Status = "openai", "gpt-dated", 429
	r.append(end, "", "")
	named["refused"] = r.append(refusal(a), "", "")
	named["open"] = r.append(intent(b), "", "")
	cut := r.append(intent(a), "", "")
	o := outcome(a, cut, 1, 1)
	o.Result, o.Attrs = audit.ResultClientGone, []audit.Attr{{Key: "cause", Value: "connection reset"}}
	r.append(o, "", "")
	named["cut"] = cut
	named["nobody"] = r.append(audit.Record{Kind: audit.KindRefusal, Gate: "session", Reason: "missing", Status: 401}, "", "")
	r.append(audit.Record{Kind: audit.KindAdmin, Actor: audit.ActorPerson, Subject: "budget.set day"}, "", "")
	r.sync()
	return r, named
}

func TestFiltersOfCalls(t *testing.T) {
	r, named := world(t)
	cut, _, err := r.read.At(named["cut"])
	r.check(err)
	for what, c := range map[string]struct {
		filter Filter
		want   []string
	}{
		"everything":                {Filter{}, []string{"nobody", "cut", "open", "refused", "other", "plain"}},
		"a task":                    {Filter{Task: "1"}, []string{"cut", "refused", "plain"}},
		"no task":                   {Filter{Task: None}, []string{"nobody"}},
		"a run":                     {Filter{Run: "run-2"}, []string{"open", "other"}},
		"a stage and a state":       {Filter{Stage: "s1", State: "refused"}, []string{"refused"}},
		"a session":                 {Filter{Session: "session-s2"}, []string{"open", "other"}},
		"an agent":                  {Filter{Agent: "codex"}, []string{"open", "other"}},
		"the model that answered":   {Filter{Model: "gpt-dated"}, []string{"other"}},
		"a model nobody answered":   {Filter{Model: "gpt"}, nil},
		"an upstream":               {Filter{Upstream: "openai"}, []string{"other"}},
		"no upstream":               {Filter{Upstream: None}, []string{"nobody"}},
		"refusals by kind":          {Filter{Kind: "refusal"}, []string{"nobody", "refused"}},
		"calls let through":         {Filter{Kind: "intent"}, []string{"cut", "open", "other", "plain"}},
		"calls that ended":          {Filter{Kind: "outcome"}, []string{"cut", "other", "plain"}},
		"what went wrong":           {Filter{State: "bad"}, []string{"nobody", "cut", "refused", "other"}},
		"failed":                    {Filter{State: "failed"}, []string{"cut", "other"}},
		"open":                      {Filter{State: "open"}, []string{"open"}},
		"ok":                        {Filter{State: "ok"}, []string{"plain"}},
		"a status":                  {Filter{Status: "402"}, []string{"refused"}},
		"a class of status":         {Filter{Status: "4xx"}, []string{"nobody", "refused", "other"}},
		"from a time on":            {Filter{From: cut.Time}, []string{"nobody", "cut"}},
		"before a time":             {Filter{To: cut.Time}, []string{"open", "refused", "other", "plain"}},
		"rows below":                {Filter{Below: named["other"]}, []string{"plain"}},
		"rows above":                {Filter{Above: named["cut"]}, []string{"nobody"}},
		"a text of a cause":         {Filter{Text: "connection RESET"}, []string{"cut"}},
		"a text of a gate":          {Filter{Text: "budget"}, []string{"refused"}},
		"a text and a task":         {Filter{Text: "api.example.org", Task: "2"}, []string{"open", "other"}},
		"a short text":              {Filter{Text: "gp"}, []string{"other"}},
		"nothing":                   {Filter{Text: "no such text anywhere"}, nil},
		"words of SQL":              {Filter{Task: "1' OR '1'='1"}, nil},
		"words of the search index": {Filter{Text: `"budget" OR NEAR(*`}, nil},
	} {
		t.Run(what, func(t *testing.T) {
			var want []int64
			for _, n := range c.want {
				want = append(want, named[n])
			}
			if got := r.seqs(c.filter); !slices.Equal(got, want) {
				t.Errorf("calls %v, want %v (%v)", got, want, c.want)
			}
			page, err := r.x.Calls(t.Context(), Query{Filter: c.filter, Limit: 100})
			r.check(err)
			for _, call := range page.Items { // exports filter without an index
				f := c.filter
				f.Text, f.Below, f.Above = "", 0, 0
				if !f.Match(call, "") {
					t.Errorf("Match denies call %d", call.Seq)
				}
			}
		})
	}
}

func TestMatchDeniesWhatIsNotSelected(t *testing.T) {
	r, _ := world(t)
	all, err := r.x.Calls(t.Context(), Query{Limit: 100})
	r.check(err)
	for _, f := range []Filter{
		{Task: "1"},
		{Task: None},
		{Run: "run-2"},
		{Agent: "codex"},
		{Model: "gpt-dated"},
		{Upstream: None},
		{Kind: "refusal"},
		{Kind: "intent"},
		{Kind: "outcome"},
		{State: "bad"},
		{State: "failed"},
		{State: "open"},
		{State: "ok"},
		{Status: "4xx"},
		{Status: "402"},
		{From: all.Items[1].Time},
		{To: all.Items[1].Time},
	} {
		selected := r.seqs(f)
		for _, c := range all.Items {
			if got := f.Match(c, ""); got != slices.Contains(selected, c.Seq) {
				t.Errorf("%+v: Match of call %d is %v", f, c.Seq, got)
			}
		}
	}
}

func TestFiltersOfRows(t *testing.T) {
	r, named := world(t)
	last, _ := r.read.Refresh()
	for what, c := range map[string]struct {
		filter Filter
		want   func(rec audit.Record) bool
	}{
		"everything": {Filter{}, func(audit.Record) bool { return true }},
		"a kind":     {Filter{Kind: "admin"}, func(r audit.Record) bool { return r.Kind == audit.KindAdmin }},
		"a task":     {Filter{Task: "1"}, func(r audit.Record) bool { return r.Attribution.Task == "1" }},
		"refused":    {Filter{State: "refused"}, func(r audit.Record) bool { return r.Kind == audit.KindRefusal }},
		"failed":     {Filter{State: "failed"}, func(r audit.Record) bool { return bad(r) && r.Kind != audit.KindRefusal }},
		"bad":        {Filter{State: "bad"}, bad},
		"ok":         {Filter{State: "ok"}, func(r audit.Record) bool { return !bad(r) && r.Kind == audit.KindOutcome }},
		"open":       {Filter{State: "open"}, func(r audit.Record) bool { return r.Seq == named["open"] }},
		"a status":   {Filter{Status: "429"}, func(r audit.Record) bool { return r.Status == 429 }},
		"a subject":  {Filter{Text: "Budget.Set"}, func(r audit.Record) bool { return r.Kind == audit.KindAdmin }},
		"a call's text": {Filter{Text: "connection reset"}, func(r audit.Record) bool {
			return r.Seq == named["cut"] || r.Ref == named["cut"]
		}},
	} {
		t.Run(what, func(t *testing.T) {
			for _, oldest := range []bool{false, true} {
				var want []int64
				for seq := int64(1); seq <= last; seq++ {
					rec, _, err := r.read.At(seq)
					r.check(err)
					if c.want(rec) {
						want = append(want, seq)
					}
					if f := c.filter; f.Text == "" && f.State != "open" && f.MatchRow(rec, "") != c.want(rec) {
						t.Errorf("MatchRow of row %d is %v", seq, !c.want(rec))
					}
				}
				if !oldest {
					slices.Reverse(want)
				}
				var got []int64
				for cursor, more := Cursor(""), true; more; {
					page, err := r.x.Rows(t.Context(), Query{Filter: c.filter, Limit: 2, Oldest: oldest, Cursor: cursor})
					r.check(err)
					for _, row := range page.Items {
						got = append(got, row.Seq)
					}
					cursor, more = page.Next, page.Next != ""
				}
				if !slices.Equal(got, want) {
					t.Errorf("oldest first %v: rows %v, want %v", oldest, got, want)
				}
			}
		})
	}
}

func TestAQueryThatCannotBeMeantIsRefused(t *testing.T) {
	r, _ := world(t)
	page, err := r.x.Calls(t.Context(), Query{Limit: 1})
	r.check(err)
	for what, q := range map[string]Query{
		"a state":                   {Filter: Filter{State: "odd"}, Limit: 1},
		"a kind of call":            {Filter: Filter{Kind: "merge"}, Limit: 1},
		"a status":                  {Filter: Filter{Status: "4x"}, Limit: 1},
		"a long status":             {Filter: Filter{Status: "4044"}, Limit: 1},
		"a signed status":           {Filter: Filter{Status: "+40"}, Limit: 1},
		"no limit":                  {},
		"a cursor of another query": {Filter: Filter{Task: "1"}, Limit: 1, Cursor: page.Next},
		"a cursor of another order": {Limit: 1, Oldest: true, Cursor: page.Next},
		"an invented cursor":        {Limit: 1, Cursor: "AAAA"},
		"a cursor that is none":     {Limit: 1, Cursor: "%%%"},
	} {
		if _, err := r.x.Calls(t.Context(), q); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := r.x.Rows(t.Context(), Query{Filter: Filter{Kind: "odd"}, Limit: 1}); !errors.Is(err, ErrInvalid) {
		t.Errorf("a kind of row: %v", err)
	}
	for _, f := range []Filter{{State: "odd"}, {Kind: "odd"}, {Status: "9"}} {
		if err := f.Check(); !errors.Is(err, ErrInvalid) {
			t.Errorf("Check of %+v: %v", f, err)
		}
	}
}

func TestPagesHoldWhileRowsAreAppended(t *testing.T) {
	r := newRig(t)
	var want []int64
	for i := range 10 {
		want = append(want, r.call(who("1", fmt.Sprint("r", i), "s"), 1, 1))
	}
	slices.Reverse(want)
	r.sync()
	var got []int64
	for cursor, more := Cursor(""), true; more; {
		page, err := r.x.Calls(t.Context(), Query{Filter: Filter{Task: "1"}, Limit: 3, Cursor: cursor})
		r.check(err)
		if (cursor == "") != (page.Count == 10) {
			t.Errorf("count is %d", page.Count)
		}
		for _, c := range page.Items {
			got = append(got, c.Seq)
		}
		r.call(who("1", "new", "s"), 1, 1)
		r.sync()
		cursor, more = page.Next, page.Next != ""
	}
	if !slices.Equal(got, want) {
		t.Errorf("pages hold %v, want %v", got, want)
	}
	page, err := r.x.Rows(t.Context(), Query{Filter: Filter{Task: "1"}, Limit: 1, Uncounted: true})
	if r.check(err); page.Count != -1 || len(page.Items) != 1 || page.Next == "" {
		t.Errorf("a page that is not counted is %+v", page)
	}
}

// TestSearchesFindTextsOfAnyScript looks for pieces of one text.
func TestSearchesFindTextsOfAnyScript(t *testing.T) {
	r := newRig(t)
	a := who("1", "r", "s")
	text := `Überprüfe die Größe; 日本語の監査ログ, 100% "quoted" back\\slash l'été 🙂 tab`
	seq := r.append(intent(a), `{"model":"m","messages":[{"role":"user","content":`+quote(text)+`}]}`, "")
	r.append(intent(a), `{"model":"m","messages":[{"role":"user","content":"gibt Prü fen und Größenordnung: log 監査"}]}`, "")
	r.sync()
	for _, found := range []string{
		"Überprüfe", "überprüfe", "日本語の監査", "本語", "監査ログ", `100% "quoted"`, `back\\slash`, "l'été", "🙂 tab", "Größe;", "fe di", "e", "die größe; 日",
	} {
		if got := r.seqs(Filter{Text: found}); !slices.Contains(got, seq) {
			t.Errorf("%q is not found: %v", found, got)
		}
	}
	for _, absent := range []string{"Prüfe die Grösse", "監査log", "quoted back", "%", "_", "tab tab", "erpr erpr", strings.Repeat("x", 300), "\x00\x00\x00"} {
		got := r.seqs(Filter{Text: absent})
		if absent == "%" {
			if !slices.Equal(got, []int64{seq}) {
				t.Errorf("%q is a wildcard: %v", absent, got)
			}
			continue
		}
		if slices.Contains(got, seq) && absent != "\x00\x00\x00" {
			t.Errorf("%q is found", absent)
		}
	}
}

func quote(s string) string { return fmt.Sprintf("%q", s) }

func TestARequestRepeatsNoText(t *testing.T) {
	r := newRig(t)
	a := who("1", "r", "s")
	first := r.append(intent(a), `{"model":"m","system":"be brief","messages":[{"role":"user","content":"the opening question"}]}`, "")
	r.append(outcome(a, first, 1, 1), "", `{"type":"message","role":"assistant","content":[{"type":"text","text":"a middle answer"},{"type":"tool_use","id":"t1","name":"read_file","input":{"path":"x.txt"}}]}`)
	second := r.append(intent(a), `{"model":"m","messages":[{"role":"user","content":"the opening question"},{"role":"assistant","content":[{"type":"text","text":"a middle answer"},{"type":"tool_use","id":"t1","name":"read_file","input":{"path":"x.txt"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"file content here"}]}]}`, "")
	r.sync()
	for text, want := range map[string][]int64{
		"opening question": {first}, "be brief": {first}, "middle answer": {first}, "read_file": {first}, "x.txt": {first}, "file content here": {second},
	} {
		if got := r.seqs(Filter{Text: text}); !slices.Equal(got, want) {
			t.Errorf("%q is in %v, want %v", text, got, want)
		}
	}
	c, err := r.x.Call(t.Context(), first+1)
	r.check(err)
	if c.Seq != first || c.Tools != 1 {
		t.Errorf("call is %d with %d tool calls", c.Seq, c.Tools)
	}
}

func FuzzSearch(f *testing.F) {
	f.Add("abc", "xabcx")
	f.Add(`"`, `a"b`)
	f.Add("ß*", "ß* OR")
	f.Fuzz(func(t *testing.T, needle, text string) {
		flt := Filter{Text: needle}
		c := &condition{}
		flt.words(c, "seq")
		for _, a := range c.args {
			if s := a.(string); strings.Count(s, `"`)%2 != 0 || strings.ContainsRune(s, 0) {
				t.Errorf("%q becomes the search %q", needle, s)
			}
		}
		_ = flt.matches(text)
	})
}

func TestTimesAreBounds(t *testing.T) {
	r, _ := world(t)
	if got := r.seqs(Filter{From: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)}); got != nil {
		t.Errorf("calls of the future: %v", got)
	}
	all := r.seqs(Filter{})
	for year, after := range map[int]bool{1: false, 1600: false, 1969: false, 2263: true, 2999: true, 9999: true} {
		at := time.Date(year, 12, 31, 0, 0, 0, 0, time.UTC)
		from, to := r.seqs(Filter{From: at}), r.seqs(Filter{To: at})
		if after {
			from, to = to, from
		}
		if !slices.Equal(from, all) || to != nil {
			t.Errorf("year %d: on one side %v, on the other %v", year, from, to)
		}
	}
}
