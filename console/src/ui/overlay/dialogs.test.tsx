// @vitest-environment happy-dom
import { cleanup, render, screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Button } from '../inputs/Button.tsx'
import { Dialog } from './Dialog.tsx'
import { DialogHost } from './DialogHost.tsx'
import { confirm } from '../actions.ts'
import { closeDialogs, dialog, openedDialogs, useDialog } from './dialogs.ts'

function Question({ text }: { text: string }) {
  const { close } = useDialog()
  return (
    <Dialog title={text} footer={<Button onClick={() => close('yes')}>Yes</Button>}>
      <input aria-label="Note" />
    </Dialog>
  )
}
const question = (rank?: number) =>
  dialog<{ text: string }, string>(() => Promise.resolve({ default: Question }), rank)

beforeEach(() => render(<DialogHost />))
afterEach(() => {
  cleanup()
  vi.useRealTimers()
  openedDialogs.set([])
})

test('a dialog is opened with data, and its promise resolves with the value with which it is closed', async () => {
  const answer = question()({ text: 'Go on?' })
  await screen.findByRole('dialog', { name: 'Go on?' })
  await userEvent.click(screen.getByRole('button', { name: 'Yes' }))
  expect(await answer).toBe('yes')
  await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull())
})

test('a dismissed dialog resolves without a value', async () => {
  const answer = question()({ text: 'Go on?' })
  await screen.findByRole('dialog')
  await userEvent.keyboard('{Escape}')
  expect(await answer).toBeUndefined()
})

test('one dialog is shown at a time: the one with the lowest rank first, then the one opened last', async () => {
  const [third, first, other, another] = [question(3), question(1), question(), question()]
  void third({ text: 'third' })
  await screen.findByRole('dialog', { name: 'third' })
  void first({ text: 'first' })
  await screen.findByRole('dialog', { name: 'first' })
  expect(screen.getAllByRole('dialog')).toHaveLength(1)
  closeDialogs()
  void other({ text: 'other' })
  void another({ text: 'another' })
  await screen.findByRole('dialog', { name: 'another' })
  await userEvent.click(screen.getByRole('button', { name: 'Yes' }))
  await screen.findByRole('dialog', { name: 'other' })
})

test('the data of a closed dialog is dropped after a moment', async () => {
  void question()({ text: 'Go on?' })
  await screen.findByRole('dialog')
  vi.useFakeTimers()
  closeDialogs()
  expect(openedDialogs.get()).toMatchObject([
    { open: false, element: { props: { text: 'Go on?' } } },
  ])
  vi.advanceTimersByTime(100)
  expect(openedDialogs.get()).toHaveLength(1)
  vi.advanceTimersByTime(900)
  expect(openedDialogs.get()).toEqual([])
})

test('opening a dialog that is open already replaces it', async () => {
  const open = question()
  const first = open({ text: 'first' })
  void open({ text: 'second' })
  expect(await first).toBeUndefined()
  await screen.findByRole('dialog', { name: 'second' })
  expect(openedDialogs.get().filter((one) => one.open)).toHaveLength(1)
})

test('an open dialog receives the focus, and leaving the page closes all dialogs', async () => {
  const answer = question()({ text: 'Go on?' })
  await screen.findByRole('dialog')
  await waitFor(() =>
    expect(screen.getByRole('dialog').contains(document.activeElement)).toBe(true),
  )
  cleanup()
  expect(await answer).toBeUndefined()
})

test('a dialog that is still fading out when its host unmounts is not rendered by the next DialogHost', async () => {
  void dialog(() => Promise.resolve({ default: () => <p>Rendered</p> }))()
  await screen.findByText('Rendered')
  cleanup()
  render(<DialogHost />)
  expect(openedDialogs.get()).toHaveLength(1)
  expect(screen.queryByText('Rendered')).toBeNull()
})

test('the buttons of a dialog are OK and Cancel unless the dialog names others', async () => {
  const buttons = async () => {
    const shown = await screen.findByRole('dialog')
    return [...shown.querySelectorAll('footer button')].map((one) => one.textContent)
  }
  const answer = confirm({ title: 'Delete it?', text: 'It is gone then.' })
  await waitFor(async () => expect(await buttons()).toEqual(['Cancel', 'OK']))
  await userEvent.click(screen.getByRole('button', { name: 'OK' }))
  expect(await answer).toBe(true)
  closeDialogs()
  await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull())
  void dialog(() =>
    Promise.resolve({ default: () => <Dialog title="For your information">It is done.</Dialog> }),
  )()
  await waitFor(async () => expect(await buttons()).toEqual(['OK']))
})
