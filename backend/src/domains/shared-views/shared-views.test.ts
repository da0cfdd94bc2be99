import { expect, test } from 'vitest'
import { auditList } from '#contract/audit.ts'
import {
  mostSharedViews,
  type NewSharedView,
  sharedViewCreate,
  sharedViewGet,
  sharedViewList,
  sharedViewRemove,
  sharedViewTaken,
  sharedViewUpdate,
} from '#contract/people/shared-views.ts'
import { userRemove } from '#contract/users.ts'
import { type SignedIn, startBackend } from '../../testing/backend.ts'

const backend = await startBackend()
const admin = await backend.signIn({ lasts: true })
const operator = await backend.signIn({ role: 'operator', lasts: true })
const viewer = await backend.signIn({ role: 'viewer', lasts: true })

const idle = { status: 'maintenance', sort: '-name' }
const share = (who: SignedIn, name: string, more: Partial<NewSharedView> = {}) =>
  who.call(sharedViewCreate, { body: { list: 'servers', name, search: idle, ...more } })
const shared = async (name: string, who = operator) => {
  const { answer, text } = await share(who, name)
  if (!answer) throw new Error(text)
  return answer
}
const namesOf = async (who: SignedIn, list: string) =>
  (await who.call(sharedViewList, { query: { list } })).answer!.items.map((view) => view.name)

test('a view that an operator shares is read by a viewer, who may not share one', async () => {
  const view = await shared('  Idle servers ')
  expect(view).toMatchObject({
    list: 'servers',
    name: 'Idle servers',
    search: idle,
    author_id: operator.userId,
    author: operator.email,
    version: 1,
  })
  expect(await namesOf(viewer, 'servers')).toContain('Idle servers')
  expect(await namesOf(viewer, 'clusters')).not.toContain('Idle servers')
  expect((await viewer.call(sharedViewGet, { params: { id: view.id } })).answer).toEqual(view)
  expect((await share(viewer, 'Mine')).problem).toMatchObject({ code: 'forbidden' })
})

test('its author and an admin change and delete a shared view, nobody else', async () => {
  const { id } = await shared('Mine')
  const other = await backend.signIn({ role: 'operator' })
  const params = { id }
  const refused = await other.call(sharedViewUpdate, { params, body: { name: 'Yours' } })
  expect(refused.problem).toMatchObject({
    code: 'forbidden',
    error: `Only ${operator.email}, who shared the view, and admins can change it`,
  })
  expect((await other.call(sharedViewRemove, { params })).problem?.code).toBe('forbidden')
  expect(
    (await operator.call(sharedViewUpdate, { params, body: { name: 'Ours' } })).answer,
  ).toMatchObject({ name: 'Ours', search: idle, version: 2 })
  expect(
    (await admin.call(sharedViewUpdate, { params, body: { search: { q: 'web' } } })).answer,
  ).toMatchObject({ name: 'Ours', search: { q: 'web' }, version: 3, author: operator.email })
  expect((await admin.call(sharedViewRemove, { params })).status).toBe(204)
  expect((await viewer.call(sharedViewGet, { params })).problem?.code).toBe('not_found')
  await backend.publish()
  const { answer } = await admin.call(auditList, { query: { target: id } })
  expect(answer!.items.map(({ action, target }) => [action, target?.name])).toEqual([
    ['shared_view.removed', 'Ours'],
    ['shared_view.updated', 'Ours'],
    ['shared_view.updated', 'Ours'],
    ['shared_view.created', 'Mine'],
  ])
})

test('a change of a version that somebody else has replaced is refused and changes nothing', async () => {
  const { id } = await shared('Contested')
  const params = { id }
  const ifMatch = { ifMatch: 1 }
  expect(
    (await operator.call(sharedViewUpdate, { params, body: { name: 'First' } }, ifMatch)).status,
  ).toBe(200)
  expect(
    (await admin.call(sharedViewUpdate, { params, body: { name: 'Second' } }, ifMatch)).problem
      ?.code,
  ).toBe('stale')
  expect((await admin.call(sharedViewRemove, { params }, ifMatch)).problem?.code).toBe('stale')
  expect((await viewer.call(sharedViewGet, { params })).answer).toMatchObject({
    name: 'First',
    version: 2,
  })
})

test('a name is unique in its list, also if two users take it at once', async () => {
  const both = await Promise.all([share(operator, 'Twice'), share(admin, 'Twice')])
  expect(both.map((one) => one.status).toSorted((a, b) => a - b)).toEqual([201, 409])
  expect(both.find((one) => one.problem)!.problem).toMatchObject({
    code: 'name_taken',
    fields: { name: sharedViewTaken },
  })
  const search = { q: 'web' }
  expect((await share(operator, 'Twice', { list: 'clusters', search })).status).toBe(201)
  const { id } = await shared('Once')
  expect(
    (await operator.call(sharedViewUpdate, { params: { id }, body: { name: 'Twice' } })).problem
      ?.code,
  ).toBe('name_taken')
})

test.each([
  ['an unknown list', { list: 'teapots' }, { list: 'There is no list teapots' }],
  [
    'no filter',
    { search: {} },
    { search: 'A view has at least one filter, a search text or an order' },
  ],
  [
    'a filter that the list lacks',
    { search: { colour: 'red' } },
    { search: 'The list servers has no filter colour' },
  ],
  [
    'a grouping that the list lacks',
    { search: { group: 'colour' } },
    {
      search: 'Groups are by cluster, rack, datacenter, finding, or by a label such as label:gen',
    },
  ],
  ['a page', { search: { page: '2' } }, { search: 'The list servers has no filter page' }],
  ['no name', { name: '  ' }, { name: 'Enter a name' }],
  ['an invisible name', { name: 'a\u200bb' }, { name: 'The text contains an invisible character' }],
] as const)('a shared view with %s is refused', async (_what, wrong, fields) => {
  const before = (await namesOf(admin, 'servers')).length
  expect((await share(operator, 'Wrong', wrong)).problem).toMatchObject({ code: 'invalid', fields })
  expect(await namesOf(admin, 'servers')).toHaveLength(before)
})

test('a view keeps what a list is grouped by, if the list has groups', async () => {
  const search = { cluster: 'none', group: 'label:gen' }
  expect((await share(operator, 'By generation', { search })).answer).toMatchObject({ search })
  const subnets = await share(operator, 'Grouped', { list: 'subnets', search: { group: 'rack' } })
  expect(subnets.problem!.error).toBe('The list subnets has no filter group')
})

test('a value that the list refuses is refused with its sentence; a cluster that is gone is not', async () => {
  const search = { label: 'a==b,,' }
  expect((await share(operator, 'Unreadable', { search })).problem!.error).toMatch(
    /^The list servers refuses label: /,
  )
  expect((await share(operator, 'Gone', { search: { cluster: 'long-gone' } })).status).toBe(201)
})

test('a view of a list that a user may not read is neither shown to nor shared by that user', async () => {
  const view = { list: 'users', search: { q: 'ada' } }
  const { answer } = await share(admin, 'Ada', view)
  expect(await namesOf(admin, 'users')).toEqual(['Ada'])
  const { rows } = await backend.platform.pool.query(
    `select event->>'scope' as scope from outbox where event->'data'->'object'->>'id' = $1`,
    [answer!.id],
  )
  expect(rows).toEqual([{ scope: 'users:manage' }])
  expect(await namesOf(operator, 'users')).toEqual([])
  const params = { id: answer!.id }
  expect((await operator.call(sharedViewGet, { params })).problem?.code).toBe('not_found')
  expect((await operator.call(sharedViewRemove, { params })).problem?.code).toBe('not_found')
  expect((await share(operator, 'Ada 2', view)).problem?.code).toBe('forbidden')
})

test('the view of a removed user stays, and only admins change it', async () => {
  const leaving = await backend.signIn({ role: 'operator' })
  const { id } = await shared('Left behind', leaving)
  const removed = await admin.call(userRemove, { params: { id: leaving.userId } })
  expect(removed.status).toBe(204)
  expect((await viewer.call(sharedViewGet, { params: { id } })).answer).toMatchObject({
    author_id: null,
    author: leaving.email,
  })
  const body = { name: 'Inherited' }
  expect((await operator.call(sharedViewUpdate, { params: { id }, body })).problem?.code).toBe(
    'forbidden',
  )
  expect((await admin.call(sharedViewUpdate, { params: { id }, body })).status).toBe(200)
})

test('a list gets no more shared views than it may have, also if several are added at once', async () => {
  const at = new Date()
  await backend.platform.db
    .insertInto('shared_view')
    .values(
      Array.from({ length: mostSharedViews - 2 }, (_, i) => ({
        list: 'subnets',
        name: `View ${i}`,
        search: '{"q":"a"}',
        author: operator.email,
        created_at: at,
        updated_at: at,
      })),
    )
    .execute()
  const made = await Promise.all(
    [operator, admin, operator, admin].map((who, i) =>
      share(who, `One more ${i}`, { list: 'subnets', search: { q: 'b' } }),
    ),
  )
  expect(made.map((one) => one.status).toSorted((a, b) => a - b)).toEqual([201, 201, 409, 409])
  expect(made.find((one) => one.problem)!.problem).toMatchObject({
    code: 'conflict',
    error: `The list has ${mostSharedViews} shared views: delete one that is not used any more first`,
  })
  expect(await namesOf(viewer, 'subnets')).toHaveLength(mostSharedViews)
})
