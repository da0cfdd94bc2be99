// @vitest-environment happy-dom
import { act, cleanup, render, screen, within } from '@testing-library/react'
import { afterEach, expect, test, vi } from 'vitest'
import { confirmServersWithoutPatch } from '../../../layout/modals.ts'
import { DialogHost } from '../../../ui/overlay/DialogHost.tsx'
import { openedDialogs } from '../../../ui/overlay/dialogs.ts'

afterEach(() => {
  cleanup()
  openedDialogs.set([])
})

async function opened(count: number, onConfirm: () => unknown = () => undefined) {
  render(<DialogHost />)
  const servers = Array.from({ length: count }, (_, i) => ({
    id: String(i),
    name: `server-${i}`,
    ...(i > 0 && { address: `2001:db8:1:2:3:4:5:${i}` }),
  }))
  const closed = confirmServersWithoutPatch({ servers, onConfirm })
  const dialog = await screen.findByRole('dialog', {
    name: 'Custom Talos Patches have not been created for these servers',
  })
  return {
    dialog,
    closed,
    list: within(dialog).getByRole('list'),
    rows: within(dialog).getAllByRole('listitem'),
  }
}

test('each listed server has a warning and its address, shortened to 6 and 5 characters, or "No Addresses"', async () => {
  const { rows } = await opened(2)
  expect(rows.map((row) => row.textContent)).toEqual([
    'server-0No AddressesWarning',
    'server-12001:d…4:5:1Warning',
  ])
})

test('the dialog is 27.5rem wide, and links to our page on connecting servers', async () => {
  const { dialog } = await opened(1)
  expect(dialog.style.width).toBe('27.5rem')
  expect(dialog.textContent).toContain(
    'Ensure networking is configured as per the official documentation',
  )
  expect(within(dialog).getByRole('link').getAttribute('href')).toBe('/docs/connecting-servers')
})

test('the list scrolls with more than 5 servers, in rows of 64.41px', async () => {
  const five = await opened(5)
  expect(five.list.style.maxHeight).toBe('')
  expect(five.rows[0]!.style.height).toBe('64.41px')
  cleanup()
  openedDialogs.set([])
  const six = await opened(6)
  expect(Number.parseFloat(six.list.style.maxHeight)).toBeCloseTo(5 * 64.41)
})

test('Proceed calls the callback, shows Loading meanwhile, and then closes', async () => {
  const made = Promise.withResolvers<void>()
  const onConfirm = vi.fn<() => unknown>(() => made.promise)
  const { dialog, closed } = await opened(1, onConfirm)
  await act(async () => within(dialog).getByRole('button', { name: 'Proceed' }).click())
  await vi.waitFor(() => within(dialog).getByRole('button', { name: 'Loading' }))
  expect(onConfirm).toHaveBeenCalledOnce()
  made.resolve()
  await closed
  expect(openedDialogs.get().some(({ open }) => open)).toBe(false)
})
