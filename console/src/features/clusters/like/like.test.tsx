// @vitest-environment happy-dom
/** Filling the form from a template, and what the new cluster takes over from it. */
import { QueryClientProvider } from '@tanstack/react-query'
import { cleanup, render, screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { useState } from 'react'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import * as z from 'zod/mini'
import type { Operation } from '#contract/operation.ts'
import { NewTemplate, type Template } from '#contract/templates/templates.ts'
import { queryClient } from '../../../api/query.ts'
import { blank, type Draft, type Taken } from '../create/draft.ts'
import { StartFrom } from './StartFrom.tsx'
import type { Source } from './use-start.ts'

const id = (n: number): string => `00000000-0000-4000-8000-00000000000${n}`

const api = vi.hoisted(() => ({
  answers: {} as Record<string, unknown>,
}))
vi.mock('../../../api/client.ts', () => {
  class CallError extends Error {
    status: number
    constructor(message: string, status: number) {
      super(message)
      this.status = status
    }
  }
  return {
    CallError,
    call: async ({ name }: Operation) => {
      const answer = api.answers[name] ?? { items: [] }
      if (typeof answer === 'number') throw new CallError(`${name} failed`, answer)
      return answer
    },
  }
})
vi.mock('../../../api/session.ts', () => ({ allowed: () => ({ ok: true }) }))
const wished = z.parse(NewTemplate, {
  name: 'shop',
  vlan_id: 7,
  talos_version: 'v1.2.3',
  labels: { shop: 'edge' },
  snapshots: { store: 'offsite', every_hours: 6 },
  maintenance_window: { days: ['sat'], from: '02:30', minutes: 240, time_zone: 'UTC' },
  extensions: ['siderolabs/gvisor'],
  subnets: [{}, { addresses: 30 }],
})
const saved: Template = {
  ...wished,
  id: id(1),
  revision: 1,
  created_by: 'ada@example.com',
  version: 1,
  created_at: '2026-11-20T08:00:00.000Z',
  updated_at: '2026-11-20T08:00:00.000Z',
}
const stores = { items: [{ id: id(8), name: 'offsite' }] }
const subnet = (n: number, total: number, clusters: object[] = []) => ({
  id: id(n),
  name: `net-${n}`,
  cidr: `10.${n}.0.0/24`,
  type: 'IPv4',
  total,
  clusters,
})
const subnets = { items: [subnet(7, 14), subnet(6, 62), subnet(5, 30, [{}])] }

beforeEach(() => {
  api.answers = {
    templateGet: saved,
    storeList: stores,
    subnetList: subnets,
  }
})
afterEach(() => {
  cleanup()
  queryClient.clear()
})

function show(source: Source) {
  const seen: { draft: Draft; taken: Taken | undefined } = { draft: blank, taken: undefined }
  function Page() {
    const [draft, setDraft] = useState<Draft>(blank)
    const [taken, setTaken] = useState<Taken>()
    const [change] = useState(() => (to: Partial<Draft>) => setDraft((now) => ({ ...now, ...to })))
    Object.assign(seen, { draft, taken })
    return (
      <StartFrom
        source={source}
        step="cluster"
        draft={draft}
        change={change}
        versions={[]}
        datacenters={[{ id: id(2) }]}
        onTaken={setTaken}
      />
    )
  }
  render(
    <QueryClientProvider client={queryClient}>
      <Page />
    </QueryClientProvider>,
  )
  return seen
}

test('the form is filled from a template, and the cluster takes over what is not left out', async () => {
  const seen = show({ template: id(1) })
  await screen.findByText('From the template shop')
  const filled = { from: id(1), vlan: '7', datacenterId: id(2), name: '' }
  await waitFor(() => expect(seen.draft).toMatchObject(filled))
  await screen.findByText(/^Talos v1\.2\.3 is no longer offered/)
  await screen.findByText('Subnets: net-7 (10.7.0.0/24), net-6 (10.6.0.0/24)')
  expect(screen.getAllByRole('checkbox').map((one) => one.closest('label')!.textContent)).toEqual([
    'Labels: shop=edge',
    'Snapshots every 6 hours to the store offsite',
    'Maintenance window: Sat 02:30 for 4 h, UTC',
    'Image: siderolabs/gvisor',
    'Subnets: net-7 (10.7.0.0/24), net-6 (10.6.0.0/24)',
  ])
  await waitFor(() =>
    expect(seen.taken).toEqual({
      can: { ok: true },
      body: {
        labels: { shop: 'edge' },
        maintenance_window: wished.maintenance_window,
        snapshots: {
          store_id: id(8),
          every_hours: 6,
          at_hour: 2,
          keep_count: 14,
          keep_days: null,
          paused: false,
        },
        extensions: ['siderolabs/gvisor'],
        subnet_ids: [id(7), id(6)],
      },
    }),
  )
  for (const part of [/^Image/, /^Labels/])
    await userEvent.click(screen.getByRole('checkbox', { name: part }))
  expect(seen.draft.leftOut).toEqual(['extensions', 'labels'])
  const left = ['maintenance_window', 'snapshots', 'subnet_ids']
  await waitFor(() => expect(Object.keys(seen.taken!.body)).toEqual(left))
})

test('a store that is gone, and subnets that are used up, are said and can be left out', async () => {
  api.answers['storeList'] = { items: [] }
  api.answers['subnetList'] = { items: [subnet(7, 14)] }
  const seen = show({ template: id(1) })
  const gone = 'The store offsite is gone. Add a store of this name, or leave the snapshots out'
  await screen.findByText(`${gone}.`)
  await screen.findByText(/^Too few subnets: 2 are asked for, .+ or leave the subnets out\.$/)
  await waitFor(() => expect(seen.taken!.can).toEqual({ ok: false, reason: gone }))
  for (const part of [/^Snapshots/, /^2 subnets/])
    await userEvent.click(screen.getByRole('checkbox', { name: part }))
  await waitFor(() => expect(seen.taken!.can).toEqual({ ok: true }))
  expect(screen.queryByText(`${gone}.`)).toBeNull()
})

test('of a cluster, what is not taken over is said', async () => {
  api.answers['clusterGet'] = { id: id(3), name: 'shop-01', datacenter: { id: id(4) } }
  api.answers['clusterTemplate'] = { template: wished, left_out: ['The patch keys holds a secret'] }
  const seen = show({ like: id(3) })
  await screen.findByText('Like shop-01')
  await screen.findByText('The patch keys holds a secret')
  await waitFor(() => expect(seen.draft).toMatchObject({ from: id(3), datacenterId: id(4) }))
})

test.each([
  [404, 'The template is gone'],
  [409, 'templateGet failed'],
])('a template that answers %i leaves the form open', async (status, said) => {
  api.answers['templateGet'] = status
  const seen = show({ template: id(1) })
  await screen.findByText(said)
  expect(screen.getByRole('link', { name: 'Start without a template' })).toBeTruthy()
  expect(seen.draft).toEqual(blank)
})
