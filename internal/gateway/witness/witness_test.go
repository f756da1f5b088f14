package witness

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"moeca/internal/audit"
	"moeca/internal/audit/witnesstest"
	"moeca/internal/gateway/gate"
)

// rig is a log, a witness that knows it, and a client.
type rig struct {
	*testing.T
	dir string
	log *audit.Log
	w   *witnesstest.Witness
	c   *Client
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{T: t, dir: t.TempDir(), w: witnesstest.New(t)}
	log, err := audit.Open(r.dir, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	r.log, r.c = log, &Client{Dir: r.dir, Log: log}
	r.w.Know(t, log.Vkey())
	return r
}

func (r *rig) rows(n int) {
	r.Helper()
	for range n {
		p, err := r.log.Queue(audit.Record{Kind: audit.KindAdmin, Source: audit.SourceGateway, Actor: audit.ActorHost, Subject: "x"}, nil, nil)
		if err == nil {
			err = p.Wait(r.Context())
		}
		if err != nil {
			r.Fatal(err)
		}
	}
}

func (r *rig) ask(old int64) Ask { return Ask{URL: r.w.URL, Key: r.w.Vkey, Local: true, Old: old} }

// TestWitnessCosigns asks a witness of others again and again, also with a wrong
// idea of what it saw last, which it corrects.
func TestWitnessCosigns(t *testing.T) {
	r := newRig(t)
	key, err := audit.ParseWitnessKey(r.w.Vkey)
	if err != nil {
		t.Fatal(err)
	}
	var last int64
	for i, old := range []func() int64{
		func() int64 { return 0 }, func() int64 { return last }, func() int64 { return 0 }, // it knows more than we think
		func() int64 { return 1 << 40 }, func() int64 { return last }, func() int64 { return last - 1 },
	} {
		r.rows(1 + 100*(i%2))
		got, err := r.c.Add(t.Context(), r.ask(old()))
		if err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		if at, err := key.Cosigned(got.Checkpoint); err != nil || !at.Equal(got.At) || time.Since(at).Abs() > time.Hour {
			t.Errorf("%d: %v, %v", i, at, err)
		}
		if got.Checkpoint.Verify(r.log.Vkey()) != nil || got.Checkpoint.Size <= last || r.w.Seen() != got.Checkpoint.Size {
			t.Errorf("%d: %+v", i, got.Checkpoint)
		}
		last = got.Checkpoint.Size
	}
	if _, err := r.c.Add(t.Context(), r.ask(last)); err != nil {
		t.Errorf("the same tree again: %v", err)
	}
}

// TestWitnessThatSawAnotherLog: a log that was cut, or written anew with its key,
// is told by the witness.
func TestWitnessThatSawAnotherLog(t *testing.T) {
	r := newRig(t)
	r.rows(10)
	if _, err := r.c.Add(t.Context(), r.ask(0)); err != nil {
		t.Fatal(err)
	}
	for what, answer := range map[string]func(http.ResponseWriter){
		"it saw more rows": func(w http.ResponseWriter) { w.WriteHeader(409); fmt.Fprintln(w, 10_000) },
		"another tree":     func(w http.ResponseWriter) { w.WriteHeader(409); fmt.Fprintln(w, 5) },
		"proof not taken":  func(w http.ResponseWriter) { w.WriteHeader(422) },
	} {
		r.w.Instead(func(w http.ResponseWriter, _ *http.Request) bool { answer(w); return true })
		if _, err := r.c.Add(t.Context(), r.ask(3)); !errors.Is(err, ErrAhead) {
			t.Errorf("%s: %v", what, err)
		}
	}
	r.w.Instead(nil)
	other := newRig(t)
	other.rows(30)
	other.w = r.w
	if _, err := other.c.Add(t.Context(), other.ask(0)); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "does not know this log") {
		t.Errorf("a log it does not know: %v", err)
	}
}

// TestWitnessAnswersThatAreNone: whatever else comes back is explained, read to a
// bound, and never taken for a cosignature.
func TestWitnessAnswersThatAreNone(t *testing.T) {
	r := newRig(t)
	r.rows(3)
	for what, test := range map[string]struct {
		answer func(w http.ResponseWriter, r *http.Request)
		want   string
	}{
		"nothing":     {func(w http.ResponseWriter, _ *http.Request) {}, "cannot be used"},
		"another key": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "\u2014 witness.example/w1 AAAAAAAA") }, "cannot be used"},
		"a page":      {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, "cannot be used"},
		"without end": {func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, 1<<20)) }, "longer than"},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, "not followed"},
		"unknown log":      {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }, "give its operator"},
		"untrusted key":    {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(403) }, "does not trust"},
		"busy":             {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(429) }, "asked again"},
		"broken":           {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, "status 500"},
		"409 without size": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(409) }, "which tree it saw"},
		"409 with words":   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(409); fmt.Fprintln(w, "+3") }, "which tree it saw"},
		"hangs up":         {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "does not answer"},
	} {
		before := r.w.Asked()
		r.w.Instead(func(w http.ResponseWriter, q *http.Request) bool { test.answer(w, q); return true })
		got, err := r.c.Add(t.Context(), r.ask(0))
		if err == nil || !strings.Contains(err.Error(), test.want) || errors.Is(err, ErrAhead) || got.Checkpoint.Text != "" {
			t.Errorf("%s: %v, %v", what, got, err)
		}
		if n := r.w.Asked() - before; n > 2 {
			t.Errorf("%s: asked %d times", what, n)
		}
	}
}

// TestWitnessesNobodyAsks: an address leads where a person says, over https, or to
// one literal address of their own, and nowhere else.
func TestWitnessesNobodyAsks(t *testing.T) {
	r := newRig(t)
	r.rows(1)
	good := r.ask(0)
	for what, change := range map[string]func(a *Ask){
		"http without the opt-in":  func(a *Ask) { a.Local = false },
		"http elsewhere":           func(a *Ask) { a.URL = "http://witness.example/" },
		"http to a public address": func(a *Ask) { a.URL = "http://192.0.2.1:80/" },
		"http to a name":           func(a *Ask) { a.URL = strings.Replace(a.URL, "127.0.0.1", "localhost", 1) },
		"http to link-local":       func(a *Ask) { a.URL = "http://169.254.169.254:80/" },
		"http to mapped loopback":  func(a *Ask) { a.URL = "http://[::ffff:127.0.0.1]:80/" },
		"https that is one's own":  func(a *Ask) { a.URL = "https://127.0.0.1:1/" },
		"https to loopback":        func(a *Ask) { a.URL, a.Local = "https://127.0.0.1:1/", false },
		"https to a name of ours":  func(a *Ask) { a.URL, a.Local = "https://localhost/", false },
		"https to metadata":        func(a *Ask) { a.URL, a.Local = "https://169.254.169.254/", false },
		"a file":                   func(a *Ask) { a.URL = "file:///etc/passwd" },
		"a socket":                 func(a *Ask) { a.URL = "unix:/run/x" },
		"a password":               func(a *Ask) { a.URL = strings.Replace(a.URL, "//", "//u:p@", 1) },
		"a query":                  func(a *Ask) { a.URL += "/?x=1" },
		"a fragment":               func(a *Ask) { a.URL += "/#" },
		"no address":               func(a *Ask) { a.URL = "" },
		"no key":                   func(a *Ask) { a.Key = "" },
		"the key of a log":         func(a *Ask) { a.Key = r.log.Vkey() },
		"less than nothing":        func(a *Ask) { a.Old = -1 },
	} {
		a := good
		change(&a)
		before := r.w.Asked()
		if _, err := r.c.Add(t.Context(), a); err == nil || r.w.Asked() != before {
			t.Errorf("%s: %v, asked %d times", what, err, r.w.Asked()-before)
		}
	}
	denied, err := gate.ParseNetworks([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	r.c.Denied = denied
	if _, err := r.c.Add(t.Context(), good); !errors.Is(err, ErrAsk) || r.w.Asked() != 0 {
		t.Errorf("on the denylist: %v", err)
	}
}
