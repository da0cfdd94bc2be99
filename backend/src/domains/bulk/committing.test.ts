/** The commitment of the capacity of many servers, which needs no machine. */
import { expect, test } from 'vitest'
import {
  type CapacityCommitment,
  ccList,
  type CcTerms,
  ccUpdate,
} from '#contract/marketplace/ccs.ts'
import { operationCancel, operationGet } from '#contract/operations.ts'
import { apiTokenCreate } from '#contract/people/api-tokens.ts'
import { type BulkPlan, plannedItems, serverBulk, serverBulkPlan } from '#contract/servers/bulk.ts'
import { serverUpdate } from '#contract/servers/servers.ts'
import { startBackend } from '../../testing/backend.ts'
import { addCc, inDays, measuredServer, price } from '../ccs/testing.ts'
import { changedSince } from './turn.ts'

const backend = await startBackend()
const admin = await backend.signIn()
const [start, end] = [inDays(backend, 1), inDays(backend, 30)]
const terms: CcTerms = { price: { ...price, amount: '0.5' }, expires_at: end }
const draftTerms = { price, starts_at: start, expires_at: inDays(backend, 60) }

let made = 0
const newServers = (count: number) =>
  Promise.all(
    Array.from({ length: count }, () => measuredServer(backend, `sold-${String(++made)}`)),
  )
const actOf = (of?: CcTerms) => ({ kind: 'commit' as const, ...(of && { terms: of }) })
const planned = async (
  of: { node_ids: string[] } | { failed_of: string },
  given?: CcTerms,
): Promise<BulkPlan> => {
  const { answer, text } = await admin.call(serverBulkPlan, { body: { act: actOf(given), ...of } })
  if (!answer) throw new Error(text)
  return answer
}
const carriedOut = async (plan: BulkPlan) => {
  const { answer, text } = await admin.call(serverBulk, {
    body: { act: plan.act, items: plannedItems(plan) },
  })
  if (!answer) throw new Error(text)
  await backend.engine.run(60_000)
  return (await admin.call(operationGet, { params: { id: answer.operation.id } })).answer!
}
const commitmentsOf = async (server: string): Promise<CapacityCommitment[]> =>
  (await admin.call(ccList, { query: { server } })).answer!.items
const itemOf = ({ items }: BulkPlan, id: string) => items.find((one) => one.id === id)!

test('the plan has the terms of each server, and refuses those that cannot be committed with the reason', async () => {
  const [plain, drafted, promised] = await newServers(3)
  await addCc(admin, drafted!, draftTerms)
  await addCc(admin, promised!, { ...draftTerms, status: 'waiting_delegation' })
  const node_ids = [plain!, drafted!, promised!]
  const own = await planned({ node_ids })
  expect(own).toMatchObject({ allowed: 1, refused: 2, expected: null })
  expect(itemOf(own, plain!)).toMatchObject({
    reason: 'Enter a price before you commit the capacity',
    commitment: { version: null, price: null, compute_units: 16 },
  })
  expect(itemOf(own, drafted!).commitment).toMatchObject({ ...draftTerms, version: 1 })
  expect(itemOf(own, promised!).reason).toMatch(
    /already has a commitment that has not ended \(waiting for delegation\)/,
  )
  const common = await planned({ node_ids }, terms)
  expect(common.allowed).toBe(2)
  expect(itemOf(common, plain!).commitment).toMatchObject({ ...terms, starts_at: null })
  // The start of the draft stays.
  expect(itemOf(common, drafted!).commitment).toMatchObject({ ...terms, starts_at: start })
})

test('servers are committed as planned, each once; one that has changed since is refused, and tried again', async () => {
  const [plain, noted, drafted, redrafted] = await newServers(4)
  for (const id of [drafted!, redrafted!]) await addCc(admin, id, draftTerms)
  const node_ids = [plain!, noted!, drafted!, redrafted!]
  const plan = await planned({ node_ids }, terms)
  expect(plan).toMatchObject({ allowed: 4, refused: 0 })
  // The server of one changes, and the draft of another one.
  await admin.call(serverUpdate, { params: { id: noted! }, body: { notes: 'Its fan hums' } })
  const [draft] = await commitmentsOf(redrafted!)
  await admin.call(ccUpdate, { params: { id: draft!.id }, body: { starts_at: null } })
  const done = await carriedOut(plan)
  expect(done).toMatchObject({
    status: 'failed',
    target: { name: 'capacity commitment of 4 servers' },
    reason: expect.stringMatching(
      /^2 of 4 servers were not committed\. Commit capacity sold-/,
    ) as string,
  })
  const refused = done.steps.filter((s) => s.status === 'failed')
  expect(new Set(refused.map((s) => s.node_id))).toEqual(new Set([noted, redrafted]))
  expect(refused.map((s) => s.reason)).toEqual([changedSince, changedSince])
  expect(await commitmentsOf(plain!)).toMatchObject([
    { ...terms, status: 'waiting_delegation', starts_at: null, committed_by: done.created_by },
  ])
  expect(await commitmentsOf(drafted!)).toMatchObject([
    { ...terms, status: 'waiting_delegation', starts_at: start, committed_by: done.created_by },
  ])
  expect(await commitmentsOf(noted!)).toEqual([])
  expect(await commitmentsOf(redrafted!)).toMatchObject([{ status: 'not_committed', price }])

  const again = await planned({ failed_of: done.id }, terms)
  expect(new Set(again.items.map((one) => one.id))).toEqual(new Set([noted, redrafted]))
  expect((await carriedOut(again)).status).toBe('done')
  for (const id of node_ids)
    expect(await commitmentsOf(id)).toMatchObject([{ ...terms, status: 'waiting_delegation' }])
})

test('a server that changes after the act was requested, before its turn, is refused', async () => {
  const [first, second] = await newServers(2)
  const plan = await planned({ node_ids: [first!, second!] }, terms)
  const { answer } = await admin.call(serverBulk, {
    body: { act: plan.act, items: plannedItems(plan) },
  })
  await addCc(admin, second!, draftTerms)
  await backend.engine.run(60_000)
  const params = { id: answer!.operation.id }
  const { steps } = (await admin.call(operationGet, { params })).answer!
  expect(steps.map((s) => [s.node_id, s.status, s.reason])).toEqual([
    [first, 'done', null],
    [second, 'failed', changedSince],
  ])
  expect(await commitmentsOf(second!)).toMatchObject([{ status: 'not_committed' }])
})

test.each([
  [
    'an unknown offer',
    { act: actOf({ ...terms, offer_id: `0x${'0'.repeat(64)}` }) },
    { 'act.terms.offer_id': 'There is no such offer' },
  ],
  [
    'terms of another act',
    { act: { kind: 'reboot' as const, terms } },
    { 'act.terms': 'Only the commitment of capacity has terms' },
  ],
])('%s is refused with a sentence', async (_name, body, fields) => {
  const [id] = await newServers(1)
  const { status, problem } = await admin.call(serverBulkPlan, {
    body: { ...body, node_ids: [id!] },
  })
  expect([status, problem!.fields]).toEqual([422, fields])
})

test('an API token that may not write the marketplace commits nothing, and cancels no commit', async () => {
  const { answer: token } = await admin.call(apiTokenCreate, {
    body: { name: 'servers', scopes: ['servers:read', 'servers:write'] },
  })
  const [id] = await newServers(1)
  const options = { headers: { authorization: `Bearer ${token!.token}` } }
  const refused = [403, 'The API token does not include marketplace:write']
  const node_ids = [id!]
  const asked = { body: { act: actOf(terms), node_ids } }
  const { status, problem } = await backend.call(serverBulkPlan, asked, options)
  expect([status, problem!.error]).toEqual(refused)
  const plan = await planned({ node_ids }, terms)
  const begun = await admin.call(serverBulk, {
    body: { act: plan.act, items: plannedItems(plan) },
  })
  const params = { id: begun.answer!.operation.id }
  const cancelled = await backend.call(operationCancel, { params }, options)
  expect([cancelled.status, cancelled.problem!.error]).toEqual(refused)
})
