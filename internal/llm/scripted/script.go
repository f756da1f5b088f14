package scripted

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Bounds of a script.
const (
	maxSteps   = 200
	maxCalls   = 50
	maxDelayMS = 120_000
)

// Script is the JSON document of a moeca-script block.
type Script struct {
	Steps []Step `json:"steps"`
	Final string `json:"final"` // text of the last turn, which ends the conversation
}

// Step is one assistant turn. It has calls or a stop reason: otherwise the
// conversation would end before the next step.
type Step struct {
	Thinking   string     `json:"thinking"`
	Text       string     `json:"text"`
	Calls      []Call     `json:"calls"`
	DelayMS    int        `json:"delay_ms"`    // wait before the answer
	Error      *StepError `json:"error"`       // answered once, then the step is played
	StopReason string     `json:"stop_reason"` // instead of what follows from Calls
}

// Call is one tool call.
type Call struct {
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input"`
}

// StepError is an answer that is not a message.
type StepError struct {
	Status     int `json:"status"`      // 400 to 599
	RetryAfter int `json:"retry_after"` // seconds, 0 = no header
}

var stopReasons = []string{
	"end_turn", "tool_use", "max_tokens", "refusal", "pause_turn",
	"stop_sequence", "model_context_window_exceeded",
}

// The block's first and last line.
const (
	fence    = "```"
	fenceTag = fence + "moeca-script"
)

// findScript returns the script in text; nil when there is none.
func findScript(text string) (*Script, error) {
	body, ok, err := fencedBlock(text)
	if err != nil || !ok {
		return nil, err
	}
	var s Script
	d := json.NewDecoder(strings.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return nil, fmt.Errorf("moeca-script: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("moeca-script: data after the document")
	}
	if err := s.validate(); err != nil {
		return nil, fmt.Errorf("moeca-script: %w", err)
	}
	return &s, nil
}

func fencedBlock(text string) (body string, found bool, err error) {
	var lines []string
	inside := false
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		switch {
		case !inside && trimmed == fenceTag:
			if found {
				return "", false, errors.New("moeca-script: more than one block")
			}
			inside, found = true, true
		case inside && trimmed == fence:
			inside = false
		case inside:
			lines = append(lines, line)
		}
	}
	if inside {
		return "", false, errors.New("moeca-script: the block is not closed")
	}
	return strings.Join(lines, ""), found, nil
}

func (s *Script) validate() error {
	if len(s.Steps) > maxSteps {
		return fmt.Errorf("%d steps, the limit is %d", len(s.Steps), maxSteps)
	}
	for i, st := range s.Steps {
		if err := st.validate(); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	if len(s.Steps) == 0 && s.Final == "" {
		return errors.New("neither steps nor final")
	}
	return nil
}

func (s Step) validate() error {
	switch {
	case len(s.Calls) == 0 && s.StopReason == "":
		return errors.New("it has neither calls nor a stop_reason, so the conversation would end there")
	case len(s.Calls) > maxCalls:
		return fmt.Errorf("%d calls, the limit is %d", len(s.Calls), maxCalls)
	case s.DelayMS < 0 || s.DelayMS > maxDelayMS:
		return fmt.Errorf("delay_ms %d is not between 0 and %d", s.DelayMS, maxDelayMS)
	case s.StopReason != "" && !slices.Contains(stopReasons, s.StopReason):
		return fmt.Errorf("stop_reason %q is unknown", s.StopReason)
	case s.Error != nil && (s.Error.Status < 400 || s.Error.Status > 599):
		return fmt.Errorf("error status %d is not between 400 and 599", s.Error.Status)
	case s.Error != nil && (s.Error.RetryAfter < 0 || s.Error.RetryAfter > 3600):
		return fmt.Errorf("retry_after %d is not between 0 and 3600", s.Error.RetryAfter)
	}
	for i, c := range s.Calls {
		in := bytes.TrimSpace(c.Input)
		if c.Tool == "" || len(in) == 0 || in[0] != '{' {
			return fmt.Errorf("call %d needs a tool and an input object", i+1)
		}
	}
	return nil
}

// step is the turn-th turn of the script, counted from 0.
func (s *Script) step(turn int) Step {
	if turn < len(s.Steps) {
		return s.Steps[turn]
	}
	return Step{Text: s.Final, StopReason: "end_turn"}
}
