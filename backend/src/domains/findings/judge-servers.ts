/** Judges servers. Pure functions: what is known of the servers gives the findings. */
import { driftSentence } from '#contract/servers/drift.ts'
import { count, counted, someOf } from '#contract/words.ts'
import type { BehindServer } from '../patches/api.ts'
import { failedInstallsSaid, type ServerCondition, type ServerConditions } from '../servers/api.ts'
import { clockTime, type Judged, sentence } from './judged.ts'
import { type Trouble, troubleOf } from './trouble.ts'

/** So many servers of a datacenter that fall silent within this time, in ms, have one cause. */
const fewestOfGroup = 5
const groupMs = 60_000
/**
 * Servers that fall silent so much later, in ms, than those before them have another cause. Servers
 * that fail together are noticed within minutes.
 */
const waveMs = 15 * 60_000

interface Silent {
  readonly server: ServerCondition
  readonly since: Date
  readonly reason: string | null
}

type Place = NonNullable<ServerCondition['datacenter']>

const finding = (
  server: ServerCondition,
  kind: Judged['kind'],
  since: string | null,
  reason: string,
): Judged => ({
  kind,
  object: { kind: 'server', id: server.id, name: server.name },
  cluster: server.cluster,
  datacenter: server.datacenter,
  since: since === null ? null : new Date(since),
  reason: sentence(reason),
})

/** A machine that its cluster has let go without a reset. */
const inUse = (server: ServerCondition, cluster: string, trouble: Trouble | null): Judged =>
  finding(
    server,
    'server_left_behind',
    null,
    `In use by ${cluster} (not in its list any more): it was not reset${trouble?.kind === 'unreachable' ? `, and does not answer${trouble.reason === null ? '' : `: ${trouble.reason}`}` : ''}`,
  )

/** What is wrong with a server that answers; null if it only waits for an operation. */
function judgeAnswering(server: ServerCondition, now: number): Judged | null {
  const { undone, pending, drift_since, doubt, install } = server
  const trouble = troubleOf(server, now)
  if (trouble?.kind === 'failed')
    return finding(server, 'server_failed', trouble.since, trouble.reason ?? 'It failed')
  if (trouble?.kind === 'not_ready')
    return finding(
      server,
      'server_not_ready',
      trouble.since,
      trouble.reason ?? 'Kubernetes says that the node is not Ready',
    )
  if (doubt !== null)
    return finding(
      server,
      'server_in_doubt',
      null,
      doubt === '' ? 'Other hardware answers at its address' : doubt,
    )
  if (install !== null)
    return finding(server, 'server_install_failed', install.since, failedInstallsSaid(install))
  if (undone !== null) return finding(server, 'server_change_undone', undone.since, undone.reason)
  if (server.cluster !== null && pending !== null)
    return finding(server, 'server_patches_wait', pending.since, pending.reason)
  return drift_since === null ? null : finding(server, 'server_drifted', drift_since, driftSentence)
}

/** "its BMC says the power is off since 21:37 UTC"; nothing if the BMC doesn't know. */
function powerSaid({ power }: ServerCondition): string[] {
  if (!power || power.state === 'unknown') return []
  const since = power.since === null ? '' : ` since ${clockTime(new Date(power.since))}`
  return [`its BMC says the power is ${power.state.replace('_', ' ')}${since}`]
}

/** "No answer since 21:38 UTC; connection refused; the other servers of DE-FRA-1 answer." */
function silenceSentence(
  { since, reason, server }: Silent,
  { others, answering }: { others: number; answering: number },
): string {
  const { datacenter, power } = server
  const around =
    datacenter === null || others + answering === 0
      ? []
      : others === 0
        ? [`the other servers of ${datacenter.code} answer`]
        : answering === 0
          ? [`no other server of ${datacenter.code} answers`]
          : [
              `${counted(others, 'other server')} of ${datacenter.code} ${others === 1 ? 'is' : 'are'} silent too`,
            ]
  // What a switched-off machine doesn't answer says nothing more.
  const isOff = power?.state === 'off'
  const why = reason === null || isOff ? [] : [reason.replace(/\.$/, '')]
  return [
    `No answer since ${clockTime(since)}`,
    ...powerSaid(server),
    ...why,
    ...(isOff ? [] : around),
  ].join('; ')
}

/**
 * The servers of a datacenter that fell silent together: each is in a span of a minute in which at
 * least five did. `known`: ids of servers that were found together before, and still are silent.
 */
export function silentTogether(
  silent: readonly Silent[],
  known: ReadonlySet<string>,
): ReadonlySet<string> {
  const together = new Set(silent.flatMap(({ server: { id } }) => (known.has(id) ? [id] : [])))
  const inOrder = silent.toSorted((a, b) => a.since.getTime() - b.since.getTime())
  let from = 0
  for (let to = 0; to < inOrder.length; to++) {
    while (inOrder[to]!.since.getTime() - inOrder[from]!.since.getTime() > groupMs) from++
    if (to - from + 1 < fewestOfGroup) continue
    for (const { server } of inOrder.slice(from, to + 1)) together.add(server.id)
  }
  return together
}

/**
 * The servers of the last wave of at least five, in the order in which they fell silent, or all if
 * no wave is left that large.
 */
function lastWave<T extends { readonly since: Date }>(group: readonly T[]): readonly T[] {
  const inOrder = group.toSorted((a, b) => a.since.getTime() - b.since.getTime())
  const waves: T[][] = []
  for (const [i, one] of inOrder.entries()) {
    const before = inOrder[i - 1]
    if (before && one.since.getTime() - before.since.getTime() <= waveMs) waves.at(-1)!.push(one)
    else waves.push([one])
  }
  return waves.findLast((wave) => wave.length >= fewestOfGroup) ?? inOrder
}

/**
 * Whether so many servers have fallen silent, long after those that an open finding told of, that
 * somebody must be told again. One that is not known is enough, because the servers of a wave are
 * found one after another.
 * @param toldOf since when those were silent
 * @param known ids of servers that the finding has named lately: they come and go
 */
export function isNewWave(
  affected: readonly { readonly id: string; readonly since: Date }[],
  toldOf: Date,
  known: ReadonlySet<string>,
): boolean {
  const wave = lastWave(affected)
  return (
    wave.some(({ id }) => !known.has(id)) && wave[0]!.since.getTime() - toldOf.getTime() > waveMs
  )
}

function judgeGroup(place: Place, group: readonly Silent[], answering: number): Judged {
  const wave = lastWave(group)
  const since = wave[0]!.since
  const clusters = new Set(group.flatMap(({ server }) => server.cluster?.name ?? []))
  const free = group.filter(({ server }) => server.cluster === null).length
  const whose = [
    ...(clusters.size === 0 ? [] : [`of ${counted(clusters.size, 'cluster')}`]),
    ...(free === 0 ? [] : [`${count(free)} in no cluster`]),
  ]
  const rest =
    answering === 0
      ? 'no other server there answers'
      : `${counted(answering, 'other server')} there ${answering === 1 ? 'answers' : 'answer'}`
  const at = clockTime(since)
  const earlier = group.length - wave.length
  const who =
    group.length === 1
      ? `1 server is silent of those that fell silent together at ${at}`
      : `${counted(wave.length, 'server')} fell silent together at ${at}${earlier === 0 ? '' : `, and ${count(earlier)} more ${earlier === 1 ? 'has' : 'have'} been silent for longer`}`
  return {
    kind: 'datacenter_silent',
    object: { kind: 'datacenter', id: place.id, name: place.code },
    cluster: null,
    datacenter: place,
    since,
    reason: sentence(`${who}: ${whose.join(', ')}; ${rest}`),
    affected: group.map((one) => ({
      id: one.server.id,
      name: one.server.name,
      since: one.since,
    })),
  }
}

/**
 * Judges all servers. `together`: ids of servers that an open finding of their datacenter names.
 * @param now in ms since 1970
 */
export function judgeServers(
  { unwell, answering }: Pick<ServerConditions, 'unwell' | 'answering'>,
  together: ReadonlySet<string>,
  now: number,
): Judged[] {
  const silent: Silent[] = []
  const found: Judged[] = []
  for (const server of unwell) {
    const trouble = troubleOf(server, now)
    if (server.left_cluster !== null && trouble?.kind !== 'failed')
      found.push(inUse(server, server.left_cluster, trouble))
    else if (trouble?.kind === 'unreachable' && trouble.since !== null)
      silent.push({ server, since: new Date(trouble.since), reason: trouble.reason })
    else {
      const one = judgeAnswering(server, now)
      if (one !== null) found.push(one)
    }
  }
  for (const [, here] of Map.groupBy(silent, ({ server }) => server.datacenter?.id ?? null)) {
    const place = here[0]!.server.datacenter
    const group = place === null ? new Set<string>() : silentTogether(here, together)
    const answers = place === null ? 0 : (answering.get(place.id) ?? 0)
    if (place !== null && group.size > 0)
      found.push(
        judgeGroup(
          place,
          here.filter(({ server }) => group.has(server.id)),
          answers,
        ),
      )
    for (const one of here.filter(({ server }) => !group.has(server.id)))
      found.push(
        finding(
          one.server,
          'server_unreachable',
          one.since.toISOString(),
          silenceSentence(one, { others: here.length - 1, answering: answers }),
        ),
      )
  }
  return found
}

/** Most shared patches that a reason names. */
const mostPatches = 10

/**
 * Servers that lack what shared patches say, until somebody rolls them out. The cause of each is the
 * patch that most of them lack, so that a patch that was saved is one incident.
 */
export function judgeBehind(behind: readonly BehindServer[]): Judged[] {
  const numbers = new Map<string, number>()
  for (const { lacks, extra } of behind)
    for (const name of [...lacks, ...extra]) numbers.set(name, (numbers.get(name) ?? 0) + 1)
  return behind.map((one) => ({
    ...lackingPatches(one),
    cause: [...one.lacks, ...one.extra].reduce((most, name) =>
      numbers.get(name)! > numbers.get(most)! ? name : most,
    ),
  }))
}

const lackingPatches = ({
  lacks,
  extra,
  cluster,
  datacenter,
  ...server
}: BehindServer): Judged => ({
  kind: 'server_shared_patches_behind',
  object: { kind: 'server', ...server },
  cluster,
  datacenter,
  since: null,
  reason: sentence(
    [
      ...(lacks.length === 0
        ? []
        : [
            `It does not have the newest of the shared ${lacks.length === 1 ? 'patch' : 'patches'} ${someOf(lacks, mostPatches)}`,
          ]),
      ...(extra.length === 0
        ? []
        : [
            `It still has the shared ${extra.length === 1 ? 'patch' : 'patches'} ${someOf(extra, mostPatches)}, which ${extra.length === 1 ? 'is' : 'are'} not for it`,
          ]),
      'Nothing is sent until somebody rolls out',
    ].join('. '),
  ),
})
