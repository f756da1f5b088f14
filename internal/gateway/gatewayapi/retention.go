package gatewayapi

import (
	"context"
	"net/http"
)

// DefaultRetentionDays is how long captured contents are kept where nobody has
// said otherwise.
const DefaultRetentionDays = 30

// MaxRetentionDays is ten years.
const MaxRetentionDays = 3650

// Retention says how many days captured contents are kept; 0 is for ever. Rows
// are always kept.
type Retention struct {
	Days int `json:"days" minimum:"0" maximum:"3650"`
}

// Retention reads the setting.
func (c *Client) Retention(ctx context.Context) (Retention, error) {
	var r Retention
	return r, c.c.call(ctx, http.MethodGet, "/v1/retention", nil, &r)
}

// SetRetention changes it. It is kept in the log and holds after a restart.
func (c *Client) SetRetention(ctx context.Context, r Retention) (Retention, error) {
	var out Retention
	return out, c.c.call(ctx, http.MethodPut, "/v1/retention", r, &out)
}
