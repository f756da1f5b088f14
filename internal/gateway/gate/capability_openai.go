package gate

import (
	"strings"

	"moeca/internal/session"
	"moeca/internal/strictjson"
)

// The tables of the two OpenAI dialects, Chat Completions and Responses:
// https://platform.openai.com/docs/api-reference

func openAIChatFields(name string) (grant string, known bool) {
	switch name {
	case "model", "messages", "max_tokens", "max_completion_tokens", "temperature", "top_p", "n", "stop", "stream", "stream_options",
		"presence_penalty", "frequency_penalty", "logit_bias", "logprobs", "top_logprobs", "user", "seed", "tools", "tool_choice",
		"parallel_tool_calls", "functions", "function_call", "response_format", "reasoning_effort", "verbosity", "prediction", "metadata",
		"modalities", "service_tier", "prompt_cache_key", "prompt_cache_retention", "safety_identifier":
		return "", true
	case "store":
		return session.GrantState, true
	case "audio":
		return session.GrantAudio, true
	case "web_search_options":
		return session.GrantWebSearch, true
	}
	return "", false
}

func openAIResponseFields(name string) (grant string, known bool) {
	switch name {
	case "model", "input", "instructions", "max_output_tokens", "max_tool_calls", "temperature", "top_p", "stream", "stream_options",
		"user", "tools", "tool_choice", "parallel_tool_calls", "text", "reasoning", "truncation", "metadata", "service_tier",
		"prompt_cache_key", "prompt_cache_retention", "safety_identifier", "top_logprobs", "include":
		return "", true
	case "store", "background", "previous_response_id", "conversation", "prompt":
		return session.GrantState, true
	}
	return "", false
}

func openAIEmbeddingFields(name string) (grant string, known bool) {
	switch name {
	case "model", "input", "encoding_format", "dimensions", "user":
		return "", true
	}
	return "", false
}

func openAITools(name string) (grant string, known bool) {
	switch name {
	case "function", "custom", "local_shell", "apply_patch": // run by the client
		return "", true
	case "web_search", "web_search_preview":
		return session.GrantWebSearch, true
	case "file_search":
		return session.GrantFiles, true
	case "code_interpreter", "shell":
		return session.GrantCode, true
	case "image_generation":
		return session.GrantImages, true
	case "mcp":
		return session.GrantMCP, true
	case "tool_search":
		return session.GrantTools, true
	case "computer", "computer_use_preview":
		return session.GrantComputer, true
	}
	return "", false
}

// openAIItems: what may stand in messages and input, by its type.
func openAIItems(name string) (grant string, known bool) {
	switch name {
	case "message", "text", "refusal", "image_url", "file", "input_text", "output_text", "input_image", "input_file", "summary_text",
		"reasoning_text", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "reasoning",
		"local_shell_call", "local_shell_call_output", "apply_patch_call", "apply_patch_call_output", "compaction":
		return "", true
	case "input_audio":
		return session.GrantAudio, true
	case "item_reference":
		return session.GrantState, true
	case "computer_call", "computer_call_output", "computer_screenshot":
		return session.GrantComputer, true
	case "web_search_call":
		return session.GrantWebSearch, true
	case "file_search_call":
		return session.GrantFiles, true
	case "code_interpreter_call", "shell_call", "shell_call_output":
		return session.GrantCode, true
	case "image_generation_call":
		return session.GrantImages, true
	case "mcp_list_tools", "mcp_call", "mcp_approval_request", "mcp_approval_response":
		return session.GrantMCP, true
	case "tool_search_call", "tool_search_output":
		return session.GrantTools, true
	}
	return "", false
}

// openAIIncludes: what may be asked to be added to an answer.
func openAIIncludes(name string) (grant string, known bool) {
	switch name {
	case "reasoning.encrypted_content", "message.output_text.logprobs", "message.input_image.image_url":
		return "", true
	case "web_search_call.results", "web_search_call.action.sources":
		return session.GrantWebSearch, true
	case "file_search_call.results":
		return session.GrantFiles, true
	case "code_interpreter_call.outputs":
		return session.GrantCode, true
	case "computer_call_output.output.image_url":
		return session.GrantComputer, true
	}
	return "", false
}

func (n *needs) openAIChat(doc strictjson.Document) {
	n.fields(doc, openAIChatFields)
	n.searchModel(doc)
	n.member(doc, "tools", n.openAITools)
	n.member(doc, "messages", func(v strictjson.Document) { n.list(v, "messages", n.openAIItem) })
	n.member(doc, "modalities", n.modalities)
}

// searchModel: some models search whatever is asked of them, and say so in
// their names: "gpt-4o-search-preview", "o3-deep-research", "any:online".
func (n *needs) searchModel(doc strictjson.Document) {
	n.member(doc, "model", func(v strictjson.Document) {
		name, _ := v.Text()
		if name = strings.ToLower(name); !n.open && (strings.Contains(name, "search") || strings.HasSuffix(name, ":online")) {
			n.want(session.GrantWebSearch, "model "+clip(name))
		}
	})
}

// openAIResponses: an answer is kept for weeks unless the request says
// otherwise, so saying nothing is asking for it.
func (n *needs) openAIResponses(doc strictjson.Document) {
	n.fields(doc, openAIResponseFields)
	n.searchModel(doc)
	n.member(doc, "tools", n.openAITools)
	n.member(doc, "input", n.openAIInput)
	n.member(doc, "instructions", n.openAIContent)
	n.member(doc, "prompt", func(v strictjson.Document) { n.member(v, "variables", n.openAIVariables) })
	n.member(doc, "include", func(v strictjson.Document) {
		entries(v, func(one strictjson.Document) {
			name, _ := one.Text()
			n.typed(openAIIncludes, name, "include")
		})
	})
	if store, err := doc.Field("store"); !n.open && (err != nil || !store.Exists() || store.IsNull()) {
		n.want(session.GrantState, `a call without "store": false`)
	}
}

func (n *needs) openAITools(v strictjson.Document) {
	n.list(v, "tools", func(tool strictjson.Document) {
		kind, _ := tool.String("type")
		if i := len(kind) - 11; i > 0 && dateTail(kind[i:]) {
			kind = kind[:i]
		}
		n.typed(openAITools, kind, "tool")
	})
}

// dateTail: "_2025_03_11", as some tools have it.
func dateTail(s string) bool {
	return len(s) == 11 && s[0] == '_' && s[5] == '_' && s[8] == '_' && strings.Trim(s, "0123456789_") == ""
}

func (n *needs) modalities(v strictjson.Document) { entries(v, n.modality) }

func (n *needs) modality(v strictjson.Document) {
	switch kind, _ := v.Text(); strings.ToLower(kind) {
	case "text":
	case "audio":
		n.want(session.GrantAudio, "modality audio")
	case "image":
		n.want(session.GrantImages, "modality image")
	default:
		n.refuse("the modality " + clip(kind))
	}
}

// openAIInput is content whose items may be no more than the name of one that
// was kept: what has an id, and neither a type nor a role.
func (n *needs) openAIInput(v strictjson.Document) {
	n.openAIContent(v)
	if !v.IsArray() {
		return
	}
	v.Each(func(_ string, item strictjson.Document) bool {
		known := false
		for _, name := range [...]string{"type", "role"} {
			n.member(item, name, func(strictjson.Document) { known = true })
		}
		if !known {
			n.want(session.GrantState, "an item by its id")
		}
		return true
	})
}

// openAIVariables fill a stored prompt, each with a text or a part.
func (n *needs) openAIVariables(v strictjson.Document) {
	v.Each(func(_ string, one strictjson.Document) bool {
		if one.IsObject() {
			n.openAIItem(one)
		}
		return true
	})
}

// openAIContent is a text or a list of items.
func (n *needs) openAIContent(v strictjson.Document) {
	if v.IsText() || v.IsNull() {
		return
	}
	n.list(v, "content", n.openAIItem)
}

// openAIItem judges a message, an item or a part of one. Arguments of calls are
// texts and stay closed.
func (n *needs) openAIItem(item strictjson.Document) {
	item.Each(func(key string, v strictjson.Document) bool {
		switch name := strictjson.Fold(key); name {
		case "type":
			kind, _ := v.Text()
			n.typed(openAIItems, kind, "content")
		case "content", "summary":
			n.openAIContent(v)
		case "output":
			if v.IsObject() {
				n.openAIItem(v)
			} else {
				n.openAIContent(v)
			}
		case "image_url", "file_url":
			n.source(v, name)
			n.member(v, "url", func(v strictjson.Document) { n.source(v, name) })
		case "file":
			n.openAIItem(v)
		case "file_id":
			if !off(v) {
				n.want(session.GrantFiles, "file_id")
			}
		case "audio", "input_audio":
			if !off(v) {
				n.want(session.GrantAudio, name)
			}
		}
		return true
	})
}
