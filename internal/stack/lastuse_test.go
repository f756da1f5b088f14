package stack

import (
	"testing"
	"time"
)

// A gateway forgets at its end when a key was used; the log does not.
func TestLastUseOutlivesTheGateway(t *testing.T) {
	k := newTalk(t)
	p := newProviders(t, t.TempDir())
	p.lastUse = k.view.lastUse
	for _, name := range []string{"anthropic", "openai"} {
		if _, err := p.SetSecret(t.Context(), name, testKey); err != nil {
			t.Fatal(err)
		}
	}
	if got := find(t, p, "anthropic").LastUsed; got != nil {
		t.Errorf("used at %v, before any call", got)
	}
	k.turn(said(), answer("one"))
	row, _, err := k.view.At(k.turn(said(), answer("two")))
	k.check(err)
	if got := find(t, p, "anthropic").LastUsed; got == nil || !got.Equal(row.Time) {
		t.Errorf("used at %v, want %v", got, row.Time)
	}
	if got := find(t, p, "openai").LastUsed; got != nil {
		t.Errorf("a key nobody used was used at %v", got)
	}
	p.now = func() time.Time { return row.Time.Add(time.Hour) }
	if _, err := p.SetSecret(t.Context(), "anthropic", testKey+"-new"); err != nil {
		t.Fatal(err)
	}
	if got := find(t, p, "anthropic").LastUsed; got != nil {
		t.Errorf("a new key was used at %v, which the one before was", got)
	}
}
