package price

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/usage"
)

// Answers as providers send them, and what they cost: the figures are worked out
// by hand from the page that each row names, in 1e-9 USD.
func TestWhatCallsCostByThePages(t *testing.T) {
	const usd = 1_000_000_000
	p := table(t)
	for name, c := range map[string]struct {
		kind, model string
		dialect     usage.Dialect
		answer      string
		want        int64
	}{
		// 1,000×4 + 200,000×0.20 + 10,000×5 + 4,000×8 + 3,000×20 = 0.186 USD
		"cached five minutes, an hour, read, and thoughts inside the output": {
			"anthropic", "claude-opus-5-5", usage.Anthropic,
			`{"usage":{"input_tokens":1000,"cache_read_input_tokens":200000,"cache_creation_input_tokens":14000,
			 "cache_creation":{"ephemeral_5m_input_tokens":10000,"ephemeral_1h_input_tokens":4000},
			 "output_tokens":3000,"output_tokens_details":{"thinking_tokens":2000}}}`, 186 * usd / 1000,
		},
		// 20×10 + 1,000,000×0.25 + 1,000×50 = 0.3002 USD
		"a read of a million at a fortieth": {
			"anthropic", "claude-fable-5-1", usage.Anthropic,
			`{"usage":{"input_tokens":20,"cache_read_input_tokens":1000000,"output_tokens":1000}}`, 3002 * usd / 10000,
		},
		// 100,000×0.10 + 10,000×0.50 = 0.015 USD
		"the last token of the first step": {
			"anthropic", "claude-haiku-5-5", usage.Anthropic,
			`{"usage":{"input_tokens":100000,"cache_read_input_tokens":0,"cache_creation_input_tokens":0,"output_tokens":10000}}`, 15 * usd / 1000,
		},
		// 60,000×0.50 + 40,001×0.05 + 10,000×2.50 = 0.05700005 USD: what was cached counts for the step
		"one token beyond it, most of it cached": {
			"anthropic", "claude-haiku-5-5", usage.Anthropic,
			`{"usage":{"input_tokens":60000,"cache_read_input_tokens":40001,"output_tokens":10000}}`, 57_000_050,
		},
		// 10,000×3 + 1,000×15 + 3×0.01 = 0.075 USD
		"three searches": {
			"anthropic", "claude-sonnet-4-6", usage.Anthropic,
			`{"usage":{"input_tokens":10000,"output_tokens":1000,"server_tool_use":{"web_search_requests":3,"web_fetch_requests":2}}}`, 75 * usd / 1000,
		},
		// (1,000×4 + 100×20) × 1.1 = 0.0066 USD
		"an account that is served in one country": {
			"anthropic", "claude-opus-5-5", usage.Anthropic,
			`{"usage":{"input_tokens":1000,"output_tokens":100,"inference_geo":"us","service_tier":"standard"}}`, 66 * usd / 10000,
		},
		// 62,001×20 + 200,000×2 + 10,000×25 + 5,000×75 = 2.26502 USD
		"a long context, cached, written, with reasoning inside the output": {
			"openai", "gpt-6-astra", usage.Responses,
			`{"status":"completed","usage":{"input_tokens":272001,"input_tokens_details":{"cached_tokens":200000,"cache_write_tokens":10000},
			 "output_tokens":5000,"output_tokens_details":{"reasoning_tokens":3000},"total_tokens":277001}}`, 2_265_020_000,
		},
		// 10,000×1.25 + 40,000×0.125 + 2,000×10 = 0.0375 USD
		"cached input of a chat": {
			"openai", "gpt-5-2025-08-07", usage.Chat,
			`{"usage":{"prompt_tokens":50000,"prompt_tokens_details":{"cached_tokens":40000},"completion_tokens":2000,"total_tokens":52000}}`, 375 * usd / 10000,
		},
		// 1,000×12.50 + 100×75 = 0.02 USD, the priority prices
		"an account whose calls are priority calls": {
			"openai", "gpt-5.5", usage.Responses,
			`{"status":"completed","service_tier":"priority","usage":{"input_tokens":1000,"output_tokens":100,"total_tokens":1100}}`, 2 * usd / 100,
		},
		// 1,000×5 + 100×30 = 0.008 USD
		"and one whose calls are not": {
			"openai", "gpt-5.5", usage.Responses,
			`{"status":"completed","service_tier":"default","usage":{"input_tokens":1000,"output_tokens":100,"total_tokens":1100}}`, 8 * usd / 1000,
		},
		// 1,000×5 + 100×15 = 0.0065 USD
		"the first gpt-4o, which costs twice the later": {
			"openai", "gpt-4o-2024-05-13", usage.Chat,
			`{"usage":{"prompt_tokens":1000,"completion_tokens":100,"total_tokens":1100}}`, 65 * usd / 10000,
		},
		// 8,000×0.13 = 0.00104 USD
		"an embedding": {
			"openai", "text-embedding-3-large", usage.Embeddings,
			`{"usage":{"prompt_tokens":8000,"total_tokens":8000}}`, 104 * usd / 100_000,
		},
		// 5,000×0.30 + 10,000×1 + (1,000+500)×2.50 = 0.01525 USD
		"sound in the prompt, and thoughts beside the answer": {
			"gemini", "gemini-2.5-flash", usage.Gemini,
			`{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":15000,"candidatesTokenCount":1000,"thoughtsTokenCount":500,"totalTokenCount":16500,
			 "promptTokensDetails":[{"modality":"TEXT","tokenCount":5000},{"modality":"AUDIO","tokenCount":10000}]}}`, 15_250_000,
		},
		// 200,001×4 + 1,000×18 = 0.818004 USD
		"a prompt beyond 200,000 tokens": {
			"gemini", "gemini-3.1-pro-preview", usage.Gemini,
			`{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":200001,"candidatesTokenCount":1000,"totalTokenCount":201001}}`, 818_004_000,
		},
		// 100,000×2 + 100,000×0.20 + 1,000×12 = 0.232 USD
		"and one of 200,000, half of it cached": {
			"gemini", "gemini-3.1-pro-preview", usage.Gemini,
			`{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":200000,"cachedContentTokenCount":100000,"candidatesTokenCount":1000,"totalTokenCount":201000}}`, 232 * usd / 1000,
		},
	} {
		m := usage.New(c.dialect, "application/json")
		m.Write([]byte(c.answer))
		count, known := m.Result(true)
		q, priced := p.Quote(c.kind, c.kind, c.model)
		got, bounded := q.Cost(count)
		if !known || !priced || !bounded || got != c.want {
			t.Errorf("%s: %d, want %d (usage known %v, priced %v, %v)", name, got, c.want, known, priced, bounded)
		}
	}
}

func TestShippedRowsSayWhereTheyAreFrom(t *testing.T) {
	for _, row := range table(t).List().Prices {
		if row.Upstream == "demo" {
			continue
		}
		if !strings.HasPrefix(row.Source, "https://") || len(row.Read) != 10 {
			t.Errorf("%s: read at %q on %q", row.Model, row.Source, row.Read)
		}
	}
}

func TestTablesThatDoNotLoad(t *testing.T) {
	group := func(head, row string) string { return fmt.Sprintf(`{"groups":[{%s"prices":[%s]}]}`, head, row) }
	const row, from = `{"kind":"x","model":"m","input":"1","output":"1"}`, `"source":"https://example.com/p","read":"2026-01-31",`
	if _, err := load([]byte(group(from, row))); err != nil {
		t.Fatal(err)
	}
	for name, table := range map[string]string{
		"a price without an address": group(`"read":"2026-01-31",`, row),
		"a price without a day":      group(`"source":"https://example.com/p",`, row),
		"a row that is there twice":  group(from, row+","+row),
		"an unknown member":          group(from+`"seen":true,`, row),
		"no JSON":                    "{",
	} {
		if _, err := load([]byte(table)); err == nil {
			t.Errorf("%s was loaded", name)
		}
	}
	for name, edit := range map[string]func(*gatewayapi.Price){
		"an address that is none": func(p *gatewayapi.Price) { p.Source = "example.com" },
		"a plain http address":    func(p *gatewayapi.Price) { p.Source = "http://example.com/" },
		"a day that is none":      func(p *gatewayapi.Price) { p.Read = "2026-02-30" },
		"a note without end":      func(p *gatewayapi.Price) { p.Note = strings.Repeat("n", maxText+1) },
	} {
		row := gatewayapi.Price{Kind: "x", Model: "m", Input: "1", Output: "1"}
		edit(&row)
		if _, err := Empty().Plan(gatewayapi.PricePatch{Set: []gatewayapi.Price{row}}); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
