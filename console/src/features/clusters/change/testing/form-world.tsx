/**
 * The forms of changes in component tests: their calls are recorded and answered from `answers`.
 */
import { QueryClientProvider } from '@tanstack/react-query'
import { cleanup, fireEvent, render, screen, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, vi } from 'vitest'
import type { ClusterChangeInput, ClusterPlan } from '#contract/clusters/changes/changes.ts'
import type { Cluster } from '#contract/clusters/clusters.ts'
import type { Operation } from '#contract/operation.ts'
import type { ShownKind } from '../change-kinds.ts'

const id = (n: number): string => `00000000-0000-4000-8000-00000000000${n}`
export const ids = { cp1: id(1), cp2: id(2), w1: id(3), free: id(4) }
/** A server that can join the cluster. */
export const aFreeServer = {
  id: ids.free,
  name: 'free-1',
  status: 'maintenance',
  cluster: null,
  eligibility: [],
  ineligible: null,
  talos: { version: 'v1.13.9', installed: null },
  hardware: { cores: 8, memory_bytes: 2 ** 36, disk_bytes: 10 ** 12 },
  resources: {
    node_addresses: [],
    processors: [],
    memory: [],
    interfaces: [],
    disks: [{ id: 'sda', size: 10 ** 12, content: 'empty' }],
  },
}
const member = (node_id: string, name: string, role: 'control_plane' | 'worker') => ({
  node_id,
  name,
  role,
  install_disk: '/dev/sda',
  workload_disks: [],
})
const cluster = {
  id: 'c1',
  name: 'web',
  status: 'ready',
  talos_version: 'v1.13.9',
  kubernetes_version: '1.36.3',
  endpoint: 'https://10.0.0.1:6443',
  maintenance_window: null,
  datacenter: { id: 'd1', code: 'PL-POZ-1', country_code: 'PL' },
  servers: [
    member(ids.cp1, 'cp-1', 'control_plane'),
    member(ids.cp2, 'cp-2', 'control_plane'),
    { ...member(ids.w1, 'w-1', 'worker'), workload_disks: ['/dev/nvme1n1'] },
  ],
} as unknown as Cluster

const w2 = {
  ...member(id(5), 'w-2', 'worker'),
  workload_disks: ['/dev/nvme1n1'],
} as Cluster['servers'][number]
const plan: ClusterPlan = {
  kind: 'defragment',
  checks: [],
  warnings: [],
  groups: [],
  disks: [],
  losses: [],
  differences: [],
  took_s: null,
  seen: '0'.repeat(64),
}

/** Answers by the name of the call, or functions of what its query asks. */
export const answers: Record<string, unknown> = {}
type Asked = { query?: Readonly<Record<string, unknown>>; body?: { change: ClusterChangeInput } }
type Answering = (query: Readonly<Record<string, unknown>>) => unknown
const planned: ClusterChangeInput[] = []
vi.mock('../../../../api/client.ts', () => ({
  CallError: class extends Error {},
  call: async ({ name }: Operation, { query = {}, body }: Asked) => {
    const answer = answers[name]
    if (name !== 'clusterPlan')
      return typeof answer === 'function'
        ? (answer as Answering)(query)
        : (answer ?? { items: [], total: 0 })
    planned.push(body!.change)
    return plan
  },
}))
vi.mock('../../../../api/session.ts', () => ({
  allowed: () => ({ ok: true }),
  heldScopes: () => null,
}))
vi.mock('../../../../lib/router.ts', () => ({ navigate: async () => undefined }))

/** Shows the form of a kind. `server`: id of the server that the page was opened for. */
export async function show(
  kind: ShownKind,
  server?: string,
  {
    moreWorkers = false,
    ...given
  }: {
    snapshot?: string
    isForced?: boolean
    takeBack?: string
    /** A second worker with a workload disk. */
    moreWorkers?: boolean
  } = {},
): Promise<void> {
  const { kindOf } = await import('../change-kinds.ts')
  const { changeForms } = await import('../change-forms.ts')
  const { queryClient } = await import('../../../../api/query.ts')
  const { label } = kindOf(kind)
  const Form = changeForms[kind]
  render(
    <QueryClientProvider client={queryClient}>
      <Form
        cluster={moreWorkers ? { ...cluster, servers: [...cluster.servers, w2] } : cluster}
        server={server}
        {...{ snapshot: undefined, isForced: false, ...given }}
      />
    </QueryClientProvider>,
  )
  // On a busy machine it takes seconds to load the code of the form.
  await screen.findByText(label, {}, { timeout: 20_000 })
}

/** Asks for the plan by keyboard: Enter on the button that shows it. */
async function askPlan(): Promise<void> {
  ;(await screen.findByRole('button', { name: /^(Show the plan|Plan again)$/ })).focus()
  await userEvent.keyboard('{Enter}')
}

/** Asks for the plan. Resolves to the change whose plan was asked for. */
export async function plannedChange(): Promise<ClusterChangeInput> {
  const before = planned.length
  await askPlan()
  return vi.waitUntil(() => planned.at(before), { timeout: 5_000 })
}

/**
 * Asks for the plan, and waits for the sentence of a refusal. Resolves to the changes that were
 * sent all the same.
 */
export async function sentDespite(sentence: string): Promise<readonly ClusterChangeInput[]> {
  await askPlan()
  await screen.findByText(sentence, { selector: ':not(option)' })
  return planned
}

/**
 * The command lines of the form. The simulated document has no popovers, so that the form is told
 * that this one has opened.
 */
export async function commands(): Promise<string[]> {
  const [panel] = await screen.findAllByRole('dialog', { name: 'As a command', hidden: true })
  fireEvent(panel!, Object.assign(new Event('toggle'), { newState: 'open' }))
  await within(panel!).findByText(/An access token goes into/)
  return [...panel!.querySelectorAll('code')].map((code) => code.textContent)
}
export const withoutCli = [expect.stringMatching(/^curl /)]

/** After each test. */
export async function forget(): Promise<void> {
  cleanup()
  planned.length = 0
  for (const name of Object.keys(answers)) delete answers[name]
  const { queryClient } = await import('../../../../api/query.ts')
  queryClient.clear()
}
