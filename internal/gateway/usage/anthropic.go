package usage

import "github.com/tidwall/gjson"

// anthropicEvent reads one event of a Messages stream: message_start carries
// the input side, message_delta the running totals, which may repeat it, and
// message_stop the end. Without either side the totals are not all.
func (m *Meter) anthropicEvent(doc gjson.Result) {
	switch doc.Get("type").String() {
	case "message_start":
		m.model = doc.Get("message.model").String()
		m.anthropicUsage(doc.Get("message.usage"))
	case "content_block_delta":
		m.piece(doc.Get("delta.text"))
		m.piece(doc.Get("delta.thinking"))
		m.piece(doc.Get("delta.partial_json"))
	case "message_delta":
		m.totals = m.totals || doc.Get("usage.output_tokens").Exists()
		m.anthropicUsage(doc.Get("usage"))
	case "message_stop":
		m.final = m.totals && m.input
	}
}

func (m *Meter) anthropicUsage(u gjson.Result) {
	m.input = m.input || u.Get("input_tokens").Exists()
	m.number(u.Get("input_tokens"), &m.count.Input)
	m.number(u.Get("output_tokens"), &m.count.Output)
	m.number(u.Get("cache_read_input_tokens"), &m.count.CacheRead)
	m.number(u.Get("output_tokens_details.thinking_tokens"), &m.count.Reasoning)
	if split := u.Get("cache_creation"); split.IsObject() {
		m.number(split.Get("ephemeral_5m_input_tokens"), &m.count.CacheWrite5m)
		m.number(split.Get("ephemeral_1h_input_tokens"), &m.count.CacheWrite1h)
	} else if m.count.CacheWrite1h == 0 {
		m.number(u.Get("cache_creation_input_tokens"), &m.count.CacheWrite5m)
	}
	m.served(u.Get("speed"))
	m.served(u.Get("inference_geo"))
	var tools int64
	u.Get("server_tool_use").ForEach(func(_, n gjson.Result) bool {
		var one int64
		m.number(n, &one)
		tools += one
		return true
	})
	m.count.ServerTools = max(m.count.ServerTools, tools)
	m.number(u.Get("server_tool_use.web_search_requests"), &m.count.Searches)
	// Rounds of compaction or of another model are billed and are in none of
	// the totals above.
	u.Get("iterations").ForEach(func(_, round gjson.Result) bool {
		m.lost = m.lost || round.Get("type").String() != "message"
		return !m.lost
	})
}
