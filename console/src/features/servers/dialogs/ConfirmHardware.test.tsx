// @vitest-environment happy-dom
import { QueryClientProvider } from '@tanstack/react-query'
import { act, cleanup, render, screen, within } from '@testing-library/react'
import { afterEach, expect, test, vi } from 'vitest'
import { queryClient } from '../../../api/query.ts'
import { HardwareToConfirm } from './ConfirmHardware.tsx'

const api = vi.hoisted(() => ({ broken: new Set<string>() }))
vi.mock('../../../api/client.ts', () => ({
  CallError: class extends Error {},
  call: async (_operation: unknown, { params: { id } }: { params: { id: string } }) => {
    if (api.broken.has(id)) throw new Error('No answer from Steelyard')
    const identity = { state: 'unconfirmed', uuid: id, serial: 'S1', fingerprint: null }
    return {
      id,
      name: `server-${id}`,
      status: 'unconfirmed',
      nodeAddresses: [],
      identity: { ...identity, seen: null, note: null },
      resources: {},
    }
  },
}))

afterEach(() => {
  cleanup()
  queryClient.clear()
})

test('servers that could not be loaded are named with the reason, until another try loads them', async () => {
  queryClient.setDefaultOptions({ queries: { retry: false } })
  api.broken = new Set(['b', 'c'])
  render(
    <QueryClientProvider client={queryClient}>
      <HardwareToConfirm ids={['a', 'b', 'c']} />
    </QueryClientProvider>,
  )
  const list = screen.getByRole('list', { name: 'Hardware to confirm' })
  const alert = await screen.findByRole('alert')
  expect(alert.textContent).toContain(
    '2 servers could not be loaded: b, c. No answer from Steelyard',
  )
  await within(list).findByRole('article', { name: 'server-a' })
  api.broken = new Set()
  await act(async () => within(alert).getByRole('button', { name: 'Try again' }).click())
  await within(list).findByRole('article', { name: 'server-c' })
  expect(screen.queryByRole('alert')).toBeNull()
})
