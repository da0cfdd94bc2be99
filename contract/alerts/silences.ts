/** Silences: findings that are not sent for a time, such as during works in a datacenter. */
import * as z from 'zod/mini'
import { nameText, personText, sentenceText } from '../bounds/fields.ts'
import { MaintenanceWindow, windowText } from '../clusters/changes/window.ts'
import { isOpen, nextOpening } from '../clusters/changes/window-times.ts'
import type { Finding } from '../findings/findings.ts'
import { type FindingObject, findingObjects, silencedAlone } from '../findings/kinds.ts'
import { list } from '../list.ts'
import { seen } from '../names.ts'
import { callsOf } from '../object-calls.ts'
import type { Words } from '../operation.ts'
import { changed, time } from '../page.ts'
import { matcherFields, Matchers, matches, matchersText } from './rules.ts'

const objects = Object.keys(findingObjects) as FindingObject[]

/** `active`: it silences now. `waiting`: it will. `ended`: it won't any more. */
export const silenceStates = { active: 'Active', waiting: 'Waiting', ended: 'Ended' }
const states = ['active', 'waiting', 'ended'] as const

export const Silence = z.object({
  id: z.uuid(),
  note: sentenceText,
  ...Matchers,
  /** The object whose findings are silenced; null for every object that the lists match. */
  object: z.nullable(z.object({ kind: z.enum(objects), id: z.uuid(), name: nameText })),
  starts_at: time,
  ends_at: time,
  /** Weekly times, between start and end, in which it silences; null: all the time. */
  repeats: z.nullable(MaintenanceWindow),
  by: personText,
  state: z.enum(states),
  ...changed,
})
export type Silence = z.infer<typeof Silence>

const note = z
  .string()
  .check(
    z.trim(),
    z.minLength(1, 'Say why it is silenced'),
    z.maxLength(500, 'The note has at most 500 characters'),
    seen(),
  )

/** Longest time from the start to the end of a silence, in days. */
const mostDays = 366
/** Why a silence can't last from one time to the other; null if it can. In ms since 1970. */
export const wrongLength = (from: number, to: number): string | null =>
  to <= from
    ? 'The end is before the start'
    : to - from > mostDays * 86_400_000
      ? `A silence lasts at most ${mostDays} days`
      : null

/** Most silences that have not ended. */
export const mostSilences = 1000
export const tooManySilences = `There are ${mostSilences} silences: remove those that are not needed any more first`

export const NewSilence = z
  .strictObject({
    note,
    severities: z._default(matcherFields.severities, []),
    kinds: z._default(matcherFields.kinds, []),
    datacenter_ids: z._default(matcherFields.datacenter_ids, []),
    cluster_ids: z._default(matcherFields.cluster_ids, []),
    object: z.optional(z.strictObject({ kind: z.enum(objects), id: z.uuid() })),
    /** Default: now. */
    starts_at: z.optional(time),
    ends_at: time,
    repeats: z.optional(MaintenanceWindow),
  })
  .check((context) => {
    const { value } = context
    const wrong = (field: string, message: string) =>
      void context.issues.push({ code: 'custom', path: [field], message, input: value })
    const lists = [value.severities, value.kinds, value.datacenter_ids, value.cluster_ids]
    if (value.object === undefined && lists.every((one) => one.length === 0))
      wrong('severities', 'Choose what is silenced; name all severities to silence everything')
    if (value.starts_at === undefined) return
    const why = wrongLength(Date.parse(value.starts_at), Date.parse(value.ends_at))
    if (why !== null) wrong('ends_at', why)
  })
export type NewSilence = z.infer<typeof NewSilence>

/** The row of a silence, as far as its times and matchers go. */
export interface SilenceTerms {
  readonly severities: readonly string[]
  readonly kinds: readonly string[]
  readonly datacenter_ids: readonly string[]
  readonly cluster_ids: readonly string[]
  readonly object: { readonly id: string } | null
  readonly starts_at: string
  readonly ends_at: string
  readonly repeats: MaintenanceWindow | null
}

type SilenceTimes = Pick<SilenceTerms, 'starts_at' | 'ends_at' | 'repeats'>

/** Whether the silence is in force at this time. */
export const isSilent = ({ starts_at, ends_at, repeats }: SilenceTimes, at: Date): boolean =>
  Date.parse(starts_at) <= at.getTime() &&
  at.getTime() < Date.parse(ends_at) &&
  (repeats === null || isOpen(repeats, at))

/** Whether the silence is about the finding. */
export const isAbout = (
  silence: SilenceTerms,
  finding: Pick<Finding, 'severity' | 'kind' | 'cluster' | 'datacenter' | 'object'>,
): boolean =>
  (silence.object === null
    ? !silencedAlone.includes(finding.object.kind)
    : silence.object.id === finding.object.id) && matches(silence, finding)

export const stateOf = (silence: SilenceTimes, at: Date): Silence['state'] =>
  Date.parse(silence.ends_at) <= at.getTime()
    ? 'ended'
    : isSilent(silence, at)
      ? 'active'
      : 'waiting'

/** When a silence that waits begins; null if it doesn't begin any more. */
export function nextStart(silence: SilenceTerms, at: Date): Date | null {
  const from = new Date(Math.max(at.getTime(), Date.parse(silence.starts_at)))
  const next = silence.repeats === null ? from : nextOpening(silence.repeats, from)
  return next.getTime() < Date.parse(silence.ends_at) ? next : null
}

/** `down of web`, or the object and the kinds. */
export const silencedText = (silence: Silence): string =>
  silence.object === null
    ? matchersText(silence)
    : `${silence.object.name}: ${matchersText(silence)}`

const silences = list<Silence>()({
  nouns: ['silence', 'silences'],
  mostPerPage: 100,
  columns: {
    note: { label: 'Why', value: (s: Silence) => s.note },
    what: { label: 'Silenced', value: (s: Silence) => silencedText(s) },
    state: { label: 'State', kind: 'word', value: (s: Silence) => s.state },
    starts_at: { label: 'Starts', kind: 'time', sort: true, value: (s: Silence) => s.starts_at },
    ends_at: { label: 'Ends', kind: 'time', sort: true, value: (s: Silence) => s.ends_at },
    repeats: {
      label: 'Repeats',
      value: (s: Silence) => (s.repeats === null ? null : windowText(s.repeats)),
    },
    by: { label: 'By', value: (s: Silence) => s.by },
    id: { label: 'Id', kind: 'mono', hidden: true, value: (s: Silence) => s.id },
  },
  filters: {
    ended: {
      label: 'Ended',
      help: 'Only silences that have ended (true), or that have not (false)',
      choices: { true: 'Ended', false: 'Not ended' },
      placeholder: 'WHETHER',
    },
  },
  order: '-ends_at',
})

const calls = callsOf(
  'silence',
  '/v1/silences',
  { read: 'clusters:read', write: 'alerts:manage' },
  Silence,
)
export const silenceList = calls.list(
  silences,
  'Silences: findings that are not sent for a time. They are still found and shown.',
)
export const silenceGet = calls.get('One silence.')
export const silenceCreate = calls.create({
  summary:
    'Silence findings for a time. Channels are still notified when a finding ends that was sent before.',
  body: NewSilence,
})
export const silenceRemove = calls.remove('End a silence now.', ['stale'])

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    NewSilence: [NewSilence, 'A silence to add.'],
    Silence: [Silence, 'Findings that are not sent for a time.'],
  },
  fields: {
    'silenceCreate.note': 'Why they are silenced.',
    'silenceCreate.object':
      'The server, cluster, datacenter or channel, or the installation, whose findings are silenced. Findings of channels and of the installation are silenced only so.',
    'silenceCreate.starts_at': 'When it begins; by default now.',
    ends_at: 'When it ends.',
    repeats: 'Weekly times between start and end in which it silences; by default all the time.',
    'silenceList.ended': 'Only silences that have ended (`true`), or that have not (`false`).',
  },
  bodies: {
    silenceCreate: {
      note: 'Works on the power supply of the hall',
      severities: ['down', 'degraded'],
      ends_at: '2027-01-01T06:00:00Z',
    },
  },
}
