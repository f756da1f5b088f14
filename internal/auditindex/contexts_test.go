package auditindex

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"moeca/internal/audit"
)

func TestContextsAreTasksWithTheirTotals(t *testing.T) {
	r, named := world(t)
	page, err := r.x.Contexts(t.Context(), Query{Limit: 10})
	r.check(err)
	var tasks []string
	for _, c := range page.Items {
		tasks = append(tasks, c.Task)
	}
	if want := []string{"", "1", "2"}; !slices.Equal(tasks, want) || page.Count != 3 || page.Next != "" {
		t.Fatalf("tasks are %q, want %q; count %d", tasks, want, page.Count)
	}
	one, two := page.Items[1], page.Items[2]
	if one.Calls != 2 || one.Refused != 1 || one.Failed != 1 || one.Open != 0 || one.Input != 11 || one.Output != 2 ||
		one.Runs != 1 || one.Stages != 1 || one.Sessions != 1 || one.First != named["plain"] {
		t.Errorf("task 1 is %+v", one)
	}
	if two.Calls != 2 || two.Open != 1 || two.Failed != 1 || two.Sessions != 1 {
		t.Errorf("task 2 is %+v", two)
	}
	if nobody := page.Items[0]; nobody.Refused != 1 || nobody.Sessions != 0 || nobody.Stages != 0 {
		t.Errorf("what belongs to no task is %+v", nobody)
	}
	if one.Began.IsZero() || !one.Ended.After(one.Began) {
		t.Errorf("task 1 is from %s to %s", one.Began, one.Ended)
	}
}

func TestContextsFilterAndPage(t *testing.T) {
	r := newRig(t)
	for i := range 7 {
		r.call(who(fmt.Sprint(i), fmt.Sprint("run-", i), fmt.Sprint("s", i)), 1, 1)
	}
	odd := r.append(intent(who("3", "run-3b", "s3b")), `{"model":"m","messages":[{"role":"user","content":"a rare word"}]}`, "")
	r.sync()
	var tasks []string
	for cursor, more := Cursor(""), true; more; {
		page, err := r.x.Contexts(t.Context(), Query{Limit: 2, Cursor: cursor})
		r.check(err)
		for _, c := range page.Items {
			tasks = append(tasks, c.Task)
		}
		cursor, more = page.Next, page.Next != ""
	}
	if want := []string{"3", "6", "5", "4", "2", "1", "0"}; !slices.Equal(tasks, want) {
		t.Errorf("tasks are %q, want %q", tasks, want)
	}
	// Sums are of the calls that the filter selects, and a text is compared first.
	for what, f := range map[string]Filter{
		"a text": {Text: "rare word"}, "a short text and a run": {Text: "ra", Run: "run-3b"}, "a run": {Run: "run-3b"}, "trigrams in another order": {Text: "rare word", State: "open"},
	} {
		page, err := r.x.Contexts(t.Context(), Query{Filter: f, Limit: 10})
		r.check(err)
		if len(page.Items) != 1 || page.Items[0].Task != "3" || page.Items[0].Calls != 1 || page.Items[0].First != odd || page.Count != 1 {
			t.Errorf("%s: %+v", what, page.Items)
		}
	}
	if page, err := r.x.Contexts(t.Context(), Query{Filter: Filter{Text: "ord rare w"}, Limit: 10}); err != nil || len(page.Items) != 0 {
		t.Errorf("a text nobody said: %+v, %v", page.Items, err)
	}
}

func TestStagesHaveTheirSandboxes(t *testing.T) {
	r := newRig(t)
	a := who("1", "r1", "plan")
	b := who("1", "r1", "build")
	child := b
	child.Session, child.Parent, child.Agent = "child", b.Session, "helper"
	r.append(audit.Record{Kind: audit.KindAdmin, Attribution: a, Subject: a.Session}, "", "") // minted
	r.call(a, 10, 1)
	r.call(b, 20, 2)
	r.call(child, 30, 3)
	r.call(a, 40, 4)
	r.call(who("2", "r2", "plan"), 1, 1)
	r.sync()
	stages, err := r.x.Stages(t.Context(), Filter{Task: "1"})
	r.check(err)
	if len(stages) != 2 || stages[0].Stage != "plan" || stages[1].Stage != "build" {
		t.Fatalf("stages are %+v", stages)
	}
	plan, build := stages[0], stages[1]
	if plan.Calls != 2 || plan.Input != 50 || len(plan.Nodes) != 1 || plan.Nodes[0].First != plan.First-1 {
		t.Errorf("plan is %+v", plan)
	}
	if build.Calls != 2 || build.Sessions != 2 || len(build.Nodes) != 2 || build.Nodes[1].Parent != b.Session || build.Nodes[1].Agent != "helper" {
		t.Errorf("build is %+v", build)
	}
	if d := plan.Ended.Sub(plan.Began); d < 6*time.Second || d > 10*time.Second {
		t.Errorf("plan took %s", d)
	}
	if only, err := r.x.Stages(t.Context(), Filter{Task: "1", Session: "child"}); err != nil || len(only) != 1 || only[0].Input != 30 {
		t.Errorf("of one session: %+v, %v", only, err)
	}
}

func TestExchangesHaveTheirContents(t *testing.T) {
	r := newRig(t)
	a := who("1", "r", "s")
	seq := r.append(intent(a), `{"model":"m","messages":[]}`, "")
	o := outcome(a, seq, 7, 3)
	o.Model, o.Attrs = "claude-dated", []audit.Attr{{Key: "cause", Value: "reset"}}
	r.append(o, "", `{"type":"message"}`)
	r.append(refusal(a), "refused body", "")
	r.sync()
	list, note, err := r.x.Exchanges(t.Context(), Filter{Stage: "s"})
	r.check(err)
	if len(list) != 2 || note != "" {
		t.Fatalf("%d exchanges, %q", len(list), note)
	}
	e := list[0]
	if e.Seq != seq || e.OutcomeSeq != seq+1 || e.Dialect != "anthropic" || e.Model != "claude-dated" || e.Usage.Input != 7 || e.Cause != "reset" ||
		string(e.Request) != `{"model":"m","messages":[]}` || string(e.Response) != `{"type":"message"}` || e.RequestCut || e.ResponseErased || e.End.IsZero() {
		t.Errorf("exchange is %+v", e)
	}
	if e := list[1]; e.Refusal.Gate != "budget" || string(e.Request) != "refused body" || e.Result != "" {
		t.Errorf("refusal is %+v", e)
	}
}

// heavy is a log each of whose contents is a third of what one answer may read.
type heavy struct{ Log }

func (l heavy) At(seq int64) (audit.Record, audit.Hash, error) {
	r, hash, err := l.Log.At(seq)
	if r.Request != nil {
		r.Request.Stored = exchangeBytes / 3
	}
	return r, hash, err
}

func (l heavy) Body(*audit.BodyRef) ([]byte, error) { return []byte("{}"), nil }

func TestContentsThatAreTooManyAreNamed(t *testing.T) {
	r := newRig(t)
	var seqs []int64
	for range 6 {
		seqs = append(seqs, r.append(intent(who("1", "r", "s")), `{"model":"m","messages":[]}`, ""))
	}
	r.sync()
	r.x.log = heavy{r.x.log}
	list, note, err := r.x.Exchanges(t.Context(), Filter{Stage: "s"})
	r.check(err)
	if len(list) != len(seqs) {
		t.Fatalf("%d exchanges", len(list))
	}
	for i, e := range list {
		if whole := i >= 3; e.Seq != seqs[i] || (e.Request != nil) != whole || e.RequestCut == whole {
			t.Errorf("call %d is %+v", i, e)
		}
	}
	if want := fmt.Sprintf("contents of calls before row %d are left out: more than 96 MiB", seqs[2]+1); note != want {
		t.Errorf("%q, want %q", note, want)
	}
}

func TestOnlyModelCallsHaveADialect(t *testing.T) {
	for class, want := range map[string]string{"inference": "anthropic", "count": "", "read": "", "write": "", "unknown": ""} {
		r := audit.Record{Target: "https://tracker.example/messages", Attrs: []audit.Attr{{Key: "class", Value: class}}}
		if got := dialectOf(r); string(got) != want {
			t.Errorf("%s is %q, want %q", class, got, want)
		}
	}
	if got := dialectOf(audit.Record{Target: "https://m.example/v1/messages"}); got != "anthropic" {
		t.Errorf("a refusal before its class was known is %q", got)
	}
}
