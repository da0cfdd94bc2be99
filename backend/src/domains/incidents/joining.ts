/**
 * Joins open findings to incidents: one for each cause and place. Pure, and linear in the number of
 * findings.
 */
import { type FindingKind, kindsOfFindings } from '#contract/findings/kinds.ts'
import { type Effect, effectOf, isWorse } from '#contract/incidents/effects.ts'
import { slices } from '../../slices.ts'
import type { EndedPart, OpenPart } from '../findings/api.ts'

/** An incident that is open, or ended within the last hour. */
export interface Known {
  readonly id: string
  readonly key: string
  readonly since: Date
  readonly ended_at: Date | null
}

/** The findings of one incident. */
export interface Joined {
  /** The incident that they continue; null if they begin one. */
  readonly incidentId: string | null
  readonly key: string
  /** The finding that is the cause of the others. */
  readonly root: OpenPart
  /** The finding that takes the most. */
  readonly worst: OpenPart
  readonly effect: Effect
  /** The cause first, then as they began. */
  readonly parts: readonly OpenPart[]
}

export interface Joining {
  readonly joined: readonly Joined[]
  /** Open incidents of which no finding is left, each with the one that it turned out to be part of. */
  readonly over: readonly { readonly id: string; readonly into: Joined | null }[]
}

/** How a server is: one follows from the other, and one comes before the other is known. */
const ofServer: ReadonlySet<FindingKind> = new Set([
  'server_failed',
  'server_unreachable',
  'server_etcd_failed',
  'server_not_ready',
  'server_disk_missing',
])

/** Names the cause and the place of a finding that nothing else has caused. */
export const placeOf = ({
  kind,
  object,
  cause,
}: Pick<OpenPart, 'kind' | 'object' | 'cause'>): string =>
  cause !== null ? `${kind} of ${cause}` : `${ofServer.has(kind) ? 'server' : kind} ${object.id}`

const byAge = (a: OpenPart, b: OpenPart): number =>
  a.since.getTime() - b.since.getTime() || (a.id < b.id ? -1 : 1)
const rankOf = ({ kind }: OpenPart): number => kindsOfFindings.indexOf(kind)

/** Sets of numbers that are joined pair by pair (union by size, paths halved). */
function sets(n: number) {
  const above = Array.from({ length: n }, (_, i) => i)
  const sizes = Array.from({ length: n }, () => 1)
  const of = (i: number): number => {
    while (above[i] !== i) {
      above[i] = above[above[i]!]!
      i = above[i]!
    }
    return i
  }
  const join = (a: number, b: number): void => {
    let [big, small] = [of(a), of(b)]
    if (big === small) return
    if (sizes[big]! < sizes[small]!) [big, small] = [small, big]
    above[small] = big
    sizes[big]! += sizes[small]!
  }
  return { of, join }
}

function joinedOf(all: readonly OpenPart[]): Omit<Joined, 'incidentId'> {
  const ids = new Set(all.map(({ id }) => id))
  const parts = all.toSorted(byAge)
  // Of several that have caused nothing of each other, such as control planes, the first.
  const root = parts.find(({ causes }) => !causes.some((id) => ids.has(id))) ?? parts[0]!
  let [worst, effect] = [root, effectOf(root)]
  for (const one of parts) {
    const other = effectOf(one)
    if (
      isWorse(other, effect) ||
      (other === effect && worst !== root && rankOf(one) < rankOf(worst))
    )
      [worst, effect] = [one, other]
  }
  return {
    key: placeOf(root),
    root,
    worst,
    effect,
    parts: [root, ...parts.filter((one) => one !== root)],
  }
}

/**
 * Joins findings with one cause, and finds the incident that they continue. An incident keeps its id
 * as long as one of its findings is open, and for the hour in which it may begin again.
 */
export async function joining(
  open: readonly OpenPart[],
  ended: readonly EndedPart[],
  known: readonly Known[],
): Promise<Joining> {
  const slice = slices()
  const indexOf = new Map(open.map(({ id }, i) => [id, i]))
  const places = new Map<string, number>()
  const joined = sets(open.length)
  for (const [i, part] of open.entries()) {
    if (slice.isOver()) await slice.next()
    for (const id of part.causes) {
      const cause = indexOf.get(id)
      if (cause !== undefined) joined.join(i, cause)
    }
    const place = placeOf(part)
    const other = places.get(place)
    if (other === undefined) places.set(place, i)
    else joined.join(i, other)
  }
  const groups: Omit<Joined, 'incidentId'>[] = []
  for (const parts of Map.groupBy(open, (_, i) => joined.of(i)).values()) {
    if (slice.isOver()) await slice.next()
    groups.push(joinedOf(parts))
  }
  groups.sort((a, b) => byAge(a.root, b.root))

  const byId = new Map(known.map((one) => [one.id, one]))
  const byKey = new Map<string, Known>()
  for (const one of known) {
    const other = byKey.get(one.key)
    if (other === undefined || isRather(one, other)) byKey.set(one.key, one)
  }
  const taken = new Map<string, number>()
  const chosen: (string | null)[] = groups.map(() => null)
  const take = (i: number, candidates: readonly (Known | undefined)[]): void => {
    const free = candidates.find((one) => one !== undefined && !taken.has(one.id))
    if (free === undefined) return
    chosen[i] = free.id
    taken.set(free.id, i)
  }
  // What has begun at a place stays there, before what has only joined it is asked.
  for (const [i, { key, parts }] of groups.entries()) {
    if (slice.isOver()) await slice.next()
    take(i, [byKey.get(key), ...parts.map((one) => byKey.get(placeOf(one)))])
  }
  for (const [i, { parts }] of groups.entries()) {
    if (slice.isOver()) await slice.next()
    if (chosen[i] === null)
      take(
        i,
        parts.map(({ incidentId }) => byId.get(incidentId ?? '')),
      )
  }
  const result = groups.map((group, i): Joined => ({ ...group, incidentId: chosen[i]! }))

  const into = new Map<string, Joined>()
  for (const one of result)
    for (const { incidentId } of one.parts)
      if (incidentId !== null && !into.has(incidentId)) into.set(incidentId, one)
  const bySet = new Map(result.map((one) => [joined.of(indexOf.get(one.root.id)!), one]))
  for (const { incidentId, intoId } of ended) {
    const index = intoId === null ? undefined : indexOf.get(intoId)
    if (index !== undefined && !into.has(incidentId))
      into.set(incidentId, bySet.get(joined.of(index))!)
  }
  return {
    joined: result,
    over: known.flatMap(({ id, ended_at }) =>
      ended_at !== null || taken.has(id) ? [] : [{ id, into: into.get(id) ?? null }],
    ),
  }
}

/** An open incident is continued rather than one that has ended, and the newest of these. */
const isRather = (one: Known, other: Known): boolean =>
  one.ended_at === null
    ? true
    : other.ended_at !== null && one.ended_at.getTime() > other.ended_at.getTime()
