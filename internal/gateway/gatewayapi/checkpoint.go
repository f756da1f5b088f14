package gatewayapi

import (
	"context"
	"net/http"
	"time"
)

// Checkpoint is the answer to GET /v1/checkpoint: a signed statement of what the
// rows of the log are, which covers every row that was durable at the request.
type Checkpoint struct {
	Origin string `json:"origin"`
	Size   int64  `json:"size"` // rows
	Root   string `json:"root"` // hex
	Text   string `json:"text"` // the signed note, C2SP tlog-checkpoint
	Vkey   string `json:"vkey"` // the key that signed it
}

// EraseRequest is the body of POST /v1/erase: whose captured contents are
// destroyed, by exactly one of run, task, rows and before. Rows stay.
type EraseRequest struct {
	Run    string     `json:"run,omitempty"`
	Task   string     `json:"task,omitempty"`
	Rows   []int64    `json:"rows,omitempty"`
	Before *time.Time `json:"before,omitempty"`
	Actor  string     `json:"actor"` // person or host
	Reason string     `json:"reason,omitempty"`
}

// Erased is the answer to EraseRequest: the contents are gone from the log's
// packs. Indexes made from the log are their owner's to purge.
type Erased struct {
	Row    int64 `json:"row"` // that says so
	Bodies int64 `json:"bodies"`
	Bytes  int64 `json:"bytes"`
}

// Checkpoint has the log sign what it holds.
func (c *Client) Checkpoint(ctx context.Context) (Checkpoint, error) {
	var out Checkpoint
	return out, c.c.call(ctx, http.MethodGet, "/v1/checkpoint", nil, &out)
}

// Erase destroys captured contents.
func (c *Client) Erase(ctx context.Context, r EraseRequest) (Erased, error) {
	var out Erased
	return out, c.c.call(ctx, http.MethodPost, "/v1/erase", r, &out)
}
