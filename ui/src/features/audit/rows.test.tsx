import { fireEvent, render, screen } from '@testing-library/react'
import { expect, it, vi } from 'vitest'
import { stepKeys, useEnd, useReveal } from './useRows'

it.each([
  ['ArrowDown', {}, [1]],
  ['j', {}, [1]],
  ['ArrowUp', {}, [-1]],
  ['k', {}, [-1]],
  ['j', { ctrlKey: true }, []],
  ['Tab', {}, []],
])('%s %o moves a list by %j, and is the page’s own otherwise', (key, held, want) => {
  const moved: number[] = []
  render(<div role="listbox" tabIndex={0} onKeyDown={stepKeys((by) => moved.push(by))} />)
  const free = fireEvent.keyDown(screen.getByRole('listbox'), { key, ...held })
  expect(moved).toEqual(want)
  expect(free).toBe(want.length === 0)
})

type ListProps = { at: number; selected: number; reveal(index: number): void }

function List({ at, selected, reveal }: ListProps) {
  useReveal(at, selected, reveal)
  return null
}

it('a selection is shown once, as soon as its row is there', () => {
  const reveal = vi.fn()
  const { rerender } = render(<List at={-1} selected={7} reveal={reveal} />)
  expect(reveal).not.toHaveBeenCalled()
  rerender(<List at={3} selected={7} reveal={reveal} />)
  rerender(<List at={4} selected={7} reveal={reveal} />)
  expect(reveal.mock.calls).toEqual([[3]])
  rerender(<List at={5} selected={8} reveal={reveal} />)
  expect(reveal.mock.calls).toEqual([[3], [5]])
})

function Long({ last, onEnd }: { last: number; onEnd(): void }) {
  useEnd(last, 100, onEnd)
  return null
}

it('more is asked for near the end', () => {
  const onEnd = vi.fn()
  const { rerender } = render(<Long last={79} onEnd={onEnd} />)
  expect(onEnd).not.toHaveBeenCalled()
  rerender(<Long last={80} onEnd={onEnd} />)
  expect(onEnd).toHaveBeenCalledTimes(1)
})
