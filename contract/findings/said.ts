/**
 * What is said of a cluster and of a server: one word, how bad that is, and one sentence. Lists,
 * pages, the overview, the CLI, the API's field `said` and the metrics all say this. An object of the
 * API that brings its `said` is asked nothing else. Pure.
 */
import type { Cluster, ClusterStatus } from '../clusters/clusters.ts'
import type { ListedServer, Stage } from '../servers/server.ts'
import type { Said, ServersSaid, WorstFinding } from './findings.ts'
import { findingKinds, findingSeverities, kindsOfFindings } from './kinds.ts'

/** Words of a cluster's status. */
const clusterWords: Readonly<Record<ClusterStatus, string>> = {
  pending: 'Pending',
  configuring: 'Configuring',
  installing: 'Installing',
  bootstrapping: 'Bootstrapping',
  ready: 'Ready',
  degraded: 'Degraded',
  failed: 'Failed',
  deleting: 'Deleting',
}

/** The words of a server without a finding that takes their place. */
const serverWords = {
  deleted: 'Deleted',
  maintenance: 'Maintenance',
  ready: 'Ready',
  trial: 'Change on trial',
  not_booted: 'Not booted yet',
} as const

type Found = Pick<WorstFinding, 'kind' | 'severity' | 'reason'>

/**
 * Whether the word of a finding is read instead of the word of the status. One that only needs
 * attention leaves the word: a server that is behind a patch is Ready. A machine that still runs a
 * cluster's configuration is never called Maintenance.
 */
const replacesWord = ({ kind, severity }: Pick<Found, 'kind' | 'severity'>): boolean =>
  severity !== 'attention' || kind === 'server_left_behind'

/** What a finding that takes the place of the status says; null if it only needs attention. */
export const findingSaid = (finding: Found | null | undefined): Said | null =>
  finding && replacesWord(finding)
    ? {
        word: findingKinds[finding.kind].word,
        severity: finding.severity,
        sentence: finding.reason,
      }
    : null

/** Only what the cluster itself does counts: its servers are counted beside it (`serversSaid`). */
export function clusterSaid({
  status,
  reason,
  finding,
  said,
}: Pick<Cluster, 'status' | 'reason' | 'finding' | 'said'>): Said {
  if (said) return said
  const word = clusterWords[status]
  if (status === 'deleting') return { word, severity: null, sentence: reason }
  const found = findingSaid(finding)
  if (found) return found
  const severity = status === 'failed' ? 'down' : status === 'degraded' ? 'degraded' : null
  if (!finding) return { word, severity, sentence: reason }
  const sentence = status === 'ready' ? finding.reason : (reason ?? finding.reason)
  return { word, severity: severity ?? finding.severity, sentence }
}

const stageWords: Readonly<Record<Stage, string | null>> = {
  unknown: null,
  booting: 'booting',
  installing: 'installing',
  maintenance: null,
  running: null,
  rebooting: 'rebooting',
  shutting_down: 'shutting down',
  resetting: 'resetting',
  upgrading: 'upgrading',
  not_booted: null,
}

type Stateful = Pick<
  ListedServer,
  'status' | 'cluster' | 'ineligible' | 'kubernetes' | 'trial' | 'finding' | 'quarantine' | 'said'
> & {
  readonly talos: Pick<ListedServer['talos'], 'stage' | 'reachable' | 'reason'>
  readonly identity: Pick<ListedServer['identity'], 'state'>
}

/** A server's word comes from what is known of itself, never from its cluster. */
export function serverSaid(s: Stateful): Said {
  const { status, finding } = s
  if (s.said) return s.said
  if (status === 'deleted')
    return { word: serverWords.deleted, severity: null, sentence: 'kept for history' }
  const found = findingSaid(finding)
  if (found) return found
  if (s.talos.stage === 'not_booted')
    return {
      word: serverWords.not_booted,
      severity: finding?.severity ?? null,
      sentence: finding?.reason ?? s.quarantine?.reason ?? 'only its BMC knows it',
    }
  const isOnTrial = status === 'ready' && s.trial?.state === 'running'
  return {
    word: isOnTrial ? serverWords.trial : serverWords[status],
    severity: finding?.severity ?? null,
    sentence:
      finding?.reason ??
      (isOnTrial ? s.trial!.reason : null) ??
      stageWords[s.talos.stage] ??
      s.quarantine?.reason ??
      (status === 'ready' ? readyDetail(s) : freeDetail(s)),
  }
}

function readyDetail({ talos, kubernetes }: Stateful): string | null {
  if (talos.reachable === true && talos.reason !== null) return talos.reason
  return kubernetes?.ready === null ? 'Kubernetes does not answer' : null
}

function freeDetail(s: Stateful): string {
  if (s.cluster) return 'reserved'
  if (s.identity.state !== 'confirmed') return 'to be confirmed'
  return s.ineligible === null ? 'free to use' : `not eligible: ${s.ineligible}`
}

const severityRank = ({ severity }: Pick<Said, 'severity'>): number =>
  severity === null ? findingSeverities.length : findingSeverities.indexOf(severity)

type Tally = Pick<Said, 'word' | 'severity'> & { readonly count: number }

/** How often each word is said with each severity, the worst first. */
export function tallied(all: Iterable<Said>): Tally[] {
  const counts = new Map<string, Tally>()
  for (const { word, severity } of all) {
    const key = `${severity} ${word}`
    counts.set(key, { word, severity, count: (counts.get(key)?.count ?? 0) + 1 })
  }
  return [...counts.values()].toSorted(
    (a, b) => severityRank(a) - severityRank(b) || b.count - a.count,
  )
}

/** Counts the servers of a cluster whose finding takes the place of their status, the worst first. */
export function countServers(findings: Iterable<Found | null>): NonNullable<ServersSaid> {
  const counts = new Map<string, ServersSaid[number] & { rank: number }>()
  for (const finding of findings) {
    const said = findingSaid(finding)
    if (said === null || finding === null || said.severity === 'attention') continue
    const rank = kindsOfFindings.indexOf(finding.kind)
    const known = counts.get(said.word)
    counts.set(said.word, {
      word: said.word,
      severity: said.severity!,
      count: (known?.count ?? 0) + 1,
      rank: Math.min(rank, known?.rank ?? rank),
    })
  }
  return [...counts.values()]
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ word, severity, count }) => ({ word, severity, count }))
}
