/** Texts of a server's status, contact and identity. */
import { contactStateOf } from '#contract/servers/contact-state.ts'
import type { Eligibility, ListedServer } from '#contract/servers/servers.ts'
import { marked, type Marked } from '../../ui/feedback/finding-tones.ts'
import type { Tone } from '../../ui/feedback/tone.ts'
import { capital } from '../../lib/text.ts'
import { serverNow } from '../../lib/time/server-time.ts'

const tones: Readonly<Record<string, Tone>> = {
  Deleted: 'off',
  Maintenance: 'idle',
  'Change on trial': 'idle',
  'Not booted yet': 'off',
}

/** What is said of a server, with the shape that stands before its word. */
export function statusOf({ said, status }: Pick<ListedServer, 'said' | 'status'>): Marked {
  const shown = said ?? { word: capital(status), severity: null, sentence: null }
  return marked(shown, tones[shown.word])
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
