package scrub

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

const key = "sk-ant-aab-aaab-SECRET"

func clean(t *testing.T, secret string, chunks ...string) string {
	t.Helper()
	f := New(secret)
	var out []byte
	for _, c := range chunks {
		out = f.Push(out, []byte(c))
	}
	return string(f.Flush(out))
}

func TestSecretIsFoundInEverySplit(t *testing.T) {
	text := "before sk-ant-aab-aa" + key + " sk-" + key + key + " after sk-ant-aab-aaab-SECRE"
	want := strings.ReplaceAll(text, key, strings.Repeat("*", len(key)))
	for i := range len(text) + 1 {
		for j := i; j <= len(text); j++ {
			if got := clean(t, key, text[:i], text[i:j], text[j:]); got != want {
				t.Fatalf("split at %d and %d: %q", i, j, got)
			}
		}
	}
}

func TestNothingButAPrefixIsHeldBack(t *testing.T) {
	f := New(key)
	if got := string(f.Push(nil, []byte("data: {}\n\n"))); got != "data: {}\n\n" {
		t.Fatalf("frame delayed: %q", got)
	}
	if got := string(f.Push(nil, []byte("x"+key[:5]))); got != "x" {
		t.Fatalf("passed %q", got)
	}
	if got := string(f.Push(nil, []byte("\n"))); got != key[:5]+"\n" {
		t.Fatalf("held back %q", got)
	}
}

func TestEmptySecretPassesEverything(t *testing.T) {
	if got := clean(t, "", "a", "b"); got != "ab" {
		t.Fatal(got)
	}
	if String("x", "") != "x" {
		t.Fatal("string changed")
	}
	if got := String("Bearer "+key, key); strings.Contains(got, key) {
		t.Fatal(got)
	}
}

func TestReaderKeepsLengthAndError(t *testing.T) {
	text := "a" + key + "b"
	for name, src := range map[string]io.Reader{
		"whole": strings.NewReader(text), "byte by byte": iotest.OneByteReader(strings.NewReader(text)),
		"data with error": iotest.DataErrReader(strings.NewReader(text)),
	} {
		got, err := io.ReadAll(NewReader(src, key))
		if err != nil || len(got) != len(text) || bytes.Contains(got, []byte(key)) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	broken := io.MultiReader(strings.NewReader("sk-ant"), iotest.ErrReader(io.ErrUnexpectedEOF))
	got, err := io.ReadAll(NewReader(broken, key))
	if string(got) != "sk-ant" || err != io.ErrUnexpectedEOF {
		t.Fatalf("%q, %v", got, err)
	}
}

func FuzzFilter(f *testing.F) {
	f.Add("aab", "aaabaab", uint8(3))
	f.Add("abab", "abababab", uint8(5))
	f.Fuzz(func(t *testing.T, secret, text string, cut uint8) {
		at := min(int(cut), len(text))
		fl := New(secret)
		got := fl.Flush(fl.Push(fl.Push(nil, []byte(text[:at])), []byte(text[at:])))
		if len(got) != len(text) {
			t.Fatalf("length %d became %d", len(text), len(got))
		}
		if secret != "" && strings.Trim(secret, "*") != "" && bytes.Contains(got, []byte(secret)) && !strings.Contains(secret, "*") {
			t.Fatalf("%q still in %q", secret, got)
		}
	})
}
