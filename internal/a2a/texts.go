package a2a

// Text is a piece of what an exchange says, for a search index.
type Text struct {
	Kind PartKind
	Name string // of the tool
	Text string
}

// Texts returns what an exchange adds to its conversation: of the request what
// comes after the last message of the agent's (all of it in a first request,
// with instructions), and the whole answer. So each thing said is found once
// where a conversation goes on, though each request repeats the history. Tools
// the model may call and files in base64 have no text.
func Texts(x Exchange) (texts []Text) {
	var parts []Part
	if !x.conversation() {
		if len(x.Request) > 0 {
			parts = append(parts, bodyPart(PartRequest, x.Request, false))
		}
		if len(x.Response) > 0 {
			parts = append(parts, bodyPart(PartResponse, x.Response, false))
		}
		return appendTexts(nil, parts)
	}
	q := readRequest(&x)
	from := len(q.turns)
	for from > 0 && q.turns[from-1].role == RoleUser {
		from--
	}
	if from == 0 && q.previous == "" {
		texts = appendTexts(texts, q.system)
	}
	for _, t := range q.turns[from:] {
		texts = appendTexts(texts, t.parts)
	}
	answer := readAnswer(&x)
	if texts = appendTexts(texts, answer.parts); answer.failure != nil {
		texts = append(texts, Text{PartError, answer.failure.Type, answer.failure.Message})
	}
	return texts
}

func appendTexts(texts []Text, parts []Part) []Text {
	for i := range parts {
		p := &parts[i]
		info := &p.Metadata.Info
		t := Text{Kind: info.Kind, Name: info.Name}
		switch {
		case info.Redacted, info.Kind == PartFile && p.Text == nil:
		case p.Text != nil:
			t.Text = *p.Text
		default:
			t.Text = string(p.Data)
		}
		if t.Text != "" {
			texts = append(texts, t)
		}
	}
	return texts
}
