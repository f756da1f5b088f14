package usage

import (
	"strings"

	"github.com/tidwall/gjson"
)

// chatChunk reads one chunk of a Chat Completions stream. With include_usage
// the totals come in a last chunk whose choices are empty; some servers also
// report running totals in the chunks before it.
func (m *Meter) chatChunk(doc gjson.Result) {
	if model := doc.Get("model").String(); model != "" {
		m.model = model
	}
	m.served(doc.Get("service_tier"))
	choices := doc.Get("choices")
	choices.ForEach(func(_, choice gjson.Result) bool {
		choice.Get("delta").ForEach(func(key, part gjson.Result) bool {
			if key.String() != "role" && part.Type != gjson.Null {
				m.piece(part)
			}
			return true
		})
		return true
	})
	if u := doc.Get("usage"); u.IsObject() {
		m.totals = m.totals || u.Get("prompt_tokens").Exists() && u.Get("completion_tokens").Exists()
		m.chatUsage(u)
		m.final = m.totals && choices.IsArray() && len(choices.Array()) == 0
	}
}

func (m *Meter) chatDocument(doc gjson.Result) {
	m.model = doc.Get("model").String()
	m.served(doc.Get("service_tier"))
	u := doc.Get("usage")
	m.chatUsage(u)
	m.final = u.Get("prompt_tokens").Exists() && u.Get("completion_tokens").Exists()
}

// embeddings have an input side only.
func (m *Meter) embeddings(doc gjson.Result) {
	m.model = doc.Get("model").String()
	n := doc.Get("usage.prompt_tokens")
	if !n.Exists() {
		n = doc.Get("usageMetadata.promptTokenCount")
	}
	m.number(n, &m.count.Input)
	m.final = n.Exists()
}

func (m *Meter) chatUsage(u gjson.Result) { m.openAI(u, "prompt_tokens", "completion_tokens") }

// openAI: cached tokens are contained in the input, reasoning, audio and
// rejected predictions in the output. Some servers count reasoning apart; then
// only the total has it.
func (m *Meter) openAI(u gjson.Result, in, out string) {
	c := &m.count
	inDetail, outDetail := u.Get(in+"_details"), u.Get(out+"_details")
	var all, total int64
	m.number(u.Get(in), &all)
	m.number(u.Get("total_tokens"), &total)
	m.number(inDetail.Get("cached_tokens"), &c.CacheRead)
	m.number(inDetail.Get("cache_write_tokens"), &c.CacheWrite5m)
	m.number(inDetail.Get("audio_tokens"), &c.AudioIn)
	m.number(inDetail.Get("image_tokens"), &c.ImageIn)
	c.Input = m.less(m.less(all, c.CacheRead), c.CacheWrite5m)
	// Which of these the cache held is not said: what does not fit was cached.
	c.AudioIn = min(c.AudioIn, c.Input)
	c.ImageIn = min(c.ImageIn, c.Input-c.AudioIn)
	m.number(u.Get(out), &c.Output)
	c.Output = max(c.Output, total-all)
	m.number(outDetail.Get("reasoning_tokens"), &c.Reasoning)
	m.number(outDetail.Get("audio_tokens"), &c.AudioOut)
	m.less(m.less(c.Output, c.Reasoning), c.AudioOut)
}

// responsesEvent reads one event of a Responses stream. The last one carries
// the whole response, usage included.
func (m *Meter) responsesEvent(doc gjson.Result) {
	m.last = max(m.last, whole(doc.Get("sequence_number").Num, 0))
	switch kind := doc.Get("type").String(); {
	case kind == "response.completed", kind == "response.incomplete", kind == "response.failed":
		m.response(doc.Get("response"))
	case kind == "response.created":
		m.model = doc.Get("response.model").String()
	case strings.HasSuffix(kind, ".delta"):
		m.piece(doc.Get("delta"))
	}
}

func (m *Meter) response(r gjson.Result) {
	if model := r.Get("model").String(); model != "" {
		m.model = model
	}
	m.served(r.Get("service_tier"))
	u := r.Get("usage")
	m.openAI(u, "input_tokens", "output_tokens")
	r.Get("output").ForEach(func(_, item gjson.Result) bool {
		switch kind := item.Get("type").String(); kind {
		case "function_call", "custom_tool_call", "computer_call", "local_shell_call", "shell_call", "apply_patch_call": // run by the client
		case "web_search_call":
			m.count.Searches++
			m.count.ServerTools++
		default:
			if strings.HasSuffix(kind, "_call") {
				m.count.ServerTools++
			}
		}
		return true
	})
	status := r.Get("status").String()
	m.final = u.Get("input_tokens").Exists() && u.Get("output_tokens").Exists() && status != "in_progress" && status != "queued"
}
