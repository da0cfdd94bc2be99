/** The states of servers and clusters, computed from the entries of the history alone. */
import {
  type ClusterState,
  type HistoryValues,
  kindsOfState,
  type ServerState,
} from '#contract/history/kinds.ts'
import type { Base, Step } from './store.ts'

export interface States {
  readonly servers: ReadonlyMap<string, ServerState>
  readonly clusters: ReadonlyMap<string, ClusterState>
  /** Ids of the findings that are open, by the id of their object. */
  readonly findings: ReadonlyMap<string, ReadonlySet<string>>
}

export type Kept = keyof typeof kindsOfState
const isKept = (kind: string): kind is Kept => kind in kindsOfState
const fieldsOf = {
  server: new Set(Object.keys(kindsOfState.server)),
  cluster: new Set(Object.keys(kindsOfState.cluster)),
}
/** Kinds of entries with several fields of the state, beside those of a change (`kindsOfState`). */
export const wholeKinds = {
  server: ['server_added', 'server_removed', 'restored'],
  cluster: ['cluster_added', 'cluster_removed', 'restored'],
} as const satisfies Record<Kept, readonly string[]>
const kindsOf: Readonly<Record<Kept, ReadonlySet<string>>> = {
  server: new Set([...wholeKinds.server, ...Object.values(kindsOfState.server)]),
  cluster: new Set([...wholeKinds.cluster, ...Object.values(kindsOfState.cluster)]),
}

/** The values of the state that an entry sets. Others may have fields of the same names. */
export function valuesOf({
  kind,
  object_kind,
  after,
}: Pick<Step, 'kind' | 'object_kind' | 'after'>) {
  if (!isKept(object_kind) || !kindsOf[object_kind].has(kind)) return null
  const fields = fieldsOf[object_kind]
  return Object.fromEntries(Object.entries(after).filter(([key]) => fields.has(key)))
}

/** The states of objects after these entries, by id. Removed objects stay, with their last state. */
export function fold(bases: readonly Base[], steps: readonly Step[]): Map<string, Base> {
  const states = new Map(bases.map((base) => [base.object_id, base]))
  for (const step of steps) {
    const { object_kind, object_id } = step
    const values = valuesOf(step)
    if (values === null || !isKept(object_kind)) continue
    const state: HistoryValues = { ...states.get(object_id)?.state, ...values }
    states.set(object_id, { object_kind, object_id, state })
  }
  return states
}

export const isRemoved = ({ state }: Pick<Base, 'state'>): boolean =>
  state['status'] === 'deleted' || state['removed'] === true

/** What was there after these entries, and which findings were open. */
export function statesAfter(bases: readonly Base[], steps: readonly Step[]): States {
  const there = [...fold(bases, steps).values()].filter((base) => !isRemoved(base))
  const of = <S>(kind: Kept): Map<string, S> =>
    new Map(
      there.flatMap(({ object_kind, object_id, state }) =>
        object_kind === kind ? [[object_id, state as S] as const] : [],
      ),
    )
  const findings = new Map<string, Set<string>>()
  for (const { kind, object_id, after } of steps) {
    const id = after['finding_id']
    if (typeof id !== 'string') continue
    const open = findings.get(object_id) ?? new Set()
    if (kind === 'finding_began') open.add(id)
    else open.delete(id)
    findings.set(object_id, open)
  }
  return { servers: of<ServerState>('server'), clusters: of<ClusterState>('cluster'), findings }
}
