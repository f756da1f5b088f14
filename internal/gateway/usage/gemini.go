package usage

import (
	"strings"

	"github.com/tidwall/gjson"
)

// geminiChunk reads one answer of generateContent or one chunk of its stream.
// Each chunk may carry running totals. There is no closing event: the totals
// are the last once a candidate said why it finished, or the prompt was blocked.
func (m *Meter) geminiChunk(doc gjson.Result) {
	if model := doc.Get("modelVersion").String(); model != "" {
		m.model = model
	}
	doc.Get("candidates").ForEach(func(_, candidate gjson.Result) bool {
		candidate.Get("content.parts").ForEach(func(_, part gjson.Result) bool {
			m.piece(part)
			return true
		})
		m.done = m.done || candidate.Get("finishReason").Exists()
		return true
	})
	m.done = m.done || doc.Get("promptFeedback.blockReason").Exists()
	u := doc.Get("usageMetadata")
	// A mask over the answer could leave out the output; the total is in each.
	if m.final = m.done && u.Get("promptTokenCount").Exists() && u.Get("totalTokenCount").Exists(); !u.IsObject() {
		m.final = false
		return
	}
	m.geminiUsage(u)
}

// geminiUsage: cached tokens are contained in promptTokenCount; thoughts are
// not contained in candidatesTokenCount; what tools put into the prompt is
// counted apart.
func (m *Meter) geminiUsage(u gjson.Result) {
	c := &m.count
	m.served(u.Get("serviceTier"))
	var prompt, tool, candidates, thoughts, total int64
	m.number(u.Get("promptTokenCount"), &prompt)
	m.number(u.Get("toolUsePromptTokenCount"), &tool)
	m.number(u.Get("cachedContentTokenCount"), &c.CacheRead)
	m.number(u.Get("candidatesTokenCount"), &candidates)
	m.number(u.Get("thoughtsTokenCount"), &thoughts)
	m.number(u.Get("totalTokenCount"), &total)
	candidates = max(candidates, total-prompt-tool-thoughts) // what has no member of its own yet
	c.Input = m.less(prompt, c.CacheRead) + tool
	c.Output, c.Reasoning = candidates+thoughts, thoughts
	cachedAudio, cachedImage := m.modality(u, "cacheTokensDetails", "AUDIO"), m.modality(u, "cacheTokensDetails", "IMAGE")
	c.AudioIn = min(m.less(m.modality(u, "promptTokensDetails", "AUDIO"), cachedAudio), c.Input)
	c.ImageIn = min(m.less(m.modality(u, "promptTokensDetails", "IMAGE"), cachedImage), c.Input-c.AudioIn)
	c.AudioOut = min(m.modality(u, "candidatesTokensDetails", "AUDIO"), candidates)
	c.ImageOut = min(m.modality(u, "candidatesTokensDetails", "IMAGE"), candidates-c.AudioOut)
}

func (m *Meter) modality(u gjson.Result, list, name string) (n int64) {
	u.Get(list).ForEach(func(_, part gjson.Result) bool {
		var one int64
		m.number(part.Get("tokenCount"), &one)
		if strings.EqualFold(part.Get("modality").String(), name) {
			n += one
		}
		return true
	})
	return n
}
