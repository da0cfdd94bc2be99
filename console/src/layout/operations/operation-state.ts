/** Texts of an operation's state. */
import { changeTable } from '#contract/clusters/changes/table.ts'
import { hasEnded, type Operation, type OperationStatus } from '#contract/operations.ts'
import { machineCommands } from '#contract/servers/machine-commands.ts'
import { paths } from '../../lib/paths.ts'
import { nowOf } from '../../lib/phases.ts'
import type { Tone } from '../../ui/feedback/Status.tsx'

const said: Readonly<Record<OperationStatus, { tone: Tone; word: string }>> = {
  pending: { tone: 'busy', word: 'Pending' },
  running: { tone: 'busy', word: 'Running' },
  waiting: { tone: 'busy', word: 'Waiting' },
  cancelling: { tone: 'busy', word: 'Cancelling' },
  cancelled: { tone: 'off', word: 'Cancelled' },
  failed: { tone: 'danger', word: 'Failed' },
  done: { tone: 'ok', word: 'Done' },
}

/**
 * State of an operation: while it runs, `why` is the current step, afterwards the reason of the
 * end.
 */
export function operationSaid(o: Operation): { tone: Tone; word: string; why: string | null } {
  if (!hasEnded(o))
    return { ...said[o.status], why: o.status === 'pending' && o.reason === null ? null : nowOf(o) }
  return {
    ...said[o.status],
    why:
      o.reason ??
      (o.status === 'failed' ? (o.steps.find((s) => s.status === 'failed')?.reason ?? null) : null),
  }
}

/**
 * Whether the operation has run at all. A scheduled change that is cancelled or refused before its
 * first step has not.
 */
export const hasBegun = ({
  status,
  started_at,
  steps,
}: Pick<Operation, 'status' | 'started_at' | 'steps'>): boolean =>
  steps.length === 0
    ? started_at !== null || status === 'done'
    : steps.some((s) => s.status !== 'todo' && s.status !== 'skipped')

/** How long the operation took or has taken so far, in ms. `now`: ms since 1970. */
export const tookMs = (
  o: Pick<Operation, 'started_at' | 'created_at' | 'ended_at'>,
  now: number,
): number =>
  (o.ended_at === null ? now : Date.parse(o.ended_at)) - Date.parse(o.started_at ?? o.created_at)

/** Path of the page of an operation's target; null if the target has no page. */
export function targetPage({
  target: { kind, id, name },
}: Pick<Operation, 'target'>): string | null {
  if (kind === 'datacenter')
    return paths.datacenters(id === null ? {} : { q: name.split(' to ').at(-1) })
  if (id === null) return null
  if (kind === 'shared_patch') return paths.sharedPatch(id)
  return kind === 'cluster' ? paths.cluster(id) : paths.server(id)
}

/** What cancelling does, for the question before it. */
export function cancelText({ kind }: Pick<Operation, 'kind'>): string {
  switch (kind) {
    case 'clusterSubnetsAssign':
      return 'Changes that are not complete are undone: the cluster keeps the subnets that it had.'
    case 'clusterCreate':
    case 'clusterServerReplace':
      return 'The operation stops at the next safe point. Servers that got no configuration yet are free at once; the others are reset first, which wipes what was installed.'
    case 'serverAdd':
      return 'Addresses that were not contacted yet are left out. Servers that were added stay in the list.'
    case 'serverReset':
      return 'If the reset was not sent yet, the server stays in its cluster and nothing is wiped. A reset that was sent cannot be undone.'
    case 'clusterRotate':
      return 'The rotation is undone: every server uses the old secrets again. Once a server refuses the old authority, the rotation continues to its end instead.'
    default:
      if (kind in changeTable)
        return 'The work on the current server is finished first, and later servers are not changed.'
      return kind in machineCommands
        ? 'If the machine has received the command already, it carries the command out.'
        : 'The operation stops at the next safe point.'
  }
}
