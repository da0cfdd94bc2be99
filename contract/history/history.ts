/**
 * The history: what happened to servers, clusters and datacenters, with who and why. It is written
 * in the transaction of each change, and never changed.
 */
import * as z from 'zod/mini'
import { LeftOut, rowsOf } from '../bounds/rows.ts'
import { nameText, personText, sentenceText } from '../bounds/fields.ts'
import { list, meaningsOf, narrowingOf } from '../list.ts'
import { operation, type Words } from '../operation.ts'
import { operationKinds } from '../operations.ts'
import { time, wholeInQuery } from '../page.ts'
import { historyObjects, type HistoryKind, kindsOfHistory } from './kind-names.ts'
import { historyKinds } from './kinds.ts'

/** Who made a change: a person, a program with an API token, or Steelyard itself. */
const actors = ['user', 'token', 'steelyard'] as const

export const HistoryEntry = z.object({
  id: z.int(),
  at: time,
  kind: z.enum(kindsOfHistory),
  object: z.object({ kind: z.enum(historyObjects), id: z.uuid(), name: nameText }),
  /** The cluster that the object was, or belonged to. */
  cluster: z.nullable(z.object({ id: z.uuid(), name: nameText })),
  /** What happened, in words. */
  message: sentenceText,
  by: z.object({ kind: z.enum(actors), name: nameText }),
  /** The operation that it belonged to, and who requested that. `kind`: null if it was removed. */
  operation: z.nullable(
    z.object({
      id: z.uuid(),
      kind: z.nullable(z.enum(operationKinds)),
      by: z.nullable(personText),
    }),
  ),
  /** The changed values before and after. */
  before: z.record(z.string(), z.unknown()),
  after: z.record(z.string(), z.unknown()),
  /** Whether the entry has lines of a log, which `historyGet` returns. */
  has_log: z.boolean(),
  /** Whether the simulated datacenter of the demo made it up. */
  simulated: z.boolean(),
  /** Only in a list: names of the fields that it has left out (`bounds/rows.ts`). */
  left_out: LeftOut,
})
export type HistoryEntry = z.infer<typeof HistoryEntry>

const titles = Object.fromEntries(
  kindsOfHistory.map((kind) => [kind, historyKinds[kind].title]),
) as Record<HistoryKind, string>

/** Longest text of a filter by a name or email. */
const longestName = 254
const id = z.uuid()

/** The columns and filters of the history. It is read by `historyList`, which has cursors. */
export const history = list<HistoryEntry>()({
  nouns: ['history entry', 'history entries'],
  large: { before: {}, after: {} },
  mostPerPage: 500,
  columns: {
    at: { label: 'Time', kind: 'time', sort: true, value: (e: HistoryEntry) => e.at },
    object: { label: 'Of', value: (e: HistoryEntry) => e.object.name },
    message: { label: 'What', value: (e: HistoryEntry) => e.message },
    by: { label: 'Who', value: (e: HistoryEntry) => e.by.name },
  },
  filters: {
    kind: { label: 'Kind', help: 'Only entries of this kind', choices: titles },
    about: {
      label: 'About',
      help: 'Only entries about objects of this kind',
      choices: { server: 'Servers', cluster: 'Clusters', datacenter: 'Datacenters' },
    },
    object: {
      label: 'Of',
      help: 'Only entries about the server, cluster or datacenter with this id',
      schema: id,
      placeholder: 'ID',
    },
    cluster: {
      label: 'Cluster',
      help: 'Only entries about the cluster with this id and its servers',
      schema: id,
      placeholder: 'ID',
    },
    by: {
      label: 'Who',
      help: 'Only changes by this person, by an operation that they requested, or by Steelyard itself',
      schema: z.string().check(z.trim(), z.maxLength(longestName)),
      placeholder: 'NAME',
    },
    since: {
      label: 'Since',
      help: 'Only entries from this time on, in ISO 8601 and UTC',
      schema: time,
      placeholder: 'TIME',
    },
    until: {
      label: 'Until',
      help: 'Only entries before this time, in ISO 8601 and UTC',
      schema: time,
      placeholder: 'TIME',
    },
  },
  order: '-at',
})

/** Where the history begins, and what is known of before. */
const Beginning = z.object({
  at: time,
  /** Whether older entries were removed, because only so many, or of so many days, are kept. */
  is_cut: z.boolean(),
  /** What the server or cluster of the query was before, in words; null: not known. */
  known: z.nullable(z.string()),
})
export type Beginning = z.infer<typeof Beginning>

/** What lies before the beginning, as the end of a timeline. `of`: an object's timeline. */
export function beginningSaid(
  { is_cut, known }: Omit<Beginning, 'at'>,
  of: 'object' | 'all',
): string {
  if (known !== null) return `Before, it was ${known}.`
  const nothing =
    of === 'all'
      ? 'Nothing is known of what happened before Steelyard was set up.'
      : 'Nothing is known of the time before it was added to Steelyard.'
  return is_cut ? 'Older entries were removed.' : nothing
}

/** Position in the history, as `next` of an earlier page names it. */
const cursor = z.string().check(z.regex(/^\d{1,15}-\d{1,15}$/, 'Expected `next` of another page'))
export const historyList = {
  ...operation('historyList', 'GET /v1/history', 'signed_in', {
    summary:
      'What happened to servers, clusters and datacenters, the newest first unless `sort` is `at`. Lists only entries about objects that the caller may read. A page continues where `next` of another ended, also if entries were added meanwhile. A page reads a bounded number of entries: if few of them match, it has fewer than `per_page`, or none, `next` nevertheless, and `read_to`.',
    query: z.strictObject({
      ...narrowingOf(history),
      sort: z.optional(z.enum(['at', '-at'])),
      after: z.optional(cursor),
      per_page: z._default(wholeInQuery(1, history.mostPerPage), history.perPage),
    }),
    answer: z.object({
      items: rowsOf(HistoryEntry, history.large),
      next: z.nullable(z.string()),
      read_to: z.nullable(time),
      now: time,
      beginning: Beginning,
    }),
  }),
  meanings: meaningsOf(history),
}

export const historyGet = operation('historyGet', 'GET /v1/history/{id}', 'signed_in', {
  summary: 'One entry of the history, with the lines of a log that were kept with it.',
  params: z.strictObject({ id: wholeInQuery(1, Number.MAX_SAFE_INTEGER) }),
  answer: z.extend(HistoryEntry, { log: z.nullable(z.array(z.string())) }),
  errors: ['not_found'],
})

export const historyKept = operation('historyKept', 'GET /v1/history-kept', 'signed_in', {
  summary: 'How much of the history is kept, and for how long.',
  answer: z.object({
    entries: z.int(),
    most_entries: z.int(),
    bytes: z.int(),
    days: z.int(),
    oldest_at: z.nullable(time),
  }),
})

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    HistoryEntry: [HistoryEntry, 'Something that happened to a server, cluster or datacenter.'],
  },
  fields: {
    after: 'Continues after this position: `next` of another page.',
    read_to:
      'The page was read to this time, and ends there because it read as many entries as it may: beyond it more may match, which `next` returns. Null if the page is full, or if nothing more matches.',
    'historyGet.id': 'Number of the entry.',
  },
}
