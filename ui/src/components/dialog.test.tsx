import { fireEvent, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it } from 'vitest'
import { show } from '../../test/render'
import { Dialog } from './Dialog'

describe('a dialog', () => {
  const pressEscape = () =>
    fireEvent(screen.getByRole('dialog'), new Event('cancel', { cancelable: true }))

  it('asks before it loses what was typed', async () => {
    let closed = 0
    await show(
      <Dialog title="Form" onClose={() => closed++}>
        <input aria-label="Name" />
      </Dialog>,
    )
    await userEvent.type(screen.getByLabelText('Name'), 'x')
    pressEscape()
    expect(closed).toBe(0)
    await userEvent.click(screen.getByRole('button', { name: 'Keep editing' }))
    expect(screen.queryByRole('alert')).toBeNull()
    pressEscape()
    pressEscape()
    expect(closed).toBe(1)
  })

  it('closes at once where nothing was typed', async () => {
    let closed = 0
    await show(
      <Dialog title="Form" onClose={() => closed++}>
        <input aria-label="Name" />
      </Dialog>,
    )
    expect(document.activeElement).toBe(screen.getByLabelText('Name'))
    pressEscape()
    expect(closed).toBe(1)
  })

  it('does not click a button that is locked', async () => {
    let sent = 0
    await show(
      <Dialog title="Form" onClose={() => {}}>
        <form onSubmit={() => sent++}>
          <input aria-label="Name" />
          <button type="submit" disabled>
            Send
          </button>
        </form>
      </Dialog>,
    )
    await userEvent.type(screen.getByLabelText('Name'), 'x{Control>}{Enter}{/Control}')
    expect(sent).toBe(0)
  })
})
