// Package upstream is the set of places the gateway can lead to.
//
// An upstream has a name, which is the first path segment of a request; a kind,
// which says what dialect is spoken there and so what a path means and costs;
// a base URL; and how its key goes out. The base is https, except for opt-ins
// that only the host can configure: "unix:/path", http to one literal loopback
// address and port, and, for a model server of the user's own (Local), http to
// one literal private address and port. Those become the exact exemptions of
// the dialer whenever the set changes, and no request can add one.
//
// Two kinds lead to more than their base. A github also has a place where
// repositories are fetched and pushed: such paths are served as kind git there.
// A fetch has no base at all: the first segment of the path is the host, which
// must be on its list.
//
// Keys live in memory in the secret type and leave it in one place, the
// injection of package gateway. A description never carries one.
//
// A change is planned, then applied: the admin listener writes the planned
// change to the log and applies it when the row is durable. Readers get copies
// and see a change whole or not at all. A Set is safe for concurrent use;
// plans are serialised by their caller.
package upstream

import (
	"net/url"
	"slices"
	"time"

	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/secret"
)

// Upstream is one place, as requests see it. It is a copy.
type Upstream struct {
	Name     string
	Kind     string
	BaseURL  string   // as configured
	Base     *url.URL // canonical; for a Unix socket http://<name>.unix
	Unix     string   // socket path, empty otherwise
	Exempt   bool     // Base is a configured exemption of the dialer
	Local    bool     // a model server of the user's own, by exact address
	GitURL   string   // as configured
	Git      *url.URL // canonical; nil: none
	Hosts    []string // a fetch may reach
	Models   []string
	Auth     gatewayapi.Auth
	Scripted bool
	Key      secret.Value
	SetAt    time.Time
	LastUsed time.Time
}

// Describe is what a read of the admin listener answers.
func (u Upstream) Describe() gatewayapi.Provider {
	p := gatewayapi.Provider{
		Name: u.Name, Kind: u.Kind, BaseURL: u.BaseURL, Models: slices.Clone(u.Models),
		Auth: u.Auth, Scripted: u.Scripted, Local: u.Local, GitURL: u.GitURL, Hosts: slices.Clone(u.Hosts),
		Secret: gatewayapi.SecretInfo{HasSecret: !u.Key.Empty()},
	}
	if !u.SetAt.IsZero() {
		p.Secret.SetAt = &u.SetAt
	}
	if !u.LastUsed.IsZero() {
		p.Secret.LastUsed = &u.LastUsed
	}
	return p
}

func (u Upstream) clone() Upstream {
	u.Models, u.Hosts = slices.Clone(u.Models), slices.Clone(u.Hosts)
	if u.Base != nil {
		base := *u.Base
		u.Base = &base
	}
	if u.Git != nil {
		git := *u.Git
		u.Git = &git
	}
	return u
}
