package policy

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"moeca/internal/gateway/upstream"
)

const (
	zero = "0000000000000000000000000000000000000000"
	oidA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	oidB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	caps = "\x00 report-status-v2 side-band-64k object-format=sha1 agent=git/2.43.0"
)

func pkt(lines ...string) string {
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "%04x%s", len(l)+4, l)
	}
	return b.String() + "0000"
}

func TestPush(t *testing.T) {
	create := zero + " " + oidA + " refs/heads/moeca/x"
	for name, c := range map[string]struct {
		body string
		want []Update // nil: refused
	}{
		"a new branch":                   {pkt(create+caps) + "PACK…", []Update{{zero, oidA, "refs/heads/moeca/x"}}},
		"a new branch, objects known":    {pkt(create + caps), []Update{{zero, oidA, "refs/heads/moeca/x"}}},
		"lines that end in LF":           {pkt(create + caps + "\n"), []Update{{zero, oidA, "refs/heads/moeca/x"}}},
		"an update":                      {pkt(oidA + " " + oidB + " refs/heads/moeca/x" + caps), []Update{{oidA, oidB, "refs/heads/moeca/x"}}},
		"a deletion is seen":             {pkt(oidA + " " + zero + " refs/heads/moeca/x" + caps), []Update{{oidA, zero, "refs/heads/moeca/x"}}},
		"two refs":                       {pkt(create+caps, zero+" "+oidB+" refs/heads/main"), []Update{{zero, oidA, "refs/heads/moeca/x"}, {zero, oidB, "refs/heads/main"}}},
		"from a shallow clone":           {pkt("shallow "+oidB, create+caps) + "PACK", []Update{{zero, oidA, "refs/heads/moeca/x"}}},
		"the probe":                      {"0000", []Update{}},
		"a blank in a ref is kept":       {pkt(zero + " " + oidA + " refs/heads/a b" + caps), []Update{{zero, oidA, "refs/heads/a b"}}},
		"nothing":                        {"", nil},
		"no flush":                       {strings.TrimSuffix(pkt(create+caps), "0000"), nil},
		"data behind the probe":          {"0000PACK", nil},
		"data behind the flush":          {pkt(create+caps) + pkt(zero+" "+oidB+" refs/heads/main"), nil},
		"push options":                   {pkt(create+caps+" push-options") + pkt("ci.skip") + "PACK", nil},
		"push options not announced":     {pkt(create+caps) + pkt("ci.skip") + "PACK", nil},
		"a certificate":                  {pkt("push-cert\x00" + caps), nil},
		"an unknown capability":          {pkt(create + caps + " x-do-it"), nil},
		"capabilities on a second line":  {pkt(create+caps, zero+" "+oidB+" refs/heads/y"+caps), nil},
		"two NULs":                       {pkt(create + caps + "\x00refs/heads/main"), nil},
		"a ref twice":                    {pkt(create+caps, oidA+" "+oidB+" refs/heads/moeca/x"), nil},
		"a ref twice in another case":    {pkt(create+caps, oidA+" "+oidB+" refs/heads/moeca/X"), nil},
		"a short object id":              {pkt("0000000 " + oidA + " refs/heads/moeca/x" + caps), nil},
		"an object id in capitals":       {pkt(strings.ToUpper(oidA) + " " + oidB + " refs/heads/moeca/x" + caps), nil},
		"two sizes of object ids":        {pkt(zero + " " + oidA + oidA[:24] + " refs/heads/moeca/x" + caps), nil},
		"no ref":                         {pkt(zero + " " + oidA + caps), nil},
		"an empty ref":                   {pkt(zero + " " + oidA + " " + caps), nil},
		"a length in capitals":           {"00AA", nil},
		"a length with a sign":           {"+00a", nil},
		"a length of one":                {"0001", nil},
		"a delimiter":                    {"0002", nil},
		"a length beyond the body":       {"ffffx", nil},
		"an empty line":                  {"00040000", nil},
		"shallow behind a command":       {pkt(create+caps, "shallow "+oidB), nil},
		"shallow without an id":          {pkt("shallow x", create+caps), nil},
		"a gzip stream":                  {"\x1f\x8b\x08\x00\x00", nil},
		"more commands than a push has":  {pkt(many()...), nil},
		"the dumb protocol's JSON":       {"{}", nil},
		"a pack without a command":       {"PACK", nil},
		"a shallow line and no command":  {pkt("shallow "+oidB) + "PACK", nil},
		"a flush in the middle of a ref": {"00" + pkt(create+caps), nil},
	} {
		push, err := Push([]byte(c.body))
		got := push.Updates
		switch {
		case c.want == nil && !errors.Is(err, ErrUnclear):
			t.Errorf("%s: %v, %v", name, got, err)
		case c.want != nil && (err != nil || len(got) != len(c.want) || len(got) > 0 && !reflect.DeepEqual(got, c.want)):
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func many() (lines []string) {
	for i := range maxUpdates + 1 {
		lines = append(lines, fmt.Sprintf("%s %s refs/heads/moeca/%d", zero, oidA, i))
	}
	return lines
}

func gitInput(method, target, contentType, body string) Input {
	in := jsonInput(upstream.KindGit, method, target, "")
	in.Body = []byte(body)
	in.Header = http.Header{}
	if contentType != "" {
		in.Header.Set("Content-Type", contentType)
	}
	return in
}

func TestGitPaths(t *testing.T) {
	const push, fetch = "application/x-git-receive-pack-request", "application/x-git-upload-pack-request"
	body := pkt(zero + " " + oidA + " refs/heads/moeca/x" + caps)
	for name, c := range map[string]struct {
		in   Input
		want string // operation and repository; empty: refused
	}{
		"refs to fetch":                {gitInput("GET", "/o/n.git/info/refs?service=git-upload-pack", "", ""), "git.fetch o/n"},
		"refs to push":                 {gitInput("GET", "/o/n.git/info/refs?service=git-receive-pack", "", ""), "git.fetch o/n"},
		"a path without the suffix":    {gitInput("GET", "/o/n/info/refs?service=git-upload-pack", "", ""), "git.fetch o/n"},
		"a group below a group":        {gitInput("GET", "/o/g/n.git/info/refs?service=git-upload-pack", "", ""), "git.fetch o/g/n"},
		"a fetch":                      {gitInput("POST", "/o/n.git/git-upload-pack", fetch, "0000"), "git.fetch o/n"},
		"a push":                       {gitInput("POST", "/o/n.git/git-receive-pack", push, body), "git.push o/n"},
		"a push under a fetch's type":  {gitInput("POST", "/o/n.git/git-receive-pack", fetch, body), ""},
		"a push without a type":        {gitInput("POST", "/o/n.git/git-receive-pack", "", body), ""},
		"a push with a query":          {gitInput("POST", "/o/n.git/git-receive-pack?x=1", push, body), ""},
		"a push by PUT":                {gitInput("PUT", "/o/n.git/git-receive-pack", push, body), ""},
		"refs of the dumb protocol":    {gitInput("GET", "/o/n.git/info/refs", "", ""), ""},
		"refs with a second parameter": {gitInput("GET", "/o/n.git/info/refs?service=git-upload-pack&service=git-receive-pack", "", ""), ""},
		"an object":                    {gitInput("GET", "/o/n.git/objects/aa/bb", "", ""), ""},
		"a page":                       {gitInput("GET", "/o/n", "", ""), ""},
		"a large file":                 {gitInput("POST", "/o/n.git/info/lfs/objects/batch", "application/json", "{}"), ""},
		"two suffixes":                 {gitInput("GET", "/o/n.git.git/info/refs?service=git-upload-pack", "", ""), ""},
		"no owner":                     {gitInput("GET", "/n.git/info/refs?service=git-upload-pack", "", ""), ""},
		"a service in another case":    {gitInput("POST", "/o/n.git/Git-Receive-Pack", push, body), ""},
		"a service with a slash":       {gitInput("POST", "/o/n.git/git-receive-pack/", push, body), ""},
	} {
		ops, err := Parse(c.in)
		got := ""
		if err == nil {
			got = ops[0].Name + " " + ops[0].Repo
		}
		if got != c.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	encoded := gitInput("POST", "/o/n.git/git-receive-pack", push, body)
	encoded.Header.Set("Content-Encoding", "gzip")
	if _, err := Parse(encoded); !errors.Is(err, ErrUnclear) {
		t.Errorf("a push under an encoding: %v", err)
	}
	if !MayBeEncoded(upstream.KindGit, "POST", "/o/n.git/git-upload-pack") || MayBeEncoded(upstream.KindGit, "POST", "/o/n.git/git-receive-pack") ||
		MayBeEncoded(upstream.KindGitHub, "POST", "/git-upload-pack") || MayBeEncoded(upstream.KindGit, "PUT", "/o/n.git/git-upload-pack") {
		t.Error("what may be encoded is not a fetch only")
	}
}

func FuzzPush(f *testing.F) {
	f.Add([]byte(pkt(zero+" "+oidA+" refs/heads/moeca/x"+caps) + "PACK"))
	f.Add([]byte(pkt("shallow "+oidB, oidA+" "+oidB+" refs/heads/x\x00", zero+" "+oidB+" refs/heads/y\n")))
	f.Add([]byte("0000"))
	f.Add([]byte("0005\x00"))
	f.Fuzz(func(t *testing.T, body []byte) {
		push, err := Push(body)
		if err != nil {
			return
		}
		updates := push.Updates
		for _, u := range updates {
			if !isOID(u.Old) || !isOID(u.New) || u.Ref == "" || strings.ContainsRune(u.Ref, 0) {
				t.Fatalf("%q: %+v", body, u)
			}
			if RefFault(u.Ref, nil, nil) == "" && !strings.HasPrefix(u.Ref, Heads+DefaultPrefix) {
				t.Fatalf("%q is permitted", u.Ref)
			}
		}
		// What we read, written again the way git does, reads the same.
		var lines []string
		for i, u := range updates {
			line := u.Old + " " + u.New + " " + u.Ref
			if i == 0 {
				line += "\x00"
			}
			lines = append(lines, line)
		}
		again, err := Push([]byte(pkt(lines...)))
		if err != nil || len(again.Updates) != len(updates) || len(updates) > 0 && !reflect.DeepEqual(again.Updates, updates) {
			t.Fatalf("%q: %+v became %+v, %v", body, updates, again.Updates, err)
		}
	})
}
