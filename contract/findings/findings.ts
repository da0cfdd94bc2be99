/**
 * Findings: what is wrong with servers, clusters, datacenters, channels and Steelyard itself, since
 * when, why, and what mends it. Steelyard judges each object from all that it knows; nothing else computes a state of health.
 */
import * as z from 'zod/mini'
import { LeftOut } from '../bounds/rows.ts'
import {
  atMost,
  codeText,
  nameText,
  personText,
  reasonText,
  sentenceText,
} from '../bounds/fields.ts'
import { withPast } from '../history/past.ts'
import { list, listOperation } from '../list.ts'
import { seen } from '../names.ts'
import { operation, type Words } from '../operation.ts'
import { byId, time } from '../page.ts'
import {
  type FindingKind,
  findingKinds,
  type FindingObject,
  findingObjects,
  findingSeverities,
  kindsOfFindings,
  remedyActions,
} from './kinds.ts'

const objects = Object.keys(findingObjects) as FindingObject[]

export const Finding = z.object({
  id: z.uuid(),
  kind: z.enum(kindsOfFindings),
  severity: z.enum(findingSeverities),
  object: z.object({ kind: z.enum(objects), id: z.uuid(), name: nameText }),
  /** The cluster that the object is or belongs to. */
  cluster: z.nullable(z.object({ id: z.uuid(), name: nameText })),
  datacenter: z.nullable(z.object({ id: z.uuid(), code: codeText })),
  /** When it began; of a finding that comes and goes, when it began last. */
  since: time,
  /** A sentence that says why. */
  reason: sentenceText,
  /** What mends it: the title of the button, what it does or opens, and the call of the API. */
  remedies: z.array(
    z.object({ title: z.string(), action: z.enum(remedyActions), call: z.string() }),
  ),
  acknowledged: z.nullable(z.object({ by: personText, at: time, note: z.nullable(sentenceText) })),
  /** The objects that a finding about several concerns; `findingAffected` lists them. */
  affected: z.nullable(z.object({ kind: z.literal('server'), count: z.int() })),
  /** Id of the finding that is the cause of this one. */
  caused_by: z.nullable(z.uuid()),
  /** Id of the incident that it is part of; null until the next judgement. */
  incident_id: z.nullable(z.uuid()),
  ended_at: z.nullable(time),
  /** How often it has begun; more than 1 for what comes and goes. */
  count: z.int(),
  /** Only in a list: names of the fields that it has left out (`bounds/rows.ts`). */
  left_out: LeftOut,
})
export type Finding = z.infer<typeof Finding>

/** The part of the worst finding that an object in a list shows. */
export const WorstFinding = z.object({
  id: z.uuid(),
  kind: z.enum(kindsOfFindings),
  severity: z.enum(findingSeverities),
  since: time,
  reason: reasonText,
})
export type WorstFinding = z.infer<typeof WorstFinding>

/** What is said of a cluster or a server, everywhere (`said.ts`). */
export const Said = z.object({
  /** "Ready", "Unreachable": of its worst finding if that takes the place of its status. */
  word: codeText,
  /** How bad it is; null if nothing is wrong. */
  severity: z.nullable(z.enum(findingSeverities)),
  sentence: z.nullable(reasonText),
})
export type Said = z.infer<typeof Said>

/** How many servers of a cluster are not well, by the word of each, the worst first. */
export const ServersSaid = atMost(
  z.object({ word: codeText, severity: z.enum(findingSeverities), count: z.int() }),
  20,
)
export type ServersSaid = z.infer<typeof ServersSaid>

/** What a cluster shows of an upgrade that stopped half way. */
export const StoppedUpgrade = z.object({
  of: z.enum(['talos', 'kubernetes']),
  /** The version that all servers should get. */
  version: z.nullable(codeText),
  /** "2 of 3 on v1.13.9, stopped 18:01 UTC" */
  sentence: nameText,
  /** It goes on when this operation is tried again. */
  operation_id: z.uuid(),
})
export type StoppedUpgrade = z.infer<typeof StoppedUpgrade>

/** What findings make a cluster show. */
export const shownOfCluster = {
  /** The word for the cluster, from its own findings and its status. */
  said: z.optional(Said),
  /** Its servers that are not well, which are counted beside its word. */
  servers_said: z.optional(ServersSaid),
  /** The worst of the cluster's open findings; null if there is none. */
  finding: z.optional(z.nullable(WorstFinding)),
  /** The upgrade that stopped half way or waits: the versions of the cluster are those that it has. */
  upgrade: z.optional(z.nullable(StoppedUpgrade)),
} as const

const titles = Object.fromEntries(
  kindsOfFindings.map((kind) => [kind, findingKinds[kind].title]),
) as Record<FindingKind, string>

const findings = list<Finding>()({
  nouns: ['finding', 'findings'],
  large: { remedies: [] },
  mostPerPage: 500,
  columns: {
    severity: { label: 'Severity', kind: 'word', sort: true, value: (f: Finding) => f.severity },
    kind: { label: 'Finding', value: (f: Finding) => findingKinds[f.kind].word },
    object: { label: 'Of', sort: true, value: (f: Finding) => f.object.name },
    reason: { label: 'Why', value: (f: Finding) => f.reason },
    since: { label: 'Since', kind: 'time', sort: true, value: (f: Finding) => f.since },
    ended_at: {
      label: 'Ended',
      kind: 'time',
      sort: true,
      hidden: true,
      value: (f: Finding) => f.ended_at,
    },
    id: { label: 'Id', kind: 'mono', hidden: true, value: (f: Finding) => f.id },
  },
  filters: {
    severity: {
      label: 'Severity',
      help: 'Only findings of this severity',
      choices: findingSeverities,
    },
    kind: { label: 'Finding', help: 'Only findings of this kind', choices: titles },
    object: {
      label: 'Of',
      help: 'Only findings of the server, cluster, datacenter or channel with this id, or of the installation',
      schema: z.uuid(),
      placeholder: 'ID',
    },
    cluster: {
      label: 'Cluster',
      help: 'Only findings of this cluster and its servers, by name or id',
      placeholder: 'NAME',
    },
    incident: {
      label: 'Incident',
      help: 'Only findings that are part of the incident with this id',
      schema: z.uuid(),
      placeholder: 'ID',
    },
    datacenter: {
      label: 'Datacenter',
      help: 'Only findings in this datacenter, by code or id',
      placeholder: 'CODE',
    },
    ended: {
      label: 'State',
      help: 'Only findings that have ended (true), or that are open (false, the default)',
      choices: { true: 'Ended', false: 'Open' },
      placeholder: 'WHETHER',
    },
  },
  order: 'severity',
})

export const findingList = withPast(
  listOperation(findings, Finding, {
    name: 'findingList',
    summary:
      'What is wrong with servers, clusters, datacenters, channels and Steelyard itself, the worst first. Lists only findings of objects that the caller may read, and only open ones unless `ended` asks for the past.',
    path: '/v1/findings',
    scope: 'signed_in',
  }),
)
export const findingGet = operation('findingGet', 'GET /v1/findings/{id}', 'signed_in', {
  summary: 'One finding.',
  params: byId,
  answer: Finding,
})

const Affected = z.object({
  id: z.uuid(),
  name: z.string(),
  since: time,
  /** When the server answered again; null as long as it is silent. */
  ended_at: z.nullable(time),
})
export type Affected = z.infer<typeof Affected>
export const findingAffected = operation(
  'findingAffected',
  'GET /v1/findings/{id}/affected',
  'servers:read',
  {
    summary: 'The servers that a finding about several servers concerns, by name.',
    params: byId,
    answer: z.object({ items: z.array(Affected) }),
  },
)

export const FindingNote = z.strictObject({
  note: z.optional(
    z.string().check(z.trim(), z.maxLength(500, 'The note has at most 500 characters'), seen()),
  ),
})
export const findingAcknowledge = operation(
  'findingAcknowledge',
  'POST /v1/findings/{id}/acknowledge',
  'signed_in',
  {
    summary:
      'Say that somebody takes care of an open finding. Needs the scope that changes its object.',
    params: byId,
    body: FindingNote,
    kept: true,
    answer: Finding,
    errors: ['finding_ended'],
  },
)

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    Affected: [Affected, 'A server that a finding about several servers concerns.'],
    Finding: [
      Finding,
      'What is wrong with a server, a cluster, a datacenter, a channel or Steelyard itself: since when, why, and what mends it.',
    ],
    Said: [
      Said,
      'What is said of a cluster or a server: one word, how bad that is, and one sentence.',
    ],
    StoppedUpgrade: [StoppedUpgrade, 'An upgrade of a cluster that stopped half way.'],
    WorstFinding: [WorstFinding, 'The worst open finding of an object.'],
  },
  fields: {
    note: 'What is being done about it.',
    'findingList.kind': 'Only findings of this kind.',
    'findingList.cluster': 'Only findings of this cluster and its servers, by name or id.',
    'findingList.object':
      'Only findings of the server, cluster, datacenter or channel with this id, or of the installation.',
    incident: 'Only findings that are part of the incident with this id.',
    ended: 'Only findings that have ended (`true`), or that are open (`false`, the default).',
    severity: 'Only findings of this severity.',
  },
  bodies: { findingAcknowledge: { note: 'The switch of rack 3 is being replaced' } },
}
