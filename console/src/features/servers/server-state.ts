/** How a server's status, contact and identity are said. Status and contact are two things and never mixed: a server that does not answer keeps its status. */
import type { Eligibility, Server, Stage } from '#contract/servers.ts'
import { moment } from '../../lib/time.ts'
import type { Tone } from '../../ui/Status.tsx'

export interface Said {
  tone: Tone
  word: string
  why: string | null
  /** What is more to say where there is room for it. */
  more: string | null
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

type Stateful = Pick<Server, 'status' | 'cluster' | 'talos' | 'eligibility' | 'identity' | 'operation_id'>

export function statusOf(s: Stateful): Said {
  if (s.status === 'deleted') return { tone: 'off', word: 'Deleted', why: 'kept for history', more: null }
  const stage = stageWords[s.talos.stage]
  if (s.status === 'ready') return { tone: 'ok', word: 'Ready', why: stage ?? (s.talos.reachable === true ? s.talos.reason : null), more: null }
  return { tone: 'idle', word: 'Maintenance', ...maintenance(s, stage) }
}

function maintenance(s: Stateful, stage: string | null): Pick<Said, 'why' | 'more'> {
  const only = (why: string) => ({ why, more: null })
  if (stage !== null) return only(stage)
  if (s.cluster) return only('reserved')
  if (s.identity.state === 'changed')
    return { why: 'in doubt', more: s.identity.seen?.uuid === s.identity.uuid ? 'two machines have one UUID' : 'other hardware answered' }
  if (s.identity.state !== 'confirmed') return only('to be confirmed')
  const failed = s.eligibility.find((e) => !e.ok)
  return failed === undefined ? only('free to use') : { why: 'not eligible', more: failed.reason }
}

/** What the column "Last Talos connection" says; `at` where it is a time that grows older. */
export type Contact =
  | { kind: 'answered'; at: string }
  /** It does not answer, and nobody expects it to: something is being done to it. */
  | { kind: 'away'; at: string | null }
  | { kind: 'silent'; text: string; at: string | null }
  | { kind: 'never' }

/** How long, in ms, a machine may be silent while something is done to it before that is worth an alarm: large servers take minutes to start. */
const patienceMs = 15 * 60_000

export function contactOf({ talos, operation_id }: Pick<Server, 'talos' | 'operation_id'>, now = Date.now()): Contact {
  if (talos.reachable === false) {
    const silentMs = talos.unreachable_since === null ? 0 : now - Date.parse(talos.unreachable_since)
    if (operation_id !== null && silentMs < patienceMs) return { kind: 'away', at: talos.last_contact_at }
    const since = talos.unreachable_since === null ? 'Unreachable' : moment(talos.unreachable_since, now)
    return { kind: 'silent', text: talos.reason === null ? since : `${since}, ${talos.reason}`, at: talos.last_contact_at }
  }
  return talos.last_contact_at === null ? { kind: 'never' } : { kind: 'answered', at: talos.last_contact_at }
}

const checkTitles: Readonly<Record<Eligibility['check'], string>> = {
  free: 'In no cluster, nothing is being done to it',
  reachable: 'Answers in maintenance mode',
  identity: 'Hardware confirmed',
  talos_version: 'Runs a supported Talos version',
  installed_version: 'Nothing else is installed on its disks',
  disks: 'Has a disk to install on',
  memory: 'Has enough memory',
  link: 'An interface has a link',
  management_address: 'Keeps its management address',
  name: 'Has a name of its own',
}

/** What a check makes sure of, said as the sentence that holds. */
export const checkTitle = (check: Eligibility['check']): string => checkTitles[check]
