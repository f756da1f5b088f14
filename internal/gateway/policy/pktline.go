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

// Pushed is a receive-pack request as it was read.
type Pushed struct {
	Updates      []Update
	Capabilities []string // as the client wrote them
	pack         []byte   // a part of the body
}

// Push reads the command list of a receive-pack request: pkt-lines up to the
// first flush, then nothing or a pack. It is stricter than git: lengths in
// lower case, object ids in lower case and of one size, known capabilities
// only, no push options, no certificate, no ref twice. The probe that git
// sends before a large push is one flush and has no commands.
func Push(body []byte) (Pushed, error) {
	var p Pushed
	size := 0
	for {
		line, rest, err := packet(body)
		if err != nil {
			return Pushed{}, err
		}
		body = rest
		if line == nil {
			break
		}
		if oid, ok := strings.CutPrefix(string(line), "shallow "); ok && len(p.Updates) == 0 {
			if !isOID(oid) {
				return Pushed{}, unclear("a shallow line without an object id")
			}
			continue
		}
		u, capabilities, err := command(line, len(p.Updates) == 0)
		if err != nil {
			return Pushed{}, err
		}
		if len(p.Updates) == 0 {
			size, p.Capabilities = len(u.Old), capabilities
		}
		if len(u.Old) != size || len(u.New) != size || len(p.Updates) == maxUpdates {
			return Pushed{}, unclear("object ids of two sizes, or more than %d commands", maxUpdates)
		}
		for _, before := range p.Updates {
			if strings.EqualFold(before.Ref, u.Ref) {
				return Pushed{}, unclear("a ref stands twice in one push")
			}
		}
		p.Updates = append(p.Updates, u)
	}
	if len(body) > 0 && (len(p.Updates) == 0 || !bytes.HasPrefix(body, []byte("PACK"))) {
		return Pushed{}, unclear("what follows the commands is no pack")
	}
	p.pack = body
	return p, nil
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
func command(line []byte, first bool) (u Update, capabilities []string, err error) {
	text, list, has := strings.Cut(string(line), "\x00")
	if has && !first || strings.Contains(list, "\x00") {
		return u, nil, unclear("capabilities stand where none may")
	}
	capabilities = strings.Fields(list)
	for _, c := range capabilities {
		if !knownCapability(c) {
			return u, nil, unclear("the push uses %.40q, which is refused", c)
		}
	}
	parts := strings.SplitN(text, " ", 3)
	if len(parts) != 3 || !isOID(parts[0]) || !isOID(parts[1]) || parts[2] == "" || strings.ContainsAny(parts[2], "\n\r") {
		return u, nil, unclear("a line of the push is no command")
	}
	return Update{Old: parts[0], New: parts[1], Ref: parts[2]}, capabilities, nil
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
