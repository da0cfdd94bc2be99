/**
 * The URL of a channel, which may contain a token, what a receiver repeats of it, and who reads
 * messages.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { channelCreate, channelGet, channelList, channelTest } from '#contract/alerts/channels.ts'
import { deliveryGet, deliveryList, deliveryRetry } from '#contract/alerts/deliveries.ts'
import { apiTokenCreate } from '#contract/people/api-tokens.ts'
import { startBackend } from '../../testing/backend.ts'
import { whenFileIsOver } from '../../testing/ending.ts'

const receiver = createServer((request, response) => {
  response.writeHead(404).end(`Cannot POST ${request.url}`)
})
await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
whenFileIsOver(() => void receiver.close())
const origin = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`

const backend = await startBackend({ environment: { STEELYARD_ALERT_NETWORKS: '127.0.0.0/8' } })
const admin = await backend.signIn({ role: 'admin' })
const others = [
  await backend.signIn({ role: 'operator' }),
  await backend.signIn({ role: 'viewer' }),
]

test('only admins see the path and query of a URL, which nobody finds by a search, and no answer repeats them', async () => {
  const url = `${origin}/in/T0-K3N?key=word`
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
  const { answer: channel } = await admin.call(channelCreate, {
    body: { name: 'on-call', kind: 'webhook', url, secret },
  })
  const params = { id: channel!.id }
  const seenBy = async ({ call }: typeof admin) => [
    (await call(channelGet, { params })).answer!.url,
    (await call(channelList, {})).answer!.items[0]!.url,
  ]
  expect(await seenBy(admin)).toEqual([url, url])
  for (const one of others) {
    expect(await seenBy(one)).toEqual([`${origin}/…`, `${origin}/…`])
    expect((await one.call(channelList, { query: { q: 'T0-K3N' } })).answer!.total).toBe(0)
    expect((await one.call(channelList, { query: { q: '127.0.0' } })).answer!.total).toBe(1)
  }
  expect((await admin.call(channelTest, { params })).answer).toMatchObject({
    status: 404,
    answer: 'Cannot POST •••',
  })
})

test('a token reads and finds messages only about objects that it may read', async () => {
  const at = new Date(backend.clock.now())
  const made = async (subject: string, items: readonly { object: { kind: string } }[]) => {
    const content = JSON.stringify({ test: items.length === 0, items, more: 0 })
    const ended = { arrived: true, created_at: at, ended_at: at, expires_at: at }
    return backend.platform.db
      .insertInto('delivery')
      .values({ channel_name: 'on-call', subject, content, ...ended })
      .returning('id')
      .executeTakeFirstOrThrow()
  }
  const of = (kind: string) => ({ object: { kind } })
  const trial = await made('message: test', [])
  await made('message: web', [of('cluster')])
  const mixed = await made('message: web and rack-1', [of('cluster'), of('server')])
  const { token } = (
    await admin.call(apiTokenCreate, {
      body: { name: 'few', scopes: ['clusters:read', 'users:manage'] },
    })
  ).answer!
  const few = { headers: { authorization: `Bearer ${token}` } }
  const list = { query: { q: 'message:', channel: 'on-call' } }
  const found = await backend.call(deliveryList, list, few)
  expect(found.answer!.items.map((d) => d.subject).toSorted()).toEqual([
    'message: test',
    'message: web',
  ])
  expect(found.answer!.total).toBe(2)
  const get = async (id: string) =>
    (await backend.call(deliveryGet, { params: { id } }, few)).status
  expect([await get(trial.id), await get(mixed.id)]).toEqual([200, 404])
  const again = await backend.call(deliveryRetry, { params: { id: mixed.id } }, few)
  expect(again.problem).toMatchObject({ code: 'not_found' })
  expect((await admin.call(deliveryList, list)).answer!.total).toBe(3)
})
