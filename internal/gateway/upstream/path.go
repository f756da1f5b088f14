package upstream

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// CanonicalPath returns an escaped path as it will be sent, or refuses it. What
// is refused could be read in two ways: escapes of characters that need none
// or that a second reader might take for a separator, dot segments, doubled or
// backward slashes, parameters after ";", controls, bytes beyond ASCII, escapes
// that are no UTF-8 (of which some servers make a dot), and characters that a
// server which normalises them would take for a dot segment or a separator.
func CanonicalPath(escaped string) (string, error) {
	if escaped == "" {
		return "", nil
	}
	if escaped[0] != '/' {
		return "", errors.New("path does not begin with a slash")
	}
	for i := 0; i < len(escaped); i++ {
		c := escaped[i]
		switch {
		case c <= ' ' || c > '~':
			return "", errors.New("path holds a control, a blank or a byte beyond ASCII")
		case c == '\\' || c == ';' || c == '#' || c == '?' || c == '"' || c == '<' || c == '>' || c == '^' || c == '`' || c == '{' || c == '}' || c == '|':
			return "", fmt.Errorf("path holds %q", c)
		case c != '%':
			continue
		case i+2 >= len(escaped):
			return "", errors.New("path ends inside an escape")
		}
		n, err := strconv.ParseUint(escaped[i+1:i+3], 16, 8)
		if err != nil || !mayEscape(byte(n)) {
			return "", fmt.Errorf("path holds the escape %q", escaped[i:i+3])
		}
		i += 2
	}
	decoded, err := url.PathUnescape(escaped)
	if err != nil {
		return "", err
	}
	if clean := path.Clean(decoded); strings.Contains(decoded, "//") || (clean != decoded && clean+"/" != decoded) {
		return "", errors.New("path holds an empty or a dot segment")
	}
	if !plainUnicode(decoded) {
		return "", errors.New("path holds a character that some servers read as a dot, a separator or an escape")
	}
	return decoded, nil
}

// plainUnicode: nothing changes for who looks for dot segments, separators and
// escapes when a server normalises the path.
func plainUnicode(decoded string) bool {
	if !strings.ContainsFunc(decoded, func(c rune) bool { return c >= utf8.RuneSelf }) {
		return true
	}
	if !utf8.ValidString(decoded) {
		return false
	}
	normal := norm.NFKC.String(decoded)
	for _, c := range [...]string{"/", "\\", "%", ";", "?", "#"} {
		if strings.Count(normal, c) != strings.Count(decoded, c) {
			return false
		}
	}
	clean := path.Clean(normal)
	return normal == "" || clean == normal || clean+"/" == normal
}

// mayEscape: a blank and bytes of UTF-8 beyond ASCII need an escape and mean
// nothing but themselves. Everything else is written as it is or not at all.
func mayEscape(c byte) bool { return c == ' ' || c >= 0x80 }
