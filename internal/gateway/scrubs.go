package gateway

import (
	"net/http"
	"sync"

	"moeca/internal/gateway/scrub"
	"moeca/internal/gateway/upstream"
	"moeca/internal/secret"
)

// scrubs keeps the set of all keys in step with the upstreams.
type scrubs struct {
	mu      sync.Mutex
	version int64
	set     *scrub.Set
}

// get returns what to look for in an answer to a request that carried the
// injected key, which may be gone from the upstreams by now.
func (s *scrubs) get(upstreams *upstream.Set, injected secret.Value) *scrub.Set {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.set == nil || s.version != upstreams.Version() {
		keys, version := upstreams.Keys()
		s.set, s.version = scrub.New(opened(keys)...), version
	}
	if s.set.Holds(injected.Open()) {
		return s.set
	}
	keys, _ := upstreams.Keys()
	return scrub.New(opened(append(keys, injected))...)
}

func opened(keys []secret.Value) []string {
	all := make([]string, 0, len(keys))
	for _, k := range keys {
		all = append(all, k.Open())
	}
	return all
}

// scrubHeaders replaces keys in every value and drops a header whose name
// holds one.
func scrubHeaders(h http.Header, clean *scrub.Filter) {
	for name, values := range h {
		if clean.Named(name) {
			delete(h, name)
			continue
		}
		for i, v := range values {
			values[i] = clean.String(v)
		}
	}
}
