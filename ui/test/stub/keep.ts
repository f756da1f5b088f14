import type { components } from '../../src/api/schema'
import { Refusal } from './refusal'
import type { State } from './state'

type Wire = components['schemas']

// What a person says of the log: how long contents stay, and who else sees it.

export function setRetention(state: State, body: Wire['Retention']): Wire['Retention'] {
  state.retention = body.days
  return body
}

export function erase(state: State, body: Wire['AuditErase']): Wire['Erased'] {
  if ((body.run === undefined) === (body.task === undefined))
    throw new Refusal(422, 'erase_query', 'exactly one of run and task')
  const mine = state.audit.filter(
    (row) =>
      row.kind === 'intent' &&
      !state.erased.has(row.seq) &&
      (body.run === undefined ? row.task === body.task : row.run === body.run),
  )
  for (const row of mine) state.erased.add(row.seq)
  const row = state.row({ kind: 'erase', source: 'host', actor: 'person' })
  return { row, bodies: 2 * mine.length, bytes: 2048 * mine.length }
}

export function putWitness(state: State, body: Wire['WitnessInput']): Wire['Witness'] {
  const name = body.path ?? body.url ?? body.repo ?? ''
  if (body.kind === 'file' && !name.startsWith('/'))
    throw new Refusal(422, 'witness', 'the path of a witness is not absolute')
  const id = `${body.kind}:${name}`
  const old = state.witnesses.find((one) => one.id === id)
  const witness: Wire['Witness'] = {
    id,
    kind: body.kind,
    name: old?.name ?? name,
    rows: state.audit.length,
    off: body.off ?? false,
    at: new Date().toISOString(),
  }
  state.witnesses = [...state.witnesses.filter((one) => one !== old), witness]
  return witness
}

export function removeWitness(state: State, id: string): void {
  if (!state.witnesses.some((one) => one.id === id))
    throw new Refusal(404, 'witness_unknown', `no such witness: ${id}`)
  state.witnesses = state.witnesses.filter((one) => one.id !== id)
}
