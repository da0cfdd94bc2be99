import { createHmac, randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import {
  channelCreate,
  channelGet,
  channelRemove,
  channelTest,
  channelUpdate,
  type NewChannel,
} from '#contract/alerts/channels.ts'
import { deliveryGet } from '#contract/alerts/deliveries.ts'
import {
  alertRuleCreate,
  alertRuleList,
  alertRuleRemove,
  alertRuleUpdate,
} from '#contract/alerts/rules.ts'
import { silenceCreate, silenceList, silenceRemove } from '#contract/alerts/silences.ts'
import { findingAcknowledge, findingList } from '#contract/findings/findings.ts'
import { startBackend } from '../../testing/backend.ts'
import { buildDatacenter } from '../servers/testing.ts'
import { alertWorld, type Received, secret } from './testing/world.ts'

const {
  backend,
  admin,
  operator,
  viewer,
  received,
  receiver,
  url,
  add,
  silent,
  mend,
  channel,
  deliveriesTo,
  told,
} = await alertWorld()
const now = () => backend.clock.now()

test('a finding is sent once to a signed webhook as a CloudEvent, and its end is told', async () => {
  const { id: channelId, name } = await channel()
  const id = await add('web-1')
  await silent([id])
  await backend.engine.run(60_000)
  expect(told()).toEqual([['began web-1']])
  const [{ headers, body }] = received as [Received]
  expect(headers['content-type']).toBe('application/cloudevents+json')
  const event = JSON.parse(body) as Record<string, unknown>
  expect(event).toMatchObject({ specversion: '1.0', type: 'steelyard.findings' })
  expect(event['id']).toBe(headers['webhook-id'])
  const signed = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`
  expect(headers['webhook-signature']).toBe(
    `v1,${createHmac('sha256', Buffer.alloc(32, 7)).update(signed).digest('base64')}`,
  )
  const [sent] = await deliveriesTo(name)
  expect(sent).toMatchObject({
    id: event['id'],
    state: 'sent',
    attempts: 1,
    subject: 'Degraded: web-1 does not answer',
  })
  const { text, tries } = (await viewer.call(deliveryGet, { params: { id: sent!.id } })).answer!
  expect(text).toContain('web-1')
  expect(tries).toMatchObject([{ number: 1, status: 200, answer: 'thanks', problem: null }])
  expect(await viewer.call(channelGet, { params: { id: channelId } })).toMatchObject({
    answer: { problem: null, verified_at: expect.any(String) as string, has_secret: true },
  })
  await mend([id])
  await backend.engine.run(600_000)
  expect(told()).toEqual([['began web-1'], ['ended web-1']])
  const subjects = (await deliveriesTo(name)).map((one) => one.subject)
  expect(subjects).toContainEqual(
    expect.stringMatching(/^Recovered after \d+ s: web-1 does not answer$/),
  )
})

test('forty servers that fall silent at once are one message', async () => {
  await channel()
  const ids = await Promise.all(Array.from({ length: 40 }, (_, i) => add(`many-${i}`)))
  await silent(ids)
  await backend.engine.run(3_600_000)
  expect(told()).toHaveLength(1)
  expect(told()[0]).toHaveLength(40)
  await mend(ids)
})

test('forty servers of a datacenter that vanish are one finding in one message', async () => {
  await channel()
  const { ids } = await buildDatacenter(backend, 7, 40)
  // Three are silent a few seconds before the others.
  await silent(ids.slice(0, 3))
  backend.clock.advance(5_000)
  await silent(ids.slice(3))
  await backend.engine.run(1_800_000)
  expect(told()).toEqual([['began DE-FRA-7']])
  expect(received[0]!.body).toContain('"count":40')
  await mend(ids)
  await backend.engine.run(600_000)
  expect(told()).toEqual([['began DE-FRA-7'], ['ended DE-FRA-7']])
})

test('servers that fall silent later are told again, and the end of all is told also if they were silenced', async () => {
  await channel()
  const { id, ids } = await buildDatacenter(backend, 8, 15)
  await silent(ids.slice(0, 5))
  await backend.engine.run(20 * 60_000)
  await silent(ids.slice(5, 10))
  await backend.engine.run(20 * 60_000)
  expect(told()).toEqual([['began DE-FRA-8'], ['began DE-FRA-8']])
  const body = {
    note: 'works',
    object: { kind: 'datacenter' as const, id },
    ends_at: new Date(now() + 4 * 3_600_000).toISOString(),
  }
  expect(await operator.call(silenceCreate, { body })).toMatchObject({ status: 201 })
  await silent(ids.slice(10))
  await backend.engine.run(20 * 60_000)
  received.length = 0
  await mend(ids)
  await backend.engine.run(600_000)
  expect(told()).toEqual([['ended DE-FRA-8']])
})

test('a redirect is not followed, secrets are taken out of what the receiver repeats, and another receiver gets none', async () => {
  const { id, name } = await channel({ kind: 'alertmanager', secret: 'the-bearer-token' })
  receiver.answer = (response, { path, headers }) =>
    path === '/elsewhere'
      ? response.end()
      : response
          .writeHead(302, { location: `${url}/elsewhere` })
          .end(`you sent ${String(headers.authorization)}`)
  const { answer: result } = await admin.call(channelTest, { params: { id } })
  expect(result).toMatchObject({ ok: false, status: 302, answer: 'you sent Bearer •••' })
  expect(result!.problem).toContain('redirects to another address, which is not followed')
  expect(received.map((one) => one.path)).toEqual(['/api/v2/alerts'])
  expect(await deliveriesTo(name)).toMatchObject([{ test: true, state: 'failed', attempts: 1 }])
  const move = (body: object) =>
    admin.call(channelUpdate, { params: { id }, body: { url: `${url}/elsewhere`, ...body } })
  expect((await move({})).problem?.fields).toHaveProperty('secret')
  expect((await move({ secret: 'another' })).status).toBe(200)
})

test('an Alertmanager gets alerts that end with the finding, and every open one again before it would forget it', async () => {
  await channel({ kind: 'alertmanager', user: 'steelyard', secret: 'word' })
  const id = await add('am-1')
  await silent([id])
  const began = new Date(backend.clock.now()).toISOString()
  await backend.engine.run(35_000)
  interface Alert {
    labels: Record<string, string>
    startsAt: string
    endsAt: string
  }
  const alerts = () => received.map(({ body }) => (JSON.parse(body) as Alert[])[0]!)
  expect(received[0]!.headers.authorization).toBe(
    `Basic ${Buffer.from('steelyard:word').toString('base64')}`,
  )
  expect(alerts()[0]).toMatchObject({
    labels: { alertname: 'server_unreachable', severity: 'critical', server: 'am-1' },
    startsAt: began,
  })
  received.length = 0
  await backend.engine.run(20 * 60_000)
  const again = alerts()
  expect(again.length).toBeGreaterThan(3)
  for (const one of again)
    expect(Date.parse(one.endsAt)).toBeGreaterThan(Date.parse(began) + 10 * 60_000)
  await mend([id])
  const end = new Date(backend.clock.now()).toISOString()
  await backend.engine.run(600_000)
  expect(alerts().at(-1)!.endsAt).toBe(end)
  received.length = 0
  await backend.engine.run(3_600_000)
  expect(received).toEqual([])
})

test('a silence hides its part, and a silenced finding is sent when it outlasts the silence', async () => {
  await channel()
  const ids = [await add('hidden'), await add('seen')]
  const silence = (
    await operator.call(silenceCreate, {
      body: {
        note: 'works',
        object: { kind: 'server', id: ids[0]! },
        ends_at: new Date(now() + 3_600_000).toISOString(),
      },
    })
  ).answer!
  expect(silence).toMatchObject({ state: 'active', object: { name: 'hidden' }, by: operator.email })
  await silent(ids)
  await backend.engine.run(1_800_000)
  expect(told()).toEqual([['began seen']])
  await backend.engine.run(1_900_000)
  expect(told()).toEqual([['began seen'], ['began hidden']])
  expect((await viewer.call(silenceList, { query: { ended: 'true' } })).answer!.total).toBe(1)
  expect(await operator.call(silenceRemove, { params: { id: silence.id } })).toMatchObject({
    status: 204,
  })
  await mend(ids)
})

test('an acknowledged finding is not sent again, an open one is after four hours', async () => {
  await channel()
  const ids = [await add('mine'), await add('nobodys')]
  await silent(ids)
  await backend.engine.run(60_000)
  const { items } = (await viewer.call(findingList, { query: { object: ids[0]! } })).answer!
  await operator.call(findingAcknowledge, { params: { id: items[0]!.id }, body: {} })
  await backend.engine.run(4 * 3_600_000)
  expect(told().map((one) => one.toSorted())).toEqual([
    ['began mine', 'began nobodys'],
    ['reminder nobodys'],
  ])
  await mend(ids)
})

test('an open finding is sent again and again also if nothing else happens', async () => {
  await channel()
  const id = await add('left-alone')
  await silent([id])
  await backend.engine.run(9 * 3_600_000)
  expect(told()).toEqual([['began left-alone'], ['reminder left-alone'], ['reminder left-alone']])
  await mend([id])
})

test('two rules exist from the start, and a rule is changed, paused and removed', async () => {
  const { items } = (await viewer.call(alertRuleList, {})).answer!
  expect(items).toMatchObject([
    { name: 'daily', severities: ['attention'], digest_at: '07:00', channels: null },
    { name: 'urgent', severities: ['down', 'degraded'], digest_at: null, remind_hours: 4 },
  ])
  const made = (await admin.call(alertRuleCreate, { body: { name: 'nights' } })).answer!
  expect(made).toMatchObject({ wait_minutes: 0, remind_hours: 4, channels: null, version: 1 })
  const again = await admin.call(alertRuleCreate, { body: { name: 'nights' } })
  expect(again).toMatchObject({ status: 409, problem: { code: 'name_taken' } })
  const params = { id: made.id }
  const changed = await admin.call(alertRuleUpdate, { params, body: { paused: true } })
  expect(changed.answer).toMatchObject({ paused: true, version: 2 })
  const stale = await admin.call(
    alertRuleUpdate,
    { params, body: { wait_minutes: 5 } },
    { ifMatch: 1 },
  )
  expect(stale).toMatchObject({ status: 412, problem: { code: 'stale' } })
  const unknown = await admin.call(alertRuleUpdate, {
    params,
    body: { cluster_ids: [randomUUID()] },
  })
  expect(unknown).toMatchObject({
    status: 422,
    problem: { fields: { cluster_ids: 'There is no such cluster' } },
  })
  expect(await admin.call(alertRuleRemove, { params })).toMatchObject({ status: 204 })
  expect(await admin.call(alertRuleRemove, { params })).toMatchObject({ status: 404 })
})

test('a channel at this machine, a metadata service or a private address is refused when it is saved, and at each connection', async () => {
  const other = await startBackend({ beside: backend, environment: {} })
  const someone = await other.signIn()
  for (const [body, field] of [
    [{ kind: 'webhook', url, secret }, 'url'],
    [{ kind: 'webhook', url: url.replace('127.0.0.1', 'localhost'), secret }, 'url'],
    [{ kind: 'webhook', url: 'http://169.254.169.254/latest', secret }, 'url'],
    [{ kind: 'alertmanager', url: 'https://10.1.2.3' }, 'url'],
    [{ kind: 'webhook', url: 'http://[::1]:9', secret }, 'url'],
    [{ kind: 'webhook', url: 'http://203.0.113.9', secret }, 'url'],
    [{ kind: 'mail', host: '127.0.0.1', from: 'a@example.com', to: ['b@example.com'] }, 'host'],
  ] as const) {
    const { status, problem } = await someone.call(channelCreate, {
      body: { name: 'inside', ...body } as NewChannel,
    })
    expect(problem).toMatchObject({ code: 'dial_refused' })
    expect([status, Object.keys(problem!.fields!)]).toEqual([422, [field]])
  }
  // Saved by a process that allows it, sent by one that doesn't.
  const { id } = await channel()
  const { answer: result } = await someone.call(channelTest, { params: { id } })
  expect(result).toMatchObject({ ok: false, status: null })
  expect(result!.problem).toContain('STEELYARD_ALERT_NETWORKS')
  expect(received).toEqual([])
})

test('a new signing secret signs with the former one for a day, and no response has a secret', async () => {
  const { id, version } = await channel()
  const next = `whsec_${Buffer.alloc(32, 8).toString('base64')}`
  const changed = await admin.call(
    channelUpdate,
    { params: { id }, body: { secret: next } },
    { ifMatch: version },
  )
  expect(changed.text).not.toContain('whsec_')
  expect(changed.answer!.former_secret_until).not.toBeNull()
  await admin.call(channelTest, { params: { id } })
  const signatures = () => String(received.at(-1)!.headers['webhook-signature']).split(' ')
  expect(signatures()).toHaveLength(2)
  backend.clock.advance(25 * 3_600_000)
  await admin.call(channelTest, { params: { id } })
  expect(signatures()).toHaveLength(1)
  const { rows } = await backend.platform.pool.query<{ text: string }>(
    `select coalesce(string_agg(audit::text, ' '), '') as text from outbox`,
  )
  expect(rows[0]!.text).not.toContain('whsec_')
})

test('a body of the wrong kind is refused with the field, and only admins change channels and rules', async () => {
  const refused = async (body: object) =>
    (await admin.call(channelCreate, { body: body as NewChannel })).problem?.fields
  expect(await refused({ name: 'a', kind: 'webhook', url })).toHaveProperty('secret')
  expect(await refused({ name: 'a', kind: 'webhook', url, secret: 'short' })).toHaveProperty(
    'secret',
  )
  expect(await refused({ name: 'a', kind: 'webhook', secret })).toHaveProperty('url')
  expect(await refused({ name: 'a', kind: 'webhook', url: 'ftp://x', secret })).toHaveProperty(
    'url',
  )
  expect(await refused({ name: 'a', kind: 'mail', host: 'x' })).toHaveProperty('to')
  expect(
    await refused({
      name: 'a',
      kind: 'mail',
      host: '127.0.0.1',
      from: 'a@example.com',
      to: ['b@example.com\r\nBcc: c@example.com'],
    }),
  ).toHaveProperty('to.0')
  expect(
    await refused({
      name: 'a',
      kind: 'mail',
      host: '127.0.0.1',
      security: 'none',
      user: 'me',
      secret: 'word',
      from: 'a@example.com',
      to: ['b@example.com'],
    }),
  ).toHaveProperty('security')
  const body = { name: 'of-an-operator', kind: 'webhook', url, secret } as NewChannel
  expect(await viewer.call(channelCreate, { body })).toMatchObject({ status: 403 })
  expect(await viewer.call(alertRuleCreate, { body: { name: 'a' } })).toMatchObject({ status: 403 })
  expect(await operator.call(channelCreate, { body })).toMatchObject({ status: 201 })
  const { id, name } = await channel()
  expect(await viewer.call(channelTest, { params: { id } })).toMatchObject({ status: 403 })
  const silence = { note: 'x', severities: ['down' as const], ends_at: '2199-01-01T00:00:00Z' }
  expect(await viewer.call(silenceCreate, { body: silence })).toMatchObject({ status: 403 })
  const past = { ...silence, ends_at: '2020-01-01T00:00:00Z' }
  expect((await operator.call(silenceCreate, { body: past })).problem?.fields).toEqual({
    ends_at: 'The end is in the past',
  })
  const nothing = { note: 'x', ends_at: silence.ends_at }
  expect((await operator.call(silenceCreate, { body: nothing })).problem?.fields).toHaveProperty(
    'severities',
  )
  expect(await admin.call(channelRemove, { params: { id } })).toMatchObject({ status: 204 })
  expect(await deliveriesTo(name)).toEqual([])
})
