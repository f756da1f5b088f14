package gate

import (
	"strings"

	"moeca/internal/session"
	"moeca/internal/strictjson"
)

// The tables of the Messages dialect: https://docs.anthropic.com/en/api/messages
// and the pages of its tools.

func anthropicFields(name string) (grant string, known bool) {
	switch name {
	case "model", "messages", "max_tokens", "system", "metadata", "stop_sequences", "stream", "temperature", "top_p", "top_k", "tools",
		"tool_choice", "thinking", "service_tier", "output_config", "output_format", "cache_control", "context_management", "speed",
		"inference_geo":
		return "", true
	case "mcp_servers":
		return session.GrantMCP, true
	case "container":
		return session.GrantCode, true
	}
	return "", false
}

// anthropicBlocks: blocks of earlier answers of a hosted tool need the grant of
// that tool, because they ask the provider to take it up again.
func anthropicBlocks(name string) (grant string, known bool) {
	switch name {
	case "text", "image", "document", "tool_use", "tool_result", "thinking", "redacted_thinking", "search_result", "compaction":
		return "", true
	case "web_search_tool_result":
		return session.GrantWebSearch, true
	case "web_fetch_tool_result":
		return session.GrantWebFetch, true
	case "code_execution_tool_result", "bash_code_execution_tool_result", "text_editor_code_execution_tool_result":
		return session.GrantCode, true
	case "container_upload":
		return session.GrantFiles, true
	case "mcp_tool_use", "mcp_tool_result":
		return session.GrantMCP, true
	case "tool_search_tool_result", "tool_reference":
		return session.GrantTools, true
	}
	return "", false
}

func anthropicSources(name string) (grant string, known bool) {
	switch name {
	case "base64", "text", "content":
		return "", true
	case "url":
		return session.GrantURL, true
	case "file":
		return session.GrantFiles, true
	}
	return "", false
}

// anthropicTools: the families whose calls the provider answers itself. A name
// is a family, an underscore and a date.
func anthropicTools(name string) (grant string, known bool) {
	switch name {
	case "bash", "text_editor", "memory": // run by the client
		return "", true
	case "computer":
		return session.GrantComputer, true
	case "web_search":
		return session.GrantWebSearch, true
	case "web_fetch":
		return session.GrantWebFetch, true
	case "code_execution":
		return session.GrantCode, true
	case "tool_search_tool_regex", "tool_search_tool_bm25":
		return session.GrantTools, true
	}
	return "", false
}

func (n *needs) anthropic(doc strictjson.Document) {
	n.fields(doc, anthropicFields)
	doc.Each(func(key string, v strictjson.Document) bool {
		switch strictjson.Fold(key) {
		case "tools":
			n.list(v, "tools", n.anthropicTool)
		case "system":
			n.anthropicContent(v)
		case "messages":
			n.list(v, "messages", func(message strictjson.Document) { n.member(message, "content", n.anthropicContent) })
		}
		return true
	})
}

func (n *needs) anthropicTool(tool strictjson.Document) {
	n.member(tool, "type", func(v strictjson.Document) {
		if v.IsNull() {
			return
		}
		kind, _ := v.Text()
		switch family := dated(kind); {
		case kind == "custom":
		case kind == "mcp_toolset":
			n.want(session.GrantMCP, "tool mcp_toolset")
		case family == "":
			n.refuse("the tool type " + clip(kind))
		default:
			n.typed(anthropicTools, family, "tool")
		}
	})
}

// dated returns the family of "family_20250305", or nothing.
func dated(kind string) string {
	i := strings.LastIndexByte(kind, '_')
	if i < 0 || len(kind)-i != 9 || strings.Trim(kind[i+1:], "0123456789") != "" {
		return ""
	}
	return kind[:i]
}

// anthropicContent walks a text or a list of blocks.
func (n *needs) anthropicContent(v strictjson.Document) {
	if v.IsText() || v.IsNull() {
		return
	}
	n.list(v, "content", n.anthropicBlock)
}

func (n *needs) anthropicBlock(block strictjson.Document) {
	kind := ""
	block.Each(func(key string, v strictjson.Document) bool {
		switch strictjson.Fold(key) {
		case "type":
			kind, _ = v.Text()
		case "source":
			n.anthropicSource(v)
		case "content":
			if !hosted(kind) {
				n.anthropicContent(v)
			}
		case "file_id":
			n.want(session.GrantFiles, "file_id")
		}
		return true
	})
	if kind != "server_tool_use" {
		n.typed(anthropicBlocks, kind, "content")
		return
	}
	name, _ := block.String("name")
	switch name {
	case "bash_code_execution", "text_editor_code_execution":
		name = "code_execution"
	}
	n.typed(anthropicTools, name, "use of the tool")
}

// hosted: results of hosted tools have content of their own shape; they need
// the grant of the tool and are not looked into.
func hosted(kind string) bool {
	grant, _ := anthropicBlocks(kind)
	return grant != "" && kind != "container_upload" && kind != "mcp_tool_result"
}

func (n *needs) anthropicSource(source strictjson.Document) {
	if source.IsText() {
		return // of a search result: where a text was found, for citations
	}
	source.Each(func(key string, v strictjson.Document) bool {
		switch strictjson.Fold(key) {
		case "type":
			kind, _ := v.Text()
			n.typed(anthropicSources, kind, "source")
		case "url":
			n.source(v, "source url")
		case "file_id":
			n.want(session.GrantFiles, "source file_id")
		case "content":
			n.anthropicContent(v)
		}
		return true
	})
}
