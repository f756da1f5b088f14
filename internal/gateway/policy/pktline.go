package policy

import (
	"bytes"
	"strconv"
	"strings"
)

// Update is one command of a push.
type Update struct {
	Old, New string
	Ref      string
}

// Deletes says whether the command removes the ref.
func (u Update) Deletes() bool { return strings.Trim(u.New, "0") == "" }

// creates says whether the ref must not exist before the command.
func (u Update) creates() bool { return strings.Trim(u.Old, "0") == "" }

// maxUpdates bounds the commands of one push.
const maxUpdates = 64

// Push reads the command list of a receive-pack request: pkt-lines up to the
// first flush, then nothing or a pack. It is stricter than git: lengths in
// lower case, object ids in lower case and of one size, known capabilities
// only, no push options, no certificate, no ref twice. The probe that git
// sends before a large push is one flush and has no commands.
func Push(body []byte) ([]Update, error) {
	updates, _, err := push(body)
	return updates, err
}

// push also returns the pack, which is a part of the body.
func push(body []byte) (updates []Update, pack []byte, err error) {
	size := 0
	for {
		line, rest, err := packet(body)
		if err != nil {
			return nil, nil, err
		}
		body = rest
		if line == nil {
			break
		}
		if oid, ok := strings.CutPrefix(string(line), "shallow "); ok && len(updates) == 0 {
			if !isOID(oid) {
				return nil, nil, unclear("a shallow line without an object id")
			}
			continue
		}
		u, err := command(line, len(updates) == 0)
		if err != nil {
			return nil, nil, err
		}
		if size == 0 {
			size = len(u.Old)
		}
		if len(u.Old) != size || len(u.New) != size || len(updates) == maxUpdates {
			return nil, nil, unclear("object ids of two sizes, or more than %d commands", maxUpdates)
		}
		for _, before := range updates {
			if strings.EqualFold(before.Ref, u.Ref) {
				return nil, nil, unclear("a ref stands twice in one push")
			}
		}
		updates = append(updates, u)
	}
	if len(body) > 0 && (len(updates) == 0 || !bytes.HasPrefix(body, []byte("PACK"))) {
		return nil, nil, unclear("what follows the commands is no pack")
	}
	return updates, body, nil
}

// packet cuts one pkt-line. A nil line is a flush.
func packet(body []byte) (line, rest []byte, err error) {
	if len(body) < 4 || strings.Trim(string(body[:4]), "0123456789abcdef") != "" {
		return nil, nil, unclear("the body is not in pkt-lines")
	}
	n, err := strconv.ParseUint(string(body[:4]), 16, 16)
	switch {
	case err != nil || n > 0 && n < 5 || int(n) > len(body):
		return nil, nil, unclear("a pkt-line of a wrong length")
	case n == 0:
		return nil, body[4:], nil
	}
	return bytes.TrimSuffix(body[4:n], []byte("\n")), body[n:], nil
}

// command reads "old new ref"; the first one carries the capabilities.
func command(line []byte, first bool) (Update, error) {
	text, capabilities, has := strings.Cut(string(line), "\x00")
	if has && !first || strings.Contains(capabilities, "\x00") {
		return Update{}, unclear("capabilities stand where none may")
	}
	for _, c := range strings.Fields(capabilities) {
		if !knownCapability(c) {
			return Update{}, unclear("the push uses %.40q, which is refused", c)
		}
	}
	parts := strings.SplitN(text, " ", 3)
	if len(parts) != 3 || !isOID(parts[0]) || !isOID(parts[1]) || parts[2] == "" || strings.ContainsAny(parts[2], "\n\r") {
		return Update{}, unclear("a line of the push is no command")
	}
	return Update{Old: parts[0], New: parts[1], Ref: parts[2]}, nil
}

func knownCapability(c string) bool {
	switch name, _, _ := strings.Cut(c, "="); name {
	case "report-status", "report-status-v2", "delete-refs", "side-band-64k", "quiet", "atomic", "ofs-delta", "agent", "object-format", "session-id":
		return true
	}
	return false
}

func isOID(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}
