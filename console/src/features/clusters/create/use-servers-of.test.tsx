// @vitest-environment happy-dom
import { QueryClientProvider } from '@tanstack/react-query'
import { act, cleanup, renderHook } from '@testing-library/react'
import { useState } from 'react'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Server } from '#contract/servers/servers.ts'
import { queryClient } from '../../../api/query.ts'
import { blank, type Draft } from './draft.ts'
import { useServersOf } from './use-servers-of.ts'

const datacenters = [
  { id: 'd1', code: 'PL-POZ-1' },
  { id: 'd2', code: 'DE-FRA-1' },
]
const server = (id: string, datacenter: number, ineligible: string | null = null) =>
  ({
    id,
    name: id,
    status: 'maintenance',
    datacenter: datacenters[datacenter],
    ineligible,
    talos: { installed: null },
    hardware: { cores: 8, memory_bytes: 2 ** 36, disk_bytes: null },
    resources: {
      node_addresses: [],
      processors: [],
      memory: [],
      interfaces: [],
      disks: [{ id: 'sda', size: 10 ** 12, content: 'empty' }],
    },
  }) as unknown as Server
const fleet = [
  server('a', 0),
  server('b', 1),
  server('c', 1, 'The server has no disk'),
  server('d', 1),
]

const api = vi.hoisted(() => ({ whole: Promise.withResolvers<void>() }))
vi.mock('../../../api/client.ts', () => ({
  CallError: class extends Error {},
  call: async (
    _operation: unknown,
    { query }: { query: { fields?: string; datacenter?: string } },
  ) => {
    if (query.fields === 'list') return { items: fleet }
    await api.whole.promise
    return { items: fleet.filter((s) => s.datacenter?.code === query.datacenter) }
  },
}))

beforeEach(() => {
  api.whole = Promise.withResolvers()
})
afterEach(() => {
  cleanup()
  queryClient.clear()
})

/** The draft of a form whose URL has `preselected`. */
const show = (preselected: string | undefined) =>
  renderHook(
    ({ given }) => {
      const [draft, setDraft] = useState<Draft>(blank)
      const [change] = useState(
        () => (patch: Partial<Draft> | ((now: Draft) => Partial<Draft>)) =>
          setDraft((now) => ({ ...now, ...(typeof patch === 'function' ? patch(now) : patch) })),
      )
      useServersOf(draft, given, datacenters, change)
      return draft
    },
    {
      initialProps: { given: preselected },
      wrapper: ({ children }) => (
        <QueryClientProvider client={queryClient}>{children}</QueryClientProvider>
      ),
    },
  )
const settle = () => act(async () => void (await new Promise((resolve) => setTimeout(resolve))))

test('the preselected servers of one datacenter that can join are chosen with their datacenter', async () => {
  const { result } = show('b,c,d,a')
  api.whole.resolve()
  await vi.waitFor(() => expect(Object.keys(result.current.servers)).toHaveLength(1))
  expect([result.current.datacenterId, Object.keys(result.current.servers)]).toEqual(['d1', ['a']])
  const another = show('b,c,d')
  await vi.waitFor(() => expect(Object.keys(another.result.current.servers)).toEqual(['b', 'd']))
  expect(another.result.current.datacenterId).toBe('d2')
})

test('preselected servers are chosen even if the user goes on before they are known, and only once', async () => {
  const { result, rerender } = show('b,d')
  await vi.waitFor(() => expect(result.current.datacenterId).toBe('d2'))
  rerender({ given: undefined })
  await settle()
  expect(result.current.servers).toEqual({})
  await act(async () => api.whole.resolve())
  await vi.waitFor(() => expect(Object.keys(result.current.servers)).toEqual(['b', 'd']))
})

test('without preselected servers nothing is chosen', async () => {
  const { result } = show(undefined)
  api.whole.resolve()
  await settle()
  expect([result.current.datacenterId, result.current.servers]).toEqual([blank.datacenterId, {}])
})
