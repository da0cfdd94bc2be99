import { expect, test } from 'vitest'
import { type Applied, appliedList, appliedMove } from '#contract/apply/applied.ts'
import { datacenterCreate, datacenterRemove } from '#contract/datacenters.ts'
import { type CallOptions, startBackend } from '../../testing/backend.ts'

const backend = await startBackend()
const admin = await backend.signIn({ role: 'admin' })
const viewer = await backend.signIn({ role: 'viewer' })

/** Creates a datacenter as `steelyard apply` does, with the name of its set. */
const create = (city_code: string, set: string | undefined, options: CallOptions = {}) =>
  admin.call(
    datacenterCreate,
    { body: { country_code: 'PL', city_code, city_name: 'City' } },
    { ...options, ...(set !== undefined && { headers: { 'steelyard-apply': set } }) },
  )
const recorded = async (query: { set?: string } = {}): Promise<Applied[]> =>
  (await admin.call(appliedList, { query })).answer!.items

test('only objects that are created with the header are recorded, and a removal forgets them', async () => {
  const { id } = (await create('POZ', 'rack-a')).answer!
  await create('WAW', undefined)
  expect(await recorded()).toEqual([
    {
      kind: 'datacenter',
      id,
      set: 'rack-a',
      server_id: null,
      created_at: expect.any(String) as string,
    },
  ])
  expect((await admin.call(datacenterRemove, { params: { id } })).status).toBe(204)
  expect(await recorded()).toEqual([])
})

test('a creation that fails records nothing, and a repeated one records once', async () => {
  const [first, second] = [
    await create('KRK', 'rack-b', { idempotencyKey: 'once' }),
    await create('KRK', 'rack-b', { idempotencyKey: 'once' }),
  ]
  expect(second.answer!.id).toBe(first.answer!.id)
  expect((await create('K', 'rack-b')).status).toBe(422)
  expect((await recorded({ set: 'rack-b' })).map((a) => a.id)).toEqual([first.answer!.id])
})

test.each([[''], ['Rack A'], ['x'.repeat(41)], ['../a']])(
  'the name %j of a set is refused, and nothing is created',
  async (set) => {
    const { status, problem } = await create('GDN', set)
    expect([status, problem?.error]).toEqual([400, expect.stringMatching(/^steelyard-apply: /)])
  },
)

test('objects move between sets, and callers move only what their role lets them change', async () => {
  const { id } = (await create('LOD', 'rack-c')).answer!
  const body = { set: 'rack-d', objects: [{ kind: 'datacenter' as const, id }] }
  expect((await viewer.call(appliedMove, { body })).problem).toMatchObject({
    code: 'forbidden',
    error: 'Your role does not include datacenters:write',
  })
  expect((await viewer.call(appliedList, { query: { set: 'rack-c' } })).answer!.items).toHaveLength(
    1,
  )
  const moves = [body, body, { ...body, objects: [{ kind: 'subnet' as const, id }] }]
  const moved = []
  for (const one of moves) moved.push((await admin.call(appliedMove, { body: one })).answer!.moved)
  expect(moved).toEqual([1, 0, 0])
  expect([await recorded({ set: 'rack-c' }), (await recorded({ set: 'rack-d' })).length]).toEqual([
    [],
    1,
  ])
})
