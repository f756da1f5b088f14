import { fireEvent, screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { beforeEach, describe, expect, it } from 'vitest'
import { useDraft } from '@/store/draft'
import { answer, showRouted } from '../../../test/render'
import { TaskDialog } from './TaskDialog'

const repo = (id: string) => ({ id, name: id, path: '/x', target: 'main', branches: ['main'] })
const demo = { name: 'demo', kind: 'anthropic', models: ['m'], scripted: true, runnable: true }
const routes = {
  'GET /api/repos': [repo('r1'), repo('r2')],
  'GET /api/providers': [demo],
  'GET /api/tasks': { items: [] },
}
const open = async (onClose = () => {}, at = '/') => {
  await showRouted(<TaskDialog repo={null} onClose={onClose} onCreated={() => {}} />, at)
  return screen.findByRole<HTMLInputElement>('textbox', { name: 'Title' })
}
const chosen = () => screen.getByRole<HTMLSelectElement>('combobox', { name: 'Repository' }).value

describe('the new-task dialog', () => {
  beforeEach(() => {
    useDraft.setState({ draft: null, last: '' })
  })

  it('has its first field in focus, also when it had to load', async () => {
    answer(routes)
    const title = await open()
    await waitFor(() => expect(document.activeElement).toBe(title))
  })

  it('begins with the repository of the filter, then with the last one', async () => {
    answer(routes)
    await open(undefined, '/?repo=r2')
    expect(chosen()).toBe('r2')
  })

  it('begins with the last used repository where there is no filter', async () => {
    answer(routes)
    useDraft.setState({ last: 'r2' })
    await open()
    expect(chosen()).toBe('r2')
  })

  it('creates and runs with Ctrl Enter, and says base and target', async () => {
    const { calls } = answer(routes)
    const title = await open()
    await userEvent.type(title, 'Do it')
    await userEvent.type(screen.getByLabelText('Target'), 'next')
    await userEvent.type(screen.getByLabelText('Base'), 'v1')
    await userEvent.keyboard('{Control>}{Enter}{/Control}')
    const sent = calls.find((call) => call.method === 'POST')
    expect(sent?.body).toMatchObject({ title: 'Do it', target: 'next', base: 'v1', repo_id: 'r1' })
  })

  it('keeps what was typed when it closes, until it is discarded', async () => {
    answer(routes)
    let closed = 0
    const title = await open(() => closed++)
    await userEvent.type(title, 'Half a thought')
    fireEvent(screen.getByRole('dialog', { hidden: true }), new Event('cancel'))
    expect(closed).toBe(1)
    document.body.replaceChildren()
    const again = await open()
    expect(again.value).toBe('Half a thought')
    await userEvent.click(screen.getByRole('button', { name: 'Discard' }))
    expect(again.value).toBe('')
    expect(useDraft.getState().draft).toBeNull()
  })
})
