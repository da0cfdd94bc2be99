/** The steps that restart servers with another Talos image, server by server. */
import { type changeTable, sharedChangeSteps } from '#contract/clusters/changes/table.ts'
import type { MemberRow } from '../../clusters/api.ts'
import type { ChangeView, PlannedGroup } from '../frame.ts'
import type { Looked } from './checks.ts'
import { writesAhead } from './look.ts'
import { passKey } from '../shared/passes.ts'

type Titles = (typeof changeTable)['clusterUpgradeTalos']['steps']

interface Plan {
  readonly titles: Pick<Titles, 'write' | 'upgrade' | 'follow'>
  /** The version that the servers get. */
  readonly version: string
  /** True: the image is written during the next boot. */
  readonly isStaged?: boolean
  /** The version of a pass before the last one, which the keys of its steps name. */
  readonly pass?: string
  /** The version that the server runs before the pass, if it isn't the one that it runs now. */
  readonly runs?: string
}

const step = (prefix: string, m: MemberRow, title: string, pass?: string) => ({
  key: passKey(prefix, m.node_id, pass),
  title,
})

export function groupOf(
  { m, seen }: Looked,
  { titles, version, isStaged = false, pass, runs = seen?.version }: Plan,
): PlannedGroup {
  const { name } = m
  const about = { name, version }
  return {
    node_id: m.node_id,
    name,
    drains: true,
    reboots: 'yes',
    steps: [
      ...(runs !== undefined && writesAhead(runs, isStaged)
        ? [step('write', m, titles.write(about), pass)]
        : []),
      step('drain', m, sharedChangeSteps.drain(m), pass),
      step('upgrade', m, titles.upgrade(about), pass),
      ...backSteps(m, pass),
      step('follow', m, titles.follow(about), pass),
      step('uncordon', m, sharedChangeSteps.uncordon(m), pass),
    ],
  }
}

/** Steps after a restart. */
export const backSteps = (m: MemberRow, pass?: string): PlannedGroup['steps'] => [
  ...(m.role === 'control_plane'
    ? [step('etcd-healthy', m, sharedChangeSteps['etcd-healthy'](), pass)]
    : []),
  step('node-ready', m, sharedChangeSteps['node-ready'](m), pass),
]

/** Warnings about restarts of these servers. */
export function warningsOf(
  { state }: ChangeView,
  order: readonly Looked[],
  canary: string | undefined,
): string[] {
  const first = order.find(({ m }) => m.node_id === canary)
  const controlPlanes = state.members.filter(
    (m) => m.role === 'control_plane' && m.released_at === null,
  )
  return [
    ...(first && order.length > 1
      ? [
          `${first.m.name} is the first. The others follow automatically once it is healthy. If it fails, no other server is changed`,
        ]
      : []),
    ...(controlPlanes.length === 1 && order.some(({ m }) => m.role === 'control_plane')
      ? ['The cluster has one control plane: the Kubernetes API does not answer while it restarts']
      : []),
    ...(controlPlanes.length === 2 && order.some(({ m }) => m.role === 'control_plane')
      ? [
          'The cluster has two control planes: etcd has no majority while one of them restarts, so the Kubernetes API does not answer meanwhile',
        ]
      : []),
    ...(state.members.filter((m) => m.released_at === null).length === 1
      ? ['The cluster has one server: its workload stops while the server restarts']
      : []),
  ]
}
