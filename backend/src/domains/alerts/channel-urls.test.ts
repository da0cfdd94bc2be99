/**
 * The URL of a channel, which may contain a token, what a receiver repeats of it, and who reads
 * messages.
 */
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { channelCreate, channelGet, channelList, channelTest } from '#contract/alerts/channels.ts'
import { deliveryGet, deliveryList, deliveryRetry } from '#contract/alerts/deliveries.ts'
import { apiTokenCreate } from '#contract/people/api-tokens.ts'
import { startBackend } from '../../testing/backend.ts'
import { whenFileIsOver } from '../../testing/ending.ts'
import type { Item } from './message.ts'

const receiver = createServer((request, response) => {
  response.writeHead(404).end(`Cannot POST ${request.url}`)
})
await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
whenFileIsOver(() => void receiver.close())
const origin = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`

const backend = await startBackend({ environment: { STEELYARD_ALERT_NETWORKS: '127.0.0.0/8' } })
const admin = await backend.signIn({ role: 'admin' })
const operator = await backend.signIn({ role: 'operator' })
const viewer = await backend.signIn({ role: 'viewer' })

test('only who manages alerts sees the path and query of a URL, which nobody finds by a search, and no answer repeats them', async () => {
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
  expect(await seenBy(operator)).toEqual([url, url])
  expect(await seenBy(viewer)).toEqual([`${origin}/…`, `${origin}/…`])
  for (const one of [operator, viewer]) {
    expect((await one.call(channelList, { query: { q: 'T0-K3N' } })).answer!.total).toBe(0)
    expect((await one.call(channelList, { query: { q: '127.0.0' } })).answer!.total).toBe(1)
  }
  expect((await admin.call(channelTest, { params })).answer).toMatchObject({
    status: 404,
    answer: 'Cannot POST •••',
  })
})

test('a message is read without what the reader may not see, and hidden if nothing is left', async () => {
  const at = new Date(backend.clock.now())
  const made = async (subject: string, items: readonly Item[]) => {
    const content = JSON.stringify({ test: items.length === 0, items, more: 0 })
    const ended = { arrived: true, created_at: at, ended_at: at, expires_at: at }
    return backend.platform.db
      .insertInto('delivery')
      .values({ channel_name: 'on-call', subject, content, ...ended })
      .returning('id')
      .executeTakeFirstOrThrow()
  }
  const of = (kind: 'cluster' | 'server', name: string): Item => ({
    event: 'began',
    id: randomUUID(),
    kind: kind === 'cluster' ? 'cluster_api_down' : 'server_unreachable',
    severity: 'down',
    object: { kind, id: randomUUID(), name },
    cluster: null,
    datacenter: null,
    since: at.toISOString(),
    reason: 'No answer.',
    remedies: [],
    affected: null,
    caused_by: null,
    ended_at: null,
    count: 1,
  })
  const trial = await made('message: test', [])
  await made('message: web', [of('cluster', 'web')])
  const mixed = await made('message: 2 findings', [of('cluster', 'web'), of('server', 'rack-1')])
  const hidden = await made('message: rack-1', [of('server', 'rack-1')])
  const { token } = (
    await admin.call(apiTokenCreate, {
      body: { name: 'few', scopes: ['clusters:read', 'alerts:manage'] },
    })
  ).answer!
  const few = { headers: { authorization: `Bearer ${token}` } }
  const list = { query: { q: 'message:', channel: 'on-call' } }
  const found = await backend.call(deliveryList, list, few)
  expect(found.answer!.items.map((d) => d.subject).toSorted()).toEqual([
    'message: 2 findings',
    'message: test',
    'message: web',
  ])
  expect(found.answer!.total).toBe(3)
  const get = (id: string) => backend.call(deliveryGet, { params: { id } }, few)
  expect([(await get(trial.id)).status, (await get(hidden.id)).status]).toEqual([200, 404])
  const { text } = (await get(mixed.id)).answer!
  expect(text).toContain('Down: web: Kubernetes API down')
  expect(text).not.toContain('rack-1')
  const again = await backend.call(deliveryRetry, { params: { id: hidden.id } }, few)
  expect(again.problem).toMatchObject({ code: 'not_found' })
  expect((await admin.call(deliveryList, list)).answer!.total).toBe(4)
})
