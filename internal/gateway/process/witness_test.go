package process

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"moeca/internal/audit"
	"moeca/internal/audit/witnesstest"
	"moeca/internal/gateway/gatewayapi"
)

// TestWitnessIsAskedThroughTheGateway: a running gateway has its log cosigned, and
// rows say whom it asked and what came back, also when nothing did.
func TestWitnessIsAskedThroughTheGateway(t *testing.T) {
	c := newConfig(t)
	client, stop := start(t, c)
	w := witnesstest.New(t)
	ask := gatewayapi.WitnessAsk{URL: w.URL, Key: w.Vkey, Local: true}
	var refused *gatewayapi.StatusError
	if _, err := client.AskWitness(t.Context(), ask); !errors.As(err, &refused) || refused.Body.Reason != gatewayapi.WitnessRefused {
		t.Fatalf("a witness that does not know the log: %v", err)
	}
	signed, err := client.Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.Know(t, signed.Vkey)
	var got gatewayapi.Witnessed
	for range 3 {
		before, err := client.Health(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got, err = client.AskWitness(t.Context(), ask); err != nil {
			t.Fatal(err)
		}
		after, err := client.Health(t.Context())
		if err != nil || after.Records != before.Records+gatewayapi.WitnessRows || got.Size != before.Records+1 {
			t.Errorf("rows %d, then %d, cosigned %d, %v", before.Records, after.Records, got.Size, err)
		}
		ask.Old = got.Size
	}
	if w.Asked() != 4 {
		t.Errorf("asked %d times", w.Asked())
	}
	ask.Local = false
	if _, err := client.AskWitness(t.Context(), ask); !errors.As(err, &refused) || refused.Body.Reason != gatewayapi.WitnessInvalid || w.Asked() != 4 {
		t.Errorf("without the opt-in: %v", err)
	}
	stop()
	r, err := audit.OpenReader(filepath.Join(c.Data, "audit"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	last, err := r.Refresh()
	if err != nil {
		t.Fatal(err)
	}
	var actions []string
	for rec, err := range r.Range(1, last) {
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range rec.Attrs {
			if a.Key == "action" && rec.Subject == w.URL {
				actions = append(actions, a.Value)
			}
		}
	}
	want := []string{"witness.ask", "witness.failed", "witness.ask", "witness.cosigned", "witness.ask", "witness.cosigned", "witness.ask", "witness.cosigned"}
	if !slices.Equal(actions, want) {
		t.Errorf("the log says %v", actions)
	}
	cosigned, err := audit.ParseCheckpoint(got.Text)
	if err != nil {
		t.Fatal(err)
	}
	if rep, err := audit.Verify(t.Context(), filepath.Join(c.Data, "audit"), audit.VerifyOptions{Held: &cosigned}); err != nil || !rep.OK {
		t.Errorf("%+v, %v", rep, err)
	}
}
