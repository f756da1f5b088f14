package usage

// scanner finds the objects of a JSON array, or the one object of a document,
// in bytes that arrive in pieces. It counts brackets outside strings; whether
// an object is JSON is for its reader to find out.
type scanner struct {
	array  bool // the first byte was a bracket
	begun  bool
	closed bool // the document is complete
	broken bool // it is neither, or something follows it
	depth  int  // inside the object being read
	quoted bool
	escape bool
}

// next reads up to the end of the current object, or all of p. end says that
// an object ended at n.
func (s *scanner) next(p []byte) (n int, end bool) {
	for i, c := range p {
		switch {
		case s.escape:
			s.escape = false
		case s.quoted:
			s.escape, s.quoted = c == '\\', c != '"'
		case s.depth > 0:
			s.quoted = c == '"'
			if c == '{' || c == '[' {
				s.depth++
			} else if c == '}' || c == ']' {
				s.depth--
			}
			if s.depth == 0 {
				s.closed = !s.array
				return i + 1, true
			}
		default:
			s.between(c)
		}
		if s.broken {
			return i + 1, false
		}
	}
	return len(p), false
}

// between reads what is not inside an object.
func (s *scanner) between(c byte) {
	switch {
	case c == ' ' || c == '\t' || c == '\r' || c == '\n':
	case s.closed:
		s.broken = true
	case c == '{':
		s.begun, s.depth = true, 1
	case c == '[' && !s.begun:
		s.begun, s.array = true, true
	case c == ',' && s.array:
	case c == ']' && s.array:
		s.closed = true
	default:
		s.broken = true
	}
}
