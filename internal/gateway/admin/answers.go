package admin

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"

	"moeca/internal/audit"
	"moeca/internal/gateway"
	"moeca/internal/gateway/gatewayapi"
)

const maxBody = 1 << 20

// answers reads and writes what both listeners say.
type answers struct {
	log    gateway.Log
	logger *slog.Logger
}

// read decodes the one JSON value of a body, or answers 400.
func (a answers) read(w http.ResponseWriter, r *http.Request, into any) bool {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("data after the JSON value")
		}
	}
	if err != nil {
		a.refuse(w, r, http.StatusBadRequest, "invalid-body", "the body is not the JSON value this endpoint takes: "+explain(err))
		return false
	}
	return true
}

// explain names the place of a JSON error and never the content: a body may
// hold a key.
func explain(err error) string {
	var wrong *json.UnmarshalTypeError
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &wrong):
		return "field " + wrong.Field + " must be " + wrong.Type.String()
	case errors.As(err, &large):
		return "it is larger than 1 MiB"
	}
	return "syntax error or unknown field"
}

func (a answers) send(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		a.logger.Error("encode answer", "error", err)
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	if _, err := w.Write(append(b, '\n')); err != nil {
		a.logger.Debug("answer not taken", "error", err)
	}
}

// refuse records a refusal and answers it. A log that is down does not keep
// the refusal from being one.
func (a answers) refuse(w http.ResponseWriter, r *http.Request, status int, reason, message string) {
	row, err := a.log.Queue(audit.Record{
		Kind: audit.KindRefusal, Source: audit.SourceGateway, Actor: audit.ActorHost,
		Gate: "admin", Reason: reason, Status: status, Method: audit.Clip(r.Method, 16), Target: audit.Clip(r.URL.EscapedPath(), 1024),
	}, nil, nil)
	if err == nil {
		err = row.Wait(r.Context())
	}
	if err != nil {
		a.logger.Error("audit refusal not written", "reason", reason, "error", err)
	}
	a.send(w, status, gatewayapi.Error{Error: gatewayapi.ErrorBody{Gate: "admin", Reason: reason, Message: message}})
}

// logDown answers a change that was not made because its row was not written.
func (a answers) logDown(w http.ResponseWriter, err error) {
	a.logger.Error("audit row of a change not written", "error", err)
	a.send(w, http.StatusServiceUnavailable, gatewayapi.Error{Error: gatewayapi.ErrorBody{
		Gate: "audit", Reason: gateway.ReasonLogDown, Message: "the audit log cannot be written (" + err.Error() + "); " + gateway.Remedy(err),
	}})
}
