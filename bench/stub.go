package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// tookHeader tells how long the stub itself took, in nanoseconds, so that the
// lateness of its timer is not counted against anybody on the way.
const tookHeader = "Bench-Took"

// stampLead comes before the stamp in a streamed frame: nanoseconds of the
// clock of this process when the stub wrote the frame.
const stampLead = `"text":"at `

// stub is an upstream on loopback in this process, with a settable service
// time. It answers 1.4 kB, or a stream of frames where the request asks for one.
type stub struct {
	url     string
	server  *http.Server
	epoch   time.Time
	service atomic.Int64 // nanoseconds before the first byte
	pause   time.Duration
	frames  int
}

func newStub() (*stub, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &stub{url: "http://" + l.Addr().String(), epoch: time.Now(), pause: 5 * time.Millisecond, frames: 50}
	s.server = &http.Server{Handler: http.HandlerFunc(s.serve)}
	go func() { _ = s.server.Serve(l) }()
	return s, nil
}

func (s *stub) close() { _ = s.server.Close() }

func (s *stub) serve(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if d := time.Duration(s.service.Load()); d > 0 {
		time.Sleep(d)
	}
	took := func() { w.Header().Set(tookHeader, strconv.FormatInt(int64(time.Since(began)), 10)) }
	if bytes.Contains(body, []byte(`"stream":true`)) {
		s.stream(w, took)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	took()
	_, _ = io.WriteString(w, benchAnswer)
}

// stream sends frames as the Messages API does.
func (s *stub) stream(w http.ResponseWriter, took func()) {
	w.Header().Set("Content-Type", "text/event-stream")
	took()
	flush := http.NewResponseController(w)
	for i := range s.frames {
		if i > 0 {
			time.Sleep(s.pause)
		}
		_, err := fmt.Fprintf(w, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",%s%019d some words of the answer\"}}\n\n",
			stampLead, time.Since(s.epoch))
		if err != nil || flush.Flush() != nil {
			return
		}
	}
	_, _ = io.WriteString(w, "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":200}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
}

// benchAnswer is 1.4 kB, benchRequest makes 2 kB.
var (
	benchAnswer = `{"id":"msg_01","type":"message","role":"assistant","model":"claude-x","stop_reason":"end_turn","content":[{"type":"text","text":"` +
		strings.Repeat(`A sentence of the answer with \"quotes\" and a line\n`, 24) +
		`"}],"usage":{"input_tokens":512,"output_tokens":300,"cache_read_input_tokens":128}}`
	benchRequest = func(stream bool) []byte {
		return fmt.Appendf(nil, `{"model":"claude-x","max_tokens":1000,"stream":%v,"system":"You are a careful engineer.","messages":[{"role":"user","content":"%s"}]}`,
			stream, strings.Repeat(`A sentence of the prompt with \"quotes\" and a line\n`, 36))
	}
)
