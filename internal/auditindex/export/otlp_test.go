package export

import (
	"encoding/base64"
	"strings"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

// TestSpansAreOTLP reads what was written with OpenTelemetry's own definition,
// which knows every field by name and type. In OTLP ids are hex where protobuf's
// JSON has base64, so they are turned around.
func TestSpansAreOTLP(t *testing.T) {
	log := newLog(t)
	n := 0
	for line := range strings.Lines(write(t, log, Options{Format: OTLP, Content: true, Version: "1.0"})) {
		var data tracepb.TracesData
		check(t, protojson.Unmarshal([]byte(line), &data))
		for _, rs := range data.ResourceSpans {
			for _, ss := range rs.ScopeSpans {
				for _, s := range ss.Spans {
					n++
					if id := base64.StdEncoding.EncodeToString(s.SpanId); len(id) != 16 || !strings.Contains(line, `"`+id+`"`) {
						t.Errorf("span id is %q", id)
					}
					if s.EndTimeUnixNano < s.StartTimeUnixNano || s.StartTimeUnixNano == 0 {
						t.Errorf("%s is from %d to %d", s.Name, s.StartTimeUnixNano, s.EndTimeUnixNano)
					}
					switch s.Kind {
					case tracepb.Span_SPAN_KIND_CLIENT, tracepb.Span_SPAN_KIND_INTERNAL:
					default:
						t.Errorf("%s is of the kind %s", s.Name, s.Kind)
					}
					failed := false
					for _, a := range s.Attributes {
						failed = failed || a.Key == "error.type"
					}
					if failed != (s.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR) {
						t.Errorf("%s: error.type %v, status %s", s.Name, failed, s.Status)
					}
				}
			}
		}
	}
	if n != 8 {
		t.Errorf("%d spans", n)
	}
}
