/** Shared views: filters and order of a list under a name, which everybody sees in its menu. */
import * as z from 'zod/mini'
import { LeftOut } from '../bounds/rows.ts'
import { codeText, nameText, personText } from '../bounds/fields.ts'
import { list } from '../list.ts'
import { seen } from '../names.ts'
import { callsOf } from '../object-calls.ts'
import type { Words } from '../operation.ts'
import { changed } from '../page.ts'
import { no, type Verdict, yes } from '../rule.ts'
import { SavedView } from './preferences.ts'

/** Most shared views of one list. */
export const mostSharedViews = 100

export const SharedView = z.object({
  id: z.uuid(),
  list: codeText,
  name: nameText,
  search: z.record(z.string(), z.string()),
  /** Id of the author; null if the user was removed. */
  author_id: z.nullable(z.uuid()),
  /** Email of the author. */
  author: personText,
  /** Only in a list: names of the fields that it has left out (`bounds/rows.ts`). */
  left_out: LeftOut,
  ...changed,
})
export type SharedView = z.infer<typeof SharedView>

const name = SavedView.shape.name.check(seen())
const search = SavedView.shape.search.check(
  z.refine((given) => Object.keys(given).length > 0, {
    error: 'A view has at least one filter, a search text or an order',
  }),
)

export const NewSharedView = z.strictObject({
  list: z.string().check(z.maxLength(40)),
  name,
  search,
})
export type NewSharedView = z.infer<typeof NewSharedView>

export const SharedViewChange = z.strictObject({
  name: z.optional(name),
  search: z.optional(search),
})
export type SharedViewChange = z.infer<typeof SharedViewChange>

/** The sentence of a name that another shared view of the list has. */
export const sharedViewTaken = 'The list has a shared view with this name already'

/** Whether the list can get one more shared view. */
export const canShareView = (views: number): Verdict =>
  views < mostSharedViews
    ? yes
    : no(`The list has ${mostSharedViews} shared views: delete one that is not used any more first`)

/** Whether a user may change or delete a shared view: its author may, and an admin. */
export const canChangeView = (
  { author_id, author }: Pick<SharedView, 'author_id' | 'author'>,
  by: { readonly userId: string | undefined; readonly scopes: readonly string[] },
): Verdict =>
  by.scopes.includes('users:manage') || (author_id !== null && author_id === by.userId)
    ? yes
    : no(`Only ${author}, who shared the view, and admins can change it`)

const sharedViews = list<SharedView>()({
  nouns: ['shared view', 'shared views'],
  large: { search: {} },
  columns: {
    name: { label: 'Name', sort: true, value: (v: SharedView) => v.name },
    list: { label: 'List', sort: true, value: (v: SharedView) => v.list },
    author: { label: 'Shared by', value: (v: SharedView) => v.author },
    updated_at: {
      label: 'Changed',
      kind: 'time',
      sort: true,
      value: (v: SharedView) => v.updated_at,
    },
  },
  filters: {
    list: { label: 'List', help: 'Only views of this list, such as `servers`' },
  },
  order: 'name',
  perPage: mostSharedViews,
})

const calls = callsOf(
  'sharedView',
  '/v1/views',
  { read: 'signed_in', write: 'servers:write' },
  SharedView,
)
export const sharedViewList = calls.list(
  sharedViews,
  'Views of lists that users share. Views of lists that the caller may not read are left out.',
)
export const sharedViewGet = calls.get('One shared view.')
export const sharedViewCreate = calls.create({
  summary: `Share a view of a list: everybody who may read the list sees it. A list has at most ${mostSharedViews}.`,
  body: NewSharedView,
  errors: ['name_taken', 'conflict'],
})
export const sharedViewUpdate = calls.update({
  summary: 'Rename a shared view, or replace its filters and order. For its author and admins.',
  body: SharedViewChange,
  errors: ['stale', 'name_taken'],
})
export const sharedViewRemove = calls.remove('Delete a shared view. For its author and admins.', [
  'stale',
])

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    NewSharedView: [NewSharedView, 'A view of a list to share.'],
    SharedView: [SharedView, 'Filters and order of a list under a name, for everybody.'],
  },
  fields: {
    'sharedViewCreate.list':
      'The list: its noun in plural, with hyphens for spaces, such as `servers` or `join-tokens`.',
    'sharedViewCreate.name': 'Name of the view, unique in its list.',
    'sharedViewUpdate.name': 'Name of the view, unique in its list.',
    'sharedViewList.list': 'Only views of this list, such as `servers`.',
  },
  bodies: {
    sharedViewCreate: {
      list: 'servers',
      name: 'Idle in Frankfurt',
      search: { datacenter: 'DE-FRA-1', status: 'maintenance', sort: '-name' },
    },
    sharedViewUpdate: { name: 'Free in Frankfurt' },
  },
}
