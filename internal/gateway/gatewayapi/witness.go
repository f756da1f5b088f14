package gatewayapi

import (
	"context"
	"net/http"
	"time"
)

// WitnessAsk is the body of POST /v1/witness: the gateway has a C2SP witness
// cosign a checkpoint of the log that covers every durable row. Two rows of the
// log say that it was asked and what it answered.
type WitnessAsk struct {
	URL   string `json:"url"`             // prefix of add-checkpoint; https
	Key   string `json:"key"`             // its verifier key, type 4
	Local bool   `json:"local,omitempty"` // http to the literal loopback or private address of URL
	Old   int64  `json:"old"`             // rows of the tree it saw last, as far as the host knows
}

// WitnessRows is how many rows one ask adds to the log.
const WitnessRows = 2

// Witnessed is the answer: a checkpoint with the cosignature of the witness.
type Witnessed struct {
	Size int64     `json:"size"` // rows
	Text string    `json:"text"` // the signed note
	At   time.Time `json:"at"`   // as the witness says it
}

// Reasons of a refusal of POST /v1/witness.
const (
	WitnessInvalid     = "witness-invalid"     // the address or the key cannot be used
	WitnessUnreachable = "witness-unreachable" // no answer
	WitnessRefused     = "witness-refused"     // an answer that is no cosignature
	WitnessAhead       = "witness-ahead"       // it has seen rows that the log does not have
)

// AskWitness has a witness cosign the log.
func (c *Client) AskWitness(ctx context.Context, a WitnessAsk) (Witnessed, error) {
	var out Witnessed
	return out, c.c.call(ctx, http.MethodPost, "/v1/witness", a, &out)
}
