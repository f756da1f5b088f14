package stack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"moeca/internal/board"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/hostapi"
	"moeca/internal/secret"
)

// DemoProvider is the name of the scripted model's upstream.
const DemoProvider = "demo"

// ScriptedModel is the one model of it.
const ScriptedModel = "scripted-1"

// Providers keeps the definitions in providers.json and the keys in the secret
// store, and pushes both to the gateway, which holds them in memory only. It
// is safe for concurrent use.
type Providers struct {
	file  string
	store secret.Store
	now   func() time.Time
	say   *slog.Logger
	// lastUse is when a provider was last called after a time; nil is never, or
	// nobody knows.
	lastUse func(ctx context.Context, provider string, since time.Time) *time.Time

	mu      sync.Mutex
	defs    map[string]definition
	gateway *gatewayapi.Client // nil before the gateway runs
	relays  *relays            // nil where the gateway reaches loopback by itself
}

// definition is what is stored of a provider.
type definition struct {
	Kind    string     `json:"kind"`
	BaseURL string     `json:"base_url"`
	Models  []string   `json:"models"`
	Header  string     `json:"auth_header"`
	Prefix  string     `json:"auth_prefix"`
	Scheme  string     `json:"auth_scheme,omitempty"`
	Region  string     `json:"auth_region,omitempty"`
	Service string     `json:"auth_service,omitempty"`
	Local   bool       `json:"local,omitempty"`
	GitURL  string     `json:"git_url,omitempty"`
	Hosts   []string   `json:"hosts,omitempty"`
	SetAt   *time.Time `json:"secret_set_at,omitempty"`
}

// builtIn are the providers every data directory has. They can be edited, and
// come back when removed.
func builtIn() map[string]definition {
	return map[string]definition{
		"anthropic": {Kind: "anthropic", BaseURL: "https://api.anthropic.com", Header: "x-api-key", Models: []string{}},
		"openai":    {Kind: "openai", BaseURL: "https://api.openai.com", Header: "Authorization", Prefix: "Bearer ", Models: []string{}},
		"gemini":    {Kind: "gemini", BaseURL: "https://generativelanguage.googleapis.com", Header: "x-goog-api-key", Models: []string{}},
	}
}

// dialects an agent of this version speaks.
var runnable = map[string]bool{"anthropic": true}

func openProviders(file string, store secret.Store, now func() time.Time) (*Providers, error) {
	p := &Providers{file: file, store: store, now: now, say: slog.New(slog.DiscardHandler), defs: builtIn()}
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return nil, fmt.Errorf("providers: %w", err)
	}
	stored := map[string]definition{}
	if err := json.Unmarshal(raw, &stored); err != nil {
		return nil, fmt.Errorf("providers: %s is not readable (%w): repair or remove it; keys are kept elsewhere and stay", file, err)
	}
	maps.Copy(p.defs, stored)
	return p, nil
}

// attach names the gateway that changes are passed on to.
func (p *Providers) attach(admin *gatewayapi.Client) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gateway = admin
}

// push gives the gateway every definition and key; it runs at each start of it.
// One that the gateway refuses is not in force and is told; it keeps nobody from
// what else there is, and from putting it right.
func (p *Providers) push(ctx context.Context, admin *gatewayapi.Client, canary string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(p.defs)) {
		err := p.pushOne(ctx, admin, name)
		var refused *gatewayapi.StatusError
		if errors.As(err, &refused) && refused.Status == http.StatusBadRequest {
			p.say.Error("a provider or its key is not in force: the gateway refuses it; set it again", "provider", name, "error", err)
			continue
		}
		if err != nil {
			return fmt.Errorf("push provider %s: %w", name, err)
		}
	}
	if err := admin.SetSecret(ctx, DemoProvider, canary); err != nil {
		return fmt.Errorf("push provider %s: %w", DemoProvider, err)
	}
	return nil
}

// pushOne gives the gateway one definition and takes over what it filled in
// from the kind's defaults. A loopback server is named by its relay where the
// gateway runs in a container.
func (p *Providers) pushOne(ctx context.Context, admin *gatewayapi.Client, name string) error {
	def := p.defs[name]
	patch := def.patch()
	if p.relays != nil {
		socket, err := p.relays.sync(name, def.Local, def.BaseURL)
		if err != nil {
			return &board.Error{Kind: board.Unavailable, Code: "relay", Err: err, Message: err.Error(), Next: "remove the cause, and set it again"}
		}
		if socket != "" {
			base := "unix:" + socket
			patch.BaseURL = &base
		}
	}
	known, err := admin.PutProvider(ctx, name, patch)
	if err != nil {
		return err
	}
	p.defs[name] = def.completed(known)
	key, err := p.store.Get(secretName(name))
	if err != nil || key.Empty() {
		return nil // no key is a state, not an error; List says so
	}
	return admin.SetSecret(ctx, name, key.Open())
}

// patch leaves out what is empty, so that the kind's default stands.
func (d definition) patch() gatewayapi.ProviderPatch {
	p := gatewayapi.ProviderPatch{Kind: &d.Kind, Models: &d.Models, Local: &d.Local, Hosts: &d.Hosts}
	if d.BaseURL != "" {
		p.BaseURL = &d.BaseURL
	}
	if d.GitURL != "" {
		p.GitURL = &d.GitURL
	}
	auth := gatewayapi.Auth{Scheme: d.Scheme, Header: d.Header, Prefix: d.Prefix, Region: d.Region, Service: d.Service}
	if d.Local || auth != (gatewayapi.Auth{}) {
		p.Auth = &auth
	}
	return p
}

func (d definition) completed(k gatewayapi.Provider) definition {
	if d.BaseURL == "" {
		d.BaseURL = k.BaseURL
	}
	d.GitURL = k.GitURL
	d.Scheme, d.Header, d.Prefix, d.Region, d.Service = k.Auth.Scheme, k.Auth.Header, k.Auth.Prefix, k.Auth.Region, k.Auth.Service
	return d
}

// needsKey says whether calls need one; without a gateway's word it is so.
func (d definition) needsKey() bool {
	return d.Kind != "fetch" && !(d.Local && d.Header == "")
}

// List implements hostapi.Providers. The scripted model comes first. A gateway
// knows of the uses since its own start; of those before, the log does.
func (p *Providers) List(ctx context.Context) ([]hostapi.Provider, error) {
	list, err := p.list(ctx)
	for i, v := range list {
		if v.LastUsed == nil && v.SetAt != nil && p.lastUse != nil {
			list[i].LastUsed = p.lastUse(ctx, v.Name, *v.SetAt)
		}
	}
	return list, err
}

func (p *Providers) list(ctx context.Context) ([]hostapi.Provider, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	used := map[string]gatewayapi.Provider{}
	if p.gateway != nil {
		known, err := p.gateway.Providers(ctx)
		if err != nil {
			return nil, unavailable(err)
		}
		for _, k := range known {
			used[k.Name] = k
		}
	}
	list := []hostapi.Provider{{
		Name: DemoProvider, Kind: "anthropic", BaseURL: "", Models: []string{ScriptedModel},
		Hosts: []string{}, Scripted: true, BuiltIn: true, Runnable: true, HasSecret: true, NeedsKey: true,
	}}
	for _, name := range slices.Sorted(maps.Keys(p.defs)) {
		list = append(list, p.view(name, used[name]))
	}
	return list, nil
}

func (p *Providers) view(name string, k gatewayapi.Provider) hostapi.Provider {
	def := p.defs[name]
	_, builtin := builtIn()[name]
	v := hostapi.Provider{
		Name: name, Kind: def.Kind, BaseURL: def.BaseURL, Models: slices.Clone(def.Models),
		Header: def.Header, Prefix: def.Prefix, Scheme: def.Scheme, Region: def.Region, Service: def.Service,
		Local: def.Local, GitURL: def.GitURL, Hosts: slices.Clone(def.Hosts), NeedsKey: def.needsKey(),
		BuiltIn: builtin, Runnable: runnable[def.Kind],
		LastUsed: k.Secret.LastUsed, KeptIn: p.store.Kind(),
	}
	if v.Models == nil {
		v.Models = []string{}
	}
	if v.Hosts == nil {
		v.Hosts = []string{}
	}
	if key, err := p.store.Get(secretName(name)); err == nil && !key.Empty() {
		v.HasSecret, v.SetAt = true, def.SetAt
	}
	return v
}

var providerName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)

// reserved names are routes that moeca itself defines.
var reserved = []string{DemoProvider, "rag", "registry"}

// Put implements hostapi.Providers: absent fields keep their value.
func (p *Providers) Put(ctx context.Context, name string, in hostapi.ProviderInput) (hostapi.Provider, error) {
	if !providerName.MatchString(name) || slices.Contains(reserved, name) {
		return hostapi.Provider{}, invalid("provider_name", fmt.Sprintf("%q cannot be the name of a provider", name), "use lower-case letters, digits and dashes")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	before, existed := p.defs[name]
	def := merge(before, in)
	if existed && def.Kind != before.Kind {
		def = def.withoutOld(in)
	}
	if err := check(&def); err != nil {
		return hostapi.Provider{}, err
	}
	if !existed && p.gateway != nil {
		if err := forgetPolicy(ctx, p.gateway, name); err != nil {
			return hostapi.Provider{}, unavailable(err)
		}
	}
	p.defs[name] = def
	if err := p.savePushed(ctx, name); err != nil {
		return hostapi.Provider{}, errors.Join(err, p.restore(ctx, name, before, existed))
	}
	return p.view(name, gatewayapi.Provider{}), nil
}

// restore undoes a change that did not get through, here, at the gateway and in
// its relay: a relay of the new place under the old definition would mislead.
func (p *Providers) restore(ctx context.Context, name string, before definition, existed bool) error {
	if !existed {
		delete(p.defs, name)
		if p.relays != nil {
			p.relays.close(name)
		}
		return p.withdraw(ctx, name)
	}
	p.defs[name] = before
	if p.gateway == nil {
		return nil
	}
	if err := p.pushOne(ctx, p.gateway, name); err != nil {
		return fmt.Errorf("the earlier definition of %s is kept but not in force: %w", name, err)
	}
	return nil
}

// withdraw takes a provider from the gateway. One that it does not know, as after
// a removal that got half through, is as good.
func (p *Providers) withdraw(ctx context.Context, name string) error {
	if p.gateway == nil {
		return nil
	}
	if err := p.gateway.DeleteProvider(ctx, name); err != nil && !gatewayapi.IsNotFound(err) {
		return unavailable(err)
	}
	return nil
}

// savePushed gives the gateway a changed definition, then keeps it.
func (p *Providers) savePushed(ctx context.Context, name string) error {
	if admin := p.gateway; admin != nil {
		if err := p.pushOne(ctx, admin, name); err != nil {
			return refusedBy(err)
		}
	}
	return p.save()
}

func (p *Providers) save() error {
	if err := writeJSON(p.file, p.defs); err != nil {
		return fmt.Errorf("providers: %w", err)
	}
	return nil
}

// Delete implements hostapi.Providers.
func (p *Providers) Delete(ctx context.Context, name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if name == DemoProvider {
		return invalid("built_in", name+" is built in and cannot be removed", "leave it: nothing uses it unless you choose it")
	}
	if _, ok := p.defs[name]; !ok {
		return notFound(name)
	}
	if _, ok := builtIn()[name]; ok {
		return invalid("built_in", name+" is built in and cannot be removed", "clear its key instead")
	}
	if err := p.withdraw(ctx, name); err != nil {
		return err
	}
	if p.relays != nil {
		p.relays.close(name)
	}
	if err := p.store.Delete(secretName(name)); err != nil {
		return fmt.Errorf("providers: remove key of %s: %w", name, err)
	}
	delete(p.defs, name)
	if err := p.save(); err != nil || p.gateway == nil {
		return err
	}
	return forgetPolicy(ctx, p.gateway, name)
}

// SetSecret implements hostapi.Providers. An empty value clears the key.
func (p *Providers) SetSecret(ctx context.Context, name, value string) (hostapi.Provider, error) {
	value = strings.TrimSpace(value)
	p.mu.Lock()
	defer p.mu.Unlock()
	def, ok := p.defs[name]
	if !ok {
		return hostapi.Provider{}, notFound(name)
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r < 0x21 || r > 0x7e }) {
		return hostapi.Provider{}, invalid("secret", "a key is printable ASCII without spaces", "copy the key again")
	}
	if err := p.changeSecret(ctx, name, value); err != nil {
		return hostapi.Provider{}, err
	}
	def.SetAt = nil
	if value != "" {
		now := p.now().UTC()
		def.SetAt = &now
	}
	p.defs[name] = def
	if err := p.save(); err != nil {
		return hostapi.Provider{}, err
	}
	return p.view(name, gatewayapi.Provider{}), nil
}

// changeSecret changes a key on both sides. A new one goes to the gateway first:
// what it refuses must not replace the key that is kept. One that is cleared goes
// from the store first, and with it from every later start.
func (p *Providers) changeSecret(ctx context.Context, name, value string) error {
	if value == "" || p.gateway == nil {
		if err := p.storeSecret(name, value); err != nil || p.gateway == nil {
			return err
		}
		if err := p.gateway.SetSecret(ctx, name, value); err != nil {
			return unavailable(err)
		}
		return nil
	}
	before, err := p.store.Get(secretName(name))
	if err != nil {
		before = secret.Value{}
	}
	if err := p.gateway.SetSecret(ctx, name, value); err != nil {
		var refused *gatewayapi.StatusError
		if !errors.As(err, &refused) {
			return unavailable(err)
		}
		return invalid("secret", "the key was not taken, and nothing was changed: "+refused.Body.Message, "copy the key again")
	}
	if err := p.storeSecret(name, value); err != nil {
		return errors.Join(err, p.gateway.SetSecret(ctx, name, before.Open()))
	}
	return nil
}

func (p *Providers) storeSecret(name, value string) error {
	if value == "" {
		return p.store.Delete(secretName(name))
	}
	if err := p.store.Set(secretName(name), secret.New(value)); err != nil {
		return fmt.Errorf("providers: keep key of %s: %w", name, err)
	}
	return nil
}

func secretName(provider string) string { return "provider/" + provider }

func notFound(name string) error {
	return &board.Error{Kind: board.NotFound, Code: "provider_unknown", Message: "there is no provider " + name, Next: "see `moeca provider list`, or add it: `moeca provider add " + name + " --kind KIND`"}
}

func invalid(code, message, next string) error {
	return &board.Error{Kind: board.Invalid, Code: code, Message: message, Next: next}
}

func unavailable(err error) error {
	return &board.Error{Kind: board.Unavailable, Code: "gateway", Message: "the gateway does not answer: " + err.Error(), Next: "see logs/gateway.log in the data directory"}
}

// ofGateway tells a refusal of the gateway, in its own words and as an error of a
// kind, from a gateway that does not answer.
func ofGateway(err error, kind board.Kind, next string) error {
	var refused *gatewayapi.StatusError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused) && refused.Status/100 == 4:
		return &board.Error{Kind: kind, Code: refused.Body.Reason, Message: refused.Body.Message, Next: next}
	}
	return unavailable(err)
}

// refusedBy passes the gateway's own sentence on, where there is one.
func refusedBy(err error) error {
	var known *board.Error
	var refused *gatewayapi.StatusError
	switch {
	case errors.As(err, &known):
		return err
	case !errors.As(err, &refused):
		return unavailable(err)
	}
	return &board.Error{Kind: board.Invalid, Code: "gateway_refused", Message: "the gateway refused: " + err.Error(), Next: "correct the definition"}
}
