package hostapi

import (
	"context"
	"time"

	"moeca/internal/board"
)

// Status is what the status strip shows.
type Status struct {
	Version    string        `json:"version"`
	Driver     string        `json:"driver"`      // docker | native | none
	DriverNote string        `json:"driver_note"` // what is not enforced or missing, in words
	Isolation  string        `json:"isolation"`   // "not proven": the probes have not run here
	Gateway    GatewayStatus `json:"gateway"`
	Witness    WitnessStatus `json:"witness"`
	Demo       bool          `json:"demo"` // a demo data directory
	Data       string        `json:"data"` // data directory
	Scopes     []string      `json:"scopes,omitempty"`
}

// GatewayStatus is the gateway's own word about its log.
type GatewayStatus struct {
	OK      bool   `json:"ok"`
	Records int64  `json:"records"`
	Head    string `json:"head"`
	Cause   string `json:"cause,omitempty"`

	Broken  *LogBroken  `json:"broken,omitempty"`  // a person decides
	Follows *LogFollows `json:"follows,omitempty"` // it began in the place of a broken one
}

// Doctor says what is installed and what is missing and how to get it.
type Doctor struct {
	Driver  string         `json:"driver"`
	Drivers []DoctorDriver `json:"drivers"`
	Tools   []DoctorTool   `json:"tools"`
	Images  []DoctorImage  `json:"images"`
}

// DoctorDriver is one sandbox driver on this machine.
type DoctorDriver struct {
	Name   string   `json:"name"`
	Usable bool     `json:"usable"`
	Why    string   `json:"why,omitempty"`    // why not, and what to do
	Limits []string `json:"limits,omitempty"` // limits that cannot be enforced here
}

// DoctorTool is a program the host uses.
type DoctorTool struct {
	Name    string `json:"name"`
	Found   bool   `json:"found"`
	Version string `json:"version,omitempty"`
	Need    string `json:"need"`          // what it is for
	Get     string `json:"get,omitempty"` // how to get it
}

// DoctorImage is an image policy.
type DoctorImage struct {
	Policy string `json:"policy"`
	Ready  bool   `json:"ready"`
	Digest string `json:"digest,omitempty"`
	Note   string `json:"note,omitempty"`
}

// Providers keeps upstream definitions and their keys. Keys go in and never
// come out.
type Providers interface {
	List(ctx context.Context) ([]Provider, error)
	Put(ctx context.Context, name string, p ProviderInput) (Provider, error)
	Delete(ctx context.Context, name string) error
	SetSecret(ctx context.Context, name, value string) (Provider, error)
	// Test makes one call that costs nothing; Models asks for the list of models.
	// Both are rows of the log.
	Test(ctx context.Context, name string) (ProviderTest, error)
	Models(ctx context.Context, name string) (ProviderModels, error)
	// Detect looks for model servers that run on this machine.
	Detect(ctx context.Context) ([]LocalServer, error)
}

// Provider is an upstream: a model, or a tool whose key agents must not hold.
type Provider struct {
	Name      string     `json:"name"`
	Kind      string     `json:"kind" enum:"anthropic,openai,gemini,github,git,jira,trello,notion,fetch,sigv4,custom"`
	BaseURL   string     `json:"base_url"`
	Models    []string   `json:"models"`
	Header    string     `json:"auth_header"` // header the key is injected into
	Prefix    string     `json:"auth_prefix"`
	Scheme    string     `json:"auth_scheme"` // empty: the key as it is in a header
	Region    string     `json:"auth_region"`
	Service   string     `json:"auth_service"`
	Local     bool       `json:"local"`   // a model server of one's own, by exact address
	GitURL    string     `json:"git_url"` // of a github: where git goes
	Hosts     []string   `json:"hosts"`   // of a fetch: what may be fetched from
	NeedsKey  bool       `json:"needs_key"`
	Scripted  bool       `json:"scripted"` // the scripted model, not a model
	BuiltIn   bool       `json:"built_in"`
	Runnable  bool       `json:"runnable"` // an agent of this version can use it
	HasSecret bool       `json:"has_secret"`
	SetAt     *time.Time `json:"secret_set_at,omitempty"`
	LastUsed  *time.Time `json:"secret_last_used,omitempty"`
	KeptIn    string     `json:"secret_store,omitempty"` // keychain | file
}

// ProviderInput adds or changes a provider. Absent fields keep their value; an
// empty base URL is the default of the kind.
type ProviderInput struct {
	Kind    *string   `json:"kind,omitempty" enum:"anthropic,openai,gemini,github,git,jira,trello,notion,fetch,sigv4,custom"`
	BaseURL *string   `json:"base_url,omitempty" maxLength:"2048"`
	Models  *[]string `json:"models,omitempty" maxItems:"200"`
	Header  *string   `json:"auth_header,omitempty" maxLength:"100"`
	Prefix  *string   `json:"auth_prefix,omitempty" maxLength:"40"`
	Scheme  *string   `json:"auth_scheme,omitempty" enum:",basic,trello,sigv4"`
	Region  *string   `json:"auth_region,omitempty" maxLength:"64"`
	Service *string   `json:"auth_service,omitempty" maxLength:"64"`
	Local   *bool     `json:"local,omitempty"`
	GitURL  *string   `json:"git_url,omitempty" maxLength:"2048"`
	Hosts   *[]string `json:"hosts,omitempty" maxItems:"1000"`
}

// ProviderTest says how one call went that costs nothing.
type ProviderTest struct {
	OK        bool   `json:"ok"`
	Class     string `json:"class" enum:"ok,no-key,key,unreachable,rate,fault,path,refused,none"`
	Message   string `json:"message"`
	Status    int    `json:"status,omitempty"`
	LatencyMS int64  `json:"latency_ms"`
}

// ProviderModels are the models an upstream says it has.
type ProviderModels struct {
	Models []string  `json:"models"`
	At     time.Time `json:"at"` // when it was asked
}

// LocalServer is a model server that answered on this machine.
type LocalServer struct {
	Name    string   `json:"name"` // ollama, llamacpp, vllm
	BaseURL string   `json:"base_url"`
	Models  []string `json:"models"`
	Added   string   `json:"added,omitempty"` // the provider that leads there
}

// VerifyReport is the outcome of a verification of the whole log.
type VerifyReport struct {
	OK          bool   `json:"ok"`
	Records     int64  `json:"records"`
	Head        string `json:"head"`
	FirstBroken int64  `json:"first_broken,omitempty"`
	Problem     string `json:"problem,omitempty"`
	Open        int    `json:"open_intents"` // requests without an outcome yet

	Witnesses []WitnessFinding `json:"witnesses"` // OK is false where one found something
}

// Change is one event of the stream. It names what changed; the client reads
// the object itself.
type Change struct {
	Seq   int64  `json:"seq"`
	Topic string `json:"topic"` // repos, tasks, asks, run:<id>, audit
	Kind  string `json:"kind"`
	ID    string `json:"id"`
}

// Page is a page of tasks.
type Page struct {
	Items []board.Task `json:"items"`
	Next  string       `json:"next,omitempty"`
}

// Landed is an approval and the merge that followed it at once. When the merge
// is refused the answer is its error, and the approval stands.
type Landed struct {
	Approval board.Approval `json:"approval"`
	Merged   board.Merged   `json:"merged"`
}
