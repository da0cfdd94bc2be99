// @vitest-environment happy-dom
/** Filling the form from a template, and what a new cluster still lacks of it. */
import { QueryClientProvider } from '@tanstack/react-query'
import { cleanup, render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { useState } from 'react'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import * as z from 'zod/mini'
import type { Cluster } from '#contract/clusters/clusters.ts'
import type { Operation } from '#contract/operation.ts'
import { NewTemplate, type Template } from '#contract/templates/templates.ts'
import { queryClient } from '../../../api/query.ts'
import { blank, type Draft } from '../create/draft.ts'
import RestOfTemplate from './RestOfTemplate.tsx'
import { beginRest, type Rest } from './rest.ts'
import { StartFrom } from './StartFrom.tsx'
import type { Source } from './use-start.ts'

const id = (n: number): string => `00000000-0000-4000-8000-00000000000${n}`

const api = vi.hoisted(() => ({
  answers: {} as Record<string, unknown>,
  sent: [] as [string, unknown][],
  drafts: new Map<string, unknown>(),
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
    call: async ({ name }: Operation, { body }: { body?: unknown }) => {
      if (body !== undefined) api.sent.push([name, body])
      const answer = api.answers[name] ?? { items: [] }
      if (typeof answer === 'number') throw new CallError(`${name} failed`, answer)
      return answer
    },
  }
})
vi.mock('../../../api/session.ts', () => ({ allowed: () => ({ ok: true }) }))
vi.mock('../../../api/auth.ts', () => ({
  useUser: () => ({ id: 'ada' }),
  whenSessionEnds: () => () => undefined,
}))
vi.mock('../../../api/drafts.ts', () => ({
  readDraft: async (_user: string, name: string) =>
    api.drafts.has(name) ? { value: api.drafts.get(name) } : undefined,
  writeDraft: async (_user: string, name: string, value: unknown) =>
    void api.drafts.set(name, value),
  removeDraft: async (_user: string, name: string) => void api.drafts.delete(name),
}))

const wished = z.parse(NewTemplate, {
  name: 'shop',
  vlan_id: 7,
  talos_version: 'v1.2.3',
  labels: { shop: 'edge' },
  snapshots: { store: 'offsite', every_hours: 6 },
  maintenance_window: { days: ['sat'], from: '02:30', minutes: 240, time_zone: 'UTC' },
  extensions: ['siderolabs/gvisor'],
  subnets: [{}, {}],
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

beforeEach(() => {
  api.answers = {
    templateGet: saved,
    storeList: stores,
    clusterExtensions: { items: [{ node_id: id(6), extensions: [], kernel_args: [] }] },
  }
  api.sent = []
  api.drafts.clear()
})
afterEach(() => {
  cleanup()
  queryClient.clear()
})

function show(source: Source) {
  const seen: { draft: Draft; rest: Rest | undefined } = { draft: blank, rest: undefined }
  function Page() {
    const [draft, setDraft] = useState<Draft>(blank)
    const [rest, setRest] = useState<Rest>()
    const [change] = useState(() => (to: Partial<Draft>) => setDraft((now) => ({ ...now, ...to })))
    Object.assign(seen, { draft, rest })
    return (
      <StartFrom
        source={source}
        step="cluster"
        draft={draft}
        change={change}
        versions={[]}
        datacenters={[{ id: id(2) }]}
        onRest={setRest}
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

test('the form is filled from a template, and what comes after the creation is named', async () => {
  const seen = show({ template: id(1) })
  await screen.findByText('From the template shop')
  expect(seen.draft).toMatchObject({ from: id(1), vlan: '7', datacenterId: id(2), name: '' })
  expect(seen.rest).toMatchObject({ labels: { shop: 'edge' }, subnets: [{}, {}] })
  await screen.findByText(/^Talos v1\.2\.3 is no longer offered/)
  const after = (await screen.findAllByRole('listitem')).map((one) => one.textContent)
  expect(after).toEqual([
    'Labels: shop=edge set at once',
    'Snapshots every 6 hours to the store offsite set at once',
    'Maintenance window: Sat 02:30 for 4 h, UTC once the cluster is ready',
    'Image: siderolabs/gvisor once the cluster is ready, on servers whose image differs',
    '2 subnets once the cluster is ready',
  ])
})

test('a store that is gone is said in its place', async () => {
  api.answers['storeList'] = { items: [] }
  show({ template: id(1) })
  const said = await screen.findByText(/^The store offsite is gone\./)
  expect(said.textContent).toContain('set another schedule on the page of the new cluster')
})

test('of a cluster, what is not taken over is said', async () => {
  api.answers['clusterGet'] = { id: id(3), name: 'shop-01', datacenter: { id: id(4) } }
  api.answers['clusterTemplate'] = { template: wished, left_out: ['The patch keys holds a secret'] }
  const seen = show({ like: id(3) })
  await screen.findByText('Like shop-01')
  await screen.findByText('The patch keys holds a secret')
  expect(seen.draft).toMatchObject({ from: id(3), datacenterId: id(4) })
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

const cluster = {
  id: id(5),
  name: 'shop-02',
  status: 'creating',
  subnets: [],
} as unknown as Cluster
const notice = (of: Cluster) =>
  render(
    <QueryClientProvider client={queryClient}>
      <RestOfTemplate cluster={of} />
    </QueryClientProvider>,
  )

test('labels and schedule are set at once; the page names the rest until it is done', async () => {
  await beginRest('ada', cluster, wished)
  expect(api.sent.map(([name]) => name)).toEqual(['clusterUpdate', 'snapshotScheduleSet'])
  expect(api.sent[1]![1]).toMatchObject({ store_id: id(8), every_hours: 6 })
  notice(cluster)
  const [early] = await screen.findAllByRole('button', { name: /^Set/ })
  expect(early!.getAttribute('aria-disabled')).toBe('true')
  cleanup()

  notice({ ...cluster, status: 'ready' })
  const window = 'Set: Maintenance window: Sat 02:30 for 4 h, UTC'
  await userEvent.click(await screen.findByRole('button', { name: window }))
  await vi.waitFor(() => expect(screen.queryByRole('button', { name: window })).toBeNull())
  expect(api.sent.at(-1)).toEqual(['clusterWindowSet', { window: wished.maintenance_window }])
  expect(screen.getAllByRole('link').map((a) => a.getAttribute('href'))).toEqual([
    `/infra/clusters/${id(5)}/change/extensions`,
    `/infra/network/assign-subnets?cluster=${id(5)}`,
  ])
  await userEvent.click(screen.getByRole('button', { name: 'Dismiss' }))
  await vi.waitFor(() => expect(api.drafts.size).toBe(0))
})

test('what fails remains, with the reason at the next try', async () => {
  api.answers['storeList'] = { items: [] }
  api.answers['clusterUpdate'] = 503
  await beginRest('ada', cluster, { ...wished, subnets: [] })
  notice(cluster)
  const retry = await screen.findByRole('button', { name: /^Set: Snapshots/ })
  await userEvent.click(retry)
  await screen.findByText(/^The store offsite is gone/)
  expect(screen.getByRole('button', { name: 'Set: Labels: shop=edge' })).toBeTruthy()
})

test('an image that all servers have is not named', async () => {
  const image = (...extensions: string[]) => ({ node_id: id(6), extensions, kernel_args: [] })
  await beginRest('ada', cluster, { ...wished, labels: {}, snapshots: null, subnets: [] })
  api.answers['clusterExtensions'] = { items: [image('siderolabs/gvisor'), image()] }
  notice({ ...cluster, status: 'ready' })
  await screen.findByText('Image: siderolabs/gvisor')
  cleanup()
  queryClient.clear()
  api.answers['clusterExtensions'] = { items: [image('siderolabs/gvisor')] }
  notice({ ...cluster, status: 'ready' })
  await screen.findByText(/^Maintenance window/)
  await vi.waitFor(() => expect(screen.queryByText('Image: siderolabs/gvisor')).toBeNull())
})
