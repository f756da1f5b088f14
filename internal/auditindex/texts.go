package auditindex

import (
	"slices"
	"strings"

	"moeca/internal/a2a"
	"moeca/internal/audit"
)

// Bounds of what is searchable of one content, in bytes.
const (
	textBody  = 4 << 20 // contents beyond are not read
	textLimit = 8 << 10 // of all texts of a content
	textPiece = 4 << 10 // of one text, its beginning
)

// texts is what a row adds to its call.
type texts struct {
	text  string // searchable, one thing per line
	tools int64  // tool calls that an answer asks for
}

// MetaText is what can be found of a row without its contents.
func MetaText(r audit.Record) string {
	var b strings.Builder
	for _, s := range []string{r.Method, r.Target, r.Upstream, r.Model, r.Attribution.Agent, r.Gate, r.Reason, r.Result, r.Subject, string(r.Detail)} {
		line(&b, s)
	}
	for _, a := range r.Attrs {
		switch a.Key {
		case "cause", "operation", "warning", "action":
			line(&b, a.Value)
		}
	}
	return b.String()
}

func line(b *strings.Builder, s string) {
	if s != "" {
		b.WriteString(strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", ""))
		b.WriteByte('\n')
	}
}

// textsOf reads what can be found of a row. A content that is gone, or cannot be
// read, adds nothing: the log says why.
func textsOf(log Log, r audit.Record) texts {
	var b strings.Builder
	b.WriteString(MetaText(r))
	x := ExchangeOf(r, audit.Record{})
	if body := readable(log, r.Request); body != nil {
		x.Request = body
		said := a2a.Texts(x)
		slices.Reverse(said) // what is asked now comes last
		pieces(&b, said)
	}
	t := texts{}
	if body := readable(log, r.Response); body != nil {
		x.Request, x.Response = nil, body
		said := a2a.Texts(x)
		pieces(&b, said)
		for _, s := range said {
			if s.Kind == a2a.PartToolUse {
				t.tools++
			}
		}
	}
	t.text = b.String()
	return t
}

func readable(log Log, ref *audit.BodyRef) []byte {
	if ref == nil || ref.Pack == 0 || ref.Stored > textBody {
		return nil
	}
	body, err := log.Body(ref)
	if err != nil {
		return nil
	}
	return body
}

// pieces writes texts until there are enough.
func pieces(b *strings.Builder, said []a2a.Text) {
	room := textLimit
	for _, s := range said {
		text := s.Text
		if s.Name != "" {
			text = s.Name + " " + text
		}
		text = audit.Clip(text, min(room, textPiece))
		line(b, text)
		if room -= len(text); room <= 0 {
			return
		}
	}
}
