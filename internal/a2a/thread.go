package a2a

import (
	"slices"
	"strings"
)

// session is what one session said so far: a tree of atoms in which a request
// is a path from the root.
type session struct {
	id      string
	task    *task
	root    *node
	nodes   map[digest]*node // by the hash of the path to them
	last    *thread          // that a request used last
	answers map[call]*message
	said    map[digest]bool     // atoms of recorded answers
	ends    map[string]*node    // of answers, and of conversations the provider keeps
	items   map[string][]digest // atoms of what answers brought, by its id
	recent  [2]repeated         // requests, the last first
	tools   tools
	open    []*pending // calls without an outcome
	outcome func(seq int64) *Exchange
}

// node is an atom after a path of others.
type node struct {
	parent  *node
	path    digest // hash of all atoms from the root
	atom    digest
	thread  *thread
	msg     *message
	attempt int // of msg, where it is an answer
}

// call is what a request asks: a path, and what else holds.
type call struct {
	at    *node
	rules digest // of system and tools
}

// thread is a Thread while it grows.
type thread struct {
	Thread
	tip     *node
	waiting int             // calls without an outcome
	system  map[digest]bool // parts that hold; replaced, never changed
	tools   digest
}

func newSession(id string, t *task, outcome func(seq int64) *Exchange) *session {
	s := &session{
		id: id, task: t, outcome: outcome, nodes: map[digest]*node{}, answers: map[call]*message{}, said: map[digest]bool{},
		ends: map[string]*node{}, items: map[string][]digest{}, tools: newTools(),
	}
	s.root = &node{path: sum("root")}
	return s
}

func (n *node) then(a digest) digest { return sum(string(n.path[:]), string(a[:])) }

// walk follows atoms from a node as far as they are known.
func (s *session) walk(from *node, list []atom) (at *node, known int) {
	for at = from; known < len(list); known++ {
		next := s.nodes[at.then(list[known].hash)]
		if next == nil {
			break
		}
		at = next
		if at.msg != nil {
			at.msg.confirm(at.attempt)
		}
	}
	return at, known
}

// grow adds an atom after a node, or finds it there.
func (s *session) grow(at *node, a digest, th *thread, m *message, attempt int) *node {
	path := at.then(a)
	if n := s.nodes[path]; n != nil {
		return n
	}
	n := &node{parent: at, path: path, atom: a, thread: th, msg: m, attempt: attempt}
	s.nodes[path] = n
	return n
}

// kept is where a request has the last messages of the thread before it.
type kept struct {
	from  int // index of its first atom
	nodes []*node
}

// threadFor returns the thread a request belongs to that leaves what is known
// at a node, and which of the atoms left a compaction kept.
func (s *session) threadFor(x *Exchange, q *asked, at *node, left []atom) (th *thread, k kept) {
	if th = at.thread; th != nil && th.tip == at && th.waiting == 0 {
		return th, k
	}
	if q.partial && s.last != nil && (th == nil || th == s.last) {
		return s.last, k // where the request goes on cannot be known
	}
	th = &thread{Thread: Thread{ID: len(s.task.threads) + 1, Session: s.id, Reason: ThreadStart, Seq: x.Seq}, tip: s.root}
	if from := at.thread; from != nil {
		th.Reason, th.Parent, th.After = ThreadBranch, from.ID, at.msg.MessageID
		th.system, th.tools = from.system, from.tools
	}
	if s.last != nil {
		if k = keptTail(s.last.tip, left); len(k.nodes) > 0 {
			th.Reason, th.Parent, th.Kept = ThreadCompaction, s.last.ID, k.messages()
			th.system, th.tools = s.last.system, s.last.tools
		}
	}
	s.task.threads = append(s.task.threads, th)
	return th, k
}

// keptTail finds the last messages of a thread inside other atoms.
func keptTail(tip *node, list []atom) (k kept) {
	end := len(list)
	for end > 0 && list[end-1].hash != tip.atom {
		end--
	}
	k.from = end
	for n := tip; k.from > 0 && n.parent != nil && list[k.from-1].hash == n.atom; n = n.parent {
		k.from--
		k.nodes = append(k.nodes, n)
	}
	slices.Reverse(k.nodes)
	return k
}

func (k kept) messages() (ids []string) {
	for _, n := range k.nodes {
		if len(ids) == 0 || ids[len(ids)-1] != n.msg.MessageID {
			ids = append(ids, n.msg.MessageID)
		}
	}
	return ids
}

// ask places a request and returns the answer that is awaited for it.
func (s *session) ask(x *Exchange) finisher {
	if x.refused() && len(x.Request) == 0 && !x.RequestCut && !x.RequestErased {
		s.task.refusal(x, s.last)
		return nil
	}
	q, from := s.read(x)
	s.hurryNamed(&q)
	list := atoms(q.turns, x.Dialect == Gemini, s.items)
	for _, id := range []string{q.kept, q.previous} {
		if known := s.ends[id]; known != nil {
			from = known
		}
	}
	at, known := s.walk(from, list)
	for known < len(list) && s.hurry(func(p *pending) bool { return p.at == at && p.ahead().begins(list[known].hash) }) {
		further, n := s.walk(at, list[known:])
		at, known = further, known+n
	}
	rules := rulesOf(&q)
	if m := s.answers[call{at, rules.all}]; m != nil && known == len(list) && !q.partial && !x.refused() {
		s.last = m.thread
		s.note(x, &q, list, at)
		return s.await(x, m, at, q.kept)
	}
	th, k := s.threadFor(x, &q, at, list[known:])
	e := emitter{s: s, x: x, th: th}
	e.system(&q, rules)
	if len(list) > 0 || from != s.root {
		th.tip = e.turns(q.turns, list, known, at, k)
	} else {
		e.nothing() // it is taken to go on where its thread is
	}
	s.last = th
	s.note(x, &q, list, th.tip)
	if x.refused() {
		s.task.refusal(x, th)
		return nil
	}
	m := s.task.answer(x, th)
	if !q.partial && len(list) > 0 {
		s.answers[call{th.tip, rules.all}] = m
	}
	return s.await(x, m, th.tip, q.kept)
}

// pending is a call whose outcome is not known yet.
type pending struct {
	session *session
	msg     *message
	attempt int
	at      *node
	kept    string // conversation the provider keeps
	seq     int64
	seen    *foreseen // of its outcome, once somebody asked
}

// foreseen is what a request may repeat or name of an answer.
type foreseen struct {
	id    string
	first digest
	some  bool // there is a first
}

func (t *foreseen) begins(with digest) bool { return t.some && t.first == with }

// ahead looks at the outcome of a call, where it is known though its row has not
// come.
func (p *pending) ahead() *foreseen {
	if p.seen != nil {
		return p.seen
	}
	p.seen = &foreseen{}
	if x := p.session.outcome(p.seq); x != nil {
		said := readAnswer(x)
		p.seen.id = strings.Clone(said.id)
		if list := p.atoms(x, &said); len(list) > 0 {
			p.seen.first, p.seen.some = list[0].hash, true
		}
	}
	return p.seen
}

// hurry takes outcomes before their rows: a client that has the whole answer
// may ask on before the gateway has noted that it was sent.
func (s *session) hurry(those func(*pending) bool) (some bool) {
	for _, p := range slices.Clone(s.open) {
		if !those(p) {
			continue
		}
		if x := s.outcome(p.seq); x != nil {
			p.finish(x)
			some = true
		}
	}
	return some
}

// hurryNamed is hurry for the answer or the conversation that a request names.
func (s *session) hurryNamed(q *asked) {
	if q.previous == "" && q.kept == "" {
		return
	}
	s.hurry(func(p *pending) bool {
		return q.kept != "" && p.kept == q.kept || q.previous != "" && s.ends[q.previous] == nil && p.ahead().id == q.previous
	})
}

func (s *session) await(x *Exchange, m *message, at *node, kept string) finisher {
	m.thread.waiting++
	s.task.open++
	p := &pending{session: s, msg: m, attempt: m.begin(x), at: at, kept: strings.Clone(kept), seq: x.Seq}
	s.open = append(s.open, p)
	return p
}

// atoms are those of an answer.
func (p *pending) atoms(x *Exchange, said *said) []atom {
	return atoms([]turn{{role: RoleAgent, parts: firstChoice(said.parts)}}, x.Dialect == Gemini, nil)
}

// finish takes the outcome of a call.
func (p *pending) finish(x *Exchange) {
	s, a := p.session, p.msg.attempts[p.attempt]
	i := slices.Index(s.open, p)
	if i < 0 {
		return // it was taken before its row
	}
	s.open = slices.Delete(s.open, i, i+1)
	p.msg.thread.waiting--
	s.task.open--
	said := readAnswer(x)
	at := p.at
	for _, atom := range p.atoms(x, &said) {
		at = s.grow(at, atom.hash, p.msg.thread, p.msg, p.attempt)
		s.said[atom.hash] = true
	}
	if p.msg.thread.tip == p.at {
		p.msg.thread.tip = at
	}
	for _, id := range []string{said.id, p.kept} {
		if id != "" {
			s.ends[strings.Clone(id)] = at
		}
	}
	s.remember(said.items)
	a.end(x, &said)
	s.task.addArtifacts(p.msg, a)
	s.tools.link(p.msg, a.Parts, x.Dialect)
	p.msg.choose(p.attempt)
	s.task.until(x.End)
}

// remember notes items that later requests may name.
func (s *session) remember(items []item) {
	for _, it := range items {
		known := []digest{}
		for _, a := range atoms([]turn{{role: RoleAgent, parts: it.parts}}, false, nil) {
			if a.hash != onlySoft {
				known = append(known, a.hash)
			}
		}
		s.items[strings.Clone(it.id)] = known
	}
}

// firstChoice leaves out other answers to the same request: a client goes on
// with one.
func firstChoice(parts []Part) []Part {
	for i := range parts {
		if parts[i].Metadata.Info.Choice > 0 {
			return parts[:i]
		}
	}
	return parts
}
