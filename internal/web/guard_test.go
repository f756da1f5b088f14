package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestGuardRefusesWhatAPageCouldSend(t *testing.T) {
	reached := 0
	g, err := NewGuard("127.0.0.1:8788", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached++ }))
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		host, method string
		header       map[string]string
		pass         bool
	}{
		"own page reads":                    {host: "127.0.0.1:8788", method: "GET", header: map[string]string{"Origin": "http://127.0.0.1:8788"}, pass: true},
		"own page writes":                   {host: "localhost:8788", method: "POST", header: map[string]string{"Origin": "http://localhost:8788", "Sec-Fetch-Site": "same-origin"}, pass: true},
		"a program without an origin":       {host: "127.0.0.1:8788", method: "POST", pass: true},
		"a host in capitals":                {host: "LOCALHOST:8788", method: "GET", pass: true},
		"a rebinding name":                  {host: "evil.example:8788", method: "GET"},
		"a name that begins like ours":      {host: "localhost:8788.evil.example", method: "GET"},
		"another port":                      {host: "localhost:9999", method: "GET"},
		"no port":                           {host: "localhost", method: "GET"},
		"an empty host":                     {host: "", method: "GET"},
		"a foreign origin":                  {host: "localhost:8788", method: "GET", header: map[string]string{"Origin": "https://evil.example"}},
		"an origin that begins like ours":   {host: "localhost:8788", method: "POST", header: map[string]string{"Origin": "http://localhost:8788.evil.example"}},
		"the null origin":                   {host: "localhost:8788", method: "POST", header: map[string]string{"Origin": "null"}},
		"an origin with another scheme":     {host: "localhost:8788", method: "POST", header: map[string]string{"Origin": "https://localhost:8788"}},
		"a cross-site form without origin":  {host: "localhost:8788", method: "POST", header: map[string]string{"Sec-Fetch-Site": "cross-site"}},
		"a same-site page on another port":  {host: "localhost:8788", method: "POST", header: map[string]string{"Sec-Fetch-Site": "same-site"}},
		"a websocket from a foreign origin": {host: "localhost:8788", method: "GET", header: map[string]string{"Upgrade": "websocket", "Connection": "Upgrade", "Origin": "https://evil.example"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			reached = 0
			r := httptest.NewRequest(c.method, "http://127.0.0.1:8788/api/tasks", nil)
			r.Host = c.host
			for k, v := range c.header {
				r.Header.Set(k, v)
			}
			w := httptest.NewRecorder()
			g.ServeHTTP(w, r)
			if got := reached == 1; got != c.pass {
				t.Fatalf("passed = %v, want %v (status %d)", got, c.pass, w.Code)
			}
			for h := range w.Header() {
				if strings.HasPrefix(strings.ToLower(h), "access-control-") {
					t.Errorf("answer carries %s", h)
				}
			}
			if w.Header().Get("Content-Security-Policy") == "" {
				t.Error("answer carries no content security policy")
			}
		})
	}
}

func TestGuardRefusesTwoOrigins(t *testing.T) {
	g, _ := NewGuard("127.0.0.1:1", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("reached") }))
	r := httptest.NewRequest("GET", "/", nil)
	r.Host = "127.0.0.1:1"
	r.Header["Origin"] = []string{"http://127.0.0.1:1", "https://evil.example"}
	g.ServeHTTP(httptest.NewRecorder(), r)
}

func TestGuardServesLoopbackOnly(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:1", "[::]:1", "192.0.2.1:1", "example.org:1", "nonsense"} {
		if _, err := NewGuard(addr, nil); err == nil {
			t.Errorf("NewGuard(%q) was accepted", addr)
		}
	}
}
