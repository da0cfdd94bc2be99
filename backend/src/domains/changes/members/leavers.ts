/**
 * Servers that are removed from a running cluster: reasons against the removal, warnings, and which
 * of the servers answer.
 */
import type { PlanCheck } from '#contract/clusters/changes/changes.ts'
import { afterLeaving, endpointHost } from '#contract/clusters/clusters.ts'
import { type Address, parseAddress } from '#contract/network/addresses.ts'
import { lookAt, type MemberRow, type Seen, type State } from '../../clusters/api.ts'
import { factsOf, forNowIf, isWanted, remedy } from '../../control-planes/api.ts'
import { listed } from '../../../sentences.ts'
import { type ChangeView } from '../frame.ts'
import { checked, type Outlook, quorumCheck } from './outlook.ts'

export interface Leaver {
  readonly m: MemberRow
  readonly seen: Seen
}

/**
 * Whether the server can be drained and reset. A server in maintenance has lost its configuration,
 * so there is nothing to reset.
 */
export const answers = ({ seen }: Leaver): boolean => seen.kind === 'secured'

const whyNot = ({ seen }: Leaver): string =>
  seen.kind === 'secured' || seen.kind === 'maintenance' ? '' : `: ${seen.reason}`

/**
 * The members with these ids and their current state. The check fails for an id that is no member
 * or is leaving already.
 */
export async function leaversOf(
  view: ChangeView,
  ids: readonly string[],
): Promise<{ leavers: Leaver[]; check: PlanCheck }> {
  const { state, parts, signal } = view
  const here = new Map(
    state.members.filter((m) => m.released_at === null).map((m) => [m.node_id, m]),
  )
  const known = [...new Set(ids)].flatMap((id) => here.get(id) ?? [])
  const unknown = ids.find((id) => !here.has(id))
  const gone = known.find((m) => m.wanted === 'released' && m.operation_id === null)
  const problem =
    unknown !== undefined
      ? `${state.row.name} has no server ${unknown}`
      : known.length < ids.length
        ? 'A server is named twice'
        : gone
          ? `${gone.name} was removed already; as soon as it answers, it is reset and released`
          : null
  const leavers = await Promise.all(
    known.map(async (m) => ({ m, seen: await lookAt(parts, m, signal) })),
  )
  return {
    leavers,
    check: checked('servers', problem, `${listed(known.map((m) => m.name))} can leave`),
  }
}

/** Servers must answer, unless they are removed by force; then they must not. */
export function answerCheck(
  leavers: readonly Leaver[],
  isForced: (nodeId: string) => boolean,
): PlanCheck {
  const silent = leavers.find(
    (l) =>
      !answers(l) &&
      l.seen.kind !== 'maintenance' &&
      !isForced(l.m.node_id) &&
      l.m.send_intent_at !== null,
  )
  const loud = leavers.find((l) => answers(l) && isForced(l.m.node_id))
  const problem = silent
    ? `${silent.m.name} does not answer${whyNot(silent)}. Bring it back, or remove it by force`
    : loud
      ? `${loud.m.name} answers, so it can be drained and reset: remove it without force`
      : null
  return forNowIf(
    silent !== undefined,
    checked(
      'answers',
      problem,
      'Servers that are removed by force do not answer, and the others do',
      silent ? [remedy('shrink', [silent.m])] : [],
    ),
  )
}

const same = (a: Address | null, b: Address): boolean =>
  a !== null && a.family === b.family && a.value === b.value

/** Check: the API endpoint is not the address of a server that leaves. */
export async function endpointCheck(
  { parts, state }: ChangeView,
  leavers: readonly MemberRow[],
): Promise<PlanCheck> {
  const { row } = state
  const host = parseAddress(endpointHost(row.endpoint))
  const facts = row.virtual_ip || host === null ? [] : await factsOf(parts, parts.db, leavers)
  const holder = facts.find((f) =>
    [f.address, ...f.addresses].some((a) => same(parseAddress(a.split('/', 1)[0]!), host!)),
  )
  return checked(
    'endpoint',
    holder === undefined
      ? null
      : `${row.endpoint}, the API endpoint of ${row.name}, is the address of ${holder.name}: give the cluster another endpoint first`,
    'The API endpoint is not the address of a server that leaves',
    [remedy('endpoint')],
  )
}

/**
 * The control planes among the leavers can be taken out one by one, dead ones first, and at least
 * one stays.
 */
export function controlPlaneCheck(
  state: State,
  leavers: readonly MemberRow[],
  outlook: Outlook,
): { checks: PlanCheck[]; warnings: string[] } {
  const leaving = leavers.filter((m) => m.role === 'control_plane' && m.send_intent_at !== null)
  if (leaving.length === 0) return { checks: [], warnings: [] }
  const staying = state.members.filter(
    (m) =>
      m.role === 'control_plane' && isWanted(m) && !leavers.some((l) => l.node_id === m.node_id),
  )
  if (staying.length === 0)
    return {
      checks: [
        checked(
          'control_planes',
          `No control plane of ${state.row.name} would remain: delete the cluster instead`,
          '',
        ),
      ],
      warnings: [],
    }
  const unwise = afterLeaving(staying.length)
  return {
    checks: [quorumCheck(outlook, leaving, state.row.name)],
    warnings: unwise === null ? [] : [unwise],
  }
}
