package hostapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"moeca/internal/a2a"
	"moeca/internal/audit"
	"moeca/internal/auditindex"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/pubsub"
)

// asked is a log that remembers what it was asked and knows one of each thing.
type asked struct {
	page    AuditQuery
	query   auditindex.Query
	filter  auditindex.Filter
	message AuditMessageQuery
	metrics auditindex.MetricsQuery
	runs    [2]string
	export  AuditExport
	bundle  AuditBundle
	erase   AuditErase
	broken  error // of the export, after its first line
}

func (a *asked) Page(_ context.Context, q AuditQuery) (AuditPage, error) {
	a.page = q
	return AuditPage{}, nil
}
func (a *asked) Entry(context.Context, int64) (AuditRow, error)     { return AuditRow{}, nil }
func (a *asked) Bodies(context.Context, int64) (AuditBodies, error) { return AuditBodies{}, nil }
func (a *asked) Verify(_ context.Context, progress func(int64)) (audit.Report, error) {
	for seq := int64(1000); seq <= 3000; seq += 1000 {
		progress(seq)
	}
	return audit.Report{OK: true}, nil
}

func (a *asked) State(context.Context) (auditindex.State, error) {
	return auditindex.State{Head: 7}, nil
}

func (a *asked) Reindex(context.Context) (auditindex.State, error) { return auditindex.State{}, nil }

func (a *asked) Facets(context.Context) (auditindex.Facets, error) { return auditindex.Facets{}, nil }

func (a *asked) Call(_ context.Context, seq int64) (auditindex.Call, error) {
	return auditindex.Call{Seq: seq, State: auditindex.StateOK}, nil
}

func (a *asked) Calls(_ context.Context, q auditindex.Query) (auditindex.Page[auditindex.Call], error) {
	a.query = q
	return auditindex.Page[auditindex.Call]{Next: "next"}, nil
}

func (a *asked) Contexts(_ context.Context, q auditindex.Query) (auditindex.Page[auditindex.Context], error) {
	a.query = q
	return auditindex.Page[auditindex.Context]{}, nil
}

func (a *asked) Stages(_ context.Context, f auditindex.Filter) ([]auditindex.Stage, error) {
	a.filter = f
	return nil, nil
}

func (a *asked) Messages(_ context.Context, q AuditMessageQuery) (AuditMessages, error) {
	a.message = q
	return AuditMessages{}, nil
}

func (a *asked) Message(_ context.Context, f auditindex.Filter, id string) (a2a.Message, error) {
	a.filter = f
	return a2a.Message{MessageID: id}, nil
}

func (a *asked) Metrics(_ context.Context, q auditindex.MetricsQuery) (auditindex.Metrics, error) {
	a.metrics = q
	return auditindex.Metrics{}, nil
}

func (a *asked) Diff(_ context.Context, x, y string) (auditindex.RunDiff, error) {
	a.runs = [2]string{x, y}
	return auditindex.RunDiff{}, nil
}

func (a *asked) Export(_ context.Context, w io.Writer, q AuditExport) error {
	a.export = q
	if a.broken != nil && q.Rows {
		return a.broken
	}
	_, err := io.WriteString(w, "{\"type\":\"call\"}\n")
	return errors.Join(err, a.broken)
}

func (a *asked) Checkpoint(context.Context) (gatewayapi.Checkpoint, error) {
	return gatewayapi.Checkpoint{Size: 7}, nil
}

func (a *asked) Bundle(_ context.Context, w io.Writer, q AuditBundle) error {
	a.bundle = q
	_, err := io.WriteString(w, "tar")
	return err
}

func (a *asked) Erase(_ context.Context, q AuditErase) (gatewayapi.Erased, error) {
	a.erase = q
	return gatewayapi.Erased{Bodies: 2}, nil
}

func auditServer(t *testing.T) (*Server, *asked, string) {
	t.Helper()
	log, tokens := &asked{}, NewTokens(time.Now)
	s, _ := newTestServer(t)
	deps := s.deps
	deps.Audit, deps.Tokens, deps.Logger = log, tokens, slog.New(slog.DiscardHandler)
	return New(deps), log, tokens.Mint("program", ProgramScopes())
}

func TestAuditQueriesReachTheLogAsTheyWereAsked(t *testing.T) {
	s, log, bearer := auditServer(t)
	from := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	whole := auditindex.Filter{
		Task: "t", Run: "r", Stage: "s", Session: "x", Agent: "a", Model: "m", Upstream: "u", Kind: "intent", State: "bad", Status: "4xx",
		From: from, To: from.Add(time.Hour), Text: "some text",
	}
	const filters = "task=t&run=r&stage=s&session=x&agent=a&model=m&upstream=u&kind=intent&state=bad&status=4xx&from=2026-03-01T00:00:00Z&to=2026-03-01T01:00:00Z&q=some+text"
	bounded := whole
	bounded.Below, bounded.Above = 90, 10
	inStage := auditindex.Filter{Stage: "s/1", Task: "t", Run: "-"}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for url, c := range map[string]struct {
		got  func() any
		want any
	}{
		"/api/audit?" + filters + "&before=90&after=10&order=oldest&limit=7": {func() any { return log.page }, AuditQuery{Filter: bounded, Limit: 7, Oldest: true}},
		"/api/audit": {func() any { return log.page }, AuditQuery{Limit: 100}},
		"/api/audit/calls?" + filters + "&cursor=abc&limit=5":                                                   {func() any { return log.query }, auditindex.Query{Filter: whole, Cursor: "abc", Limit: 5}},
		"/api/audit/contexts?q=some+text":                                                                       {func() any { return log.query }, auditindex.Query{Filter: auditindex.Filter{Text: "some text"}, Limit: 100}},
		"/api/audit/contexts/t/stages?" + strings.TrimPrefix(filters, "task=t&"):                                {func() any { return log.filter }, whole},
		"/api/audit/stages/s%2F1/messages/9-answer?task=t&run=-":                                                {func() any { return log.filter }, inStage},
		"/api/audit/stages/s%2F1/messages?task=t&run=-&kind=system&part=text&q=x&after=1-1&limit=3&newest=true": {func() any { return log.message }, AuditMessageQuery{Filter: inStage, Kind: "system", Part: "text", Text: "x", After: "1-1", Limit: 3, Newest: true}},
		"/api/audit/metrics?by=model&step=day&zone=Europe/Berlin&from=2026-03-01T00:00:00Z&run=r&limit=9":       {func() any { return log.metrics }, auditindex.MetricsQuery{By: "model", Step: "day", Zone: berlin, From: from, Run: "r", Limit: 9}},

		"/api/audit/diff?a=1&b=2":                                    {func() any { return log.runs }, [2]string{"1", "2"}},
		"/api/audit/bundle?run=r&withhold=true":                      {func() any { return log.bundle }, AuditBundle{Run: "r", Withhold: true}},
		"/api/audit/export?" + filters + "&format=otlp&content=true": {func() any { return log.export }, AuditExport{Filter: whole, Format: "otlp", Content: true}},
	} {
		if w := send(s, http.MethodGet, url, bearer, ""); w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", url, w.Code, w.Body)
		}
		if got := c.got(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", url, got, c.want)
		}
	}
}

func TestAuditQueriesThatCannotBeMeantAreRefused(t *testing.T) {
	s, _, bearer := auditServer(t)
	for _, url := range []string{
		"/api/audit?limit=0", "/api/audit?order=random", "/api/audit?from=yesterday", "/api/audit?state=odd", "/api/audit/calls?limit=501",
		"/api/audit/metrics?by=colour", "/api/audit/metrics?zone=Mars/Olympus", "/api/audit/metrics?zone=Local", "/api/audit/diff?a=1",
		"/api/audit/export?format=csv", "/api/audit/0", "/api/audit?q=" + strings.Repeat("x", 300),
	} {
		if w := send(s, http.MethodGet, url, bearer, ""); w.Code != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", url, w.Code, w.Body)
		}
	}
}

func TestEmptyListsAreLists(t *testing.T) {
	s, _, bearer := auditServer(t)
	for _, url := range []string{"/api/audit", "/api/audit/calls", "/api/audit/contexts", "/api/audit/contexts/-/stages"} {
		w := send(s, http.MethodGet, url, bearer, "")
		var v map[string]json.RawMessage
		if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		list := v["items"]
		if list == nil {
			list = v["stages"]
		}
		if string(list) != "[]" {
			t.Errorf("%s: %s", url, w.Body)
		}
	}
}

func TestAnExportIsADownload(t *testing.T) {
	s, log, bearer := auditServer(t)
	w := send(s, http.MethodGet, "/api/audit/export", bearer, "")
	if w.Code != http.StatusOK || w.Body.String() != "{\"type\":\"call\"}\n" || w.Header().Get("Content-Disposition") != "attachment; filename=moeca-audit.jsonl" ||
		w.Header().Get("Content-Type") != "application/jsonl" {
		t.Errorf("%d %q %s", w.Code, w.Header(), w.Body)
	}
	log.broken = fmt.Errorf("%w: row 3 is broken", ErrAuditIncomplete)
	if w := send(s, http.MethodGet, "/api/audit/export", bearer, ""); w.Code != http.StatusOK || w.Body.Len() == 0 {
		t.Errorf("of a broken log: %d %s", w.Code, w.Body)
	}
	log.broken = errors.New("disk gone")
	if w := send(s, http.MethodGet, "/api/audit/export?rows=true", bearer, ""); w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "disk gone") {
		t.Errorf("before the first byte: %d %s", w.Code, w.Body)
	}
	defer func() {
		if recover() != http.ErrAbortHandler {
			t.Error("an export that broke off ended like a whole one")
		}
	}()
	send(s, http.MethodGet, "/api/audit/export", bearer, "")
}

func TestOnlyAPersonErases(t *testing.T) {
	s, log, program := auditServer(t)
	if w := send(s, http.MethodPost, "/api/audit/erase", program, `{"run":"r"}`); w.Code != http.StatusForbidden || log.erase.Run != "" {
		t.Errorf("a program: %d %s", w.Code, w.Body)
	}
	person := s.deps.Tokens.Mint("person", PersonScopes())
	w := send(s, http.MethodPost, "/api/audit/erase", person, `{"rows":[3,4],"reason":"asked"}`)
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"bodies":2`) || !reflect.DeepEqual(log.erase, AuditErase{Rows: []int64{3, 4}, Reason: "asked"}) {
		t.Errorf("a person: %d %s", w.Code, w.Body)
	}
}

// noWitness holds nothing.
type noWitness struct{ Witnesses }

func (noWitness) Check(context.Context) ([]WitnessFinding, error) { return nil, nil }

func TestVerifyTellsHowFarItIs(t *testing.T) {
	s, _, bearer := auditServer(t)
	deps, now := s.deps, time.Unix(1000, 0)
	deps.Bus, deps.Witnesses = &pubsub.Bus{}, noWitness{}
	deps.Now = func() time.Time { now = now.Add(150 * time.Millisecond); return now }
	s = New(deps)
	events := deps.Bus.Subscribe(t.Context(), "audit")
	if w := send(s, http.MethodPost, "/api/audit/verify", bearer, "{}"); w.Code != http.StatusOK {
		t.Fatalf("verify answered %d: %s", w.Code, w.Body)
	}
	e := <-events
	if e.Kind != "verify" || e.ID != "2000" {
		t.Errorf("the first event is %+v, want row 2000: one a quarter of a second", e)
	}
	select {
	case e := <-events:
		t.Errorf("another event %+v within a quarter of a second", e)
	default:
	}
}
