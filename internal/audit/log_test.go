package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

func TestSmoke(t *testing.T) {
	dir := t.TempDir()
	l, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrLocked) {
		t.Fatal(err)
	}
	var last *Pending
	for i := range 20 {
		c := NewCapture(100)
		fmt.Fprintf(c, "body %d %s", i, bytes.Repeat([]byte("x"), i*10))
		p, err := l.Queue(Record{Kind: KindIntent, Actor: ActorAgent, Upstream: "demo", Target: "/v1/messages"}, c.Body(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			if last, err = l.Queue(Record{Kind: KindOutcome, Ref: p.Seq(), Result: ResultOK, Duration: time.Second}, nil, c.Body()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := last.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	r, err := OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	n, err := r.Refresh()
	if err != nil || n < last.Seq() {
		t.Fatal(n, err)
	}
	rec, h, err := r.At(last.Seq())
	if err != nil || h != last.Hash() {
		t.Fatal(err)
	}
	if b, err := r.Body(rec.Response); err != nil || !bytes.HasPrefix(b, []byte("body 18")) {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	rep, err := Verify(t.Context(), dir, VerifyOptions{Bodies: true})
	t.Logf("%+v %v", rep, err)
	if !rep.OK || err != nil {
		t.Fatal(err)
	}
	l, err = Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	rep, err = Verify(t.Context(), dir, VerifyOptions{Bodies: true})
	t.Logf("%+v %v", rep, err)
	if !rep.OK || err != nil || len(rep.OpenIntents) > 0 {
		t.Fatal(err)
	}
}
