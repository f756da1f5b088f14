package git

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// commitObject encodes a commit. The same input always gives the same bytes:
// times are whole seconds in UTC, names lose what a header cannot hold.
func commitObject(tree string, parents []string, who Identity, when time.Time, message string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "tree %s\n", tree)
	for _, p := range parents {
		fmt.Fprintf(&b, "parent %s\n", p)
	}
	sign := fmt.Sprintf("%s <%s> %d +0000\n", headerText(who.Name, "moeca"), headerText(who.Email, "moeca@localhost"), when.Unix())
	b.WriteString("author " + sign + "committer " + sign + "\n")
	message = strings.ReplaceAll(strings.ToValidUTF8(message, "\uFFFD"), "\x00", "\uFFFD")
	b.WriteString(strings.TrimRight(message, "\n") + "\n")
	return []byte(b.String())
}

// headerText keeps a name from ending its header line or its angle brackets.
func headerText(s, empty string) string {
	s = strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f || r == '<' || r == '>' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if s = strings.Trim(s, " .,:;\"'\\"); s == "" {
		return empty
	}
	return s
}

// commit stores a commit and everything collected in p with it.
func (st *Store) commit(ctx context.Context, p *pack, tree string, parents []string, who Identity, when time.Time, message string) (string, error) {
	id, err := p.add("commit", commitObject(tree, parents, who, when, message))
	if err != nil {
		return "", err
	}
	return id, p.flush(ctx)
}
