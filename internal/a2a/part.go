package a2a

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// turn is one message as a dialect wrote it. It has at least one part.
type turn struct {
	role   Role
	origin string // the dialect's role, where it is neither user nor the agent
	parts  []Part
}

// roleOf reads the role of a message in a dialect that has a word for the agent;
// origin is what is neither that nor the user.
func roleOf(m gjson.Result, agent string) (role Role, origin string) {
	switch origin = m.Get("role").String(); origin {
	case agent:
		return RoleAgent, ""
	case "user":
		return RoleUser, ""
	}
	return RoleUser, origin
}

func textPart(kind PartKind, text string) Part {
	p := Part{Text: &text}
	p.Metadata.Info.Kind = kind
	return p
}

// rawPart is content of no known form: text where it is text, else bytes.
func rawPart(content string) Part {
	p := Part{Raw: []byte(content), MediaType: "application/octet-stream"}
	if utf8.ValidString(content) {
		p = Part{Text: &content, MediaType: "text/plain"}
	}
	p.Metadata.Info = PartInfo{Kind: PartRaw, Partial: true}
	return p
}

// dataPart holds a JSON value. What is no JSON, because its end is missing or
// the model wrote it badly, is kept as text.
func dataPart(kind PartKind, raw string) Part {
	p := Part{Data: compact(raw), MediaType: "application/json"}
	if p.Data == nil {
		p.Text = &raw
	}
	p.Metadata.Info.Kind = kind
	return p
}

// usePart is a call of a tool. No input is the empty object, as some clients
// leave it out; input that is no JSON is partial.
func usePart(kind PartKind, id, name, input string) Part {
	if strings.TrimSpace(input) == "" {
		input = "{}"
	}
	p := dataPart(kind, input)
	p.Metadata.Info.ID, p.Metadata.Info.Name, p.Metadata.Info.Partial = id, name, p.Data == nil
	return p
}

// otherPart keeps a value of a kind not known here.
func otherPart(v gjson.Result) Part { return dataPart(PartOther, v.Raw) }

// filePart is content in base64. What is no base64 is kept as it is.
func filePart(mediaType, encoded string) Part {
	p := Part{MediaType: mediaType}
	p.Metadata.Info.Kind = PartFile
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		raw, err = base64.RawURLEncoding.DecodeString(strings.TrimRight(encoded, "="))
	}
	if err != nil || len(raw) == 0 {
		p.Data = quote(encoded)
	} else {
		p.Raw = raw
	}
	return p
}

// urlPart is content by reference, or inside a data: URL.
func urlPart(mediaType, url string) Part {
	if rest, ok := strings.CutPrefix(url, "data:"); ok {
		if kind, encoded, ok := strings.Cut(rest, ";base64,"); ok {
			return filePart(kind, encoded)
		}
	}
	p := Part{URL: url, MediaType: mediaType}
	p.Metadata.Info.Kind = PartFile
	if url == "" {
		p.Data = quote(url)
	}
	return p
}

// results turns the parts a tool gave back into parts of its result.
func results(kind PartKind, id, name string, failed bool, parts []Part) []Part {
	if len(parts) == 0 {
		parts = []Part{textPart(kind, "")}
	}
	for i := range parts {
		info := &parts[i].Metadata.Info
		info.Kind, info.ID, info.Name, info.Error = kind, id, name, failed
	}
	return parts
}

// citations keeps a list that has something in it.
func citations(v gjson.Result) json.RawMessage {
	if !v.IsArray() || !v.Get("0").Exists() {
		return nil
	}
	return compact(v.Raw)
}

// detach gives a part memory of its own: what it was read from is the whole
// body, most of which is the history.
func (p *Part) detach() {
	if p.Text != nil {
		text := strings.Clone(*p.Text)
		p.Text = &text
	}
	i := &p.Metadata.Info
	for _, s := range []*string{&p.URL, &p.Filename, &p.MediaType, &i.ID, &i.Name, &i.Signature} {
		*s = strings.Clone(*s)
	}
}
