package policy

import (
	"encoding/base64"
	"encoding/binary"
	"strconv"
	"strings"
)

// nodeRepository returns the database id of the repository that a node id of
// GitHub stands for or claims to lie in. exact says that the id is the
// repository's own: there is nothing else in it that could name another.
//
// Formats: "R_" and base64url of msgpack [0, repository]; "PR_", "I_" and kin
// with [0, repository, object]; the older base64 of "010:Repository123".
func nodeRepository(id string) (repo int64, exact, ok bool) {
	if prefix, encoded, found := strings.Cut(id, "_"); found {
		switch prefix {
		case "R", "PR", "I", "IC", "PRRC", "PRRT", "LA", "MI":
		default:
			return 0, false, false
		}
		raw, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
		if err != nil {
			return 0, false, false
		}
		repo, parts, ok := unpack(raw)
		exact = prefix == "R"
		return repo, exact, ok && exact == (parts == 2)
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(id)
	if err != nil {
		return 0, false, false
	}
	digits, found := strings.CutPrefix(string(raw), "010:Repository")
	n, err := strconv.ParseInt(digits, 10, 64)
	if !found || err != nil || n <= 0 || strconv.FormatInt(n, 10) != digits {
		return 0, false, false
	}
	return n, true, true
}

// unpack reads the second element of a msgpack array of two or three whose
// first is 0. Of an array of two nothing may follow it.
func unpack(b []byte) (n int64, parts int, ok bool) {
	if len(b) < 3 || (b[0] != 0x92 && b[0] != 0x93) || b[1] != 0 {
		return 0, 0, false
	}
	parts = int(b[0] & 0x0f)
	width, head := 0, b[2]
	switch {
	case head < 0x80:
		return int64(head), parts, head > 0 && (parts == 3) == (len(b) > 3)
	case head == 0xcc:
		width = 1
	case head == 0xcd:
		width = 2
	case head == 0xce:
		width = 4
	case head == 0xcf:
		width = 8
	default:
		return 0, 0, false
	}
	if len(b) < 3+width || (parts == 3) != (len(b) > 3+width) {
		return 0, 0, false
	}
	var wide [8]byte
	copy(wide[8-width:], b[3:3+width])
	n = int64(binary.BigEndian.Uint64(wide[:]))
	return n, parts, n > 0
}
