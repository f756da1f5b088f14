package gate

import (
	"strings"

	"moeca/internal/session"
	"moeca/internal/strictjson"
)

// The tables of the Gemini dialect: https://ai.google.dev/api. Its reader takes
// each name in two spellings, fileData and file_data; names are compared as
// plain folds them.

// plain is a name without case and underscores.
func plain(name string) string { return strings.ReplaceAll(strictjson.Fold(name), "_", "") }

func geminiFields(name string) (grant string, known bool) {
	switch name {
	case "model", "contents", "content", "tools", "toolconfig", "safetysettings", "systeminstruction", "generationconfig", "labels",
		"tasktype", "title", "outputdimensionality", "generatecontentrequest":
		return "", true
	case "cachedcontent", "store":
		return session.GrantState, true
	}
	return "", false
}

func geminiTools(name string) (grant string, known bool) {
	switch name {
	case "functiondeclarations":
		return "", true
	case "googlesearch", "googlesearchretrieval", "enterprisewebsearch", "googlemaps":
		return session.GrantWebSearch, true
	case "urlcontext":
		return session.GrantWebFetch, true
	case "codeexecution":
		return session.GrantCode, true
	case "filesearch", "retrieval":
		return session.GrantFiles, true
	case "computeruse":
		return session.GrantComputer, true
	case "mcpservers":
		return session.GrantMCP, true
	}
	return "", false
}

// geminiParts: the members a part may have. Arguments and answers of functions
// are data and stay closed.
func geminiParts(name string) (grant string, known bool) {
	switch name {
	case "text", "inlinedata", "functioncall", "functionresponse", "thought", "thoughtsignature", "videometadata", "mediaresolution",
		"partmetadata", "filedata":
		return "", true
	case "executablecode", "codeexecutionresult":
		return session.GrantCode, true
	}
	return "", false
}

func (n *needs) gemini(doc strictjson.Document) {
	n.plainFields(doc, geminiFields, "field", session.GrantField)
	doc.Each(func(key string, v strictjson.Document) bool {
		switch plain(key) {
		case "tools":
			n.list(v, "tools", func(tool strictjson.Document) { n.plainFields(tool, geminiTools, "tool", "") })
		case "contents":
			n.list(v, "contents", n.geminiContent)
		case "content", "systeminstruction":
			n.geminiContent(v)
		case "generatecontentrequest":
			n.gemini(v)
		case "generationconfig":
			n.geminiConfig(v)
		}
		return true
	})
}

// plainFields looks members up under their plain names. open is the prefix of
// the grant that an unlisted member can be given; without one it is refused.
func (n *needs) plainFields(v strictjson.Document, in table, what, open string) {
	v.Each(func(key string, value strictjson.Document) bool {
		grant, known := in(plain(key))
		switch {
		case !known && open != "":
			n.want(open+key, what+" "+clip(key))
		case !known:
			n.refuse("the " + what + " " + clip(key))
		case grant != "" && (what == "tool" || !off(value)): // an empty tool object switches it on
			n.want(grant, what+" "+key)
		}
		return n.unknown == ""
	})
}

func (n *needs) geminiContent(content strictjson.Document) {
	content.Each(func(key string, v strictjson.Document) bool {
		if plain(key) == "parts" {
			n.geminiParts(v)
		}
		return true
	})
}

// geminiParts is a list; a single object is taken for a list of one.
func (n *needs) geminiParts(v strictjson.Document) {
	if v.IsObject() {
		n.geminiPart(v)
		return
	}
	n.list(v, "parts", n.geminiPart)
}

func (n *needs) geminiPart(part strictjson.Document) {
	n.plainFields(part, geminiParts, "part", "")
	part.Each(func(key string, v strictjson.Document) bool {
		switch plain(key) {
		case "filedata":
			n.geminiFile(v)
		case "functionresponse":
			n.geminiContent(v) // its parts may hold files
		}
		return true
	})
}

// geminiFile: a file kept at the provider, or a URL it fetches.
func (n *needs) geminiFile(file strictjson.Document) {
	grant := session.GrantURL
	file.Each(func(key string, v strictjson.Document) bool {
		if uri, _ := v.Text(); plain(key) == "fileuri" && strings.HasPrefix(uri, "https://generativelanguage.googleapis.com/") {
			grant = session.GrantFiles
		}
		return true
	})
	n.want(grant, "fileData")
}

func (n *needs) geminiConfig(config strictjson.Document) {
	config.Each(func(key string, v strictjson.Document) bool {
		switch plain(key) {
		case "responsemodalities":
			n.modalities(v)
		case "speechconfig":
			n.want(session.GrantAudio, key)
		case "imageconfig":
			n.want(session.GrantImages, key)
		}
		return true
	})
}
