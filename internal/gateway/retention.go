package gateway

import (
	"encoding/json"
	"fmt"

	"moeca/internal/gateway/gatewayapi"
)

// ActionRetention is the action of the row that sets how long contents are kept.
const ActionRetention = "retention.set"

// Retention is how long contents are kept. The gateway keeps the setting, in the
// log as all of its settings; the host, which knows what runs are under way, has
// contents erased by it.
func (g *Gateway) Retention() gatewayapi.Retention {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.retention
}

// PlanRetention checks a setting and returns what sets it.
func (g *Gateway) PlanRetention(r gatewayapi.Retention) (apply func(), err error) {
	if r.Days < 0 || r.Days > gatewayapi.MaxRetentionDays {
		return nil, fmt.Errorf("%w: contents are kept for 1 to %d days, or for ever, which is 0", ErrSetting, gatewayapi.MaxRetentionDays)
	}
	return func() { g.retain(r) }, nil
}

func (g *Gateway) retain(r gatewayapi.Retention) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.retention = r
}

// keepsLonger says whether a keeps contents longer than b.
func keepsLonger(a, b gatewayapi.Retention) bool {
	return b.Days > 0 && (a.Days == 0 || a.Days > b.Days)
}

// restoreRetention sets again what a row says was set.
func (g *Gateway) restoreRetention(detail []byte) error {
	var r gatewayapi.Retention
	if err := json.Unmarshal(detail, &r); err != nil {
		return err
	}
	apply, err := g.PlanRetention(r)
	if err == nil {
		apply()
	}
	return err
}
