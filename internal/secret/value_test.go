package secret

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

const canary = "sk-canary-0123456789"

// holder is how keys travel in practice: named, nested, behind pointers, and in
// fields fmt cannot call methods on.
type holder struct {
	Key    Value
	hidden Value
	ptr    *Value
	list   []Value
	byName map[string]Value
	inner  struct{ deep Value }
}

func newHolder() holder {
	v := New(canary)
	h := holder{Key: v, hidden: v, ptr: &v, list: []Value{v}, byName: map[string]Value{"a": v}}
	h.inner.deep = v
	return h
}

func TestNoVerbPrintsASecret(t *testing.T) {
	v, h := New(canary), newHolder()
	for _, what := range []any{v, &v, h, &h, []Value{v}, map[string]Value{"k": v}, struct{ v any }{v}, [1]Value{v}} {
		for _, verb := range "vsqxXdTbcoOUeEfFgGtp" {
			for _, flags := range []string{"", "+", "#", " ", "0", "-20", "20.3"} {
				format := "%" + flags + string(verb)
				out := fmt.Sprintf(format, what)
				if leaks(out) {
					t.Errorf("%s of %T prints the secret: %s", format, what, out)
				}
			}
		}
		if out := fmt.Sprint(what) + fmt.Sprintln(what); leaks(out) {
			t.Errorf("Print of %T prints the secret: %s", what, out)
		}
	}
	if got := fmt.Sprintf("%d|%s|%#v|%v", v, v, v, New("")); got != "[secret]|[secret]|[secret]|[secret]" {
		t.Errorf("got %s", got)
	}
	if out := fmt.Errorf("send %v: %w", v, fmt.Errorf("key %s", v)).Error(); leaks(out) {
		t.Errorf("error prints the secret: %s", out)
	}
}

// leaks finds the canary as text, in hex and as decimal bytes.
func leaks(out string) bool {
	for _, form := range []string{canary, fmt.Sprintf("%x", canary), fmt.Sprintf("%X", canary), fmt.Sprint([]byte(canary))[1:20], "canary"} {
		if strings.Contains(out, form) {
			return true
		}
	}
	return false
}

func TestNoEncoderPrintsASecret(t *testing.T) {
	h := newHolder()
	var out bytes.Buffer
	j, err := json.Marshal(map[string]any{"value": h.Key, "holder": h, "pointer": &h.Key, "key": map[Value]int{h.Key: 1}})
	if err != nil {
		t.Fatal(err)
	}
	out.Write(j)
	if !bytes.Contains(j, []byte(`"value":"[secret]"`)) {
		t.Errorf("json: %s", j)
	}
	if x, err := xml.Marshal(struct{ Key Value }{h.Key}); err == nil {
		out.Write(x)
	}
	if err := gob.NewEncoder(&out).Encode(struct{ Key Value }{h.Key}); err != nil {
		t.Logf("gob refuses: %v", err)
	}
	for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(handler).With("key", h.Key).Info("use", "key", h.Key, "holder", h, "pointer", &h, slog.Group("g", "key", h.Key))
	}
	if leaks(out.String()) {
		t.Errorf("an encoder prints the secret: %s", out.String())
	}
	if err := json.Unmarshal([]byte(`"x"`), &h.Key); err == nil {
		t.Error("a secret was read from JSON")
	}
}

func TestEqual(t *testing.T) {
	for name, c := range map[string]struct {
		a, b Value
		want bool
	}{
		"the same text":    {New("a"), New("a"), true},
		"another text":     {New("a"), New("b"), false},
		"a prefix":         {New("a"), New("ab"), false},
		"both empty":       {Value{}, New(""), true},
		"empty and a text": {Value{}, New("a"), false},
	} {
		if got := c.a.Equal(c.b); got != c.want {
			t.Errorf("%s: equal = %v", name, got)
		}
	}
	if !New("").Empty() || New("a").Empty() || New("a").Open() != "a" || (Value{}).Open() != "" {
		t.Error("Empty or Open is wrong")
	}
}
