package process

import (
	"path/filepath"
	"testing"

	"moeca/internal/audit"
	"moeca/internal/gateway/gatewayapi"
)

// TestCheckpointsOutliveTheGateway: what one gateway signed the next one
// continues, with the same key.
func TestCheckpointsOutliveTheGateway(t *testing.T) {
	c := newConfig(t)
	client, stop := start(t, c)
	first, err := client.Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	held, err := audit.ParseCheckpoint(first.Text)
	if err != nil || held.Verify(first.Vkey) != nil {
		t.Fatalf("%+v, %v", first, err)
	}
	if e, err := client.Erase(t.Context(), gatewayapi.EraseRequest{Run: "nobody", Actor: "host"}); err != nil || e.Bodies != 0 || e.Row == 0 {
		t.Errorf("%+v, %v", e, err)
	}
	stop()
	client, stop = start(t, c)
	second, err := client.Checkpoint(t.Context())
	if err != nil || second.Vkey != first.Vkey || second.Size <= first.Size {
		t.Errorf("%+v, %v", second, err)
	}
	stop()
	rep, err := audit.Verify(t.Context(), filepath.Join(c.Data, "audit"), audit.VerifyOptions{From: &held, Bodies: true})
	if err != nil || !rep.OK {
		t.Errorf("%+v, %v", rep, err)
	}
}
