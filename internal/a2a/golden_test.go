package a2a

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the golden files anew")

// traffic is a conversation as it crosses the gateway: requests, and for each
// the same answer in every form its provider has (json; sse; array, which only
// Gemini has).
type traffic struct {
	name      string
	exchanges []Exchange
	forms     []map[string][]byte // of the answers
}

// variants are the conversation with each form of answers.
func (r traffic) variants() map[string][]Exchange {
	all := map[string][]Exchange{}
	for form := range r.forms[0] {
		list := slices.Clone(r.exchanges)
		for i := range list {
			list[i].Response = r.forms[i][form]
		}
		all[form] = list
	}
	return all
}

var targets = map[Dialect]string{
	Anthropic: "https://api.anthropic.com/v1/messages",
	Chat:      "https://api.openai.com/v1/chat/completions",
	Responses: "https://api.openai.com/v1/responses",
	Gemini:    "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:generateContent",
}

// recordings reads testdata/traffic: one archive per conversation with files
// N.request.json, N.response.FORM, and N.meta.json for what a row says besides.
func recordings(t testing.TB) (all []traffic) {
	paths, err := filepath.Glob("testdata/traffic/*.txtar")
	if err != nil || len(paths) < 30 {
		t.Fatalf("%d recordings, %v", len(paths), err)
	}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		r := traffic{name: strings.TrimSuffix(filepath.Base(path), ".txtar")}
		kind, _, _ := strings.Cut(r.name, "-")
		for _, f := range archive.Files {
			number, rest, _ := strings.Cut(f.Name, ".")
			n, err := strconv.Atoi(number)
			if err != nil {
				t.Fatalf("%s: %s", path, f.Name)
			}
			if n > len(r.exchanges) {
				x := recorded(int64(2*n-1), Dialect(kind), targets[Dialect(kind)])
				r.exchanges, r.forms = append(r.exchanges, x), append(r.forms, map[string][]byte{})
			}
			switch part, form, _ := strings.Cut(rest, "."); part {
			case "meta":
				if err := json.Unmarshal(f.Data, &r.exchanges[n-1]); err != nil {
					t.Fatalf("%s: %s: %v", path, f.Name, err)
				}
			case "request":
				r.exchanges[n-1].Request = f.Data
			default:
				r.forms[n-1][form] = f.Data
			}
		}
		all = append(all, r)
	}
	return all
}

// asJSON writes a tree as the golden files have it.
func asJSON(t testing.TB, tree Tree) []byte {
	t.Helper()
	raw, err := json.MarshalIndent(tree, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(raw, '\n')
}

// unstreamed leaves out what may differ between forms of the same answer.
func unstreamed(raw []byte) []byte {
	return bytes.ReplaceAll(raw, []byte("                      \"streamed\": true,\n"), nil)
}

// TestGolden: what is rebuilt is what the golden file says, and the same
// whether the answers were streamed or not.
func TestGolden(t *testing.T) {
	for _, r := range recordings(t) {
		golden := filepath.Join("testdata", "golden", r.name+".json")
		variants := r.variants()
		plain := asJSON(t, Build(variants["json"]))
		if *update {
			if err := os.WriteFile(golden, plain, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(plain)); diff != "" {
			t.Errorf("%s:\n%s", r.name, diff)
		}
		for form, exchanges := range variants {
			got := unstreamed(asJSON(t, Build(exchanges)))
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("%s as %s:\n%s", r.name, form, diff)
			}
		}
	}
}
