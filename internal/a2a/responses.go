package a2a

import (
	"strings"

	"github.com/tidwall/gjson"
)

// responses reads the Responses dialect, whose conversation is a list of items:
// messages, thoughts, calls and their outputs.
type responses struct{ *room }

func (d responses) request(doc gjson.Result, q *asked) {
	q.previous = doc.Get("previous_response_id").String()
	if c := doc.Get("conversation"); c.IsObject() {
		q.kept = c.Get("id").String()
	} else {
		q.kept = c.String()
	}
	q.tools = compact(doc.Get("tools").Raw)
	q.system = d.content(doc.Get("instructions"), PartText, d.block)
	input := doc.Get("input")
	if input.Type == gjson.String {
		q.add(RoleUser, "", []Part{textPart(PartText, input.Str)})
	}
	d.each(input, func(item gjson.Result) {
		d.item(q, item)
		q.read(item)
	})
}

// item adds an item to the turn it belongs to. What the model said between two
// messages of others is one turn, and so are outputs that follow each other.
func (d responses) item(q *asked, item gjson.Result) {
	kind := item.Get("type").String()
	switch role := item.Get("role").String(); {
	case kind != "" && kind != "message":
		if strings.HasSuffix(kind, "_output") || kind == "mcp_approval_response" {
			q.join(RoleUser, "tool", d.output(item))
		} else {
			q.join(RoleAgent, "", d.said(item))
		}
	case role == "assistant":
		q.join(RoleAgent, "", d.content(item.Get("content"), PartText, d.block))
	case role == "system" || role == "developer":
		parts := d.content(item.Get("content"), PartText, d.block)
		if q.leading() {
			q.instruct(parts)
		} else {
			q.add(RoleUser, role, parts)
		}
	default:
		q.add(RoleUser, "", d.content(item.Get("content"), PartText, d.block))
	}
}

// output reads what a tool of the client gave back.
func (d responses) output(item gjson.Result) []Part {
	parts := d.content(item.Get("output"), PartText, d.block)
	id := item.Get("call_id").String()
	if id == "" {
		id = item.Get("id").String()
	}
	failed := item.Get("status").String() == "failed"
	return results(PartToolResult, id, "", failed, parts)
}

func (d responses) block(b gjson.Result) []Part {
	switch b.Get("type").String() {
	case "input_text", "output_text", "text", "summary_text", "reasoning_text":
		p := textPart(PartText, b.Get("text").String())
		p.Metadata.Info.Citations = citations(b.Get("annotations"))
		return []Part{p}
	case "refusal":
		return []Part{textPart(PartDeclined, b.Get("refusal").String())}
	case "input_image":
		if url := b.Get("image_url").String(); url != "" {
			return []Part{urlPart("", url)}
		}
	case "input_file":
		return []Part{responsesFile(b)}
	}
	p := otherPart(b)
	if strings.HasPrefix(b.Get("type").String(), "input_") {
		p.Metadata.Info.Kind = PartFile
	}
	return []Part{p}
}

func responsesFile(b gjson.Result) Part {
	p := dataPart(PartFile, b.Raw)
	if data := b.Get("file_data").String(); data != "" {
		p = urlPart("", data)
	} else if url := b.Get("file_url").String(); url != "" {
		p = urlPart("", url)
	}
	p.Filename = b.Get("filename").String()
	return p
}

// said reads an item of the model.
func (d responses) said(item gjson.Result) []Part {
	id, name := item.Get("call_id").String(), item.Get("name").String()
	switch kind := item.Get("type").String(); kind {
	case "message":
		return d.content(item.Get("content"), PartText, d.block)
	case "reasoning":
		return d.reasoning(item)
	case "function_call":
		return []Part{usePart(PartToolUse, id, name, item.Get("arguments").String())}
	case "custom_tool_call":
		p := textPart(PartToolUse, item.Get("input").String())
		p.Metadata.Info.ID, p.Metadata.Info.Name = id, name
		return []Part{p}
	case "image_generation_call":
		if image := item.Get("result").String(); image != "" {
			format := item.Get("output_format").String()
			if format == "" {
				format = "png"
			}
			return []Part{usePart(PartServerUse, item.Get("id").String(), "image_generation", ""), filePart("image/"+format, image)}
		}
		return []Part{usePart(PartServerUse, item.Get("id").String(), "image_generation", "")}
	case reference:
		p := otherPart(item)
		p.Metadata.Info.Name, p.Metadata.Info.ID = reference, item.Get("id").String()
		return []Part{p}
	default:
		if tool, ok := strings.CutSuffix(kind, "_call"); ok {
			return responsesCall(item, tool, id)
		}
		return []Part{otherPart(item)}
	}
}

// reasoning reads a thought: a summary, its text, or what only the provider can
// read.
func (d responses) reasoning(item gjson.Result) []Part {
	parts := d.content(item.Get("summary"), PartThinking, d.block)
	parts = append(parts, d.content(item.Get("content"), PartThinking, d.block)...)
	if len(parts) == 0 {
		p := dataPart(PartThinking, string(quote(item.Get("id").String())))
		p.Metadata.Info.Redacted = true
		parts = []Part{p}
	}
	for i := range parts {
		parts[i].Metadata.Info.Kind = PartThinking
	}
	parts[0].Metadata.Info.Signature = item.Get("encrypted_content").String()
	return parts
}

// responsesCall reads a call other than of a function. The client answers some;
// the others the provider ran, and the item has their outcome.
func responsesCall(item gjson.Result, tool, id string) []Part {
	client := id != ""
	switch tool {
	case "computer", "local_shell", "shell", "apply_patch":
		client = true
	}
	if client {
		input := item.Get("action")
		if !input.Exists() {
			input = item.Get("operation")
		}
		return []Part{usePart(PartToolUse, id, tool, input.Raw)}
	}
	if name := item.Get("name").String(); name != "" {
		tool = name
	}
	id = item.Get("id").String()
	input := item.Get("action").Raw
	for _, key := range []string{"arguments", "queries", "code"} {
		if v := item.Get(key); input == "" && v.Exists() {
			if input = v.Raw; key == "arguments" {
				input = v.String()
			}
		}
	}
	parts := []Part{usePart(PartServerUse, id, tool, input)}
	for _, key := range []string{"results", "outputs", "output", "error"} {
		if v := item.Get(key); v.Exists() && v.Type != gjson.Null {
			parts = append(parts, results(PartServerResult, id, tool, key == "error", []Part{dataPart(PartServerResult, v.Raw)})...)
		}
	}
	return parts
}

func (d responses) answer(doc gjson.Result) said {
	a := said{id: doc.Get("id").String(), model: doc.Get("model").String(), failure: failureOf(doc)}
	d.each(doc.Get("output"), func(item gjson.Result) { a.add(item.Get("id").String(), d.said(item)) })
	a.finish(doc)
	return a
}

// reference is the kind of item that stands for one of an earlier answer.
const reference = "item_reference"

func (a *said) add(id string, parts []Part) {
	a.parts = append(a.parts, parts...)
	if id != "" {
		a.items = append(a.items, item{id, parts})
	}
}

// finish reads why a response ended.
func (a *said) finish(response gjson.Result) {
	a.stop = response.Get("status").String()
	if reason := response.Get("incomplete_details.reason").String(); reason != "" {
		a.stop = reason
	}
	a.declined = a.stop == "content_filter"
	for i := range a.parts {
		a.declined = a.declined || a.parts[i].Metadata.Info.Kind == PartDeclined
	}
}
