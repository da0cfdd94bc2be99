/**
 * Incidents: what has happened, as people see it. The findings with one cause are the parts of one
 * incident. It has an effect, somebody to whom it is assigned, a note and a story.
 */
import * as z from 'zod/mini'
import { atMost, codeText, lineText, nameText, personText, sentenceText } from '../bounds/fields.ts'
import { LeftOut } from '../bounds/rows.ts'
import {
  type FindingObject,
  findingObjects,
  findingSeverities,
  kindsOfFindings,
  remedyActions,
} from '../findings/kinds.ts'
import { list, listOperation } from '../list.ts'
import { seen } from '../names.ts'
import { operation, type Words } from '../operation.ts'
import { byId, time } from '../page.ts'
import { type Effect, effects, effectsInOrder } from './effects.ts'

const objects = Object.keys(findingObjects) as FindingObject[]
const Named = z.object({ kind: z.enum(objects), id: z.uuid(), name: nameText })

/** Objects that an incident names, and steps of its story. */
export const mostIncidentObjects = 20
export const mostStorySteps = 100

export const StoryStep = z.object({
  at: time,
  text: sentenceText,
  /** Who did it; null for Steelyard and for what happened by itself. */
  by: z.nullable(personText),
})
export type StoryStep = z.infer<typeof StoryStep>

export const Incident = z.object({
  id: z.uuid(),
  /** What has happened, without a full stop: "poz-render-01 refuses writes". */
  title: lineText,
  effect: z.enum(effectsInOrder),
  /** Follows from the effect. */
  severity: z.enum(findingSeverities),
  /** The kind of the finding that is the cause, and what that is about. */
  kind: z.enum(kindsOfFindings),
  object: Named,
  cluster: z.nullable(z.object({ id: z.uuid(), name: nameText })),
  datacenter: z.nullable(z.object({ id: z.uuid(), code: codeText })),
  /** The sentence and the id of that finding. */
  reason: sentenceText,
  finding_id: z.nullable(z.uuid()),
  /** The finding that takes the most, if that is another one and the caller may read it. */
  worst: z.nullable(
    z.object({
      finding_id: z.uuid(),
      kind: z.enum(kindsOfFindings),
      object: Named,
      reason: sentenceText,
    }),
  ),
  since: time,
  ended_at: z.nullable(time),
  /** What it is about, the cause first, as far as the caller may read it; at most 20. */
  objects: atMost(Named, mostIncidentObjects),
  /** Its open findings; of an incident that has ended, those that it had last. */
  parts: z.object({ count: z.int() }),
  assigned: z.nullable(
    z.object({ to: z.object({ id: z.uuid(), name: personText }), by: personText, at: time }),
  ),
  note: z.nullable(sentenceText),
  /** What mends its worst part: the title of the button, what it does, and the call of the API. */
  remedies: z.array(
    z.object({ title: z.string(), action: z.enum(remedyActions), call: z.string() }),
  ),
  /** Only in the response about one incident; a list leaves it out. */
  story: atMost(StoryStep, mostStorySteps),
  /** Names of the fields that are left out. */
  left_out: LeftOut,
})
export type Incident = z.infer<typeof Incident>

const titles = Object.fromEntries(
  effectsInOrder.map((effect) => [effect, effects[effect].title]),
) as Record<Effect, string>

const incidents = list<Incident>()({
  nouns: ['incident', 'incidents'],
  large: { objects: [], remedies: [], story: [] },
  mostPerPage: 500,
  columns: {
    effect: { label: 'Effect', kind: 'word', sort: true, value: (i: Incident) => i.effect },
    severity: { label: 'Severity', kind: 'word', value: (i: Incident) => i.severity },
    title: { label: 'Incident', value: (i: Incident) => i.title },
    reason: { label: 'Why', value: (i: Incident) => i.reason },
    parts: {
      label: 'Findings',
      kind: 'number',
      hidden: true,
      value: (i: Incident) => i.parts.count,
    },
    assigned: { label: 'Assigned', value: (i: Incident) => i.assigned?.to.name ?? null },
    since: { label: 'Since', kind: 'time', sort: true, value: (i: Incident) => i.since },
    ended_at: {
      label: 'Ended',
      kind: 'time',
      sort: true,
      hidden: true,
      value: (i: Incident) => i.ended_at,
    },
    id: { label: 'Id', kind: 'mono', hidden: true, value: (i: Incident) => i.id },
  },
  filters: {
    effect: { label: 'Effect', help: 'Only incidents with this effect', choices: titles },
    severity: {
      label: 'Severity',
      help: 'Only incidents of this severity',
      choices: findingSeverities,
    },
    object: {
      label: 'Of',
      help: 'Only incidents with a finding of the object with this id',
      schema: z.uuid(),
      placeholder: 'ID',
    },
    cluster: {
      label: 'Cluster',
      help: 'Only incidents of this cluster and its servers, by name or id',
      placeholder: 'NAME',
    },
    datacenter: {
      label: 'Datacenter',
      help: 'Only incidents in this datacenter, by code or id',
      placeholder: 'CODE',
    },
    ended: {
      label: 'State',
      help: 'Only incidents that have ended (true), or that are open (false, the default)',
      choices: { true: 'Ended', false: 'Open' },
      placeholder: 'WHETHER',
    },
  },
  order: 'effect',
})

export const incidentList = listOperation(incidents, Incident, {
  name: 'incidentList',
  summary:
    'What has happened, in the order of effect. Lists only incidents of objects that the caller may read, and only open ones unless `ended` asks for the past.',
  path: '/v1/incidents',
  scope: 'signed_in',
})
export const incidentGet = operation('incidentGet', 'GET /v1/incidents/{id}', 'signed_in', {
  summary: 'One incident with its story.',
  params: byId,
  answer: Incident,
})

const IncidentAssignment = z.strictObject({
  /** Null: nobody has it any more. Left out: the caller has it. */
  user_id: z.optional(z.nullable(z.uuid())),
})
export const incidentAssign = operation(
  'incidentAssign',
  'POST /v1/incidents/{id}/assign',
  'signed_in',
  {
    summary:
      'Say who takes care of an open incident, or that nobody does. Nobody is reminded of an assigned incident. Needs the scope that changes its object.',
    params: byId,
    body: IncidentAssignment,
    kept: true,
    answer: Incident,
    errors: ['incident_ended'],
  },
)

export const IncidentChange = z.strictObject({
  /** Null or empty: no note. */
  note: z.nullable(
    z.string().check(z.trim(), z.maxLength(500, 'The note has at most 500 characters'), seen()),
  ),
})
export const incidentUpdate = operation('incidentUpdate', 'PATCH /v1/incidents/{id}', 'signed_in', {
  summary:
    'Change the note of an incident, also of one that has ended. Needs the scope that changes its object.',
  params: byId,
  body: IncidentChange,
  answer: Incident,
})

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    Incident: [
      Incident,
      'What has happened: the findings with one cause, what they take from people, who takes care of it, and its story.',
    ],
    StoryStep: [StoryStep, 'A step of the story of an incident.'],
  },
  fields: {
    effect: 'Only incidents with this effect.',
    'incidentAssign.user_id':
      'Id of the user who takes care of it; null: nobody; left out: the caller.',
    'incidentList.object': 'Only incidents with a finding of the object with this id.',
    'incidentList.cluster': 'Only incidents of this cluster and its servers, by name or id.',
    'incidentList.severity': 'Only incidents of this severity.',
    'incidentList.ended':
      'Only incidents that have ended (`true`), or that are open (`false`, the default).',
  },
  bodies: {
    incidentAssign: { user_id: null },
    incidentUpdate: { note: 'The network team looks at the ports of rack A-07' },
  },
}
