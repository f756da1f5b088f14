package docker

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
)

func TestLimitedStopsOnceAndSwallowsTheRest(t *testing.T) {
	var out bytes.Buffer
	calls := 0
	l := &limited{w: &out, left: 10, over: func() { calls++ }}
	for _, p := range []string{"12345", "67890", "", "more", "still more"} {
		if n, err := l.Write([]byte(p)); n != len(p) || err != nil {
			t.Fatalf("write %q: %d, %v", p, n, err)
		}
	}
	if out.String() != "1234567890" || calls != 1 {
		t.Fatalf("%q passed on, %d calls", out.String(), calls)
	}
}

func TestLimitedAtTheLimitIsNoFlood(t *testing.T) {
	l := &limited{w: &bytes.Buffer{}, left: 4, over: func() { t.Error("stopped at the limit") }}
	l.Write([]byte("1234"))
}

func TestTailKeepsTheEnd(t *testing.T) {
	tail := newTail(4)
	for _, p := range []string{"a", "bcdefgh", "", "ij"} {
		tail.Write([]byte(p))
	}
	if tail.String() != "ghij" {
		t.Fatal(tail.String())
	}
}

func TestParseLayersTrustsNothing(t *testing.T) {
	digest := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return "sha256:" + hex.EncodeToString(sum[:])
	}
	good := `{"rootfs":{"diff_ids":["sha256:aa"]}}`
	if got, err := parseLayers(strings.NewReader(good), digest(good)); err != nil || len(got) != 1 {
		t.Fatalf("%v, %v", got, err)
	}
	for name, text := range map[string]string{"no layers": `{}`, "not JSON": `{`, "nothing": ``} {
		if _, err := parseLayers(strings.NewReader(text), digest(text)); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if _, err := parseLayers(strings.NewReader(good), digest("other")); err == nil {
		t.Error("another configuration was accepted")
	}
}
