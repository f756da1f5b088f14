package anthropic

import (
	"encoding/json"
	"errors"
	"io"

	"moeca/internal/llm"
)

// maxBlocks bounds the content blocks of one answer.
const maxBlocks = 1000

// event is any event of the stream.
type event struct {
	Type    string      `json:"type"`
	Index   int         `json:"index"`
	Message *answer     `json:"message"`
	Block   answerBlock `json:"content_block"`
	Delta   struct {
		Type        string `json:"type"`
		Text        string `json:"text"`
		Thinking    string `json:"thinking"`
		Signature   string `json:"signature"`
		PartialJSON string `json:"partial_json"`
		StopReason  string `json:"stop_reason"`
	} `json:"delta"`
	Usage usage `json:"usage"`
}

// stream gathers an answer. Blocks come one after the other: each is started,
// grown and stopped before the next.
type stream struct {
	resp   llm.Response
	begun  bool
	open   bool // a block is being grown
	index  int
	block  answerBlock
	input  []byte // partial JSON of the open block
	blocks int
	reason string
	ended  bool
}

func decodeStream(body io.Reader) (*llm.Response, error) {
	var s stream
	events := llm.NewSSEReader(body)
	for !s.ended {
		ev, err := events.Next()
		if errors.Is(err, io.EOF) {
			return nil, &llm.Error{Class: llm.ClassNetwork, Message: "the stream broke off before its end"}
		}
		if err != nil {
			return nil, err
		}
		if err := s.take(ev.Data); err != nil {
			return nil, err
		}
	}
	s.resp.Stop, s.resp.Detail = stopOf(s.reason)
	return &s.resp, nil
}

func (s *stream) take(data []byte) error {
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		return bad("an event is not JSON: %v", err)
	}
	if e.Type == "error" {
		return Dialect{}.DecodeError(0, data)
	}
	if !s.begun && e.Type != "message_start" && e.Type != "ping" {
		return bad("event %q before message_start", clip(e.Type))
	}
	switch e.Type {
	case "message_start":
		return s.start(e)
	case "content_block_start":
		return s.startBlock(e)
	case "content_block_delta":
		return s.grow(e)
	case "content_block_stop":
		return s.stopBlock(e)
	case "message_delta":
		if e.Delta.StopReason != "" {
			s.reason = e.Delta.StopReason
		}
		e.Usage.addTo(&s.resp.Usage)
	case "message_stop":
		if s.open || s.reason == "" {
			return bad("message_stop inside a block or without a stop reason")
		}
		s.ended = true
	}
	return nil
}

func (s *stream) start(e event) error {
	if s.begun || e.Message == nil {
		return bad("message_start twice or empty")
	}
	s.begun = true
	s.resp.ID, s.resp.Model = e.Message.ID, e.Message.Model
	e.Message.Usage.addTo(&s.resp.Usage)
	return nil
}

func (s *stream) startBlock(e event) error {
	if s.open {
		return bad("block %d began inside block %d", e.Index, s.index)
	}
	if s.blocks++; s.blocks > maxBlocks {
		return bad("more than %d blocks", maxBlocks)
	}
	s.open, s.index, s.block, s.input = true, e.Index, e.Block, nil
	return nil
}

func (s *stream) grow(e event) error {
	if !s.open || e.Index != s.index {
		return bad("delta of block %d, which is not open", e.Index)
	}
	switch e.Delta.Type {
	case "text_delta":
		s.block.Text += e.Delta.Text
	case "thinking_delta":
		s.block.Thinking += e.Delta.Thinking
	case "signature_delta":
		s.block.Signature += e.Delta.Signature
	case "input_json_delta":
		s.input = append(s.input, e.Delta.PartialJSON...)
	}
	return nil
}

func (s *stream) stopBlock(e event) error {
	if !s.open || e.Index != s.index {
		return bad("end of block %d, which is not open", e.Index)
	}
	s.open = false
	if len(s.input) > 0 {
		s.block.Input = s.input
	}
	return addBlock(&s.resp, s.block)
}
