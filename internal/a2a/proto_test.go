package a2a

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// shapes are the fields of the protocol's messages (specification/a2a.proto of
// A2A 1.0, in ProtoJSON) that a tree may use, those it must have first.
var shapes = map[string]struct{ required, optional []string }{
	"task":     {[]string{"id", "contextId", "status"}, []string{"artifacts", "history", "metadata"}},
	"status":   {[]string{"state"}, []string{"message", "timestamp"}},
	"message":  {[]string{"messageId", "role", "parts"}, []string{"contextId", "taskId", "metadata", "extensions", "referenceTaskIds"}},
	"part":     {nil, []string{"text", "raw", "url", "data", "metadata", "filename", "mediaType"}},
	"artifact": {[]string{"artifactId", "parts"}, []string{"name", "description", "metadata", "extensions"}},
}

// TestNamesAreTheProtocols reads every golden tree as a strict reader of the
// protocol does: no unknown field, one content per part, everything of ours
// under the key of our extension.
func TestNamesAreTheProtocols(t *testing.T) {
	paths, _ := filepath.Glob("testdata/golden/*.json")
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var tree struct{ Contexts []struct{ Tasks []object } }
		if err := json.Unmarshal(raw, &tree); err != nil {
			t.Fatal(err)
		}
		for _, c := range tree.Contexts {
			for _, task := range c.Tasks {
				task.check(t, path, "task")
			}
		}
	}
	if len(paths) < 30 {
		t.Errorf("%d golden trees", len(paths))
	}
}

type object map[string]any

func (o object) check(t *testing.T, where, shape string) {
	t.Helper()
	where += " " + shape
	s := shapes[shape]
	for key := range o {
		if !slices.Contains(s.required, key) && !slices.Contains(s.optional, key) {
			t.Errorf("%s: no field %s in the protocol", where, key)
		}
	}
	for _, key := range s.required {
		if o[key] == nil {
			t.Errorf("%s: no %s", where, key)
		}
	}
	if meta, ok := o["metadata"].(map[string]any); ok && (len(meta) != 1 || meta[Extension] == nil) {
		t.Errorf("%s: metadata %v", where, meta)
	}
	if role, ok := o["role"]; ok && role != "ROLE_USER" && role != "ROLE_AGENT" {
		t.Errorf("%s: role %v", where, role)
	}
	if contents := count(o, "text", "raw", "url", "data"); shape == "part" && contents != 1 {
		t.Errorf("%s: %d contents", where, contents)
	}
	for key, inner := range map[string]string{"history": "message", "parts": "part", "artifacts": "artifact"} {
		list, _ := o[key].([]any)
		for _, v := range list {
			object(v.(map[string]any)).check(t, where, inner)
		}
	}
	if status, ok := o["status"].(map[string]any); ok {
		object(status).check(t, where, "status")
	}
}

func count(o object, keys ...string) (n int) {
	for _, key := range keys {
		if _, there := o[key]; there {
			n++
		}
	}
	return n
}
