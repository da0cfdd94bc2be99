// @vitest-environment happy-dom
import { act, cleanup, render, screen } from '@testing-library/react'
import { Suspense } from 'react'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { IconButton } from './inputs/Button.tsx'
import { DialogHost } from './overlay/DialogHost.tsx'
import { dialog, openedDialogs } from './overlay/dialogs.ts'
import { missingText, onceOpened, part } from './part.tsx'

type Loaded = { default: (props: { open: boolean; onClose?: () => void }) => React.ReactNode }
const Shown: Loaded['default'] = ({ open }) => open && <p>The part</p>
const gone = () => Promise.reject(new TypeError('Failed to fetch dynamically imported module'))
const importer = vi.fn<() => Promise<Loaded>>()

beforeEach(() => {
  vi.useFakeTimers()
  importer.mockReset().mockImplementation(gone)
})
afterEach(() => {
  cleanup()
  openedDialogs.set([])
  vi.useRealTimers()
})

/** Lets pending imports end, and `ms` pass. */
const wait = (ms = 0) => act(() => vi.advanceTimersByTimeAsync(ms))

test('a part that fails to load says so in its own place, and appears when a later try succeeds', async () => {
  const View = part(importer)
  render(
    <Suspense fallback={null}>
      <h1>The page</h1>
      <View open />
    </Suspense>,
  )
  await wait()
  expect(screen.getByRole('alert').textContent).toContain(missingText)
  screen.getByText('The page')
  importer.mockResolvedValue({ default: Shown })
  await wait(2_000)
  screen.getByText('The part')
  expect(screen.queryByRole('alert')).toBeNull()
})

test('"Try again" loads a missing part at once', async () => {
  const Menu = onceOpened(importer)
  const onClose = vi.fn<() => void>()
  const { rerender } = render(<Menu open={false} onClose={onClose} />)
  await wait()
  expect(importer).not.toHaveBeenCalled()
  rerender(<Menu open onClose={onClose} />)
  await wait()
  expect(screen.getByRole('alert').textContent).toContain(missingText)
  act(() => screen.getByRole('button', { name: 'Close' }).click())
  expect(onClose).toHaveBeenCalledOnce()
  importer.mockResolvedValue({ default: Shown })
  act(() => screen.getByRole('button', { name: 'Try again' }).click())
  await wait()
  screen.getByText('The part')
})

test('the tries end after half a minute, until the user asks for another', async () => {
  const View = part(importer)
  render(
    <Suspense fallback={null}>
      <View open />
    </Suspense>,
  )
  await wait(300_000)
  expect(importer.mock.calls.length).toBeLessThan(20)
})

test('a dialog that fails to load says so, and can be closed', async () => {
  render(
    <>
      <IconButton icon="more" label="Elsewhere" />
      <DialogHost />
    </>,
  )
  const answer = dialog<{ open: boolean }>(importer)({ open: true })
  await wait()
  expect(screen.getByRole('alert').textContent).toContain(missingText)
  act(() => screen.getByRole('button', { name: 'Close' }).click())
  expect(await answer).toBeUndefined()
  await wait()
  expect(screen.queryByRole('alert')).toBeNull()
})
