package a2a

import "github.com/tidwall/gjson"

// chat reads the Chat Completions dialect.
type chat struct{ *room }

func (d chat) request(doc gjson.Result, q *asked) {
	q.tools = compact(either(doc, "tools", "functions").Raw)
	d.each(doc.Get("messages"), func(m gjson.Result) {
		switch role := m.Get("role").String(); role {
		case "assistant":
			q.add(RoleAgent, "", d.message(m).parts())
		case "tool", "function":
			id, name := m.Get("tool_call_id").String(), m.Get("name").String()
			q.join(RoleUser, "tool", results(PartToolResult, id, name, false, d.content(m.Get("content"), PartText, d.block)))
		case "system", "developer":
			parts := d.content(m.Get("content"), PartText, d.block)
			if q.leading() {
				q.instruct(parts)
			} else {
				q.add(RoleUser, role, parts)
			}
		case "user":
			q.add(RoleUser, "", d.content(m.Get("content"), PartText, d.block))
		default:
			q.add(RoleUser, role, []Part{otherPart(m)})
		}
		q.read(m)
	})
}

func (d chat) block(b gjson.Result) []Part {
	switch b.Get("type").String() {
	case "text":
		return []Part{textPart(PartText, b.Get("text").String())}
	case "refusal":
		return []Part{textPart(PartDeclined, b.Get("refusal").String())}
	case "image_url":
		url := b.Get("image_url")
		if url.IsObject() {
			url = url.Get("url")
		}
		return []Part{urlPart("", url.String())}
	case "input_audio":
		return []Part{filePart("audio/"+b.Get("input_audio.format").String(), b.Get("input_audio.data").String())}
	case "file":
		f := b.Get("file")
		p := dataPart(PartFile, f.Raw)
		if data := f.Get("file_data").String(); data != "" {
			p = urlPart("", data)
		}
		p.Filename = f.Get("filename").String()
		return []Part{p}
	}
	return []Part{otherPart(b)}
}
