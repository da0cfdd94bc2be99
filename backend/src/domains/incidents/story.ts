/** The story of an incident, as sentences. Pure. */
import { findingKinds } from '#contract/findings/kinds.ts'
import { effects, incidentTitle, isWorse } from '#contract/incidents/effects.ts'
import type { StoryStep } from '#contract/incidents/incidents.ts'
import { type Operation, operationTitle } from '#contract/operations.ts'
import { counted } from '#contract/words.ts'
import { lasting } from '../../sentences.ts'
import type { OpenPart } from '../findings/api.ts'
import type { Tried } from '../operations/api.ts'
import type { Joined } from './joining.ts'
import type { IncidentRow, NewStep } from './store.ts'

/** Findings that a judgement adds to an incident, of which each has a step; the rest is counted. */
const mostNamed = 3

type Step = Omit<NewStep, 'incident_id'>
const step = (at: Date, text: string, of: Pick<Step, 'object_kind'> | null = null): Step => ({
  at,
  text,
  by_name: null,
  object_kind: of?.object_kind ?? null,
})

/** What became part of an incident: its title says it, and its sentence why. */
const joins = (part: OpenPart): Step =>
  step(
    part.since,
    `${incidentTitle({ kind: part.kind, name: part.object.name, count: counted(part.servers, 'server'), cause: null })}. ${part.reason}`,
    { object_kind: findingKinds[part.kind].object },
  )

/** What a judgement adds to the story. `before`: the incident as it was stored. */
export function told(
  { root, parts, effect, incidentId }: Joined,
  before: IncidentRow | undefined,
  at: Date,
): Step[] {
  const isNew = before === undefined
  const begins = isNew || before.ended_at !== null
  const others = parts.filter((part) => part !== root && (begins || part.incidentId !== incidentId))
  const named = others.slice(0, mostNamed)
  const rest = others.length - named.length
  const isRootNew = !begins && root.incidentId !== incidentId
  return [
    ...(begins
      ? [step(isNew ? root.since : at, `It began${isNew ? '' : ' again'}. ${root.reason}`)]
      : isRootNew
        ? [joins(root)]
        : []),
    ...named.map(joins),
    ...(rest === 0 ? [] : [step(at, `${counted(rest, 'more finding')} became part of it.`)]),
    ...(!begins && isWorse(effect, before.effect)
      ? [step(at, `It got worse: ${inSentence(effects[effect].title)}.`)]
      : []),
  ]
}

const inSentence = (title: string): string => title.charAt(0).toLowerCase() + title.slice(1)

/** How an incident ended. `into`: the title of the one that it turned out to be part of. */
export const over = (since: Date, at: Date, into: string | null): Step =>
  step(
    at,
    into === null
      ? `It ended after ${lasting(at.getTime() - since.getTime())}.`
      : `It turned out to be part of another incident: ${into}.`,
  )

const outcomes: Readonly<Record<Operation['status'], string>> = {
  pending: 'not begun yet',
  running: 'running',
  waiting: 'waiting',
  cancelling: 'being cancelled',
  cancelled: 'cancelled',
  failed: 'failed',
  done: 'done',
}

/** An operation on one of its objects meanwhile. Whether it was meant to mend it isn't known. */
export const tried = (operation: Tried): StoryStep => ({
  at: operation.created_at,
  text: `${operationTitle(operation)}, ${outcomes[operation.status]}${operation.status === 'failed' && operation.reason !== null ? `. ${operation.reason}` : '.'}`,
  by: operation.created_by,
})
