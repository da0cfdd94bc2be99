/**
 * Texts of a server's status, contact and identity. A problem is said before the status, which an
 * unreachable server keeps.
 */
import {
  contactStateOf,
  standingOf,
  type Trouble,
  troubleOf,
} from '#contract/servers/server-trouble.ts'
import type { Eligibility, ListedServer, Stage } from '#contract/servers/servers.ts'
import { moment } from '../../lib/time/time.ts'
import type { Tone } from '../../ui/feedback/Status.tsx'

export interface Said {
  tone: Tone
  /** The worst that is to be said: "Unreachable", or the status if the server has no problem. */
  word: string
  /** Since when and why, or what the server is doing or can be used for. */
  why: string | null
  /** The status, where `word` is a problem. */
  status: 'Ready' | 'Maintenance' | null
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
  | 'drift'
  | 'pending'
  | 'trial'
  | 'failure'
>

export function statusOf(s: Stateful, now = Date.now()): Said {
  const status = s.status === 'ready' ? 'Ready' : 'Maintenance'
  const stage = stageWords[s.talos.stage]
  const word = standingOf(s, now)
  if (word === 'Deleted') return { tone: 'off', word, why: 'kept for history', status: null }
  const trouble = troubleOf(s, now)
  if (trouble) return { tone: 'danger', word, why: troubleWhy(trouble, now), status }
  if (word === 'Ready') return { tone: 'ok', word, why: stage ?? readyWhy(s), status: null }
  if (word === status || word === 'To confirm')
    return { tone: 'idle', word: status, why: stage ?? maintenance(s), status: null }
  if (word === 'In doubt') return { tone: 'danger', word, why: 'other hardware answered', status }
  const of = s.trial ?? (word === 'Patches wait' ? s.pending : null)
  const tone = word === 'Change on trial' ? 'idle' : 'warn'
  return { tone, word, why: of?.reason ?? stage, status }
}

function readyWhy({ talos, kubernetes }: Stateful): string | null {
  if (talos.reachable === true && talos.reason !== null) return talos.reason
  return kubernetes?.ready === null ? 'Kubernetes does not answer' : null
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
  s: Parameters<typeof troubleOf>[0] & Pick<ListedServer, 'talos'>,
  now = Date.now(),
): Contact {
  const at = s.talos.last_contact_at
  const isSilent = s.talos.reachable === false
  if (s.status !== 'deleted' && contactStateOf(s, now) === 'away') return { kind: 'away', at }
  return at === null
    ? { kind: 'never', silent: isSilent }
    : { kind: isSilent ? 'silent' : 'answered', at }
}

/** Reason of a problem: "since 21:38 · connection refused". */
const troubleWhy = ({ since, reason }: Trouble, now = Date.now()): string =>
  [since === null ? null : `since ${moment(since, now)}`, reason]
    .filter((part) => part !== null)
    .join(' · ')

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
}

/** Title of a check: a sentence that is true if the check passes. */
export const checkTitle = (check: Eligibility['check']): string => checkTitles[check]
