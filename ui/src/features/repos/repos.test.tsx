import { screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { useState } from 'react'
import { expect, it } from 'vitest'
import { Problem } from '@/api/problem'
import { show } from '../../../test/render'
import { emptyDraft, toDraft, toGate } from './draft'
import { RepoFields } from './RepoFields'

function Form({ problem }: { problem: Problem | null }) {
  const [draft, setDraft] = useState(emptyDraft)
  return <RepoFields draft={draft} onChange={setDraft} problem={problem} editing={false} />
}

it.each([
  ['path_not_absolute', 'Path'],
  ['repository_name_taken', 'Name'],
  ['target_not_found', 'Target branch'],
  ['gate_invalid', 'CI command'],
])('%s stands at %s', async (code, label) => {
  await show(<Form problem={new Problem(422, code, 'what is wrong', 'what to do', [])} />)
  const field = screen.getByLabelText(label)
  expect(field.getAttribute('aria-invalid')).toBe('true')
  const note = document.getElementById(field.getAttribute('aria-describedby') ?? '')
  expect(note?.textContent).toBe('what is wrong – what to do')
  expect(screen.getAllByRole('alert')).toHaveLength(1)
})

it('shows how a command is read, and warns of shell words', async () => {
  await show(<Form problem={null} />)
  await userEvent.type(screen.getByLabelText('CI command'), "go test './a b' && x")
  expect(screen.getByText(/Runs as 5 words/)).toBeTruthy()
  expect(screen.getByText('./a b')).toBeTruthy()
  expect(screen.getByText(/is passed to the program as a plain word/)).toBeTruthy()
})

it('one word is one', async () => {
  await show(<Form problem={null} />)
  await userEvent.type(screen.getByLabelText('CI command'), 'make')
  expect(screen.getByText(/Runs as 1 word$/)).toBeTruthy()
})

it('an open quote is no gate', () => {
  expect(toGate({ ...emptyDraft, command: 'go "test' })).toEqual({ ok: false })
  expect(toGate(emptyDraft)).toEqual({ ok: true, gate: null })
})

it('a gate survives editing', () => {
  const gate = { policy: 'base', argv: ['go', 'test', './a b'], timeoutSeconds: 30 }
  const repo = {
    id: 'r' as never,
    name: 'r',
    path: '/r',
    target: 'main',
    ci: gate,
    branches: [],
    problem: '',
  }
  expect(toGate(toDraft(repo))).toEqual({ ok: true, gate })
})
