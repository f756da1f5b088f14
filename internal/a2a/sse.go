package a2a

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"moeca/internal/strictjson"
)

// events calls each for the data of every event of a stream that is JSON, and
// says how many there were. Lines end with LF, CR or CRLF. unread is what was
// no JSON, an event that was cut among it; but not the word that ends a stream
// of the Chat dialect, which says why it ends in the event before.
func events(body string, each func(gjson.Result)) (count int, unread string) {
	body = strings.TrimPrefix(body, "\uFEFF")
	var data, bad []string
	for len(body) > 0 || len(data) > 0 {
		line, rest := nextLine(body)
		if value, ok := strings.CutPrefix(line, "data:"); ok {
			data = append(data, strings.TrimPrefix(value, " "))
		} else if name, _, _ := strings.Cut(line, ":"); !fieldName(name) {
			bad = append(bad, line)
		}
		if body = rest; (line != "" && len(body) > 0) || len(data) == 0 {
			continue
		}
		event := strings.Join(data, "\n")
		data = nil
		switch {
		case strings.TrimSpace(event) == "[DONE]":
			count++
		case json.Valid([]byte(event)) && !strictjson.Deeper([]byte(event), maxDepth):
			count++
			each(gjson.Parse(event))
		case strings.TrimSpace(event) != "":
			bad = append(bad, event)
		}
	}
	return count, strings.Join(bad, "\n")
}

// nextLine returns the first line of s and what follows it.
func nextLine(s string) (line, rest string) {
	i := strings.IndexAny(s, "\r\n")
	if i < 0 {
		return s, ""
	}
	line, rest = s[:i], s[i+1:]
	if s[i] == '\r' {
		rest = strings.TrimPrefix(rest, "\n")
	}
	return line, rest
}

// fieldName says that a line before its colon is what a stream may have: one
// of its fields, a comment, or nothing.
func fieldName(name string) bool {
	switch name {
	case "", "event", "id", "retry", "data":
		return true
	}
	return false
}

// isStream says that a body which is no JSON looks like a stream of events.
func isStream(body string) bool {
	line, _ := nextLine(strings.TrimLeft(strings.TrimPrefix(body, "\uFEFF"), "\r\n"))
	name, _, colon := strings.Cut(line, ":")
	return fieldName(name) && (colon || line == "data")
}
