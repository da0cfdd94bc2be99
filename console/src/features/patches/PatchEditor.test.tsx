// @vitest-environment happy-dom
import { QueryClientProvider } from '@tanstack/react-query'
import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Operation } from '#contract/operation.ts'
import { type Patch, patchMask } from '#contract/patches.ts'
import type { SharedPatch } from '#contract/shared-patches/shared-patches.ts'
import { CallError } from '../../api/http.ts'
import { queryClient } from '../../api/query.ts'
import { PatchEditor } from './PatchEditor.tsx'
import type { PatchedServer } from './PatchesTable.tsx'
import EditShared from './shared/EditShared.tsx'
import { sharedDraftOf } from './shared/shared-form.ts'

interface Asked {
  body?: unknown
}
const api = vi.hoisted(() => ({
  /** What each update sent, and for which version. */
  updates: [] as { body: unknown; version: number | undefined }[],
  newest: undefined as unknown,
  said: [] as string[],
}))
vi.mock('../../api/client.ts', async () => ({
  ...(await import('../../api/http.ts')),
  call: async ({ name }: Operation, { body }: Asked, options: { version?: number } = {}) => {
    if (name === 'patchGet' || name === 'sharedPatchGet') return api.newest
    // Asked 350 ms after typing: on a slow computer, before the test overwrites.
    if (name === 'patchPreview') throw new CallError('No preview', { status: 503 })
    if (name !== 'patchUpdate' && name !== 'sharedPatchUpdate') return { items: [], total: 0 }
    api.updates.push({ body, version: options.version })
    if (options.version === 1) throw new CallError('It has changed', { status: 412 })
    return { id: 's1' }
  },
}))
vi.mock('../../api/session.ts', () => ({
  allowed: () => ({ ok: true }),
  heldScopes: () => null,
  useUser: () => undefined,
}))
vi.mock('../../lib/router.ts', () => ({
  navigate: async () => undefined,
  blockLeaving: () => () => undefined,
}))
vi.mock('../../ui/feedback/toast.ts', () => ({
  toast: { success: (text: string) => api.said.push(text) },
}))

const patch = {
  patch_id: 'p1',
  node_id: 'n1',
  name: 'sysctls',
  weight: 100,
  labels: {},
  body: 'machine: { sysctls: { a: "1" } }',
  read_only: false,
  version: 1,
} as Patch
const server = {
  id: 'n1',
  name: 'amber-1',
  status: 'maintenance',
  cluster: null,
  talos: { version: null, installed: null },
} as PatchedServer
const at = '2026-11-20T08:00:00.000Z'
const shared: SharedPatch = {
  id: 's1',
  name: 'sysctls',
  weight: 100,
  body: patch.body,
  variables: [],
  targets: { labels: [], cluster_ids: [], roles: [], node_ids: [] },
  revision: 1,
  servers: { targets: 0, current: 0, behind: 0 },
  last_roll_out: null,
  last_operation: null,
  created_by: 'ada@example.com',
  updated_by: 'ada@example.com',
  created_at: at,
  updated_at: at,
  version: 1,
}
const theirs = { body: 'machine: { sysctls: { a: "2" } }', version: 2 }

const showOne = (opened: Patch) =>
  render(
    <QueryClientProvider client={queryClient}>
      <PatchEditor server={server} patch={opened} />
    </QueryClientProvider>,
  )
const showShared = () =>
  render(
    <QueryClientProvider client={queryClient}>
      <EditShared
        patch={shared}
        initial={sharedDraftOf(shared, { clusters: new Map(), servers: new Map() })}
      />
    </QueryClientProvider>,
  )
/** Saves another weight, which is refused as stale, and overwrites. */
async function overwrite(save: string) {
  fireEvent.change(screen.getByLabelText(/^Weight/), { target: { value: '200' } })
  await userEvent.click(screen.getByRole('button', { name: save }))
  await userEvent.click(await screen.findByRole('button', { name: 'Overwrite with my version' }))
  await waitFor(() => expect(api.updates.length).toBe(2))
}

beforeEach(() => {
  api.updates = []
  api.said = []
})
afterEach(() => {
  cleanup()
  queryClient.clear()
})

test('overwriting a patch stores all that the user sees, for the version that was read for it', async () => {
  api.newest = { ...patch, ...theirs }
  showOne(patch)
  await overwrite('Save patch')
  expect(api.updates).toEqual([
    { body: { weight: 200 }, version: 1 },
    { body: { weight: 200, body: patch.body }, version: 2 },
  ])
})

test('overwriting a shared patch stores all that the user sees, for the version that was read for it', async () => {
  api.newest = { ...shared, ...theirs }
  showShared()
  await overwrite('Save')
  expect(api.updates).toEqual([
    { body: { weight: 200 }, version: 1 },
    { body: { weight: 200, body: shared.body }, version: 2 },
  ])
})

test('a text with masks that the user has not changed overwrites nothing, which is said', async () => {
  api.newest = { ...patch, ...theirs }
  showOne({ ...patch, body: `password: ${patchMask}` })
  await overwrite('Save patch')
  expect(api.updates.at(-1)).toEqual({ body: { weight: 200 }, version: 2 })
  await waitFor(() =>
    expect(api.said).toEqual([
      'sysctls was saved. Its text is still that of the newer version, because yours contains hidden values',
    ]),
  )
})
