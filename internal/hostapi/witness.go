package hostapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// Witnesses are who keeps checkpoints of the log elsewhere. Reading them is
// anybody's; a change is a person's and a row.
type Witnesses interface {
	List(ctx context.Context) ([]Witness, error)
	Put(ctx context.Context, w WitnessInput) (Witness, error)
	Delete(ctx context.Context, id string) error
	// Check compares the log with what each of them holds.
	Check(ctx context.Context) ([]WitnessFinding, error)
}

// Witness is who keeps checkpoints, and how far it is.
type Witness struct {
	ID       string     `json:"id"`
	Kind     string     `json:"kind" enum:"host,file,repo,url"`
	Name     string     `json:"name"` // path or URL
	Key      string     `json:"key,omitempty"`
	Local    bool       `json:"local,omitempty"`
	Off      bool       `json:"off,omitempty"`      // a repository in which nothing is kept
	At       *time.Time `json:"at,omitempty"`       // when it saw the log last
	Rows     int64      `json:"rows"`               // it saw then
	Problem  string     `json:"problem,omitempty"`  // why it did not take the log since
	Diverged bool       `json:"diverged,omitempty"` // it saw something the log does not continue
	Note     string     `json:"note,omitempty"`
}

// WitnessList is all of them, the host itself first.
type WitnessList struct {
	Items []Witness `json:"items"`
}

// WitnessInput names a witness: a file on another volume, a C2SP witness, or a
// repository that is switched on or off.
type WitnessInput struct {
	Kind  string `json:"kind" enum:"file,repo,url"`
	Path  string `json:"path,omitempty" maxLength:"4096" doc:"of a file, whole"`
	URL   string `json:"url,omitempty" maxLength:"2048"`
	Key   string `json:"key,omitempty" maxLength:"1024" doc:"verifier key of its cosignatures"`
	Local bool   `json:"local,omitempty" doc:"http to a literal loopback or private address: a witness of one's own"`
	Repo  string `json:"repo,omitempty" maxLength:"200" doc:"id or name"`
	Off   bool   `json:"off,omitempty"`
}

// WitnessFinding is what one witness says about the log as it is.
type WitnessFinding struct {
	ID       string     `json:"id"`
	Kind     string     `json:"kind"`
	Name     string     `json:"name"`
	OK       bool       `json:"ok"`    // the log continues everything it saw
	Found    bool       `json:"found"` // it saw something that the log does not continue
	Rows     int64      `json:"rows"`
	At       *time.Time `json:"at,omitempty"`
	Compared int        `json:"compared"` // checkpoints
	Cosigner string     `json:"cosigner,omitempty"`
	Problem  string     `json:"problem,omitempty"`
	Note     string     `json:"note,omitempty"`
}

// WitnessStatus is the witness that saw the log last, the host itself left aside.
type WitnessStatus struct {
	Kind  string     `json:"kind,omitempty"` // empty: there is none
	Name  string     `json:"name,omitempty"`
	At    *time.Time `json:"at,omitempty"`
	Rows  int64      `json:"rows"`
	Stale bool       `json:"stale"` // longer ago than a day
}

func (s *Server) registerWitnesses() {
	w := s.deps.Witnesses
	huma.Register(s.api, op(ScopeRead, "list-witnesses", http.MethodGet, "/api/audit/witnesses", "Who keeps checkpoints of the log, and when each saw it last"),
		func(ctx context.Context, _ *struct{}) (*body[WitnessList], error) {
			items, err := w.List(ctx)
			return answer(s, WitnessList{items}, err)
		})
	huma.Register(s.api, op(ScopeWitness, "put-witness", http.MethodPut, "/api/audit/witnesses", "Add a witness, or switch a repository on or off"),
		func(ctx context.Context, in *struct{ Body WitnessInput }) (*body[Witness], error) {
			q := in.Body
			got, err := recorded(ctx, s, "witness.put", q.Kind+" "+q.Path+q.URL+q.Repo, q, func() (Witness, error) { return w.Put(ctx, q) })
			return answer(s, got, err)
		})
	huma.Register(s.api, op(ScopeWitness, "delete-witness", http.MethodDelete, "/api/audit/witnesses", "Forget a witness; of the host itself: take the log as it is now"),
		func(ctx context.Context, in *struct {
			ID string `query:"id" required:"true" maxLength:"4200"`
		},
		) (*struct{}, error) {
			_, err := recorded(ctx, s, "witness.delete", in.ID, nil, func() (struct{}, error) { return struct{}{}, w.Delete(ctx, in.ID) })
			if err != nil {
				return nil, s.problemOf(err)
			}
			return nil, nil
		})
}

// With adds what witnesses say. A log that is whole in itself is broken where one
// of them saw another.
func (r VerifyReport) With(found []WitnessFinding) VerifyReport {
	r.Witnesses = found
	for _, f := range found {
		if f.Found && r.OK {
			r.OK, r.Problem = false, f.Says()
		}
	}
	return r
}

// Says is the finding as a sentence.
func (f WitnessFinding) Says() string {
	name := map[string]string{"host": "this host", "file": "the file ", "repo": "refs/moeca/witness of ", "url": "the witness ", "given": ""}[f.Kind]
	if f.Kind != "host" {
		name += f.Name
	}
	if f.Problem != "" {
		return name + ": " + f.Problem
	}
	return name
}
