/**
 * The record of what `steelyard apply` has created. `apply --prune` removes only objects of this
 * record, so an object that somebody made in the console or with another tool is never removed. See
 * decision 015.
 */
import * as z from 'zod/mini'
import { codeText, wordText } from '../bounds/fields.ts'
import { eventKinds } from '../events.ts'
import { list, listOperation } from '../list.ts'
import { operation, type Words } from '../operation.ts'
import { time } from '../page.ts'
import type { Scope } from '../permissions.ts'

/**
 * Request header of a call that creates an object: the name of the set to which the object will
 * belong.
 */
export const applyHeader = 'steelyard-apply'

const longestSetName = 40
/** Files that are applied together are a set. Sets don't prune each other's objects. */
export const SetName = z
  .string()
  .check(
    z.trim(),
    z.minLength(1, 'Enter the name of the set'),
    z.maxLength(longestSetName, `The name of a set has at most ${longestSetName} characters`),
    z.regex(
      /^[a-z0-9]+(?:-[a-z0-9]+)*$/,
      'The name of a set can only contain lowercase letters, numbers, and hyphens',
    ),
  )
export const defaultSet = 'default'

/** Kinds of objects in the record, as events name them, with the scope that changes them. */
export const appliedKinds = {
  datacenter: 'datacenters:write',
  subnet: 'network:write',
  join_token: 'servers:write',
  image: 'servers:write',
  patch: 'servers:write',
  shared_patch: 'servers:write',
  cluster: 'clusters:write',
  template: 'clusters:write',
  offer: 'marketplace:write',
} as const satisfies Record<string, Scope>
export type AppliedKind = keyof typeof appliedKinds
const kinds = Object.keys(appliedKinds) as AppliedKind[]
export const isAppliedKind = (kind: string): kind is AppliedKind =>
  Object.hasOwn(appliedKinds, kind)

/** The scope that a reader of the record of an object needs: that of the object. */
export const readScopeOf = (kind: AppliedKind): Scope =>
  kind === 'offer' ? 'marketplace:read' : eventKinds[kind]

export const Applied = z.object({
  kind: z.enum(kinds),
  id: wordText,
  set: codeText,
  /** Id of the server of a patch; otherwise null. */
  server_id: z.nullable(z.uuid()),
  created_at: time,
})
export type Applied = z.infer<typeof Applied>

const applied = list<Applied>()({
  nouns: ['applied object', 'applied objects'],
  columns: {
    kind: { label: 'Kind', kind: 'word', sort: true, value: (a: Applied) => a.kind },
    id: { label: 'Id', kind: 'mono', value: (a: Applied) => a.id },
    set: { label: 'Set', sort: true, value: (a: Applied) => a.set },
    created_at: { label: 'Created', kind: 'time', sort: true, value: (a: Applied) => a.created_at },
  },
  filters: {
    set: { label: 'Set', help: 'Only objects of this set' },
    kind: { label: 'Kind', help: 'Only objects of this kind', choices: kinds },
  },
  order: 'created_at',
  perPage: 1000,
})

export const appliedList = listOperation(applied, Applied, {
  name: 'appliedList',
  summary:
    'Objects that `steelyard apply` has created and that still exist, each with the set of files that it belongs to.',
  path: '/v1/applied',
  scope: 'signed_in',
})

export const mostMoved = 1000
export const appliedMove = operation('appliedMove', 'PUT /v1/applied', 'signed_in', {
  summary:
    'Move objects that `steelyard apply` has created to another set. Objects that it has not created are ignored.',
  body: z.strictObject({
    set: SetName,
    objects: z
      .array(z.strictObject({ kind: z.enum(kinds), id: z.string().check(z.maxLength(80)) }))
      .check(z.minLength(1), z.maxLength(mostMoved)),
  }),
  answer: z.object({ moved: z.int() }),
})

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    Applied: [
      Applied,
      'An object that `steelyard apply` has created, and the set of files that it belongs to.',
    ],
  },
  fields: {
    objects: 'Kinds and ids of the objects.',
    set: 'Name of a set of files that are applied together.',
    'appliedMove.kind': 'Kind of the object.',
    'appliedMove.id': 'Id of the object.',
  },
  bodies: {
    appliedMove: {
      set: 'rack-12',
      objects: [{ kind: 'subnet', id: '00000000-0000-4000-8000-000000000004' }],
    },
  },
}
