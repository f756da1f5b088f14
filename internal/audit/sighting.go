package audit

import (
	"strings"
	"time"
)

// Sighting is a checkpoint and when it was seen. Lists of sightings are text, to
// which a witness only appends:
//
//	at 2026-03-01T10:00:00Z
//	moeca/0123456789abcdef
//	1200
//	CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=
//
//	— moeca/0123456789abcdef AZ3gr…
//	(empty line)
type Sighting struct {
	At         time.Time // zero where only the checkpoint was kept
	Checkpoint Checkpoint
}

// String is the entry of a list.
func (s Sighting) String() string {
	return "at " + s.At.UTC().Format(time.RFC3339) + "\n" + s.Checkpoint.Text + "\n"
}

// ParseSightings reads a list, or one checkpoint as it is. Entries that cannot be
// read, such as one that was cut off when a volume went away, are counted: each
// of the others still says what was seen.
func ParseSightings(text string) (list []Sighting, unreadable int) {
	if c, ok := parseKept(text); ok {
		return []Sighting{{Checkpoint: c}}, 0
	}
	for text != "" {
		var entry string
		entry, text = cutEntry(text)
		if s, ok := parseSighting(entry); ok {
			list = append(list, s)
		} else if strings.TrimSpace(entry) != "" {
			unreadable++
		}
	}
	return list, unreadable
}

// cutEntry returns what stands before the end of an entry, which is the second
// empty line, or before the beginning of another.
func cutEntry(text string) (entry, rest string) {
	empty := 0
	for at := 0; at < len(text); {
		end := len(text)
		if n := strings.IndexByte(text[at:], '\n'); n >= 0 {
			end = at + n + 1
		}
		if at > 0 && strings.HasPrefix(text[at:end], "at ") {
			return text[:at], text[at:]
		}
		if text[at:end] == "\n" {
			empty++
		}
		if at = end; empty == 2 {
			return text[:at], text[at:]
		}
	}
	return text, ""
}

func parseSighting(entry string) (Sighting, bool) {
	head, text, ok := strings.Cut(entry, "\n")
	at, err := time.Parse("at "+time.RFC3339, head)
	if !ok || err != nil || !strings.HasSuffix(text, "\n\n") {
		return Sighting{}, false
	}
	c, ok := parseKept(text)
	return Sighting{At: at.UTC(), Checkpoint: c}, ok
}

// parseKept reads a checkpoint and what an editor may have left behind it.
func parseKept(text string) (Checkpoint, bool) {
	text = strings.TrimRight(text, "\n") + "\n"
	if strings.Contains("\n"+text, "\nat ") || strings.Count(text, "\n\n") != 1 {
		return Checkpoint{}, false
	}
	c, err := parseCheckpoint(text)
	return c, err == nil
}
