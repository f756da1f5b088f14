package handoff

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// MaxOrder is the size in bytes of the longest work order, its newline included.
const MaxOrder = 1 << 20

// Version is the version of WorkOrder that this package speaks.
const Version = 1

// Kinds of stage a work order may ask for.
const (
	KindAgent   = "agent"
	KindCommand = "command"
)

// ErrNoOrder means that the stream ended before a work order came.
var ErrNoOrder = errors.New("the channel was closed before a work order came")

// EncodeOrder writes o as one line. An order that ReadOrder would refuse is not
// written.
func EncodeOrder(w io.Writer, o WorkOrder) error {
	if err := o.validate(); err != nil {
		return fmt.Errorf("handoff: encode work order: %w", err)
	}
	line, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("handoff: encode work order: %w", err)
	}
	line = append(line, '\n')
	if len(line) > MaxOrder {
		return fmt.Errorf("handoff: encode work order: %d bytes, the limit is %d", len(line), MaxOrder)
	}
	if _, err := w.Write(line); err != nil {
		return fmt.Errorf("handoff: write work order: %w", err)
	}
	return nil
}

// ReadOrder reads one line and returns as soon as it ended; the stream may stay
// open. It may read ahead of the line, so r has no other reader.
func ReadOrder(r io.Reader) (WorkOrder, error) {
	line, err := bufio.NewReader(io.LimitReader(r, MaxOrder)).ReadBytes('\n')
	switch {
	case err == nil:
	case !errors.Is(err, io.EOF):
		return WorkOrder{}, fmt.Errorf("handoff: read work order: %w", err)
	case len(line) == 0:
		return WorkOrder{}, fmt.Errorf("handoff: read work order: %w", ErrNoOrder)
	case len(line) == MaxOrder:
		return WorkOrder{}, fmt.Errorf("handoff: read work order: longer than %d bytes", MaxOrder)
	default:
		return WorkOrder{}, fmt.Errorf("handoff: read work order: cut after %d bytes", len(line))
	}
	var o WorkOrder
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&o); err != nil {
		return WorkOrder{}, fmt.Errorf("handoff: decode work order: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return WorkOrder{}, errors.New("handoff: decode work order: data after the document")
	}
	if err := o.validate(); err != nil {
		return WorkOrder{}, fmt.Errorf("handoff: decode work order: %w", err)
	}
	return o, nil
}

func (o WorkOrder) validate() error {
	if o.Version != Version {
		return fmt.Errorf("version %d, this is version %d", o.Version, Version)
	}
	if !cleanAbs(o.Tree) {
		return fmt.Errorf("tree %q is not a clean absolute path", o.Tree)
	}
	if (o.Gateway || o.Registry) && !cleanAbs(o.SocketDir) {
		return fmt.Errorf("socket_dir %q is not a clean absolute path", o.SocketDir)
	}
	for _, kv := range o.Env {
		name, _, ok := strings.Cut(kv, "=")
		if !ok || name == "" || strings.ContainsRune(kv, 0) {
			return fmt.Errorf("env entry %q is not NAME=value", name)
		}
	}
	switch {
	case o.Kind == KindAgent && o.Agent != nil && o.Command == nil:
		return o.Agent.validate()
	case o.Kind == KindCommand && o.Command != nil && o.Agent == nil:
		return o.Command.validate()
	}
	return fmt.Errorf("kind %q does not go with the parts given", o.Kind)
}

func (a *Agent) validate() error {
	switch {
	case a.Dialect != "anthropic":
		return fmt.Errorf("dialect %q is unknown", a.Dialect)
	case a.Model == "":
		return errors.New("model is empty")
	case strings.TrimSpace(a.Prompt) == "":
		return errors.New("prompt is empty")
	case a.BasePath != "" && !cleanAbs(a.BasePath):
		return fmt.Errorf("base_path %q is not a clean absolute path", a.BasePath)
	case a.MaxTurns < 0 || a.MaxTokens < 0:
		return errors.New("max_turns or max_tokens is negative")
	}
	for _, g := range a.DenyGlobs {
		if _, err := path.Match(g, ""); err != nil {
			return fmt.Errorf("deny glob %q: %w", g, err)
		}
	}
	return nil
}

func (c *Command) validate() error {
	switch {
	case len(c.Argv) == 0 || c.Argv[0] == "":
		return errors.New("argv is empty")
	case slices.ContainsFunc(c.Argv, func(s string) bool { return strings.ContainsRune(s, 0) }):
		return errors.New("argv holds a NUL byte")
	case c.TimeoutSeconds < 0:
		return errors.New("timeout_seconds is negative")
	}
	return nil
}

func cleanAbs(p string) bool {
	return path.IsAbs(p) && path.Clean(p) == p && !strings.ContainsRune(p, 0)
}
