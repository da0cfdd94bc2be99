/** The moments of the history that charts mark, and how they are grouped. Pure. */
import type { HistoryEntry } from '#contract/history/history.ts'
import type { HistoryKind } from '#contract/history/kind-names.ts'

/** A moment that explains a chart. */
export interface Moment {
  /** In ms since 1970. */
  readonly at: number
  readonly text: string
}

/** Moments that are too near to each other for marks of their own. */
export interface Mark {
  /** Place in the period, from 0 to 1. */
  readonly place: number
  /** In the order of time. */
  readonly moments: readonly Moment[]
}

const marked: ReadonlySet<HistoryKind> = new Set<HistoryKind>([
  'operation_requested',
  'operation_ended',
  'operation_retried',
  'server_boot',
  'server_joined',
  'server_version',
  'cluster_version',
  'finding_began',
  'finding_ended',
  'restored',
])
/** Stages of a server that stops or starts. */
const restarts: ReadonlySet<unknown> = new Set([
  'booting',
  'rebooting',
  'shutting_down',
  'upgrading',
])

/** `subject`: id of the object whose charts they are. Others are named. */
export const momentsOf = (entries: readonly HistoryEntry[], subject: string): Moment[] =>
  entries
    .filter(
      ({ kind, after }) =>
        marked.has(kind) || (kind === 'server_stage' && restarts.has(after['stage'])),
    )
    .map(({ at, object, message, simulated }) => ({
      at: Date.parse(at),
      text: `${object.id === subject ? '' : `${object.name}: `}${message}${simulated ? ' (simulated)' : ''}`,
    }))
    .toSorted((a, b) => a.at - b.at)

/**
 * The marks of a period.
 * @param period start and end in ms since 1970
 * @param slots how many marks have room beside each other
 */
export function marksOf(
  moments: readonly Moment[],
  { from, to }: { readonly from: number; readonly to: number },
  slots: number,
): Mark[] {
  const inside = moments.filter(({ at }) => at >= from && at <= to)
  const slotOf = ({ at }: Moment) =>
    Math.min(slots - 1, Math.floor(((at - from) / Math.max(1, to - from)) * slots))
  return [...Map.groupBy(inside, slotOf)].map(([slot, some]) => ({
    place: (slot + 0.5) / slots,
    moments: some,
  }))
}
