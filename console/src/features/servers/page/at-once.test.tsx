// @vitest-environment happy-dom
import { QueryClientProvider } from '@tanstack/react-query'
import { act, cleanup, render, screen } from '@testing-library/react'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { ListedServer, Server } from '#contract/servers/servers.ts'
import { queryClient } from '../../../api/query.ts'
import { preloadDetails, ServerDetails } from './ServerDetails.tsx'
import { ServerOutline } from './ServerPage.tsx'
import { ServerPlace } from './ServerPlace.tsx'

const at = '2026-11-20T13:00:00Z'
const listed: ListedServer = {
  id: 'a',
  name: 'amber-falcon-1',
  status: 'maintenance',
  type: 'worker',
  nodeAddresses: ['10.0.0.1'],
  datacenter: { id: 'd', code: 'PL-POZ-1' },
  cluster: null,
  capacity_commitment: null,
  talos: {
    version: 'v1.13.9',
    stage: 'maintenance',
    reachable: true,
    last_contact_at: at,
    unreachable_since: null,
    reason: null,
  },
  kubernetes: null,
  hardware: {
    maker: null,
    model: null,
    cores: 64,
    memory_bytes: 256 * 1024 ** 3,
    disk_bytes: 960e9,
  },
  identity: { state: 'confirmed', uuid: 'u', serial: 'S-1' },
  ineligible: null,
  operation_id: null,
  created_at: at,
}
const whole: Server = {
  ...listed,
  talos: { ...listed.talos, schematic: 'f'.repeat(64), installed: null },
  identity: { ...listed.identity, fingerprint: null, since: at, note: null },
  resources: {
    node_addresses: [],
    processors: [],
    memory: [],
    disks: [{ id: 'nvme0n1', size: 960e9, model: 'PM9A3' }],
    interfaces: [],
  },
  eligibility: [],
  version: 1,
  updated_at: at,
}

const api = vi.hoisted(() => ({ answer: Promise.withResolvers<unknown>(), calls: 0 }))
vi.mock('../../../api/client.ts', () => ({
  CallError: class extends Error {},
  call: () => {
    api.calls++
    return api.answer.promise
  },
}))

beforeEach(() => {
  api.answer = Promise.withResolvers()
  api.calls = 0
  queryClient.setDefaultOptions({
    queries: { ...queryClient.getDefaultOptions().queries, retry: false },
  })
})
afterEach(() => {
  cleanup()
  queryClient.clear()
})
const show = (element: React.ReactElement) =>
  render(<QueryClientProvider client={queryClient}>{element}</QueryClientProvider>)
const answer = (server: Server) => act(async () => api.answer.resolve(server))

test('an opened row shows at once what the list has, and the rest when it has been fetched', async () => {
  show(<ServerDetails server={listed} />)
  for (const text of ['64 CU', '960 GB', 'v1.13.9, maintenance', 'S-1', '10.0.0.1', 'PL-POZ-1'])
    expect(screen.getByText(text)).toBeTruthy()
  expect(screen.queryByText('nvme0n1')).toBeNull()
  await answer(whole)
  expect(await screen.findByText('nvme0n1')).toBeTruthy()
  expect(screen.getByRole('button', { name: /schematic/ })).toBeTruthy()
})

test('an opened row whose server could not be fetched keeps what the list has, and offers to try again', async () => {
  show(<ServerDetails server={listed} />)
  await act(async () => api.answer.reject(new Error('No answer')))
  expect(await screen.findByRole('button', { name: 'Try again' })).toBeTruthy()
  expect(screen.getByText('S-1')).toBeTruthy()
})

test('a preloaded row is fetched once', async () => {
  void preloadDetails('a')
  await answer(whole)
  show(<ServerDetails server={listed} />)
  expect(screen.getByText('nvme0n1')).toBeTruthy()
  expect(api.calls).toBe(1)
})

test('the page of a server shows its name, state and address at once if a list has shown the server', async () => {
  queryClient.setQueryData(['servers', {}], { items: [listed], page: 1, per_page: 1, total: 1 })
  show(
    <ServerPlace id="a" outline={ServerOutline}>
      {(server) => <p>{server.resources.disks.length} disk</p>}
    </ServerPlace>,
  )
  expect(screen.getByRole('heading', { level: 1, name: 'amber-falcon-1' })).toBeTruthy()
  for (const text of ['Maintenance', '10.0.0.1', 'v1.13.9'])
    expect(screen.getByText(text)).toBeTruthy()
  await answer(whole)
  expect(await screen.findByText('1 disk')).toBeTruthy()
})
