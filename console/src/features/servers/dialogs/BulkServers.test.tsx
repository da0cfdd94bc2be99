// @vitest-environment happy-dom
import { QueryClientProvider } from '@tanstack/react-query'
import { act, cleanup, render, screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import type { ComponentProps } from 'react'
import { afterEach, beforeAll, expect, test, vi } from 'vitest'
import type { Operation } from '#contract/operation.ts'
import type { Operation as Operations } from '#contract/operations.ts'
import { type BulkActKind, bulkStep } from '#contract/servers/bulk.ts'
import { queryClient } from '../../../api/query.ts'
import { DialogContext } from '../../../ui/overlay/dialogs.ts'
import BulkServers from './BulkServers.tsx'

const api = vi.hoisted(() => ({ plan: undefined as unknown, begun: [] as unknown[] }))
vi.mock('../../../api/client.ts', () => ({
  CallError: class extends Error {},
  call: async ({ name }: Operation, { body }: { body?: unknown }) => {
    if (name === 'serverBulkPlan') return api.plan
    api.begun.push(body)
    return { operation: { id: 'o2' } }
  },
}))
vi.mock('../../../api/session.ts', () => ({
  allowed: () => ({ ok: true }),
  heldScopes: () => null,
}))
vi.mock('../../../lib/router.ts', () => ({ navigate: async () => undefined }))

const planned = (kind: 'reset' | 'reboot') => ({
  act: { kind },
  items: [
    {
      id: 'n1',
      name: 'amber-1',
      cluster: null,
      ok: true,
      warnings: [],
      disks: [],
      commitment: null,
    },
  ],
  refused: 0,
  warnings: [],
  expected: null,
})
const show = async (kind: 'reset' | 'reboot', props: ComponentProps<typeof BulkServers>) => {
  api.plan = planned(kind)
  await act(async () =>
    render(
      <QueryClientProvider client={queryClient}>
        <DialogContext value={{ open: true, close: () => undefined }}>
          <BulkServers {...props} />
        </DialogContext>
      </QueryClientProvider>,
    ),
  )
}
const failed = (kind: BulkActKind) => ({
  failed: { id: 'o1', steps: [{ key: bulkStep(kind, 'n1') }] as Operations['steps'] },
})
const keep = () => screen.getByRole<HTMLInputElement>('checkbox', { name: /^Keep the content/ })

// Loading the frame of a dialog takes long on a busy machine.
beforeAll(() => import('../../../ui/overlay/DialogView.tsx'))
afterEach(() => {
  cleanup()
  queryClient.clear()
  api.begun = []
})

test('a reset that is tried again keeps the workload disks unless the user says otherwise', async () => {
  await show('reset', failed('reset'))
  await screen.findByText('amber-1')
  expect(keep().checked).toBe(true)
  await userEvent.click(screen.getByRole('button', { name: 'Reset to maintenance' }))
  await waitFor(() =>
    expect(api.begun).toMatchObject([{ act: { kind: 'reset', keep_workload_disks: true } }]),
  )
})

test('a first reset wipes the workload disks unless the user keeps them', async () => {
  await show('reset', { kind: 'reset', node_ids: ['n1'] })
  await screen.findByText('amber-1')
  expect(keep().checked).toBe(false)
})

test('another act that is tried again has nothing to keep', async () => {
  await show('reboot', failed('reboot'))
  await screen.findByText('amber-1')
  await userEvent.click(screen.getByRole('button', { name: 'Reboot' }))
  await waitFor(() => expect(api.begun).toMatchObject([{ act: { keep_workload_disks: false } }]))
})
