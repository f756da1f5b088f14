package a2a

// tools links results to the uses they answer, within a session.
type tools struct {
	byID   map[string]*use
	byName map[string][]*use // of those without an id, which Gemini leaves out
}

// use is a tool use that has no result yet.
type use struct {
	part *Part
	msg  *message
}

func newTools() tools { return tools{byID: map[string]*use{}, byName: map[string][]*use{}} }

// link takes the parts of a message, which stay where they are.
func (t tools) link(m *message, parts []Part, d Dialect) {
	for i := range parts {
		info := &parts[i].Metadata.Info
		switch info.Kind {
		case PartToolUse, PartServerUse:
			// Other dialects report a tool of the provider only when it has run.
			info.Unanswered = info.Kind == PartToolUse || d == Anthropic
			u := &use{&parts[i], m}
			if info.ID != "" {
				t.byID[info.ID] = u
			} else {
				t.byName[info.Name] = append(t.byName[info.Name], u)
			}
		case PartToolResult, PartServerResult:
			t.answer(m, info)
		}
	}
}

func (t tools) answer(m *message, result *PartInfo) {
	u := t.byID[result.ID]
	if u == nil {
		waiting := t.byName[result.Name]
		if result.Name == "" || len(waiting) == 0 {
			return
		}
		u, t.byName[result.Name] = waiting[0], waiting[1:]
	}
	info := &u.part.Metadata.Info
	info.Link, info.Unanswered = m.MessageID, false
	result.Link = u.msg.MessageID
	if result.Name == "" {
		result.Name = info.Name
	}
}
