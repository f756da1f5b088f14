package a2a

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// failed is an exchange that brought no answer.
func failed(x Exchange, result string) Exchange {
	x.Response, x.Status, x.Result, x.Cause = nil, 0, result, "connection reset"
	return x
}

// broken is an exchange whose answer is a stream that ended inside an event.
func broken(x Exchange) Exchange {
	x.Response = []byte(`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"what ca"}}

data: {"type":"content_block_delta","in`)
	x.ResponseCut, x.Result, x.Cause = true, "upstream-error", "unexpected EOF"
	return x
}

func TestThreads(t *testing.T) {
	for name, c := range map[string]struct {
		exchanges []Exchange
		want      string
	}{
		"an answer that is left out starts a branch": {[]Exchange{
			told(1, "two", "user: one"), told(3, "three", "user: one", "assistant: two", "user: more"),
			told(5, "drei", "user: one", "assistant: two", "user: anders"), told(7, "four", "user: one", "user: again"),
		}, `
		context t1
		 task r1/work
		  thread 1 start parent=0 after= kept=
		  thread 2 branch parent=1 after=1-answer kept=
		  thread 3 branch parent=1 after=1-1 kept=
		  1-1 user message thread=1 text("one")
		  1-answer agent message thread=1 text("two")
		  3-1 user message thread=1 text("more")
		  3-answer agent message thread=1 text("three")
		  5-1 user message thread=2 text("anders")
		  5-answer agent message thread=2 text("drei")
		  7-1 user message thread=3 text("again")
		  7-answer agent message thread=3 text("four")`},
		"last messages kept, those before them summed up": {[]Exchange{
			told(1, "a1", "user: u1"), told(3, "a2", "user: u1", "assistant: a1", "user: u2"),
			told(5, "a3", "user: summary", "user: u2", "assistant: a2", "user: u3"),
			told(7, "a4", "user: summary", "user: u2", "assistant: a2", "user: u3", "assistant: a3", "user: u4"),
		}, `
		context t1
		 task r1/work
		  thread 1 start parent=0 after= kept=
		  thread 2 compaction parent=1 after= kept=3-1,3-answer
		  1-1 user message thread=1 text("u1")
		  1-answer agent message thread=1 text("a1")
		  3-1 user message thread=1 text("u2")
		  3-answer agent message thread=1 text("a2")
		  5-1 user message thread=2 text("summary")
		  5-2 user message thread=2 text("u3")
		  5-answer agent message thread=2 text("a3")
		  7-1 user message thread=2 text("u4")
		  7-answer agent message thread=2 text("a4")`},
		"a first message kept as well": {[]Exchange{
			told(1, "a1", "user: u1"), told(3, "a2", "user: u1", "assistant: a1", "user: u2"),
			told(5, "a3", "user: u1", "user: summary", "assistant: a2", "user: u3"),
		}, `
		context t1
		 task r1/work
		  thread 1 start parent=0 after= kept=
		  thread 2 compaction parent=1 after=1-1 kept=3-answer
		  1-1 user message thread=1 text("u1")
		  1-answer agent message thread=1 text("a1")
		  3-1 user message thread=1 text("u2")
		  3-answer agent message thread=1 text("a2")
		  5-1 user message thread=2 text("summary")
		  5-2 user message thread=2 text("u3")
		  5-answer agent message thread=2 text("a3")`},
		"another conversation in the same session": {[]Exchange{
			told(1, "a1", "user: u1"), told(3, "title", "user: name this"), told(5, "a2", "user: u1", "assistant: a1", "user: u2"),
		}, `
		context t1
		 task r1/work
		  thread 1 start parent=0 after= kept=
		  thread 2 start parent=0 after= kept=
		  1-1 user message thread=1 text("u1")
		  1-answer agent message thread=1 text("a1")
		  3-1 user message thread=2 text("name this")
		  3-answer agent message thread=2 text("title")
		  5-1 user message thread=1 text("u2")
		  5-answer agent message thread=1 text("a2")`},
		"a retry is another attempt": {[]Exchange{
			failed(told(1, "", "user: u1"), "upstream-error"), told(3, "a1", "user: u1"), told(5, "a2", "user: u1", "assistant: a1", "user: u2"),
		}, `
		context t1
		 task r1/work
		  thread 1 start parent=0 after= kept=
		  1-1 user message thread=1 text("u1")
		  1-answer agent message thread=1 attempts=2 chosen=1 text("a1")
		  5-1 user message thread=1 text("u2")
		  5-answer agent message thread=1 text("a2")`},
		"the conversation goes on with the first of two answers": {[]Exchange{
			told(1, "a1", "user: u1"), told(3, "other", "user: u1"), told(5, "a2", "user: u1", "assistant: a1", "user: u2"),
		}, `
		context t1
		 task r1/work
		  thread 1 start parent=0 after= kept=
		  1-1 user message thread=1 text("u1")
		  1-answer agent message thread=1 attempts=2 chosen=0 text("a1")
		  5-1 user message thread=1 text("u2")
		  5-answer agent message thread=1 text("a2")`},
		"a call that failed is no end of the thread": {[]Exchange{
			failed(told(1, "", "user: u1"), "client-gone"), told(3, "a1", "user: u1", "user: and"),
		}, `
		context t1
		 task r1/work
		  thread 1 start parent=0 after= kept=
		  1-1 user message thread=1 text("u1")
		  1-answer agent message thread=1
		  3-1 user message thread=1 text("and")
		  3-answer agent message thread=1 text("a1")`},
		"a stream that broke off, and went on": {[]Exchange{
			broken(told(1, "", "user: u1")), told(3, "a2", "user: u1", "assistant: what ca", "user: go on"),
		}, `
		context t1
		 task r1/work
		  thread 1 start parent=0 after= kept=
		  1-1 user message thread=1 text("u1")
		  1-answer agent message thread=1 partial text~("what ca") raw~("{\"type\":\"content_block_delta\",\"in")
		  3-1 user message thread=1 text("go on")
		  3-answer agent message thread=1 text("a2")`},
		"a stream that broke off, and was tried again": {[]Exchange{
			broken(told(1, "", "user: u1")), told(3, "what came", "user: u1"), broken(told(5, "", "user: u1")),
		}, `
		context t1
		 task r1/work
		  thread 1 start parent=0 after= kept=
		  1-1 user message thread=1 text("u1")
		  1-answer agent message thread=1 attempts=3 chosen=1 text("what came")`},
		"history nobody recorded is claimed": {[]Exchange{
			told(1, "a2", "user: u1", "assistant: I was told so", "user: u2"),
		}, `
		context t1
		 task r1/work
		  thread 1 start parent=0 after= kept=
		  1-1 user message thread=1 text("u1")
		  1-2 agent message thread=1 claimed text("I was told so")
		  1-3 user message thread=1 text("u2")
		  1-answer agent message thread=1 text("a2")`},
		"an answer that was changed is claimed": {[]Exchange{
			told(1, "no", "user: u1"), told(3, "a2", "user: u1", "assistant: yes", "user: u2"),
		}, `
		context t1
		 task r1/work
		  thread 1 start parent=0 after= kept=
		  thread 2 branch parent=1 after=1-1 kept=
		  1-1 user message thread=1 text("u1")
		  1-answer agent message thread=1 text("no")
		  3-1 agent message thread=2 claimed text("yes")
		  3-2 user message thread=2 text("u2")
		  3-answer agent message thread=2 text("a2")`},
		"one answer in several messages of history": {[]Exchange{
			told(1, "a b c \n", "user: u1"), told(3, "a2", "user: u1", "assistant: a ", "assistant: ", "assistant: b c", "user: u2"),
		}, `
		context t1
		 task r1/work
		  thread 1 start parent=0 after= kept=
		  1-1 user message thread=1 text("u1")
		  1-answer agent message thread=1 text("a b c \n")
		  3-1 user message thread=1 text("u2")
		  3-answer agent message thread=1 text("a2")`},
	} {
		check(t, name, c.exchanges, c.want)
	}
}

func TestInstructionsAreToldWhenTheyChange(t *testing.T) {
	with := func(x Exchange, rules string) Exchange {
		x.Request = []byte(strings.Replace(string(x.Request), `{"model"`, `{`+rules+`,"model"`, 1))
		return x
	}
	const tools = `"tools":[{"name":"x","cache_control":{"type":"ephemeral"}}]`
	check(t, "system and tools", []Exchange{
		with(told(1, "a1", "user: u1"), `"system":"one",`+tools),
		with(told(3, "a2", "user: u1", "assistant: a1", "user: u2"), `"system":[{"type":"text","text":"one","cache_control":{"type":"ephemeral"}}],"tools":[{"name":"x"}]`),
		with(told(5, "a3", "user: u1", "assistant: a1", "user: u2", "assistant: a2", "user: u3"), `"system":[{"type":"text","text":"two"},{"type":"text","text":"one"}],`+tools),
	}, `
		context t1
		 task r1/work
		  thread 1 start parent=0 after= kept=
		  1-1 user system thread=1 text("one") tools([{"name":"x","cache_control":{"type":"ephemeral"}}])
		  1-2 user message thread=1 text("u1")
		  1-answer agent message thread=1 text("a1")
		  3-1 user message thread=1 text("u2")
		  3-answer agent message thread=1 text("a2")
		  5-1 user system thread=1 text("two")
		  5-2 user message thread=1 text("u3")
		  5-answer agent message thread=1 text("a3")`)
}

// TestTasksAndSessions: sub-agents nest, other stages and callers do not.
func TestTasksAndSessions(t *testing.T) {
	by := func(x Exchange, session, parent, stage string) Exchange {
		x.Session, x.Parent, x.Stage = session, parent, stage
		return x
	}
	host := told(13, "pong", "user: ping")
	host.Session, host.Run, host.Stage, host.Task = "", "", "", ""
	check(t, "sub-agents", []Exchange{
		by(told(1, "a1", "user: u1"), "s1", "", "work"),
		by(told(3, "a1", "user: u1"), "s2", "s1", "work"),
		by(told(5, "b1", "user: u1"), "s3", "s2", "work"),
		by(told(7, "c1", "user: u1"), "s4", "gone", "work"),
		by(told(9, "d1", "user: u1"), "s5", "", "work"), // the stage, tried again
		by(told(11, "e1", "user: u1"), "s6", "", "review"),
		host,
	}, `
		context t1
		 task r1/work
		  thread 1 start parent=0 after= kept=
		  thread 2 start parent=0 after= kept=
		  1-1 user message thread=1 text("u1")
		  1-answer agent message thread=1 text("a1")
		  9-1 user message thread=2 text("u1")
		  9-answer agent message thread=2 text("d1")
		   task r1/work/s2
		    thread 1 start parent=0 after= kept=
		    3-1 user message thread=1 text("u1")
		    3-answer agent message thread=1 text("a1")
		     task r1/work/s3
		      thread 1 start parent=0 after= kept=
		      5-1 user message thread=1 text("u1")
		      5-answer agent message thread=1 text("b1")
		 task r1/work/s4
		  thread 1 start parent=0 after= kept=
		  7-1 user message thread=1 text("u1")
		  7-answer agent message thread=1 text("c1")
		 task r1/review
		  thread 1 start parent=0 after= kept=
		  11-1 user message thread=1 text("u1")
		  11-answer agent message thread=1 text("e1")
		context unattributed
		 task unattributed
		  thread 1 start parent=0 after= kept=
		  13-1 user message thread=1 text("ping")
		  13-answer agent message thread=1 text("pong")`)
}

func TestParentsInACircleStayAtTheTop(t *testing.T) {
	a, b := told(1, "a", "user: u"), told(3, "b", "user: u")
	a.Session, a.Parent, b.Session, b.Parent = "s1", "s2", "s2", "s1"
	own := told(5, "c", "user: u")
	own.Session, own.Parent = "s3", "s3"
	if tasks := Build([]Exchange{a, b, own}).Contexts[0].Tasks; len(tasks) != 3 {
		t.Errorf("%d tasks at the top, want all three", len(tasks))
	}
}

func TestOtherRequestsAndRefusals(t *testing.T) {
	fetch := recorded(1, Other, "https://api.github.com/repos/o/r/pulls")
	fetch.Request, fetch.Response = []byte(`{"title": "x"}`), []byte("created\n")
	count := told(3, "", "user: u1")
	count.Target += "/count_tokens"
	count.Response = []byte(`{"input_tokens": 9}`)
	refused := told(5, "", "user: u1")
	refused.OutcomeSeq, refused.Response, refused.Status, refused.Refusal = 0, nil, 429, Refusal{"rate", "too-fast"}
	later := told(6, "a1", "user: u1")
	push := recorded(8, Other, "https://github.com/o/r/git-receive-pack")
	push.OutcomeSeq, push.Request, push.Status, push.Refusal = 0, []byte("\x00\xff"), 403, Refusal{"ref", "protected"}
	dial := told(9, "", "user: u1", "assistant: a1", "user: u2")
	dial.Response, dial.Status, dial.Result, dial.Refusal = nil, 403, "upstream-error", Refusal{"address", "private"}
	check(t, "everything a run did", []Exchange{fetch, count, refused, later, push, dial}, `
		context t1
		 task r1/work
		  thread 1 start parent=0 after= kept=
		  1-request agent request request-body({"title":"x"}) response-body("created\n")
		  3-request agent request request-body({"model":"m","messages":[{"role":"user","content":"u1"}]}) response-body({"input_tokens":9})
		  5-1 user message thread=1 text("u1")
		  5-refusal agent refusal thread=1
		  6-answer agent message thread=1 text("a1")
		  8-refusal agent refusal request-body(2 bytes)
		  9-1 user message thread=1 text("u2")
		  9-answer agent refusal thread=1`)
}

func TestContentThatIsNotThere(t *testing.T) {
	erased := told(1, "", "user: u1")
	erased.Request, erased.Response, erased.RequestErased, erased.ResponseErased = nil, nil, true, true
	over := told(3, "a2", "user: u1", "assistant: a1", "user: u2")
	over.Request, over.RequestCut = nil, true
	cut := told(5, "a3", "user: u1", "assistant: a1", "user: u2", "assistant: a2", "user: a long question")
	cut.Request, cut.RequestCut = cut.Request[:len(cut.Request)-12], true
	later := told(7, "a4", "user: u1", "assistant: a1", "user: u2", "assistant: a2", "user: a long question, longer")
	later.Request, later.RequestCut = later.Request[:len(cut.Request)], true
	noJSON := told(9, "", "user: u")
	noJSON.Request, noJSON.Response, noJSON.Status = []byte("{]"), []byte("<html>\xff</html>"), 502
	noAnswer := told(11, "", "user: v")
	noAnswer.Response = []byte(`{"unheard": "of"}`)
	check(t, "erased, not kept, cut, unreadable", []Exchange{erased, over, cut, later, noJSON, noAnswer}, `
		context t1
		 task r1/work
		  thread 1 start parent=0 after= kept=
		  thread 2 start parent=0 after= kept=
		  1-1 user message thread=1 erased
		  1-answer agent message thread=1 erased
		  3-1 user message thread=1 partial
		  3-answer agent message thread=1 text("a2")
		  5-1 user message thread=1 text("u1")
		  5-2 agent message thread=1 claimed text("a1")
		  5-3 user message thread=1 text("u2")
		  5-4 agent message thread=1 text("a2")
		  5-5 user message thread=1 partial text~("a long ")
		  5-answer agent message thread=1 text("a3")
		  7-answer agent message thread=1 text("a4")
		  9-1 user message thread=1 partial raw~("{]")
		  9-answer agent message thread=1 partial raw~(14 bytes)
		  11-1 user message thread=2 text("v")
		  11-answer agent message thread=2 partial other({"unheard":"of"})`)
}

// TestLiveTail: a builder that reads rows as they come has the tree of all of
// them, and what it gave out before does not change.
func TestLiveTail(t *testing.T) {
	slow := told(1, "slow", "user: u1")
	slow.OutcomeSeq = 6
	fast := told(2, "fast", "user: u1", "user: quick")
	fast.OutcomeSeq = 3
	next := told(4, "n", "user: u1", "user: quick", "assistant: fast", "user: more")
	all := []Exchange{slow, fast, next}
	b := NewBuilder()
	b.Add(slow.intent())
	before := outline(b.Tree())
	first := b.Tree()
	b.Add(fast)
	b.Add(next.intent())
	b.Add(next.intent())
	if state := b.Tree().Contexts[0].Tasks[0].Status.State; state != StateWorking {
		t.Errorf("with open calls the task is %s", state)
	}
	b.Add(next)
	b.Add(slow)
	b.Add(slow)
	if diff := cmp.Diff(outline(Build(all)), outline(b.Tree())); diff != "" {
		t.Error(diff)
	}
	if got := outline(first); got != before || !strings.Contains(got, "1-answer agent message thread=1 open") {
		t.Errorf("a tree given out changed:\n%s\nwas:\n%s", got, before)
	}
}

func TestTimesAreUTC(t *testing.T) {
	x := told(1, "a", "user: u")
	x.Time, x.End = x.Time.In(time.FixedZone("", 3600)), x.End.In(time.FixedZone("", 7200))
	if diff := cmp.Diff(asJSON(t, Build([]Exchange{told(1, "a", "user: u")})), asJSON(t, Build([]Exchange{x}))); diff != "" {
		t.Error(diff)
	}
}

// responded is an exchange of the Responses dialect whose answer is a text, with
// items before it that end in a comma. An N in it is its row.
func responded(seq int64, request, before string) Exchange {
	x := recorded(seq, Responses, targets[Responses])
	x.Request = []byte(request)
	x.Response = []byte(strings.ReplaceAll(`{"id":"resp_N","status":"completed","output":[`+before+`{"id":"msg_N","type":"message","role":"assistant","content":[{"type":"output_text","text":"aN"}]}]}`, "N", string(rune('0'+seq))))
	return x
}

// TestConversationsTheProviderKeeps: a request that names what came before, by
// answer, by item or by conversation, goes on there.
func TestConversationsTheProviderKeeps(t *testing.T) {
	answer := func(seq int64, request string) Exchange {
		return responded(seq, request, `{"id":"rs_N","type":"reasoning","summary":[]},`)
	}
	for name, next := range map[string]string{
		"by answer":       `{"input":"u2","previous_response_id":"resp_1"}`,
		"by item":         `{"input":[{"role":"user","content":"u1"},{"type":"item_reference","id":"rs_1"},{"type":"item_reference","id":"msg_1"},{"role":"user","content":"u2"}]}`,
		"by conversation": `{"input":"u2","conversation":{"id":"conv_1"}}`,
	} {
		check(t, name, []Exchange{answer(1, `{"input":"u1","conversation":"conv_1"}`), answer(3, next)}, `
		context t1
		 task r1/work
		  thread 1 start parent=0 after= kept=
		  1-1 user message thread=1 text("u1")
		  1-answer agent message thread=1 thinking("rs_1") text("a1")
		  3-1 user message thread=1 text("u2")
		  3-answer agent message thread=1 thinking("rs_3") text("a3")`)
	}
	check(t, "an item nobody recorded", []Exchange{answer(1, `{"input":[{"type":"item_reference","id":"msg_9"},{"role":"user","content":"u2"}]}`)}, `
		context t1
		 task r1/work
		  thread 1 start parent=0 after= kept=
		  1-1 agent message thread=1 claimed other#msg_9({"type":"item_reference","id":"msg_9"})
		  1-2 user message thread=1 text("u2")
		  1-answer agent message thread=1 thinking("rs_1") text("a1")`)
}

// TestAnAnswerIsRepeatedBeforeItsRow: a client that has read all of an answer
// asks on before the gateway has noted that it was sent. What it repeats was said
// by the model, whatever the order of the rows.
func TestAnAnswerIsRepeatedBeforeItsRow(t *testing.T) {
	// late gives the first exchange the row after the intent of the second.
	late := func(first, second Exchange) []Exchange {
		first.OutcomeSeq, second.OutcomeSeq = 4, 5
		return []Exchange{first, second, told(6, "a3", "user: u9")}
	}
	for name, c := range map[string]struct{ first, second Exchange }{
		"a text": {told(1, "a1", "user: u1"), told(3, "a2", "user: u1", "assistant: a1", "user: u2")},
		"a longer history": {
			told(1, "a1", "user: u0", "assistant: a0", "user: u1"),
			told(3, "a2", "user: u0", "assistant: a0", "user: u1", "assistant: a1", "user: u2"),
		},
	} {
		inOrder := []Exchange{c.first, c.second, told(6, "a3", "user: u9")}
		want := outline(Build(inOrder))
		if got := outline(Build(late(c.first, c.second))); got != want || strings.Contains(got, "thread=3") {
			t.Errorf("%s: %s", name, cmp.Diff(want, got))
		}
	}
	for name, next := range map[string]string{
		"by answer":       `{"input":"u2","previous_response_id":"resp_1"}`,
		"by conversation": `{"input":"u2","conversation":{"id":"conv_1"}}`,
	} {
		first, second := responded(1, `{"input":"u1","conversation":"conv_1"}`, ""), responded(3, next, "")
		want := outline(Build([]Exchange{first, second, told(6, "a3", "user: u9")}))
		if got := outline(Build(late(first, second))); got != want {
			t.Errorf("%s: %s", name, cmp.Diff(want, got))
		}
	}
	// What no answer had is still claimed, also while one is awaited.
	lie := told(3, "a2", "user: u1", "assistant: a lie", "user: u2")
	if got := outline(Build(late(told(1, "a1", "user: u1"), lie))); !strings.Contains(got, `claimed text("a lie")`) {
		t.Errorf("a lie is not claimed:\n%s", got)
	}
}

func TestRefusalWithoutItsBody(t *testing.T) {
	x := told(1, "", "user: u")
	x.OutcomeSeq, x.Request, x.Response, x.Status, x.Refusal = 0, nil, nil, 402, Refusal{"budget", "spent"}
	check(t, "budget", []Exchange{x}, `
		context t1
		 task r1/work
		  1-refusal agent refusal`)
}
