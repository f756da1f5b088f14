package hostapi

import (
	"context"
	"io"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"moeca/internal/a2a"
	"moeca/internal/auditindex"
)

// AuditIndex answers questions about the log: through an index that can be
// deleted at any time and is made again from the log. Answers are about rows
// up to State's Head, which is at most moments behind.
type AuditIndex interface {
	State(ctx context.Context) (auditindex.State, error)
	Reindex(ctx context.Context) (auditindex.State, error)
	Calls(ctx context.Context, q auditindex.Query) (auditindex.Page[auditindex.Call], error)
	Call(ctx context.Context, seq int64) (auditindex.Call, error)
	Facets(ctx context.Context) (auditindex.Facets, error)
	Contexts(ctx context.Context, q auditindex.Query) (auditindex.Page[auditindex.Context], error)
	Stages(ctx context.Context, f auditindex.Filter) ([]auditindex.Stage, error)
	// Messages and Message read the contents of one stage.
	Messages(ctx context.Context, q AuditMessageQuery) (AuditMessages, error)
	Message(ctx context.Context, f auditindex.Filter, id string) (a2a.Message, error)
	Metrics(ctx context.Context, q auditindex.MetricsQuery) (auditindex.Metrics, error)
	Diff(ctx context.Context, a, b string) (auditindex.RunDiff, error)
	// Export writes while it reads; it does not need the index.
	Export(ctx context.Context, w io.Writer, q AuditExport) error
}

// AuditFilters are the filters that all lists of the log have. It and the types
// embedded in it are exported because huma looks into no others.
type AuditFilters struct {
	Task string `query:"task" maxLength:"128" doc:"- is none, here and in run, stage, agent, model, upstream"`
	AuditWithin
}

func (f AuditFilters) filter() auditindex.Filter { return f.within(f.Task) }

// AuditWithin are the filters within a task.
type AuditWithin struct {
	Run      string    `query:"run" maxLength:"128"`
	Stage    string    `query:"stage" maxLength:"128"`
	Session  string    `query:"session" maxLength:"128"`
	Agent    string    `query:"agent" maxLength:"128"`
	Model    string    `query:"model" maxLength:"128"`
	Upstream string    `query:"upstream" maxLength:"128"`
	Kind     string    `query:"kind" maxLength:"40" doc:"kind of row; of calls: intent, outcome, refusal"`
	State    string    `query:"state" enum:",open,ok,failed,refused,bad" doc:"bad is failed or refused"`
	Status   string    `query:"status" maxLength:"3" doc:"404, or 4xx"`
	From     time.Time `query:"from"`
	To       time.Time `query:"to" doc:"exclusive"`
	Text     string    `query:"q" maxLength:"200" doc:"text in targets, subjects and contents"`
}

func (f AuditWithin) within(task string) auditindex.Filter {
	return auditindex.Filter{
		Task: task, Run: f.Run, Stage: f.Stage, Session: f.Session, Agent: f.Agent, Model: f.Model, Upstream: f.Upstream,
		Kind: f.Kind, State: f.State, Status: f.Status, From: f.From, To: f.To, Text: f.Text,
	}
}

// auditList is a page of such a list.
type auditList struct {
	AuditFilters
	Cursor string `query:"cursor" maxLength:"200" doc:"next of the page before; good for the same filters only"`
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"100"`
	Order  string `query:"order" enum:"newest,oldest" default:"newest"`
}

func (l auditList) query() auditindex.Query {
	return auditindex.Query{Filter: l.filter(), Cursor: auditindex.Cursor(l.Cursor), Limit: l.Limit, Oldest: l.Order == "oldest"}
}

// AuditList is a page. Next is empty at the end; a page can be short, or even
// empty, and have a next one. Count is exact up to 10,000 and 10,001 beyond; it
// is -1 on later pages, and where the index cannot tell.
type AuditList[T any] struct {
	Items []T               `json:"items"`
	Next  auditindex.Cursor `json:"next,omitempty"`
	Count int64             `json:"count"`
}

func listed[T any](p auditindex.Page[T]) AuditList[T] {
	if p.Items == nil {
		p.Items = []T{}
	}
	return AuditList[T]{Items: p.Items, Next: p.Next, Count: p.Count}
}

// AuditStages is a task with its stages, oldest first.
type AuditStages struct {
	Task   string             `json:"task"`
	Stages []auditindex.Stage `json:"stages"`
}

type auditTask struct {
	Task string `path:"task" maxLength:"128" doc:"- is what belongs to no task"`
	AuditWithin
}

// AuditStageRef names a stage.
type AuditStageRef struct {
	Stage string `path:"stage" maxLength:"128" doc:"- is what belongs to no stage"`
	Task  string `query:"task" maxLength:"128"`
	Run   string `query:"run" maxLength:"128"`
}

func (s AuditStageRef) filter() auditindex.Filter {
	return auditindex.Filter{Stage: s.Stage, Task: s.Task, Run: s.Run}
}

type auditMessagesIn struct {
	AuditStageRef
	Kind   string `query:"kind" enum:",message,system,request,refusal"`
	Part   string `query:"part" maxLength:"40" doc:"only messages with a part of this kind: text, thinking, tool-use, tool-result, …"`
	Text   string `query:"q" maxLength:"200"`
	After  string `query:"after" maxLength:"200" doc:"id of the last message of the page before"`
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"100"`
	Newest bool   `query:"newest" doc:"the last page instead of the first"`
}

// AuditMessageQuery asks for messages of a stage.
type AuditMessageQuery struct {
	Filter           auditindex.Filter // Stage, Task, Run
	Kind, Part, Text string
	After            string
	Limit            int
	Newest           bool
}

// AuditMessages is a page of what was said in a stage. Task is the stage as an
// A2A task without its history. Long texts, raw bytes and large data are cut in
// lists: Cut names the messages, which can be asked for whole.
type AuditMessages struct {
	Task     a2a.Task      `json:"task"`
	Items    []a2a.Message `json:"items"`
	Cut      []string      `json:"cut"`               // ids of messages that are cut here
	Next     string        `json:"next,omitempty"`    // After of the next page
	Total    int64         `json:"total"`             // messages that fit
	Problem  string        `json:"problem,omitempty"` // calls that were left out, and why
	Complete bool          `json:"complete"`
}

type auditMetricsIn struct {
	By       string    `query:"by" enum:"none,task,run,stage,agent,model,upstream,day,hour" default:"none"`
	Step     string    `query:"step" enum:",day,hour" doc:"points of each group, for charts"`
	From     time.Time `query:"from" doc:"widened to whole quarters of an hour"`
	To       time.Time `query:"to"`
	Zone     string    `query:"zone" maxLength:"64" default:"UTC" doc:"IANA name of the zone whose days and hours these are"`
	Task     string    `query:"task" maxLength:"128"`
	Run      string    `query:"run" maxLength:"128"`
	Stage    string    `query:"stage" maxLength:"128"`
	Agent    string    `query:"agent" maxLength:"128"`
	Model    string    `query:"model" maxLength:"128"`
	Upstream string    `query:"upstream" maxLength:"128"`
	Limit    int       `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}

func (m auditMetricsIn) query() (q auditindex.MetricsQuery, err error) {
	zone, err := time.LoadLocation(m.Zone)
	if err != nil || m.Zone == "Local" {
		return q, huma.Error422UnprocessableEntity("there is no time zone " + m.Zone + "; write it like Europe/Berlin")
	}
	return auditindex.MetricsQuery{
		By: m.By, Step: m.Step, From: m.From, To: m.To, Zone: zone, Limit: m.Limit,
		Task: m.Task, Run: m.Run, Stage: m.Stage, Agent: m.Agent, Model: m.Model, Upstream: m.Upstream,
	}, nil
}

type auditDiffIn struct {
	A string `query:"a" required:"true" minLength:"1" maxLength:"128" doc:"the run to compare with"`
	B string `query:"b" required:"true" minLength:"1" maxLength:"128"`
}

func (s *Server) registerAuditIndex() {
	log := s.deps.Audit
	huma.Register(s.api, op(ScopeRead, "audit-index", http.MethodGet, "/api/audit/index", "How far the index of the log is"),
		func(ctx context.Context, _ *struct{}) (*body[auditindex.State], error) {
			state, err := log.State(ctx)
			return answer(s, state, err)
		})
	huma.Register(s.api, op(ScopeWork, "reindex-audit", http.MethodPost, "/api/audit/reindex", "Delete the index and make it again from the log"),
		func(ctx context.Context, _ *struct{}) (*body[auditindex.State], error) {
			state, err := log.Reindex(ctx)
			return answer(s, state, err)
		})
	huma.Register(s.api, op(ScopeRead, "audit-facets", http.MethodGet, "/api/audit/facets", "What filters can be set to"),
		func(ctx context.Context, _ *struct{}) (*body[auditindex.Facets], error) {
			facets, err := log.Facets(ctx)
			return answer(s, facets, err)
		})
	huma.Register(s.api, op(ScopeRead, "audit-calls", http.MethodGet, "/api/audit/calls", "Calls: an intent with its outcome, or a refusal"),
		func(ctx context.Context, in *auditList) (*body[AuditList[auditindex.Call]], error) {
			page, err := log.Calls(ctx, in.query())
			return answer(s, listed(page), err)
		})
	huma.Register(s.api, op(ScopeRead, "audit-call", http.MethodGet, "/api/audit/{seq}/call", "The call that a row is part of"),
		func(ctx context.Context, in *auditSeq) (*body[auditindex.Call], error) {
			call, err := log.Call(ctx, in.Seq)
			return answer(s, call, err)
		})
	s.registerAuditTree()
	huma.Register(s.api, op(ScopeRead, "audit-metrics", http.MethodGet, "/api/audit/metrics", "Sums of calls, by group and over time"),
		func(ctx context.Context, in *auditMetricsIn) (*body[auditindex.Metrics], error) {
			q, err := in.query()
			if err != nil {
				return nil, err
			}
			m, err := log.Metrics(ctx, q)
			return answer(s, m, err)
		})
	huma.Register(s.api, op(ScopeRead, "audit-diff", http.MethodGet, "/api/audit/diff", "Compare run b with run a"),
		func(ctx context.Context, in *auditDiffIn) (*body[auditindex.RunDiff], error) {
			d, err := log.Diff(ctx, in.A, in.B)
			return answer(s, d, err)
		})
	s.registerAuditExport()
}

func (s *Server) registerAuditTree() {
	log := s.deps.Audit
	huma.Register(s.api, op(ScopeRead, "audit-contexts", http.MethodGet, "/api/audit/contexts", "Tasks by their last call, newest first, with totals"),
		func(ctx context.Context, in *auditList) (*body[AuditList[auditindex.Context]], error) {
			page, err := log.Contexts(ctx, in.query())
			return answer(s, listed(page), err)
		})
	huma.Register(s.api, op(ScopeRead, "audit-context", http.MethodGet, "/api/audit/contexts/{task}/stages", "The stages of a task with totals and times"),
		func(ctx context.Context, in *auditTask) (*body[AuditStages], error) {
			stages, err := log.Stages(ctx, in.within(in.Task))
			if stages == nil {
				stages = []auditindex.Stage{}
			}
			return answer(s, AuditStages{Task: strings.TrimPrefix(in.Task, auditindex.None), Stages: stages}, err)
		})
	huma.Register(s.api, op(ScopeRead, "audit-messages", http.MethodGet, "/api/audit/stages/{stage}/messages", "What was said in a stage, in its order"),
		func(ctx context.Context, in *auditMessagesIn) (*body[AuditMessages], error) {
			page, err := log.Messages(ctx, AuditMessageQuery{
				Filter: in.filter(), Kind: in.Kind, Part: in.Part, Text: in.Text, After: in.After, Limit: in.Limit, Newest: in.Newest,
			})
			return answer(s, page, err)
		})
	type oneMessage struct {
		AuditStageRef
		ID string `path:"id" maxLength:"200"`
	}
	huma.Register(s.api, op(ScopeRead, "audit-message", http.MethodGet, "/api/audit/stages/{stage}/messages/{id}", "One message with all of its parts"),
		func(ctx context.Context, in *oneMessage) (*body[a2a.Message], error) {
			m, err := log.Message(ctx, in.filter(), in.ID)
			return answer(s, m, err)
		})
}

// schemaName names the types of the API. Those of the log's packages have names
// that other types have too.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.Name() == "":
	case strings.HasSuffix(t.PkgPath(), "/internal/a2a"):
		return "A2A" + name
	case strings.HasSuffix(t.PkgPath(), "/internal/auditindex"):
		return "Audit" + name
	}
	return name
}
