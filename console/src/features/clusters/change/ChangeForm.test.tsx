// @vitest-environment happy-dom
import { QueryClientProvider } from '@tanstack/react-query'
import { cleanup, fireEvent, render, screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { ClusterPlan } from '#contract/clusters/changes/changes.ts'
import type { Cluster } from '#contract/clusters/clusters.ts'
import type { Operation } from '#contract/operation.ts'
import { CallError } from '../../../api/client.ts'
import { queryClient } from '../../../api/query.ts'
import { isoOf } from '../../../lib/time/local-time.ts'
import Defragment from './forms/Defragment.tsx'

interface Called {
  name: string
  asked: { params?: unknown; body?: unknown }
}
const api = vi.hoisted(() => ({
  calls: [] as Called[],
  answer: (_name: string): unknown => undefined,
  went: [] as string[],
}))
vi.mock('../../../api/client.ts', () => ({
  CallError: class extends Error {},
  call: async (operation: Operation, asked: Called['asked']) => {
    api.calls.push({ name: operation.name, asked })
    return api.answer(operation.name)
  },
}))
vi.mock('../../../api/session.ts', () => ({
  allowed: () => ({ ok: true }),
  heldScopes: () => null,
}))
vi.mock('../../../lib/router.ts', () => ({
  navigate: async (to: string) => void api.went.push(to),
}))

const cluster = {
  id: 'c1',
  name: 'web',
  status: 'ready',
  maintenance_window: null,
  servers: [],
} as unknown as Cluster
const aWindow: NonNullable<Cluster['maintenance_window']> = {
  days: ['sun'],
  from: '02:00',
  minutes: 60,
  time_zone: 'UTC',
}
const plan: ClusterPlan = {
  kind: 'defragment',
  checks: [{ check: 'etcd', ok: true, message: 'All members of etcd are healthy' }],
  warnings: ['A member does not answer while it is defragmented'],
  groups: [
    {
      node_id: 'n2',
      name: 'cp-2',
      drains: true,
      reboots: 'yes',
      steps: [{ key: 'defragment/n2', title: 'Defragment etcd on cp-2' }],
      took_s: 42,
    },
    {
      node_id: null,
      name: null,
      drains: false,
      reboots: 'no',
      steps: [{ key: 'disarm', title: 'Clear the alarms about missing space' }],
      took_s: null,
    },
  ],
  disks: [],
  losses: [],
  differences: [{ node_id: 'n2', name: 'cp-2', diff: ' a: 1\n-b: 2\n+b: 3\n' }],
  took_s: 42,
  seen: '0'.repeat(64),
}

const show = (of = cluster) =>
  render(
    <QueryClientProvider client={queryClient}>
      <Defragment cluster={of} server={undefined} snapshot={undefined} isForced={false} />
    </QueryClientProvider>,
  )

beforeEach(() => {
  api.calls = []
  api.went = []
  api.answer = (name) => (name === 'clusterPlan' ? plan : { operation: { id: 'o1' } })
})
afterEach(() => {
  cleanup()
  queryClient.clear()
})

test('a form without fields shows its plan at once: groups in order, restarts, durations, differences and checks', async () => {
  show()
  const list = await screen.findByRole('list', { name: 'What happens, in order' })
  expect(api.calls).toEqual([
    {
      name: 'clusterPlan',
      asked: { params: { id: 'c1' }, body: { change: { kind: 'defragment' } } },
    },
  ])
  const [first] = within(list).getAllByRole('listitem')
  expect(first!.textContent).toContain('cp-2')
  expect(first!.textContent).toContain('Drained')
  expect(first!.textContent).toContain('Restarts')
  expect(first!.textContent).toContain('42 s')
  expect(screen.getByText('A member does not answer while it is defragmented')).toBeTruthy()
  expect(screen.getByLabelText('Difference of cp-2').textContent).toContain('+b: 3')
  expect(screen.getByText('All members of etcd are healthy')).toBeTruthy()
})

test('the change is sent with the digest of the shown plan, and its operation opens', async () => {
  show()
  await userEvent.click(await screen.findByRole('button', { name: 'Defragment etcd' }))
  await waitFor(() => expect(api.went).toEqual(['/operations/o1']))
  expect(api.calls.at(-1)).toEqual({
    name: 'clusterChange',
    asked: { params: { id: 'c1' }, body: { change: { kind: 'defragment' }, seen: plan.seen } },
  })
})

test('a plan that is out of date is refused with the reason, and the new one is shown', async () => {
  const reason = 'The cluster has changed since the plan was made: look at the new plan'
  const fresh = { ...plan, warnings: ['cp-3 has joined'], seen: '1'.repeat(64) }
  api.answer = (name) => {
    if (name === 'clusterPlan') return plan
    api.answer = () => fresh
    throw Object.assign(new CallError(reason, { status: 409 }), { code: 'stale' })
  }
  show()
  await userEvent.click(await screen.findByRole('button', { name: 'Defragment etcd' }))
  await screen.findByText('cp-3 has joined')
  screen.getByText(`${reason}.`)
  api.answer = () => ({ operation: { id: 'o1' } })
  await userEvent.click(screen.getByRole('button', { name: 'Defragment etcd' }))
  await waitFor(() => expect(api.went).toEqual(['/operations/o1']))
  expect(api.calls.at(-1)!.asked.body).toMatchObject({ seen: fresh.seen })
})

test('a change planned for a time or the window stays so when a new plan replaces the shown one', async () => {
  api.answer = (name) => {
    if (name === 'clusterPlan') return plan
    api.answer = () => ({ ...plan, seen: '1'.repeat(64) })
    throw Object.assign(new CallError('Stale', { status: 409 }), { code: 'stale' })
  }
  show({ ...cluster, maintenance_window: aWindow })
  await userEvent.selectOptions(await screen.findByLabelText('When'), 'window')
  await userEvent.click(screen.getByRole('button', { name: 'Schedule: Defragment etcd' }))
  await screen.findByText('Stale.')
  await screen.findByRole('button', { name: 'Schedule: Defragment etcd' })

  await userEvent.selectOptions(screen.getByLabelText('When'), 'at')
  fireEvent.change(screen.getByLabelText('Begins at'), { target: { value: '2030-01-02T03:04' } })
  api.answer = () => ({ ...plan, seen: '2'.repeat(64) })
  await userEvent.click(screen.getByRole('button', { name: 'Plan again' }))
  await waitFor(() => expect(api.calls.at(-1)!.name).toBe('clusterPlan'))
  const start = await screen.findByRole('button', { name: 'Schedule: Defragment etcd' })
  api.answer = () => ({ operation: { id: 'o1' } })
  await userEvent.click(start)
  await waitFor(() => expect(api.went).toEqual(['/operations/o1']))
  expect(api.calls.at(-1)!.asked.body).toMatchObject({
    seen: '2'.repeat(64),
    start: { at: isoOf('2030-01-02T03:04') },
  })
})

test('a scheduled change requires a time', async () => {
  show()
  await userEvent.selectOptions(await screen.findByLabelText('When'), 'at')
  await userEvent.click(screen.getByRole('button', { name: 'Schedule: Defragment etcd' }))
  await screen.findByText('Enter the time at which the change begins')
  expect(api.calls.filter((c) => c.name === 'clusterChange')).toEqual([])
})

test('a failed check disables the start and shows the reason', async () => {
  const message = 'cp-3 is no healthy member of etcd'
  api.answer = () => ({ ...plan, checks: [{ check: 'etcd', ok: false, message }] })
  show()
  expect((await screen.findByRole('alert')).textContent).toContain(message)
  const start = screen.getByRole('button', { name: 'Defragment etcd' })
  expect(start.getAttribute('aria-disabled') ?? start.getAttribute('disabled')).not.toBeNull()
})
