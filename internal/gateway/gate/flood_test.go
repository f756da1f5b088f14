package gate

import (
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"moeca/internal/gateway/upstream"
	"moeca/internal/session"
	"moeca/internal/strictjson"
)

func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// A body that asks for half a million things must cost little more than reading
// it: several are judged at once, for all sessions in one process.
func TestABodyThatAsksForEverything(t *testing.T) {
	var many strings.Builder
	many.WriteString(`{"model":"m","contents":[],"messages":[]`)
	for i := range 300_000 {
		many.WriteString(`,"f` + strconv.Itoa(i) + `":1`)
	}
	many.WriteString(`}`)
	read := allocated(func() { _, _ = strictjson.Read([]byte(many.String()), strictjson.Object) })
	for kind, path := range map[string]string{upstream.KindAnthropic: messagesPath, upstream.KindOpenAI: chatPath, upstream.KindGemini: generatePath} {
		r, d := modelCall(kind, path, many.String()), Decision{}
		judged := allocated(func() { d = Capability{}.Decide(t.Context(), r) })
		if d.Allowed || len(d.Message) > 4096 {
			t.Errorf("%s: %v %.200q", kind, d.Allowed, d.Message)
		}
		if judged > read+8<<20 {
			t.Errorf("%s: judging it took %d MiB more than reading it", kind, (judged-read)>>20)
		}
	}
}

// As much of what is granted passes.
func TestABodyWithAThousandURLs(t *testing.T) {
	block := `,{"type":"image","source":{"type":"url","url":"https://x"}}`
	r := modelCall(upstream.KindAnthropic, messagesPath, `{"model":"m","messages":[{"role":"user","content":[`+strings.Repeat(block, 1000)[1:]+`]}]}`)
	r.Session.Scope.Grants = []string{session.GrantURL}
	if d := (Capability{}).Decide(t.Context(), r); !d.Allowed || !r.Hosted {
		t.Errorf("%+v", d)
	}
}

// A name of megabytes is not said back, and not under its own marks.
func TestARefusalIsShortWhateverItNames(t *testing.T) {
	for _, name := range []string{strings.Repeat("a", 1<<20), "x\\u0000\\u001b[31m", strings.Repeat("\u212a", 1<<18)} {
		for kind, body := range map[string]string{
			upstream.KindAnthropic: `{"model":"m","messages":[],"` + name + `":1}`,
			upstream.KindGemini:    `{"contents":[],"` + name + `":1}`,
			upstream.KindOpenAI:    `{"model":"m","messages":[{"role":"user","content":[{"type":"` + name + `"}]}]}`,
		} {
			path := map[string]string{upstream.KindAnthropic: messagesPath, upstream.KindGemini: generatePath, upstream.KindOpenAI: chatPath}[kind]
			d := Capability{}.Decide(t.Context(), modelCall(kind, path, body))
			if d.Allowed || len(d.Message) > maxMessage || strings.ContainsFunc(d.Message, func(c rune) bool { return !unicode.IsGraphic(c) }) {
				t.Errorf("%s: %d bytes, %.100q", kind, len(d.Message), d.Message)
			}
		}
	}
	r := modelCall(upstream.KindAnthropic, messagesPath, `{"model":"m","messages":[]}`, "anthropic-beta", strings.Repeat("b", 20_000))
	if d := (Capability{}).Decide(t.Context(), r); d.Allowed || len(d.Message) > maxMessage {
		t.Errorf("a beta of %d bytes", len(d.Message))
	}
}
