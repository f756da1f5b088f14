package stack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"moeca/internal/board"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/hostapi"
	"moeca/internal/netguard"
)

// localServer is a program that serves models on a port of its own choice, and
// how one tells that it is the one that answers there.
type localServer struct {
	name, address, path string
	is                  func(answer []byte) (models []string, ok bool)
}

// localServers are the common ones at their default ports.
func localServers() []localServer {
	return []localServer{
		{"ollama", "127.0.0.1:11434", "/api/tags", ollamaModels},
		{"llamacpp", "127.0.0.1:8080", "/v1/models", ownedBy("llamacpp")},
		{"vllm", "127.0.0.1:8000", "/v1/models", ownedBy("vllm")},
	}
}

const (
	detectTime = 500 * time.Millisecond
	maxDetect  = 1 << 20
)

// Detect implements hostapi.Providers. It asks the default ports on loopback,
// with a GET that changes nothing; what answers as something else is not
// offered.
func (p *Providers) Detect(ctx context.Context) ([]hostapi.LocalServer, error) {
	found, err := detect(ctx, localServers())
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range found {
		for name, def := range p.defs {
			if strings.TrimSuffix(strings.TrimSuffix(def.BaseURL, "/"), "/v1") == found[i].BaseURL {
				found[i].Added = name
			}
		}
	}
	return found, nil
}

func detect(ctx context.Context, servers []localServer) ([]hostapi.LocalServer, error) {
	guard, exempt := netguard.New(netguard.Options{Connect: detectTime}), map[string]netguard.Exemption{}
	for _, s := range servers {
		exempt[s.address] = netguard.Exemption{}
	}
	if err := guard.SetExempt(exempt); err != nil {
		return nil, fmt.Errorf("look for model servers: %w", err)
	}
	client := &http.Client{
		Transport:     &http.Transport{DialContext: guard.DialContext, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       detectTime,
	}
	var wg sync.WaitGroup
	answers := make([]*hostapi.LocalServer, len(servers))
	for i, s := range servers {
		wg.Go(func() { answers[i] = s.ask(ctx, client) })
	}
	wg.Wait()
	found := []hostapi.LocalServer{}
	for _, a := range answers {
		if a != nil {
			found = append(found, *a)
		}
	}
	return found, nil
}

// ask returns nil where nothing, or something else, answers.
func (s localServer) ask(ctx context.Context, client *http.Client) *hostapi.LocalServer {
	base := "http://" + s.address
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+s.path, http.NoBody)
	if err != nil {
		return nil
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxDetect))
	if err != nil || resp.StatusCode != http.StatusOK {
		return nil
	}
	models, ok := s.is(answer)
	if !ok {
		return nil
	}
	return &hostapi.LocalServer{Name: s.name, BaseURL: base, Models: models}
}

func ollamaModels(answer []byte) ([]string, bool) {
	var tags struct {
		Models []struct {
			Name  string `json:"name"`
			Model string `json:"model"`
		} `json:"models"`
	}
	if json.Unmarshal(answer, &tags) != nil || tags.Models == nil {
		return nil, false
	}
	models := []string{}
	for _, m := range tags.Models {
		if name := cmp.Or(m.Name, m.Model); showable(name) {
			models = append(models, name)
		}
	}
	return models, true
}

// ownedBy recognises a server by what it says of its own models.
func ownedBy(owner string) func([]byte) ([]string, bool) {
	return func(answer []byte) ([]string, bool) {
		var list struct {
			Data []struct {
				ID    string `json:"id"`
				Owner string `json:"owned_by"`
			} `json:"data"`
		}
		if json.Unmarshal(answer, &list) != nil {
			return nil, false
		}
		models := []string{}
		for _, m := range list.Data {
			if m.Owner == owner && showable(m.ID) {
				models = append(models, m.ID)
			}
		}
		return models, len(models) > 0
	}
}

// showable: whoever listens on a port wrote the name.
func showable(name string) bool {
	return name != "" && len(name) <= 200 && !strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' })
}

// Test implements hostapi.Providers.
func (p *Providers) Test(ctx context.Context, name string) (hostapi.ProviderTest, error) {
	admin, err := p.ask(name)
	if err != nil {
		return hostapi.ProviderTest{}, err
	}
	r, err := admin.TestProvider(ctx, name)
	if err != nil {
		return hostapi.ProviderTest{}, refusedBy(err)
	}
	return hostapi.ProviderTest{OK: r.OK, Class: r.Class, Message: r.Message, Status: r.Status, LatencyMS: r.LatencyMS}, nil
}

// Models implements hostapi.Providers.
func (p *Providers) Models(ctx context.Context, name string) (hostapi.ProviderModels, error) {
	admin, err := p.ask(name)
	if err != nil {
		return hostapi.ProviderModels{}, err
	}
	m, err := admin.Models(ctx, name)
	var status *gatewayapi.StatusError
	if errors.As(err, &status) {
		return hostapi.ProviderModels{}, &board.Error{Kind: board.Unavailable, Code: "provider_" + strings.ReplaceAll(status.Body.Reason, "-", "_"), Message: status.Body.Message, Next: "see `moeca provider test " + name + "`"}
	}
	if err != nil {
		return hostapi.ProviderModels{}, unavailable(err)
	}
	return hostapi.ProviderModels{Models: slices.Clone(m.Models), At: m.At}, nil
}

// ask returns the gateway for a call to a provider that exists. The call is
// made without the lock: it may take as long as the upstream does.
func (p *Providers) ask(name string) (*gatewayapi.Client, error) {
	if err := p.exists(name); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gateway == nil {
		return nil, unavailable(errors.New("it is not running"))
	}
	return p.gateway, nil
}

// exists refuses a name that no provider has.
func (p *Providers) exists(name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.defs[name]; !ok && name != DemoProvider {
		return notFound(name)
	}
	return nil
}
