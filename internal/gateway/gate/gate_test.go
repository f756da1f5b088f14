package gate

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"moeca/internal/gateway/budget"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/upstream"
	"moeca/internal/netguard"
	"moeca/internal/secret"
	"moeca/internal/session"
)

type fixed struct {
	d     Decision
	panic bool
	asked *int
}

func (fixed) Name() string { return "fixed" }

func (f fixed) Decide(context.Context, *Request) Decision {
	if f.asked != nil {
		*f.asked++
	}
	if f.panic {
		panic("boom")
	}
	return f.d
}

func TestChainDeniesWhateverGoesWrong(t *testing.T) {
	dead, cancel := context.WithCancel(context.Background())
	cancel()
	asked := 0
	cases := map[string]struct {
		ctx    context.Context
		chain  Chain
		reason string
		status int
	}{
		"an empty chain":            {t.Context(), nil, ReasonUndecided, 403},
		"a gate without an answer":  {t.Context(), Chain{fixed{}}, ReasonUndecided, 403},
		"a gate that panics":        {t.Context(), Chain{fixed{panic: true}}, ReasonFailed, 500},
		"a dead context":            {dead, Chain{fixed{d: Allow()}}, ReasonCancelled, 503},
		"a denial without a status": {t.Context(), Chain{fixed{d: Decision{Reason: "x"}}}, "x", 403},
		"a denial with status 200":  {t.Context(), Chain{fixed{d: Decision{Reason: "x", Status: 200}}}, "x", 403},
		"the second gate":           {t.Context(), Chain{fixed{d: Allow()}, fixed{d: Deny(404, "y", "no")}, fixed{d: Allow(), asked: &asked}}, "y", 404},
	}
	for name, c := range cases {
		d := c.chain.Run(c.ctx, &Request{})
		if d.Allowed || d.Reason != c.reason || d.Status != c.status || d.Gate == "" || d.Message == "" {
			t.Errorf("%s: %+v", name, d)
		}
	}
	if asked != 0 {
		t.Error("a gate behind a denial was asked")
	}
	if d := (Chain{fixed{d: Allow()}}).Run(t.Context(), &Request{}); !d.Allowed {
		t.Errorf("%+v", d)
	}
}

func request(method, target string, header ...string) *Request {
	h := httptest.NewRequest(method, "/", nil)
	h.RequestURI = target
	h.URL, _ = url.ParseRequestURI(target)
	if h.URL == nil {
		h.URL = &url.URL{}
	}
	for i := 0; i+1 < len(header); i += 2 {
		h.Header.Add(header[i], header[i+1])
	}
	return &Request{HTTP: h, Now: time.Unix(1000, 0), Load: func(int64) ([]byte, error) { return nil, nil }}
}

func expect(t *testing.T, name string, d Decision, reason string) {
	t.Helper()
	switch {
	case reason == "" && !d.Allowed:
		t.Errorf("%s: denied %+v", name, d)
	case reason != "" && (d.Allowed || d.Reason != reason):
		t.Errorf("%s: %+v, want %s", name, d, reason)
	case !strings.Contains(d.Message, remedy(d)):
		t.Errorf("%s: %q does not say %q", name, d.Message, remedy(d))
	}
}

// remedy is what a refusal tells whoever can do something about it.
func remedy(d Decision) string {
	switch d.Reason {
	case ReasonNotGranted, ReasonNotListed, ReasonExhausted, ReasonForbidden, ReasonRepository:
		return "a person can"
	case ReasonCapability, ReasonUnknownFeature:
		return "leave it out"
	case ReasonRate:
		if d.RetryAfter > 0 {
			return "Retry-After"
		}
	}
	return ""
}

func TestProtocol(t *testing.T) {
	edit := func(r *Request, f func(*Request)) *Request { f(r); return r }
	cases := map[string]struct {
		r      *Request
		reason string
	}{
		"a plain request":        {request("GET", "/a"), ""},
		"keep-alive":             {request("GET", "/a", "Connection", "keep-alive"), ""},
		"expecting 100":          {request("POST", "/a", "Expect", "100-continue"), ""},
		"CONNECT":                {request("CONNECT", "/a"), ReasonConnect},
		"an absolute form":       {request("GET", "http://h/a"), ReasonForm},
		"an asterisk":            {request("OPTIONS", "*"), ReasonForm},
		"upgrade":                {request("GET", "/a", "Upgrade", "h2c"), ReasonUpgrade},
		"upgrade in a list":      {request("GET", "/a", "Connection", "close, UPGRADE"), ReasonUpgrade},
		"h2c settings":           {request("GET", "/a", "Http2-Settings", "AA"), ReasonUpgrade},
		"another expectation":    {request("POST", "/a", "Expect", "coffee"), ReasonExpect},
		"HTTP/1.0":               {edit(request("GET", "/a"), func(r *Request) { r.HTTP.ProtoMinor = 0 }), ReasonVersion},
		"HTTP/2":                 {edit(request("GET", "/a"), func(r *Request) { r.HTTP.ProtoMajor, r.HTTP.ProtoMinor = 2, 0 }), ReasonVersion},
		"a framing finding":      {edit(request("GET", "/a"), func(r *Request) { r.Framing = FramingFolded }), ReasonFraming},
		"an odd encoding":        {edit(request("GET", "/a"), func(r *Request) { r.HTTP.TransferEncoding = []string{"gzip"} }), ReasonFraming},
		"a trailer":              {edit(request("GET", "/a"), func(r *Request) { r.HTTP.Trailer = http.Header{"A": nil} }), ReasonFraming},
		"our host":               {edit(request("GET", "/a"), func(r *Request) { r.Hosts, r.HTTP.Host = []string{"127.0.0.1:1"}, "127.0.0.1:1" }), ""},
		"a foreign host":         {edit(request("GET", "/a"), func(r *Request) { r.Hosts, r.HTTP.Host = []string{"127.0.0.1:1"}, "evil:1" }), ReasonHost},
		"an empty list":          {edit(request("GET", "/a"), func(r *Request) { r.Hosts, r.HTTP.Host = []string{}, "" }), ReasonHost},
		"any port":               {edit(request("GET", "/a"), func(r *Request) { r.Hosts, r.HTTP.Host = []string{"127.0.0.1:*"}, "127.0.0.1:99" }), ""},
		"any port, foreign name": {edit(request("GET", "/a"), func(r *Request) { r.Hosts, r.HTTP.Host = []string{"127.0.0.1:*"}, "evil:99" }), ReasonHost},
		"any port, literal star": {edit(request("GET", "/a"), func(r *Request) { r.Hosts, r.HTTP.Host = []string{"127.0.0.1:*"}, "127.0.0.1:*" }), ReasonHost},
		"an origin on loopback":  {edit(request("GET", "/a", "Origin", "http://127.0.0.1:1"), func(r *Request) { r.Hosts, r.HTTP.Host = []string{"127.0.0.1:1"}, "127.0.0.1:1" }), ReasonOrigin},
		"an origin in a sandbox": {request("GET", "/a", "Origin", "http://x"), ""},
	}
	for name, c := range cases {
		expect(t, name, Protocol{}.Decide(t.Context(), c.r), c.reason)
	}
}

func TestSession(t *testing.T) {
	table := session.NewTable(nil)
	a, tokenA, _ := table.Mint(session.Scope{Run: "a"}, time.Hour, true)
	_, tokenB, _ := table.Mint(session.Scope{Run: "b"}, time.Hour, true)
	gone, _, _ := table.Mint(session.Scope{}, time.Hour, false)
	table.Revoke(gone.ID)
	g := Session{Table: table}
	socket := func(id string, header ...string) *Request {
		r := request("GET", "/a", header...)
		r.Socket = id
		return r
	}
	cases := map[string]struct {
		r           *Request
		run, reason string
	}{
		"the header":                 {request("GET", "/a", HeaderSession, tokenA), "a", ""},
		"x-api-key":                  {request("GET", "/a", "X-Api-Key", tokenA), "a", ""},
		"a bearer":                   {request("GET", "/a", "Authorization", "Bearer "+tokenA), "a", ""},
		"x-goog-api-key":             {request("GET", "/a", "X-Goog-Api-Key", tokenA), "a", ""},
		"the same token twice":       {request("GET", "/a", "X-Api-Key", tokenA, "Authorization", "Bearer "+tokenA), "a", ""},
		"a foreign key beside it":    {request("GET", "/a", HeaderSession, tokenA, "X-Api-Key", "sk-own"), "a", ""},
		"two tokens":                 {request("GET", "/a", HeaderSession, tokenA, "X-Api-Key", tokenB), "", ReasonTwoTokens},
		"two values of one header":   {request("GET", "/a", HeaderSession, tokenA, HeaderSession, tokenB), "", ReasonTwoTokens},
		"nothing":                    {request("GET", "/a"), "", ReasonNoSession},
		"a token in the query":       {request("GET", "/a?key="+tokenA), "", ReasonNoSession},
		"a token in a cookie":        {request("GET", "/a", "Cookie", "s="+tokenA), "", ReasonNoSession},
		"basic authorization":        {request("GET", "/a", "Authorization", "Basic "+tokenA), "", ReasonNoSession},
		"the public id":              {request("GET", "/a", HeaderSession, session.TokenPrefix+a.ID), "", ReasonUnknown},
		"a socket":                   {socket(a.ID), "a", ""},
		"a socket, another's token":  {socket(a.ID, HeaderSession, tokenB), "a", ""},
		"a socket of a gone session": {socket(gone.ID, HeaderSession, tokenA), "", ReasonUnknown},
	}
	for name, c := range cases {
		expect(t, name, g.Decide(t.Context(), c.r), c.reason)
		if c.r.Session.Scope.Run != c.run {
			t.Errorf("%s: session %+v", name, c.r.Session)
		}
	}
}

type places map[string]upstream.Upstream

func (p places) Get(name string) (upstream.Upstream, bool) { u, ok := p[name]; return u, ok }

func TestRoute(t *testing.T) {
	g := Route{Upstreams: places{"a": {Name: "a"}, "a-b": {Name: "a-b"}}}
	for target, want := range map[string][2]string{
		"/a/v1/x": {"a", "/v1/x"}, "/a": {"a", ""}, "/a/": {"a", "/"}, "/a-b/x": {"a-b", "/x"}, "/a//x": {"a", "//x"}, "/a/%2e": {"a", "/%2e"},
		"/ab/x": {}, "/": {}, "//a/x": {}, "/A/x": {}, "/%61/x": {}, "/a%2fx": {}, "/a;x/y": {}, "/a-/x": {},
	} {
		r := request("GET", target)
		d := g.Decide(t.Context(), r)
		if d.Allowed != (want[0] != "") || r.Upstream.Name != want[0] || r.Rest != want[1] {
			t.Errorf("%s: %+v %q %q", target, d, r.Upstream.Name, r.Rest)
		}
	}
}

func TestBody(t *testing.T) {
	load := func(body string, err error) func(int64) ([]byte, error) {
		return func(int64) ([]byte, error) { return []byte(body), err }
	}
	for name, c := range map[string]struct {
		length int64
		load   func(int64) ([]byte, error)
		header []string
		reason string
	}{
		"at the limit":        {4, load("1234", nil), nil, ""},
		"declared over it":    {5, func(int64) ([]byte, error) { panic("read before it was refused") }, nil, ReasonTooLarge},
		"sent over it":        {-1, load("", ErrTooLarge), nil, ReasonTooLarge},
		"loader let it pass":  {-1, load("12345", nil), nil, ReasonTooLarge},
		"broken off":          {4, load("", io.ErrUnexpectedEOF), nil, ReasonUnreadable},
		"too much under way":  {4, load("", ErrBusy), nil, ReasonBusy},
		"gzip":                {4, load("1234", nil), []string{"Content-Encoding", "gzip"}, ReasonEncoded},
		"identity":            {4, load("1234", nil), []string{"Content-Encoding", "identity"}, ""},
		"identity, then gzip": {4, load("1234", nil), []string{"Content-Encoding", "identity", "Content-Encoding", "br"}, ReasonEncoded},
	} {
		r := request("POST", "/a", c.header...)
		r.HTTP.ContentLength, r.Load = c.length, c.load
		expect(t, name, Body{Limit: 4}.Decide(t.Context(), r), c.reason)
	}
}

func TestRate(t *testing.T) {
	g := &Rate{Model: Bucket{1, 2}, Tool: Bucket{1, 1}}
	ask := func(id, name, kind string, at int64) Decision {
		r := request("GET", "/a")
		r.Session, r.Upstream, r.Now = session.Session{ID: id}, upstream.Upstream{Name: name, Kind: kind}, time.Unix(at, 0)
		return g.Decide(t.Context(), r)
	}
	expect(t, "first", ask("s", "m", "anthropic", 0), "")
	expect(t, "burst", ask("s", "m", "anthropic", 0), "")
	over := ask("s", "m", "anthropic", 0)
	expect(t, "over", over, ReasonRate)
	if RetrySeconds(over.RetryAfter) != 1 {
		t.Errorf("retry after %s", over.RetryAfter)
	}
	expect(t, "another session", ask("t", "m", "anthropic", 0), "")
	expect(t, "another upstream", ask("s", "n", "anthropic", 0), "")
	expect(t, "a denial takes nothing", ask("s", "m", "anthropic", 1), "")
	expect(t, "a tool has its own bucket", ask("s", "x", "custom", 0), "")
	expect(t, "tool over", ask("s", "x", "custom", 0), ReasonRate)
	g.Forget("s")
	if len(g.buckets) != 1 {
		t.Errorf("%d buckets left", len(g.buckets))
	}
	r := request("GET", "/a")
	r.Session = session.Session{ID: "own", Scope: session.Scope{RateLimits: []session.RateLimit{{Upstream: "m", PerSecond: 1, Burst: 1}}}}
	r.Upstream = upstream.Upstream{Name: "m", Kind: "anthropic"}
	expect(t, "own limit", g.Decide(t.Context(), r), "")
	expect(t, "own limit over", g.Decide(t.Context(), r), ReasonRate)
}

type left int64

func (l left) Left(budget.Who) budget.Amount { return budget.Amount{Tokens: int64(l)} }

func TestBudget(t *testing.T) {
	r := request("GET", "/a")
	r.Upstream = upstream.Upstream{Kind: upstream.KindAnthropic}
	expect(t, "one token left", Budget{left(1)}.Decide(t.Context(), r), "")
	expect(t, "nothing left", Budget{left(0)}.Decide(t.Context(), r), ReasonExhausted)
	expect(t, "overdrawn", Budget{left(-1)}.Decide(t.Context(), r), ReasonExhausted)
	r.Upstream.Kind = "github"
	expect(t, "a tool", Budget{left(0)}.Decide(t.Context(), r), "")
}

func TestTarget(t *testing.T) {
	base := &url.URL{Scheme: "https", Host: "api.example.com", Path: "/v2"}
	for name, c := range map[string]struct{ method, rest, query, want, reason string }{
		"plain":                   {"GET", "/a/b", "", "https://api.example.com/v2/a/b", ""},
		"nothing behind the name": {"GET", "", "", "https://api.example.com/v2", ""},
		"trailing slash":          {"GET", "/a/", "", "https://api.example.com/v2/a/", ""},
		"colon":                   {"POST", "/models/m:generate", "", "https://api.example.com/v2/models/m:generate", ""},
		"blank":                   {"GET", "/a%20b", "", "https://api.example.com/v2/a%20b", ""},
		"UTF-8":                   {"GET", "/%C3%BC", "", "https://api.example.com/v2/%C3%BC", ""},
		"query":                   {"GET", "/a", "x=1&y=%20&z", "https://api.example.com/v2/a?x=1&y=%20&z", ""},
		"credentials in query":    {"GET", "/a", "key=1&x=2&ACCESS_TOKEN=3&api%5fkey=4&Api-Key=5&X-Amz-Signature=6&client_secret=7&t%6Fken=8", "https://api.example.com/v2/a?x=2", ""},
		"page token stays":        {"GET", "/a", "pageToken=1&monkey=2", "https://api.example.com/v2/a?pageToken=1&monkey=2", ""},
		"up":                      {"GET", "/../admin", "", "", ReasonPath},
		"up at the end":           {"GET", "/a/..", "", "", ReasonPath},
		"dot":                     {"GET", "/./a", "", "", ReasonPath},
		"escaped up":              {"GET", "/%2e%2E/a", "", "", ReasonPath},
		"escaped slash":           {"GET", "/a%2Fb", "", "", ReasonPath},
		"escaped backslash":       {"GET", "/a%5cb", "", "", ReasonPath},
		"escaped percent":         {"GET", "/a%252fb", "", "", ReasonPath},
		"needless escape":         {"GET", "/%61", "", "", ReasonPath},
		"escaped NUL":             {"GET", "/a%00", "", "", ReasonPath},
		"half an escape":          {"GET", "/a%2", "", "", ReasonPath},
		"no escape":               {"GET", "/a%zz", "", "", ReasonPath},
		"doubled slash":           {"GET", "//a", "", "", ReasonPath},
		"host in the path":        {"GET", "//evil.example.com/a", "", "", ReasonPath},
		"backslash":               {"GET", "/a\\b", "", "", ReasonPath},
		"parameters":              {"GET", "/a;x=1", "", "", ReasonPath},
		"no slash":                {"GET", "a", "", "", ReasonPath},
		"an at sign stays a path": {"GET", "/@evil.example.com", "", "https://api.example.com/v2/@evil.example.com", ""},
		"semicolon in query":      {"GET", "/a", "x=1;key=2", "", ReasonQuery},
		"broken escape in query":  {"GET", "/a", "x=%g", "", ReasonQuery},
		"control in query":        {"GET", "/a", "x=\x01", "", ReasonQuery},
		"long":                    {"GET", "/" + strings.Repeat("a", maxTarget), "", "", ReasonLength},
		"trace":                   {"TRACE", "/a", "", "", ReasonMethod},
		"lower case method":       {"get", "/a", "", "", ReasonMethod},
	} {
		r := request("GET", "/x")
		r.HTTP.Method, r.HTTP.URL, r.Rest, r.Upstream = c.method, &url.URL{RawQuery: c.query}, c.rest, upstream.Upstream{Base: base}
		expect(t, name, Target{}.Decide(t.Context(), r), c.reason)
		if c.reason == "" && r.Target.String() != c.want {
			t.Errorf("%s: %s", name, r.Target)
		}
	}
	if base.Path != "/v2" {
		t.Error("the base was changed")
	}
}

func TestAllowlist(t *testing.T) {
	base, _ := url.Parse("https://api.example.com")
	at := func(target string, granted ...string) *Request {
		r := request("GET", "/a")
		r.Upstream = upstream.Upstream{Name: "a", Base: base}
		r.Session.Scope.Upstreams = granted
		r.Target, _ = url.Parse(target)
		return r
	}
	for name, c := range map[string]struct {
		r      *Request
		reason string
	}{
		"granted":       {at("https://api.example.com/x", "b", "a"), ""},
		"nothing":       {at("https://api.example.com/x"), ReasonNotGranted},
		"another":       {at("https://api.example.com/x", "b"), ReasonNotGranted},
		"a prefix":      {at("https://api.example.com/x", "ab", ""), ReasonNotGranted},
		"another case":  {at("https://api.example.com/x", "A"), ReasonNotGranted},
		"other host":    {at("https://api.example.com.evil/x", "a"), ReasonOtherHost},
		"other port":    {at("https://api.example.com:8443/x", "a"), ReasonOtherHost},
		"other scheme":  {at("http://api.example.com/x", "a"), ReasonOtherHost},
		"user in front": {at("https://u@api.example.com/x", "a"), ReasonOtherHost},
	} {
		expect(t, name, Allowlist{}.Decide(t.Context(), c.r), c.reason)
	}
	scripted := at("https://api.example.com/x", "a")
	scripted.Upstream.Scripted = true
	expect(t, "scripted, attended", Allowlist{}.Decide(t.Context(), scripted), "")
	scripted.Session.Scope.Unattended = true
	expect(t, "scripted, unattended", Allowlist{}.Decide(t.Context(), scripted), ReasonUnattended)
}

type guard map[string]bool

func (g guard) Exempted(hostport string) bool { return g[hostport] }
func (guard) CheckAddr(a netip.Addr) error {
	return netguard.New(netguard.Options{Own: func() ([]netip.Addr, error) { return nil, nil }}).CheckAddr(a)
}

func TestAddress(t *testing.T) {
	g := Address{Guard: guard{"127.0.0.1:11434": true, "demo.unix:80": true}}
	for target, c := range map[string]struct {
		exempt bool
		reason string
	}{
		"https://api.example.com/x": {false, ""}, "https://1.1.1.1/": {false, ""},
		"http://127.0.0.1:11434/": {true, ""}, "http://demo.unix/x": {true, ""},
		"http://127.0.0.1:11434/x": {false, ReasonAddress}, "http://127.0.0.1:11435/": {true, ReasonAddress},
		"https://169.254.169.254/": {false, ReasonAddress}, "https://[::ffff:10.0.0.1]/": {false, ReasonAddress}, "https://2130706433/": {false, ReasonAddress},
		"https://localhost/": {true, ReasonAddress}, "https://host.docker.internal/": {false, ReasonAddress}, "https://[fe80::1%25eth0]/": {false, ReasonAddress}, "https://api.example.com./": {false, ReasonAddress},
	} {
		r := request("GET", "/a")
		r.Target, _ = url.Parse(target)
		r.Upstream = upstream.Upstream{Name: "a", Exempt: c.exempt}
		expect(t, target, g.Decide(t.Context(), r), c.reason)
	}
}

func TestKey(t *testing.T) {
	r := request("GET", "/a")
	r.Upstream.Auth = gatewayapi.Auth{Header: "X-Key"}
	expect(t, "needed and missing", Key{}.Decide(t.Context(), r), ReasonNoKey)
	r.Upstream.Key = secret.New("sk-12345678")
	expect(t, "needed and there", Key{}.Decide(t.Context(), r), "")
	r.Upstream = upstream.Upstream{}
	expect(t, "not needed", Key{}.Decide(t.Context(), r), "")
}

func FuzzTarget(f *testing.F) {
	f.Add("/v1/messages", "a=b&key=c")
	f.Add("/..%2f//;", "x=%00")
	base := &url.URL{Scheme: "https", Host: "api.example.com", Path: "/base"}
	f.Fuzz(func(t *testing.T, rest, query string) {
		r := request("GET", "/x")
		r.HTTP.URL, r.Rest, r.Upstream = &url.URL{RawQuery: query}, rest, upstream.Upstream{Base: base}
		if d := (Target{}).Decide(t.Context(), r); !d.Allowed {
			return
		}
		again, err := url.Parse(r.Target.String())
		if err != nil || again.Host != base.Host || again.Scheme != "https" || again.User != nil || again.Fragment != "" {
			t.Fatalf("%q?%q became %s, %v", rest, query, r.Target, err)
		}
		if again.EscapedPath() != r.Target.EscapedPath() || again.Path != r.Target.Path || !strings.HasPrefix(again.Path, "/base") {
			t.Fatalf("%q reads as %q and as %q", rest, r.Target.Path, again.Path)
		}
		for _, segment := range strings.Split(again.Path, "/") {
			if segment == "." || segment == ".." {
				t.Fatalf("%q holds a dot segment", again.Path)
			}
		}
		for name := range again.Query() {
			if CredentialQuery(name) {
				t.Fatalf("%q carries a credential: %s", query, name)
			}
		}
	})
}

func FuzzPresented(f *testing.F) {
	f.Add("Bearer moeca_abc", "moeca_x")
	f.Fuzz(func(t *testing.T, authorization, apiKey string) {
		token, two := presented(http.Header{"Authorization": {authorization}, "X-Api-Key": {apiKey}})
		if two && token != "" || token != "" && !strings.HasPrefix(token, session.TokenPrefix) {
			t.Fatalf("%q %v", token, two)
		}
	})
}
