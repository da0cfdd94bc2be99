/** Judges clusters. Pure functions: what is known of a cluster gives its findings. */
import { certificateKinds } from '#contract/clusters/certificates.ts'
import { kindTitles } from '#contract/operations.ts'
import { counted, minuteOf, someOf } from '#contract/words.ts'
import { byVersion } from '#talos/versions.ts'
import { wentBackSentence } from '../../db/position.ts'
import type { ClusterCondition } from '../clusters/api.ts'
import type { Unsupported } from '../images/api.ts'
import type { FailedScheduled, StoppedUpgrade } from '../operations/api.ts'
import { type SnapshotCondition, snapshotTrouble } from '../snapshots/api.ts'
import { clockTime, type Judged, refTo, type Said, sentence } from './judged.ts'
import { failedEtcds, lostDisks, observed } from './judge-observed.ts'

const noSnapshots: SnapshotCondition = { newest_at: null, schedule: null, failure: null }

/** What is known of a cluster from other domains. */
export interface Around {
  readonly snapshot: SnapshotCondition | undefined
  readonly upgrades: readonly StoppedUpgrade[]
  /** A scheduled change that has failed. */
  readonly failed: FailedScheduled | undefined
  /** Ids of servers that belong to clusters whose upgrades stopped. */
  readonly members: ReadonlySet<string>
  readonly unsupported: readonly Unsupported[]
  /** Its subnets, if none has a free address. */
  readonly full: readonly { readonly name: string; readonly cidr: string }[]
  /** The findings of silent servers, by the server's id. */
  readonly silent: ReadonlyMap<string, Judged>
  readonly now: number
}

const problems = {
  api: 'cluster_api_down',
  api_server: 'cluster_api_server_down',
  nodes: 'cluster_nodes_not_ready',
  components: 'cluster_components_down',
  former_member: 'cluster_former_member',
} as const

/**
 * etcd needs more than half of its members. While it has lost them, the Kubernetes API and the nodes
 * fail because of that, and are no findings of their own.
 */
function quorum({ control_planes: all }: ClusterCondition, { silent }: Around): Said | null {
  const lost = all.flatMap((id) => silent.get(id) ?? [])
  if (lost.length === 0 || lost.length * 2 < all.length) return null
  const inOrder = lost.toSorted((a, b) => (a.since?.getTime() ?? 0) - (b.since?.getTime() ?? 0))
  const left = all.length - lost.length
  return {
    kind: 'cluster_quorum_lost',
    // The majority went with this server; later ones don't change it.
    since: inOrder[Math.ceil(all.length / 2) - 1]!.since,
    reason: `${lost.length} of ${counted(all.length, 'control plane')} ${lost.length === 1 ? 'does' : 'do'} not answer. ${left === 0 ? 'The cluster is down' : 'etcd has no majority, so the cluster accepts no change'}`,
    causedBy: refTo(inOrder[0]!),
    joins: inOrder.map(refTo),
  }
}

function watched({ problem, reason }: ClusterCondition): Said | null {
  if (problem === null) return null
  return { kind: problems[problem.kind], since: problem.since, reason: reason ?? 'It is not well' }
}

/** "Certificates expire on 2026-12-01: Kubelet of web-1. Restart the server": a part per advice. */
function certificates({ certificates: all }: ClusterCondition, now: number): Said | null {
  if (all.length === 0) return null
  const verbOf = (endsAt: string) =>
    Date.parse(endsAt) <= now ? 'have expired since' : 'expire on'
  const groups = Map.groupBy(
    all.toSorted((a, b) => a.ends_at.localeCompare(b.ends_at)),
    ({ ends_at, reason }) => `${verbOf(ends_at)} ${reason}`,
  )
  const said = [...groups.values()].map((some) => {
    const { ends_at, reason } = some[0]!
    const names = new Set(
      some.map((c) => `${certificateKinds[c.kind].title}${c.name === null ? '' : ` of ${c.name}`}`),
    )
    return `Certificates ${verbOf(ends_at)} ${ends_at.slice(0, 10)}: ${someOf([...names])}. ${reason}`
  })
  return { kind: 'cluster_certificate_ending', since: null, reason: said.join('. ') }
}

function held({ held: restored }: ClusterCondition): Said | null {
  if (restored === null) return null
  const { restored_at: since, backup_made_at: madeAt, missing } = restored
  const what =
    missing === null
      ? `The database was restored from a backup of ${minuteOf(madeAt)}`
      : wentBackSentence(madeAt, missing)
  return {
    kind: 'cluster_held',
    since,
    reason: `${what}. Nothing is sent to its servers until somebody has checked and resumed it`,
  }
}

function versions({ unsupported }: Around): Said | null {
  if (unsupported.length === 0) return null
  const [first] = unsupported.flatMap(({ since }) => since ?? []).toSorted()
  return {
    kind: 'cluster_version_unsupported',
    since: first === undefined ? null : new Date(first),
    reason: unsupported.map(({ sentence }) => sentence).join(' '),
  }
}

function exhausted({ full }: Around): Said | null {
  if (full.length === 0) return null
  const names = full.map(({ name, cidr }) => `${name} (${cidr})`)
  return {
    kind: 'cluster_pool_exhausted',
    since: null,
    reason: `Every address of ${someOf(names)} is in use, so the next Service gets none`,
  }
}

/**
 * "2 of 3 servers on v1.13.9, stopped 18:01 UTC." Only a failed upgrade that no other change has
 * followed can be retried; one that waits goes on by itself.
 * @param current id of the cluster's newest operation
 */
const stopped = (
  { kind, status, version, reason, ended_at, servers, operation_id }: StoppedUpgrade,
  current: string | null,
): Said => {
  const what = kind === 'clusterUpgradeTalos' ? 'Talos' : 'Kubernetes'
  const why = status !== 'cancelled' && reason !== null ? `. ${reason.replace(/\.$/, '')}` : ''
  const when = `${status === 'waiting' ? 'waits since' : 'stopped'} ${clockTime(ended_at)}`
  const canRetry = status === 'failed' && operation_id === current
  const todo =
    canRetry || status === 'waiting'
      ? ''
      : '. Request the same upgrade again: it goes on from there'
  return {
    kind: 'cluster_upgrade_stopped',
    since: ended_at,
    reason: `${servers.done} of ${counted(servers.of, 'server')} on ${what} ${version ?? 'the new version'}, ${when}${why}${todo}`,
    ...(canRetry && { operationId: operation_id }),
    upgrade: {
      of: kind === 'clusterUpgradeTalos' ? 'talos' : 'kubernetes',
      version,
      sentence: `${servers.done} of ${servers.of} on ${version ?? 'the new version'}, ${when}`,
      operation_id,
    },
  }
}

/**
 * "Change patches, scheduled for the maintenance window, failed 02:14 UTC." Nobody was there to see
 * it. The finding ends with a retry, or with the next change that somebody asks for.
 * @param current id of the cluster's newest operation
 */
const failedAlone = (
  { kind, in_window, starts_at, ended_at, reason, operation_id }: FailedScheduled,
  current: string | null,
): Said => {
  const forWhen = starts_at === null || in_window ? 'the maintenance window' : minuteOf(starts_at)
  const why = reason === null ? '' : `. ${reason.replace(/\.$/, '')}`
  const canRetry = operation_id === current
  return {
    kind: 'cluster_change_failed',
    since: ended_at,
    reason: `${kindTitles[kind]}, scheduled for ${forWhen}, failed ${clockTime(ended_at)}${why}${canRetry ? '' : '. Request the same change again'}`,
    ...(canRetry && { operationId: operation_id }),
  }
}

/** A step of an upgrade may wait so long, in ms: servers are drained and start. */
const patienceMs = 15 * 60_000
const hasStopped =
  ({ now }: Pick<Around, 'now'>) =>
  ({ status, ended_at }: StoppedUpgrade): boolean =>
    status !== 'waiting' || now - ended_at.getTime() > patienceMs

/**
 * Whether a server is left that the upgrade has not reached. One that failed was perhaps removed by
 * force, and the same upgrade would then have nothing to do. If it was replaced, the new one has the
 * version of the cluster, which is the lowest of its servers.
 */
const isHalfWay =
  ({ talos_version, kubernetes_version }: ClusterCondition, { members }: Pick<Around, 'members'>) =>
  ({ kind, version, left }: StoppedUpgrade): boolean =>
    left.length === 0 ||
    left.some((id) => members.has(id)) ||
    (version !== null &&
      byVersion(kind === 'clusterUpgradeTalos' ? talos_version : kubernetes_version, version) < 0)

/** Judges a cluster that is not being deleted. */
export function judgeCluster(cluster: ClusterCondition, around: Around): Judged[] {
  const { status, reason, locked_out: lockedOut, troubles, ready_at } = cluster
  const lost = quorum(cluster, around)
  const main = lost ?? watched(cluster)
  const found: (Said | null)[] = [
    status === 'failed'
      ? { kind: 'cluster_failed', since: null, reason: reason ?? 'It failed' }
      : null,
    lockedOut === null
      ? null
      : { kind: 'cluster_locked_out', since: lockedOut.since, reason: lockedOut.reason },
    main,
    held(cluster),
    ...observed(cluster, around, main),
    troubles.length === 0
      ? null
      : { kind: 'cluster_action_fails', since: null, reason: troubles[0]! },
  ]
  if (ready_at !== null) {
    const [upgrade] = around.upgrades
      .filter(hasStopped(around))
      .filter(isHalfWay(cluster, around))
      .toSorted((a, b) => b.ended_at.getTime() - a.ended_at.getTime())
    found.push(
      snapshotTrouble(around.snapshot ?? noSnapshots, ready_at, around.now),
      certificates(cluster, around.now),
      versions(around),
      upgrade === undefined ? null : stopped(upgrade, cluster.operation_id),
      around.failed === undefined ? null : failedAlone(around.failed, cluster.operation_id),
      exhausted(around),
    )
  }
  const own = found.flatMap((said) =>
    said === null
      ? []
      : [
          {
            ...said,
            reason: sentence(said.reason),
            object: { kind: 'cluster', id: cluster.id, name: cluster.name },
            cluster: { id: cluster.id, name: cluster.name },
            datacenter: cluster.datacenter,
          } satisfies Judged,
        ],
  )
  return [...own, ...failedEtcds(cluster, around), ...lostDisks(cluster)]
}
