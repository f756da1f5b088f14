import type { Call, Context, StageSpan, Totals } from '../src/domain/auditCall'
import type { Attempt, Message, Part } from '../src/domain/auditMessage'

// Things of the log for tests: whole, valid, different only in what a test names.

export function makeCall(over: Partial<Call>): Call {
  return {
    seq: 1,
    outcome: 2,
    state: 'ok',
    time: new Date(0),
    durationUs: 1000,
    task: 't1',
    run: 'r1',
    stage: 's1',
    agent: 'solo',
    upstream: 'demo',
    class: 'inference',
    method: 'POST',
    target: 'http://demo.unix/v1/messages',
    model: 'scripted-1',
    gate: '',
    reason: '',
    status: 200,
    result: 'ok',
    count: 1,
    input: 10,
    output: 5,
    cost: 0,
    scripted: true,
    replayed: false,
    partial: false,
    ...over,
  }
}

const totals: Totals = {
  calls: 1,
  open: 0,
  failed: 0,
  refused: 0,
  unmetered: 0,
  tools: 0,
  input: 10,
  output: 5,
  cacheRead: 0,
  cacheWrite: 0,
  reasoning: 0,
  searches: 0,
  cost: 0,
  durationUs: 1000,
  bytesIn: 1,
  bytesOut: 1,
}

const span = {
  ...totals,
  first: 1,
  last: 2,
  began: new Date(0),
  ended: new Date(1),
  sessions: 1,
}

export function makeContext(over: Partial<Context>): Context {
  return { ...span, task: 't1', runs: 1, stages: 1, ...over }
}

export function makeStage(over: Partial<StageSpan>): StageSpan {
  return {
    ...span,
    task: 't1',
    run: 'r1',
    stage: 's1',
    agent: 'solo',
    template: 'solo',
    sandboxes: [],
    ...over,
  }
}

export function makePart(over: Partial<Part>): Part {
  return {
    kind: 'text',
    text: '',
    hasData: false,
    data: undefined,
    raw: '',
    url: '',
    filename: '',
    mediaType: '',
    id: '',
    name: '',
    link: '',
    unanswered: false,
    error: false,
    redacted: false,
    partial: false,
    choice: 0,
    ...over,
  }
}

export function makeAttempt(over: Partial<Attempt>): Attempt {
  return {
    seq: 1,
    outcome: 2,
    time: new Date(0),
    durationUs: 1000,
    open: false,
    upstream: 'demo',
    method: 'POST',
    target: 'http://demo.unix/v1/messages',
    status: 200,
    result: 'ok',
    model: 'scripted-1',
    stop: 'end_turn',
    streamed: true,
    declined: false,
    error: '',
    gate: '',
    reason: '',
    input: 10,
    output: 5,
    cacheRead: 0,
    cacheWrite: 0,
    reasoning: 0,
    cost: 0,
    scripted: true,
    replayed: false,
    partial: false,
    erased: false,
    parts: [],
    ...over,
  }
}

export function makeMessage(over: Partial<Message>): Message {
  return {
    id: '1-answer',
    role: 'agent',
    kind: 'message',
    origin: '',
    time: new Date(0),
    seqs: [1, 2],
    thread: 1,
    claimed: false,
    partial: false,
    erased: false,
    open: false,
    chosen: 0,
    attempts: [],
    parts: [],
    ...over,
  }
}
