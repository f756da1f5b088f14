package gatewayapi

import (
	"context"
	"net/http"
)

// BrokenLog says where the log is broken. While it is, nothing is forwarded and
// nothing is minted; what is before the damage can be read. A person decides
// what becomes of it.
type BrokenLog struct {
	Row    int64  `json:"row"` // first row that is damaged, missing or out of place
	File   string `json:"file"`
	Offset int64  `json:"offset"`
	Cause  string `json:"cause"`
	Rows   int64  `json:"rows"` // intact rows
}

// RestartPrepare is the body of POST /v1/log/next: the person's decision to keep
// the broken log and to begin another one. Row and File are the damage the
// person was shown.
type RestartPrepare struct {
	Row  int64  `json:"row"`
	File string `json:"file"`
	Kept string `json:"kept"` // base name of the directory it will be kept in
}

// RestartPrepared is the answer: the log that follows lies, complete and closed,
// in the directory "next" of the log's. It takes the place of the broken one
// when the gateway does not run.
type RestartPrepared struct {
	Log  string `json:"log,omitempty"` // id of the broken log
	Rows int64  `json:"rows"`          // its intact rows
	Head string `json:"head"`          // hex hash of the last of them
	Kept string `json:"kept"`
}

// PrepareRestart makes the log that follows the broken one. It fails while the
// log is not broken, or is broken elsewhere.
func (c *Client) PrepareRestart(ctx context.Context, r RestartPrepare) (RestartPrepared, error) {
	var out RestartPrepared
	return out, c.c.call(ctx, http.MethodPost, "/v1/log/next", r, &out)
}
