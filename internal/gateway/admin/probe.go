package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"moeca/internal/audit"
	"moeca/internal/gateway"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/upstream"
)

// modelsTime is how long a list of models is good for.
const modelsTime = time.Minute

const (
	maxModels    = 2000
	maxModelName = 200
)

// modelCache keeps lists of models for a moment. Any change of a provider
// empties it: another key may see other models.
type modelCache struct {
	mu sync.Mutex
	by map[string]gatewayapi.Models
}

func (c *modelCache) get(name string, now time.Time) (gatewayapi.Models, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m, ok := c.by[name]
	if !ok || now.Sub(m.At) >= modelsTime {
		return gatewayapi.Models{}, false
	}
	m.Models = slices.Clone(m.Models)
	return m, true
}

func (c *modelCache) put(name string, m gatewayapi.Models) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil {
		c.by = map[string]gatewayapi.Models{}
	}
	c.by[name] = m
}

func (c *modelCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.by = nil
}

// listModels asks an upstream which models it has.
func (s *server) listModels(w http.ResponseWriter, r *http.Request) {
	u, ok := s.known(w, r)
	if !ok {
		return
	}
	if m, ok := s.models.get(u.Name, time.Now()); ok {
		s.answers.send(w, http.StatusOK, m)
		return
	}
	if u.ModelsTarget() == "" {
		s.answers.refuse(w, r, http.StatusBadRequest, "no-models", u.Name+" is no model provider")
		return
	}
	answer, result, ok := s.call(w, r, u, "provider.models", u.ModelsTarget())
	if !ok {
		return
	}
	if !result.OK {
		s.answers.refuse(w, r, http.StatusBadGateway, result.Class, result.Message)
		return
	}
	m := gatewayapi.Models{Models: modelNames(answer.Body), At: time.Now()}
	s.models.put(u.Name, m)
	s.answers.send(w, http.StatusOK, m)
}

// test makes one call that costs nothing and says how it went.
func (s *server) test(w http.ResponseWriter, r *http.Request) {
	u, ok := s.known(w, r)
	if !ok {
		return
	}
	target := u.TestTarget()
	if target == "" {
		s.answers.send(w, http.StatusOK, gatewayapi.TestResult{
			Class: gatewayapi.TestNone, Message: fmt.Sprintf("there is no call to a %s that costs nothing and tells anything; use it", u.Kind),
		})
		return
	}
	if _, result, ok := s.call(w, r, u, "provider.test", target); ok {
		s.answers.send(w, http.StatusOK, result)
	}
}

func (s *server) known(w http.ResponseWriter, r *http.Request) (upstream.Upstream, bool) {
	u, ok := s.o.Upstreams.Get(r.PathValue("name"))
	if !ok {
		s.fail(w, r, upstream.ErrUnknown)
	}
	return u, ok
}

// call records that the host asked, then asks.
func (s *server) call(w http.ResponseWriter, r *http.Request, u upstream.Upstream, action, target string, repos ...string) (gateway.CallAnswer, gatewayapi.TestResult, bool) {
	if err := record(r.Context(), s.o.Log, action, u.Name, audit.Attribution{}, struct{}{}); err != nil {
		s.answers.logDown(w, err)
		return gateway.CallAnswer{}, gatewayapi.TestResult{}, false
	}
	answer, err := s.o.Gateway.Call(context.WithoutCancel(r.Context()), u.Name, target, repos...)
	if err != nil {
		s.fail(w, r, err)
		return gateway.CallAnswer{}, gatewayapi.TestResult{}, false
	}
	return answer, judge(u, answer), true
}

// judge says in one word and one sentence how a call went.
func judge(u upstream.Upstream, a gateway.CallAnswer) gatewayapi.TestResult {
	t := gatewayapi.TestResult{Status: a.Status, LatencyMS: a.Latency.Milliseconds()}
	var own gatewayapi.Error
	if json.Unmarshal(a.Body, &own) == nil && own.Error.Gate != "" {
		t.Class, t.Message = gatewayapi.TestRefused, own.Error.Message
		switch {
		case own.Error.Reason == "no-key":
			t.Class = gatewayapi.TestNoKey
		case own.Error.Gate == "upstream":
			t.Class = gatewayapi.TestUnreachable
		}
		return t
	}
	switch {
	case a.Status/100 == 2:
		t.OK, t.Class, t.Message = true, gatewayapi.TestOK, u.Name+" answered and took the key"
		if !u.Auth.NeedsKey() {
			t.Message = u.Name + " answered"
		}
	case a.Status == http.StatusUnauthorized || a.Status == http.StatusForbidden:
		t.Class, t.Message = gatewayapi.TestKey, u.Name+" refused the key: set another, or give this one the permission to read"
	case a.Status == http.StatusTooManyRequests:
		t.Class, t.Message = gatewayapi.TestRate, u.Name+" has had too many calls with this key: try again later"
	case a.Status >= 500:
		t.Class, t.Message = gatewayapi.TestFault, fmt.Sprintf("%s answered with status %d: the fault is on its side", u.Name, a.Status)
	case u.Kind == upstream.KindCustom || u.Kind == upstream.KindSigV4:
		t.OK, t.Class, t.Message = true, gatewayapi.TestOK, u.Name+" answered; whether it takes the key shows in use"
	default:
		t.Class, t.Message = gatewayapi.TestPath, fmt.Sprintf("%s answered with status %d: the base URL may be wrong", u.Name, a.Status)
	}
	return t
}

// modelNames reads the lists of all dialects.
func modelNames(body []byte) []string {
	names := []string{}
	if !gjson.ValidBytes(body) {
		return names
	}
	for _, path := range [...]string{"data.#.id", "models.#.name"} {
		for _, v := range gjson.GetBytes(body, path).Array() {
			name := strings.TrimPrefix(v.String(), "models/")
			if name != "" && len(name) <= maxModelName && len(names) < maxModels && !strings.ContainsFunc(name, func(c rune) bool { return c <= ' ' || c > '~' }) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
