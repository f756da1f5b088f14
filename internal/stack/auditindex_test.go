package stack

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"moeca/internal/a2a"
	"moeca/internal/audit"
	"moeca/internal/auditindex"
	"moeca/internal/board"
	"moeca/internal/hostapi"
	"moeca/internal/pubsub"
)

// talk is a log of one stage in which a model took turns, and its view.
type talk struct {
	t    *testing.T
	data string
	log  *audit.Log
	view *AuditView
}

func newTalk(t *testing.T) *talk {
	t.Helper()
	data := t.TempDir()
	log, err := audit.Open(filepath.Join(data, "audit"), audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	k := &talk{t: t, data: data, log: log, view: ReadAudit(data)}
	t.Cleanup(func() { k.view.Close(); log.Close() })
	return k
}

func (k *talk) check(err error) {
	k.t.Helper()
	if err != nil {
		k.t.Fatal(err)
	}
}

// turn is one exchange in which the user says what and the model answers.
func (k *talk) turn(request, answer string) int64 {
	k.t.Helper()
	r := audit.Record{
		Kind: audit.KindIntent, Actor: audit.ActorAgent, Upstream: "anthropic", Method: "POST", Target: "https://api.example.org/v1/messages",
		Attribution: audit.Attribution{Session: "session", Run: "run", Stage: "stage", Task: "task", Agent: "claude"},
		Attrs:       []audit.Attr{{Key: "class", Value: "inference"}},
	}
	p, err := k.log.Queue(r, captured(request), nil)
	k.check(err)
	r.Kind, r.Ref, r.Result, r.Status, r.Attrs = audit.KindOutcome, p.Seq(), audit.ResultOK, 200, nil
	q, err := k.log.Queue(r, nil, captured(answer))
	k.check(err)
	k.check(q.Wait(context.Background()))
	return p.Seq()
}

func captured(s string) *audit.Body {
	c := audit.NewCapture(1 << 20)
	_, _ = c.Write([]byte(s))
	return c.Body()
}

// said makes the request that repeats all answers before it.
func said(answers ...string) string {
	s := `{"model":"m","messages":[{"role":"user","content":"question 0"}`
	for i, a := range answers {
		s += fmt.Sprintf(`,{"role":"assistant","content":[{"type":"text","text":%q}]},{"role":"user","content":"question %d"}`, a, i+1)
	}
	return s + "]}"
}

func answer(text string) string {
	return fmt.Sprintf(`{"type":"message","role":"assistant","stop_reason":"end_turn","content":[{"type":"text","text":%q}]}`, text)
}

var oneStage = auditindex.Filter{Stage: "stage", Task: "task", Run: "run"}

func TestMessagesOfAStageArePagedInOrder(t *testing.T) {
	k := newTalk(t)
	var answers []string
	for i := range 5 {
		a := fmt.Sprintf("answer %d", i)
		k.turn(said(answers...), answer(a))
		answers = append(answers, a)
	}
	want := ""
	for i := range 5 {
		want += fmt.Sprintf("question %d|answer %d|", i, i)
	}
	got, q := "", hostapi.AuditMessageQuery{Filter: oneStage, Limit: 3}
	for more := true; more; {
		page, err := k.view.Messages(t.Context(), q)
		k.check(err)
		if page.Total != 10 || !page.Complete || page.Task.History != nil || page.Task.Metadata.Info.Stage != "stage" {
			t.Errorf("page is %+v", page)
		}
		got += texts(page.Items)
		q.After, more = page.Next, page.Next != ""
	}
	if got != want {
		t.Errorf("messages are %s\nwant %s", got, want)
	}
	for what, c := range map[string]struct {
		q    hostapi.AuditMessageQuery
		want string
	}{
		"the last page":    {hostapi.AuditMessageQuery{Newest: true, Limit: 2}, "question 4|answer 4|"},
		"a text":           {hostapi.AuditMessageQuery{Text: "ANSWER 3", Limit: 9}, "answer 3|"},
		"a kind of part":   {hostapi.AuditMessageQuery{Part: "tool-use", Limit: 9}, ""},
		"a kind":           {hostapi.AuditMessageQuery{Kind: "refusal", Limit: 9}, ""},
		"text in any part": {hostapi.AuditMessageQuery{Part: "text", Text: "question 1", Limit: 9}, "question 1|"},
	} {
		c.q.Filter = oneStage
		page, err := k.view.Messages(t.Context(), c.q)
		k.check(err)
		if got := texts(page.Items); got != c.want {
			t.Errorf("%s: %s, want %s", what, got, c.want)
		}
	}
}

func texts(list []a2a.Message) (s string) {
	for _, m := range list {
		for _, p := range m.Parts {
			if p.Text != nil {
				s += *p.Text + "|"
			}
		}
	}
	return s
}

func TestAListCutsLongTextsAndAMessageIsWhole(t *testing.T) {
	k := newTalk(t)
	long := strings.Repeat("語", 5000)
	k.turn(said(), answer(long))
	page, err := k.view.Messages(t.Context(), hostapi.AuditMessageQuery{Filter: oneStage, Limit: 10})
	k.check(err)
	last := page.Items[len(page.Items)-1]
	if n := len(*last.Parts[0].Text); n > clipText || len(page.Cut) != 1 || page.Cut[0] != last.MessageID {
		t.Errorf("%d bytes are listed, cut are %v", n, page.Cut)
	}
	whole, err := k.view.Message(t.Context(), oneStage, last.MessageID)
	k.check(err)
	if *whole.Parts[0].Text != long {
		t.Errorf("the message has %d bytes", len(*whole.Parts[0].Text))
	}
}

func TestErasedContentsAreShownNoMore(t *testing.T) {
	k := newTalk(t)
	seq := k.turn(said(), answer("a secret answer"))
	q := hostapi.AuditMessageQuery{Filter: oneStage, Limit: 10}
	page, err := k.view.Messages(t.Context(), q)
	k.check(err)
	if !strings.Contains(texts(page.Items), "secret") {
		t.Fatalf("messages are %s", texts(page.Items))
	}
	_, err = k.log.Erase(t.Context(), audit.Erasure{Select: audit.Selection{Rows: []int64{seq, seq + 1}}, Actor: audit.ActorPerson})
	k.check(err)
	page, err = k.view.Messages(t.Context(), q)
	k.check(err)
	if strings.Contains(texts(page.Items), "secret") {
		t.Errorf("messages are still %s", texts(page.Items))
	}
	found, err := k.view.Calls(t.Context(), auditindex.Query{Filter: auditindex.Filter{Text: "secret answer"}, Limit: 10})
	k.check(err)
	if len(found.Items) != 0 {
		t.Error("the text is still found")
	}
}

func TestTheViewAnswersAboutNewRowsAtOnce(t *testing.T) {
	k := newTalk(t)
	for i := range 3 {
		seq := k.turn(said(), answer("one"))
		page, err := k.view.Page(t.Context(), hostapi.AuditQuery{Limit: 1})
		k.check(err)
		if page.Items[0].Seq != seq+1 || page.Items[0].Call != seq || page.Total != seq+1 || page.Indexed != seq+1 || page.Count != 3+int64(2*i) {
			t.Errorf("page is %+v after row %d", page, seq)
		}
	}
}

func TestPagesOfRowsGoOnWhereTheyEnded(t *testing.T) {
	k := newTalk(t)
	for range 5 {
		k.turn(said(), answer("one"))
	}
	for _, oldest := range []bool{false, true} {
		var got []int64
		q := hostapi.AuditQuery{Limit: 4, Oldest: oldest}
		for {
			page, err := k.view.Page(t.Context(), q)
			k.check(err)
			for _, r := range page.Items {
				got = append(got, r.Seq)
			}
			if page.Next == 0 {
				break
			}
			if oldest {
				q.Above = page.Next
			} else {
				q.Below = page.Next
			}
		}
		if len(got) != 11 || got[0] != map[bool]int64{true: 1, false: 11}[oldest] {
			t.Errorf("rows are %v", got)
		}
	}
}

// A broken log is read up to where it broke, and says so.
func TestABrokenLogIsShownUpToItsDamage(t *testing.T) {
	k := newTalk(t)
	for range 40 {
		k.turn(said(), answer("one"))
	}
	k.check(k.log.Close())
	file := filepath.Join(k.data, "audit", "seg-000001.log")
	raw, err := os.ReadFile(file)
	k.check(err)
	raw[len(raw)/2] ^= 1
	k.check(os.WriteFile(file, raw, 0o600))
	page, err := k.view.Page(t.Context(), hostapi.AuditQuery{Limit: 10})
	k.check(err)
	if page.Problem == "" || !strings.Contains(page.Problem, "is broken") || len(page.Items) != 10 {
		t.Errorf("%d rows, problem %q", len(page.Items), page.Problem)
	}
	if _, err := k.view.Entry(t.Context(), page.Items[0].Seq); err != nil {
		t.Errorf("a row before the damage: %v", err)
	}
	if _, err := k.view.Entry(t.Context(), page.Total+1); board.KindOf(err) != board.NotFound {
		t.Errorf("a row after the damage: %v", err)
	}
}

func TestQuestionsThatHaveNoAnswerSayWhy(t *testing.T) {
	k := newTalk(t)
	k.turn(said(), answer("one"))
	_, err := k.view.State(t.Context()) // which opens the index, before the one elsewhere is asked
	k.check(err)
	for what, c := range map[string]struct {
		ask  func() error
		kind board.Kind
	}{
		"a cursor of another query": {func() error {
			_, err := k.view.Calls(t.Context(), auditindex.Query{Limit: 1, Cursor: "AAAA"})
			return err
		}, board.Invalid},
		"an unknown run": {func() error { _, err := k.view.Diff(t.Context(), "run", "none"); return err }, board.NotFound},
		"an unknown stage": {func() error {
			_, err := k.view.Messages(t.Context(), hostapi.AuditMessageQuery{Filter: auditindex.Filter{Stage: "none"}, Limit: 1})
			return err
		}, board.NotFound},
		"an unknown message": {func() error { _, err := k.view.Message(t.Context(), oneStage, "none"); return err }, board.NotFound},
		"a page after an unknown message": {func() error {
			_, err := k.view.Messages(t.Context(), hostapi.AuditMessageQuery{Filter: oneStage, After: "none", Limit: 1})
			return err
		}, board.NotFound},
		"a row that is no call": {func() error { _, err := k.view.Call(t.Context(), 1); return err }, board.NotFound},
		"an unknown format":     {func() error { return k.view.Export(t.Context(), &bytes.Buffer{}, hostapi.AuditExport{Format: "csv"}) }, board.Invalid},
		"no log":                {func() error { _, err := ReadAudit(t.TempDir()).State(t.Context()); return err }, board.NotFound},
		"an index that is open elsewhere": {func() error {
			_, err := ReadAudit(k.data).State(t.Context())
			return err
		}, board.Unavailable},
	} {
		if err := c.ask(); board.KindOf(err) != c.kind {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestAnIndexIsMadeAgain(t *testing.T) {
	k := newTalk(t)
	k.turn(said(), answer("one"))
	_, err := k.view.State(t.Context())
	k.check(err)
	k.check(k.view.Close())
	k.check(os.WriteFile(filepath.Join(k.data, "cache", "audit-index.db"), []byte("not a database"), 0o600))
	page, err := k.view.Page(t.Context(), hostapi.AuditQuery{Limit: 10})
	k.check(err)
	if len(page.Items) != 3 {
		t.Errorf("%d rows", len(page.Items))
	}
	if state, err := k.view.Reindex(t.Context()); err != nil || state.Head != 3 || state.Last != 3 {
		t.Errorf("made again up to %+v, %v", state, err)
	}
	var last auditindex.State
	k.check(k.view.Rebuild(t.Context(), func(s auditindex.State) { last = s }))
	if last.Head != 3 {
		t.Errorf("made again up to row %d", last.Head)
	}
}

// The host tells the window that the log grew.
func TestNewRowsAreToldOnTheBus(t *testing.T) {
	k := newTalk(t)
	s := &Stack{audit: k.view}
	s.opts.Version = "1"
	s.log = slog.New(slog.DiscardHandler)
	s.bus = &pubsub.Bus{}
	live := s.bus.Subscribe(t.Context(), "audit")
	k.check(s.followAudit(t.Context()))
	defer s.Close(context.Background())
	seq := k.turn(said(), answer("one"))
	for {
		select {
		case e := <-live:
			if e.Kind != "head" || e.Seq != 0 {
				t.Errorf("event is %+v", e)
			}
			if e.ID == fmt.Sprint(seq+1) {
				return
			}
		case <-time.After(30 * time.Second):
			t.Fatal("nothing was told")
		}
	}
}
