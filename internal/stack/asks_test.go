package stack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"moeca/internal/board"
	"moeca/internal/gateway/gatewayapi"
)

// stubAdmin answers the admin interface at a socket and returns a client of it.
func stubAdmin(t *testing.T, answer http.HandlerFunc) *gatewayapi.Client {
	t.Helper()
	dir, err := os.MkdirTemp("", "ad")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: answer}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { srv.Close() })
	c := gatewayapi.NewClient(filepath.Join(dir, "a"), "t")
	t.Cleanup(c.Close)
	return c
}

func reply(w http.ResponseWriter, status int, v any) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func refusal(w http.ResponseWriter, status int, reason, message string) {
	reply(w, status, gatewayapi.Error{Error: gatewayapi.ErrorBody{Gate: "admin", Reason: reason, Message: message}})
}

// What waits is told once for each change, and a gateway that does not answer
// has nothing that waits.
func TestFollowTellsChangesAndForgetsADeadGateway(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	client := stubAdmin(t, func(w http.ResponseWriter, r *http.Request) {
		n++
		after := r.URL.Query().Get("after")
		switch n {
		case 1:
			if after != "" {
				t.Errorf("the first call has the cursor %q", after)
			}
			reply(w, 200, gatewayapi.Asks{Asks: []gatewayapi.Ask{{ID: "a"}}, Cursor: "c1"})
		case 2: // nothing happened in the time
			reply(w, 200, gatewayapi.Asks{Asks: []gatewayapi.Ask{{ID: "a"}}, Cursor: after})
		case 3:
			reply(w, 200, gatewayapi.Asks{Asks: []gatewayapi.Ask{{ID: "a"}, {ID: "b"}}, Cursor: "c2"})
		case 4:
			w.WriteHeader(http.StatusBadGateway)
		default:
			if after != "" {
				t.Errorf("the cursor %q of a gateway that was gone", after)
			}
			reply(w, 200, gatewayapi.Asks{Cursor: "c3"})
		}
	})
	var told []string
	asks{client}.follow(ctx, func(open []gatewayapi.Ask) error {
		told = append(told, fmt.Sprint(len(open)))
		switch len(told) {
		case 4:
			return errors.New("disk full")
		case 5:
			cancel()
		}
		return nil
	})
	if got := strings.Join(told, " "); got != "1 2 0 0 0" {
		t.Errorf("told of %s", got)
	}
}

func TestAnswersKeepTheGatewaysWords(t *testing.T) {
	status, reason := 0, ""
	client := stubAdmin(t, func(w http.ResponseWriter, r *http.Request) {
		if status == 200 {
			reply(w, 200, gatewayapi.AskAnswered{ID: "a", Allow: true, Seq: 7})
			return
		}
		refusal(w, status, reason, "somebody was first")
	})
	a := asks{client}
	for _, c := range []struct {
		status int
		reason string
		kind   board.Kind
	}{
		{404, gatewayapi.AskReasonUnknown, board.NotFound},
		{409, gatewayapi.AskReasonAnswered, board.Conflict},
		{400, "bad", board.Invalid},
		{503, "log", board.Unavailable},
	} {
		status, reason = c.status, c.reason
		_, err := a.Answer(t.Context(), "a", true)
		if board.KindOf(err) != c.kind || !strings.Contains(err.Error(), "somebody was first") {
			t.Errorf("%d: %v (%v)", c.status, err, board.KindOf(err))
		}
	}
	status = 200
	if got, err := a.Answer(t.Context(), "a", true); err != nil || got.Seq != 7 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestProgramsSessionsAreNotMintedAgain(t *testing.T) {
	minted := 0
	client := stubAdmin(t, func(w http.ResponseWriter, r *http.Request) {
		minted++
		reply(w, 201, gatewayapi.MintResponse{ID: fmt.Sprint("new-", minted), Expires: time.Now().Add(time.Hour)})
	})
	s := &sessions{admin: client, log: emptyLog(t), now: time.Now, say: discard(), live: map[string]*liveSession{
		"program": {id: "program", expires: time.Now().Add(time.Hour), request: gatewayapi.MintRequest{WithToken: true}},
		"sandbox": {id: "sandbox", expires: time.Now().Add(time.Hour), request: gatewayapi.MintRequest{SocketDir: "/x"}},
	}}
	s.again(t.Context())
	if minted != 1 || s.live["program"] != nil || s.live["sandbox"].id != "new-1" {
		t.Errorf("%d minted, %+v", minted, s.live)
	}
}
