package a2a

import (
	"slices"
	"strconv"
	"strings"
)

// message is a Message while it grows. Attempts hold what each exchange brought;
// the parts of the chosen one are shown.
type message struct {
	Message
	thread    *thread
	attempts  []*Attempt
	confirmed bool // a later request goes on with the chosen one
}

func (m *message) info() *MessageInfo { return &m.Metadata.Info }

// begin adds an attempt.
func (m *message) begin(x *Exchange) int {
	a := &Attempt{
		Seq: x.Seq, Time: x.Time, Open: x.open(), Dialect: x.Dialect, Upstream: x.Upstream,
		Method: x.Method, Target: x.Target, Model: x.Model, Scripted: x.Scripted, Replayed: x.Replayed,
	}
	m.attempts = append(m.attempts, a)
	return len(m.attempts) - 1
}

// end takes the outcome and the answer of an exchange.
func (a *Attempt) end(x *Exchange, answer *said) {
	a.Open, a.OutcomeSeq, a.Status, a.Result, a.Usage = false, x.OutcomeSeq, x.Status, x.Result, x.Usage
	a.DurationUs = max(x.End.Sub(x.Time).Microseconds(), 0)
	if a.Model = x.Model; a.Model == "" {
		a.Model = strings.Clone(answer.model)
	}
	if (x.Refusal != Refusal{}) {
		refusal := x.Refusal
		a.Refusal = &refusal
	}
	a.Stop, a.Declined, a.Streamed, a.Error = strings.Clone(answer.stop), answer.declined, answer.streamed, answer.failure
	a.Erased = x.ResponseErased
	a.Partial = answer.cut || !answer.whole && (x.ResponseCut || len(answer.parts) > 0 && answer.failure == nil)
	a.Parts = answer.parts
	if f := answer.failure; f != nil {
		a.Parts = append(a.Parts, dataPart(PartError, f.raw))
	}
	broken := x.Result != "" && x.Result != "ok"
	if a.Error == nil && a.Refusal == nil && (x.Cause != "" || broken) {
		a.Error = &Failure{Type: x.Result, Message: x.Cause}
	}
	for i := range a.Parts {
		a.Parts[i].detach()
		a.Partial = a.Partial || a.Parts[i].Metadata.Info.Partial
	}
}

// worth orders attempts: a whole answer, part of one, none.
func (a *Attempt) worth() int {
	switch {
	case a.Open || len(a.Parts) == 0:
		return 0
	case a.Error != nil:
		return 1
	case a.Partial:
		return 2
	}
	return 3
}

// choose shows the attempt if it is no worse than the one shown.
func (m *message) choose(attempt int) {
	if !m.confirmed && m.attempts[attempt].worth() >= m.attempts[m.info().Chosen].worth() {
		m.info().Chosen = attempt
	}
}

// confirm shows the attempt a later request goes on with.
func (m *message) confirm(attempt int) {
	if len(m.attempts) > 0 {
		m.info().Chosen, m.confirmed = attempt, true
	}
}

// snapshot returns the message as it is now, in memory of its own.
func (m *message) snapshot() Message {
	out := m.Message
	out.Extensions = []string{Extension}
	out.Parts = slices.Clone(m.Parts)
	info := &out.Metadata.Info
	for i, a := range m.attempts {
		info.Seqs = append(info.Seqs, a.Seq)
		if a.OutcomeSeq > a.Seq {
			info.Seqs = append(info.Seqs, a.OutcomeSeq)
		}
		info.Open = info.Open || a.Open
		c := *a
		if c.Parts = slices.Clone(a.Parts); i == info.Chosen {
			out.Parts = append(out.Parts, c.Parts...)
			c.Parts = nil
			info.Partial, info.Erased = info.Partial || a.Partial, info.Erased || a.Erased
		}
		info.Attempts = append(info.Attempts, c)
	}
	if len(m.attempts) == 0 {
		info.Seqs = slices.Clone(info.Seqs)
	} else if a := m.attempts[info.Chosen]; a.Refusal != nil && len(a.Parts) == 0 {
		info.Kind = KindRefusal
	}
	slices.Sort(info.Seqs)
	if out.Parts == nil {
		out.Parts = []Part{}
	}
	return out
}

// message adds a message to the history of the task.
func (t *task) message(x *Exchange, th *thread, name string) *message {
	m := &message{thread: th}
	m.MessageID = strconv.FormatInt(x.Seq, 10) + "-" + name
	m.ContextID, m.TaskID = t.context, t.id
	i := m.info()
	if i.Time = x.Time; th != nil {
		i.Thread = th.ID
	}
	t.history = append(t.history, m)
	t.until(x.Time)
	if name != "answer" && name != "request" && name != "refusal" {
		i.Seqs = []int64{x.Seq}
	}
	return m
}

// answer adds the message a model call waits for.
func (t *task) answer(x *Exchange, th *thread) *message {
	m := t.message(x, th, "answer")
	m.Role, m.info().Kind = RoleAgent, KindMessage
	return m
}

// refusal adds the message of a request that no gate let through.
func (t *task) refusal(x *Exchange, th *thread) *message {
	m := t.message(x, th, "refusal")
	m.Role, m.info().Kind = RoleAgent, KindRefusal
	a := m.attempts[m.begin(x)]
	refusal := x.Refusal
	a.Refusal, a.Status, a.Open = &refusal, x.Status, false
	return m
}

// addArtifacts moves the files of an answer into artifacts.
func (t *task) addArtifacts(m *message, a *Attempt) {
	for i := range a.Parts {
		p := &a.Parts[i]
		if p.Metadata.Info.Kind != PartFile {
			continue
		}
		id := strconv.FormatInt(a.Seq, 10) + "-file-" + strconv.Itoa(i+1)
		f := Artifact{ArtifactID: id, Name: p.Filename, Parts: []Part{*p}, Extensions: []string{Extension}}
		f.Metadata.Info = ArtifactInfo{MessageID: m.MessageID, Seqs: []int64{a.Seq, a.OutcomeSeq}}
		t.artifacts = append(t.artifacts, f)
		*p = Part{Data: []byte(`{"artifactId":"` + id + `"}`), MediaType: p.MediaType, Filename: p.Filename, Metadata: p.Metadata}
		p.Metadata.Info.Artifact = id
	}
}
