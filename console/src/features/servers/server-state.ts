/** Texts of a server's status, contact and identity. Its finding is said instead of its status. */
import { findingKinds } from '#contract/findings/kinds.ts'
import { contactStateOf } from '#contract/servers/contact-state.ts'
import type { Eligibility, ListedServer, Stage } from '#contract/servers/servers.ts'
import { findingTones } from '../../ui/feedback/finding-tones.ts'
import type { Tone } from '../../ui/feedback/Status.tsx'
import { serverNow } from '../../lib/time/server-time.ts'

export interface Said {
  tone: Tone
  /** The word of its finding: "Unreachable", or the status if nothing is wrong. */
  word: string
  /** Since when and why, or what the server is doing or can be used for. */
  why: string | null
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
}

type Stateful = Pick<
  ListedServer,
  | 'status'
  | 'cluster'
  | 'talos'
  | 'ineligible'
  | 'identity'
  | 'operation_id'
  | 'kubernetes'
  | 'trial'
  | 'finding'
  | 'quarantine'
>

export function statusOf(s: Stateful): Said {
  const { status, finding, trial } = s
  if (status === 'deleted') return { tone: 'off', word: 'Deleted', why: 'kept for history' }
  if (finding)
    return {
      tone: findingTones[finding.severity],
      word: findingKinds[finding.kind].word,
      why: finding.reason,
    }
  const stage = stageWords[s.talos.stage]
  if (status === 'maintenance' && s.quarantine)
    return { tone: 'warn', word: 'Quarantine', why: stage ?? s.quarantine.reason }
  if (status === 'maintenance')
    return { tone: 'idle', word: 'Maintenance', why: stage ?? maintenance(s) }
  if (trial?.state === 'running')
    return { tone: 'idle', word: 'Change on trial', why: trial.reason }
  return { tone: 'ok', word: 'Ready', why: stage ?? readyWhy(s) }
}

function readyWhy({ talos, kubernetes, quarantine }: Stateful): string | null {
  if (talos.reachable === true && talos.reason !== null) return talos.reason
  if (kubernetes?.ready === null) return 'Kubernetes does not answer'
  return quarantine ? `in quarantine: ${quarantine.reason}` : null
}

function maintenance(s: Stateful): string {
  if (s.cluster) return 'reserved'
  if (s.identity.state !== 'confirmed') return 'to be confirmed'
  return s.ineligible === null ? 'free to use' : `not eligible: ${s.ineligible}`
}

/** Content of the column "Last Talos connection". */
export type Contact =
  | { kind: 'answered' | 'silent'; at: string }
  /** The server doesn't respond because of a running operation. */
  | { kind: 'away'; at: string | null }
  | { kind: 'never'; silent: boolean }

export function contactOf(
  s: Pick<ListedServer, 'status' | 'operation_id' | 'talos'>,
  now = serverNow(),
): Contact {
  const at = s.talos.last_contact_at
  const isSilent = s.talos.reachable === false
  if (s.status !== 'deleted' && contactStateOf(s, now) === 'away') return { kind: 'away', at }
  return at === null
    ? { kind: 'never', silent: isSilent }
    : { kind: isSilent ? 'silent' : 'answered', at }
}

const checkTitles: Readonly<Record<Eligibility['check'], string>> = {
  free: 'In no cluster, and no operation runs on it',
  reachable: 'Answers in maintenance mode',
  identity: 'Hardware confirmed',
  talos_version: 'Runs a supported Talos version',
  installed_version: 'No other Talos version is installed on its disks',
  disks: 'Has a disk to install on',
  memory: 'Has enough memory',
  link: 'An interface has a link',
  management_address: 'Keeps its management address',
  name: 'Has a name',
  quarantine: 'Not in quarantine',
}

/** Title of a check: a sentence that is true if the check passes. */
export const checkTitle = (check: Eligibility['check']): string => checkTitles[check]
