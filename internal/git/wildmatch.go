package git

import "strings"

// wildmatch reports whether text matches a .gitignore pattern: ? and * and
// [...] as in a shell, ** between slashes for any number of directories. With
// pathname a slash is matched only by a slash or **. Bytes, not runes, as git.
//
// steps bounds the work, so that a pattern such as a*a*a*a*b cannot stall a
// snapshot; a pattern that runs out does not match, which ignores nothing.
func wildmatch(pattern, text string, pathname bool) bool {
	m := matcher{pathname: pathname, steps: 100_000}
	return m.match(pattern, text, 0)
}

type matcher struct {
	pathname bool
	steps    int
}

// match matches the rest of a pattern; at is how many bytes of the pattern
// came before, which decides whether ** stands after a slash.
func (m *matcher) match(p, t string, prev byte) bool {
	for p != "" {
		if m.steps--; m.steps < 0 {
			return false
		}
		if p[0] == '*' {
			return m.star(p, t, prev)
		}
		if t == "" {
			return false
		}
		rest, ok := m.one(p, t[0])
		if !ok {
			return false
		}
		prev, p, t = p[0], rest, t[1:]
	}
	return t == ""
}

// one matches a single byte and returns the rest of the pattern.
func (m *matcher) one(p string, c byte) (string, bool) {
	switch p[0] {
	case '?':
		return p[1:], !(m.pathname && c == '/')
	case '[':
		return m.class(p[1:], c)
	case '\\':
		if len(p) < 2 {
			return "", false
		}
		return p[2:], p[1] == c
	}
	return p[1:], p[0] == c
}

func (m *matcher) star(p, t string, prev byte) bool {
	rest := strings.TrimLeft(p, "*")
	double := len(p)-len(rest) >= 2
	cross := !m.pathname // may the run of any bytes cross a slash
	if double && m.pathname && (prev == 0 || prev == '/') && (rest == "" || rest[0] == '/') {
		cross = true
		if rest != "" && m.match(rest[1:], t, '/') { // "**/" also stands for no directory
			return true
		}
	}
	for i := 0; ; i++ {
		if m.match(rest, t[i:], '*') {
			return true
		}
		if m.steps < 0 || i == len(t) || t[i] == '/' && !cross {
			return false
		}
	}
}

// class matches a bracket expression; p starts after the bracket. A slash is
// never matched by one.
func (m *matcher) class(p string, c byte) (string, bool) {
	negate := p != "" && (p[0] == '!' || p[0] == '^')
	if negate {
		p = p[1:]
	}
	hit, first := false, true
	for ; p != "" && (p[0] != ']' || first); first = false {
		if name, rest, ok := posixClass(p); ok {
			is, known := inClass(name, c)
			if !known {
				return "", false
			}
			hit, p = hit || is, rest
			continue
		}
		lo, rest, ok := classByte(p)
		if !ok {
			return "", false
		}
		hi := lo
		if len(rest) >= 2 && rest[0] == '-' && rest[1] != ']' {
			if hi, rest, ok = classByte(rest[1:]); !ok {
				return "", false
			}
		}
		hit, p = hit || lo <= c && c <= hi, rest
	}
	if p == "" {
		return "", false // no closing bracket
	}
	return p[1:], hit != negate && !(m.pathname && c == '/')
}

func classByte(p string) (byte, string, bool) {
	if p[0] == '\\' {
		p = p[1:]
	}
	if p == "" {
		return 0, "", false
	}
	return p[0], p[1:], true
}

func posixClass(p string) (name, rest string, ok bool) {
	if !strings.HasPrefix(p, "[:") {
		return "", "", false
	}
	i := strings.Index(p, "]")
	if i < 3 || p[i-1] != ':' {
		return "", "", false
	}
	return p[2 : i-1], p[i+1:], true
}

func inClass(name string, c byte) (is, known bool) {
	lower, upper, digit := 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9'
	graph := 0x21 <= c && c <= 0x7e
	switch name {
	case "alnum":
		return lower || upper || digit, true
	case "alpha":
		return lower || upper, true
	case "blank":
		return c == ' ' || c == '\t', true
	case "cntrl":
		return c < 0x20 || c == 0x7f, true
	case "digit":
		return digit, true
	case "graph":
		return graph, true
	case "lower":
		return lower, true
	case "print":
		return graph || c == ' ', true
	case "punct":
		return graph && !lower && !upper && !digit, true
	case "space":
		return c == ' ' || 0x09 <= c && c <= 0x0d, true
	case "upper":
		return upper, true
	case "xdigit":
		return digit || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F', true
	}
	return false, false
}
