package stack

import (
	"context"
	"errors"
	"net/http"
	"time"

	"moeca/internal/board"
	"moeca/internal/gateway/gatewayapi"
)

// asks passes a person's answers on to the gateway, which holds the requests
// and makes a row of each answer. Nothing is kept here: an ask of a gateway that
// is gone is gone.
type asks struct{ admin *gatewayapi.Client }

// List implements hostapi.Asks.
func (a asks) List(ctx context.Context) ([]gatewayapi.Ask, error) {
	got, err := a.admin.Asks(ctx, "", 0)
	if err != nil {
		return nil, unavailable(err)
	}
	return got.Asks, nil
}

// Answer implements hostapi.Asks.
func (a asks) Answer(ctx context.Context, id string, allow bool) (gatewayapi.AskAnswered, error) {
	got, err := a.admin.AnswerAsk(ctx, id, allow)
	kind := board.Invalid
	var refused *gatewayapi.StatusError
	if errors.As(err, &refused) {
		switch refused.Status {
		case http.StatusNotFound:
			kind = board.NotFound
		case http.StatusConflict:
			kind = board.Conflict
		}
	}
	return got, ofGateway(err, kind, "see what waits with `moeca ask list`")
}

// askRetry is the wait before a gateway that does not answer is asked again.
const askRetry = time.Second

// follow tells waiting of the open asks at once and whenever they change, until
// ctx ends. A gateway that does not answer has none. What waiting could not keep
// it is told again.
func (a asks) follow(ctx context.Context, waiting func([]gatewayapi.Ask) error) {
	cursor := ""
	for ctx.Err() == nil {
		got, err := a.admin.Asks(ctx, cursor, gatewayapi.MaxAskWait)
		if ctx.Err() != nil {
			return
		}
		if err == nil && cursor != "" && got.Cursor == cursor {
			continue
		}
		if told := waiting(got.Asks); err == nil && told == nil {
			cursor = got.Cursor
			continue
		}
		cursor = ""
		pause := time.NewTimer(askRetry)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
	}
}
