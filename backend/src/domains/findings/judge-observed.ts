/** Judges what the etcd, the API servers and the disks of a cluster showed last. Pure functions. */
import { counted, enumerated } from '#contract/words.ts'
import { type ClusterCondition, fillingSaid, type Observed } from '../clusters/api.ts'
import { isGivenUp } from '../control-planes/api.ts'
import type { Around } from './judge-clusters.ts'
import { type Judged, type Said, sentence } from './judged.ts'

/** So many observations in a row make something ill (`clusters/health/observed.ts`). */
const fewestMisses = 2

const named = (all: readonly { readonly name: string }[]): string =>
  enumerated(all.map(({ name }) => name))
const because = (reason: string | null): string =>
  reason === null ? '' : `: ${reason.replace(/\.$/, '')}`

function database({ etcd }: Observed): Said[] {
  const corrupt = etcd.filter((m) => m.alarms.includes('corrupt'))
  const full = etcd.filter((m) => m.alarms.includes('nospace'))
  if (corrupt.length > 0)
    return [
      {
        kind: 'cluster_etcd_corrupt',
        since: null,
        reason: `${named(corrupt)} ${corrupt.length === 1 ? 'has' : 'have'} other data than the other members of etcd (alarm CORRUPT)`,
      },
    ]
  if (full.length > 0)
    return [
      {
        kind: 'cluster_etcd_full',
        since: null,
        reason: `etcd is full and refuses writes (alarm NOSPACE of ${named(full)}). A defragmentation frees unused space and clears the alarm`,
      },
    ]
  const filling = fillingSaid(etcd)
  return filling === null ? [] : [{ kind: 'cluster_etcd_filling', since: null, reason: filling }]
}

/** What is not well on machines that answer: of silent ones, their own findings say it. */
const illOf = <T extends Observed['api_servers'][number]>(
  all: readonly T[],
  { silent }: Pick<Around, 'silent'>,
): T[] =>
  all.filter(
    ({ node_id, ill, misses }) =>
      ill !== null && misses >= fewestMisses && (node_id === null || !silent.has(node_id)),
  )

/**
 * The findings about a cluster from its last observation. `main`: what is known of it otherwise,
 * which may explain them.
 */
export function observed(
  { observed: seen }: ClusterCondition,
  around: Pick<Around, 'silent'>,
  main: Said | null,
): Said[] {
  if (seen === null || main?.kind === 'cluster_quorum_lost') return []
  const found = database(seen)
  const members = illOf(seen.etcd, around)
  // A silent member has its own finding, and is not healthy all the same.
  const gone = seen.etcd.filter(({ node_id }) => node_id !== null && around.silent.has(node_id))
  const healthy = seen.etcd.length - members.length - gone.length
  if (members.length > 0)
    found.push({
      kind: 'cluster_etcd_member_ill',
      since: null,
      reason: `${healthy} of ${counted(seen.etcd.length, 'member')} of etcd ${healthy === 1 ? 'is' : 'are'} healthy. ${named(members)}${because(members[0]!.ill)}${gone.length === 0 ? '' : `. ${named(gone)} ${gone.length === 1 ? 'does' : 'do'} not answer`}`,
    })
  const down = illOf(seen.api_servers, around)
  const isTold = main?.kind === 'cluster_api_down' || main?.kind === 'cluster_api_server_down'
  if (down.length > 0 && !isTold)
    found.push({
      kind: 'cluster_api_server_down',
      since: null,
      reason: `The API server of ${named(down)} is not ready${because(down[0]!.ill)}`,
    })
  return found
}

/** Findings about servers of a cluster whose disks are gone. */
export function lostDisks({ observed: seen, ...cluster }: ClusterCondition): Judged[] {
  const lost = Map.groupBy(
    (seen?.missing_disks ?? []).filter(({ misses }) => misses >= fewestMisses),
    (disk) => disk.node_id,
  )
  return [...lost.values()].map((disks) => ({
    kind: 'server_disk_missing',
    object: { kind: 'server', id: disks[0]!.node_id, name: disks[0]!.name },
    cluster: { id: cluster.id, name: cluster.name },
    datacenter: cluster.datacenter,
    since: null,
    reason: sentence(
      `${disks.map((d) => d.device).join(', ')} of the server ${disks.length === 1 ? 'is' : 'are'} gone: it broke or was taken out`,
    ),
  }))
}

/** Findings about control planes whose etcd Talos doesn't start again. */
export const failedEtcds = (
  { observed: seen, ...cluster }: ClusterCondition,
  around: Pick<Around, 'silent'>,
): Judged[] =>
  illOf(seen?.etcd ?? [], around).flatMap(({ node_id: id, name, ill }) =>
    id === null || ill === null || !isGivenUp(ill)
      ? []
      : [
          {
            kind: 'server_etcd_failed' as const,
            object: { kind: 'server' as const, id, name },
            cluster: { id: cluster.id, name: cluster.name },
            datacenter: cluster.datacenter,
            since: null,
            reason: sentence(ill),
          },
        ],
  )
