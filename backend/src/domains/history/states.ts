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

type Kept = keyof typeof kindsOfState
const isKept = (kind: string): kind is Kept => kind in kindsOfState
const fieldsOf = {
  server: new Set(Object.keys(kindsOfState.server)),
  cluster: new Set(Object.keys(kindsOfState.cluster)),
}

/** The state after an entry: its values replace those before it. */
function following(state: HistoryValues, { object_kind, after }: Step): HistoryValues {
  if (!isKept(object_kind)) return state
  const fields = fieldsOf[object_kind]
  return {
    ...state,
    ...Object.fromEntries(Object.entries(after).filter(([key]) => fields.has(key))),
  }
}

/** The states of objects after these entries, by id. Removed objects stay, with their last state. */
export function fold(bases: readonly Base[], steps: readonly Step[]): Map<string, Base> {
  const states = new Map(bases.map((base) => [base.object_id, base]))
  for (const step of steps) {
    const { object_kind, object_id } = step
    if (!isKept(object_kind)) continue
    const state = following(states.get(object_id)?.state ?? {}, step)
    states.set(object_id, { object_kind, object_id, state })
  }
  return states
}

export const isRemoved = ({ state }: Base): boolean =>
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
