import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { expect, onTestFinished, test } from 'vitest'
import { channelGet, channelTest, channelUpdate } from '#contract/alerts/channels.ts'
import { deliveryGet, deliveryRetry } from '#contract/alerts/deliveries.ts'
import { alertRuleList, alertRuleUpdate } from '#contract/alerts/rules.ts'
import { alertWorld, fine } from './testing/world.ts'

const {
  backend,
  admin,
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

test('a receiver that is down is tried again with the same id, each attempt is listed, and after a day it is given up', async () => {
  const { name } = await channel()
  receiver.answer = (response) => response.writeHead(503).end('busy'.repeat(100_000))
  const id = await add('down-1')
  await silent([id])
  await backend.engine.run(3_600_000)
  const ids = new Set(received.map(({ headers }) => headers['webhook-id']))
  expect(ids.size).toBe(1)
  expect(received.length).toBeGreaterThan(5)
  const [waiting] = await deliveriesTo(name)
  expect(waiting).toMatchObject({ state: 'waiting', attempts: received.length })
  expect(waiting!.problem).toContain('answered with status 503')
  const { tries } = (await viewer.call(deliveryGet, { params: { id: waiting!.id } })).answer!
  expect(tries.at(-1)!.answer).toHaveLength(64 * 1024)
  expect(tries[0]!.answer).toHaveLength(1000)
  await backend.engine.run(24 * 3_600_000)
  expect((await deliveriesTo(name)).at(-1)).toMatchObject({ id: waiting!.id, state: 'failed' })
  // Somebody sends it again when the receiver is back.
  receiver.answer = fine
  received.length = 0
  const params = { id: waiting!.id }
  expect(await viewer.call(deliveryRetry, { params })).toMatchObject({ status: 403 })
  expect((await admin.call(deliveryRetry, { params })).answer).toMatchObject({ state: 'waiting' })
  expect(await admin.call(deliveryRetry, { params })).toMatchObject({
    status: 409,
    problem: { code: 'transition_refused' },
  })
  await backend.engine.settle()
  expect((await viewer.call(deliveryGet, { params })).answer).toMatchObject({ state: 'sent' })
  expect(received[0]!.headers['webhook-id']).toBe(waiting!.id)
  await mend([id])
})

test('when one message arrives, those that wait are sent at once, the oldest first', async () => {
  const { name } = await channel()
  receiver.answer = (response) => response.writeHead(500).end()
  const ids = [await add('first'), await add('second')]
  await silent([ids[0]!])
  await backend.engine.run(1_800_000)
  receiver.answer = fine
  received.length = 0
  await silent([ids[1]!])
  await backend.engine.run(60_000)
  expect(told()).toEqual([['began first'], ['began second']])
  expect((await deliveriesTo(name)).map((d) => d.state)).toEqual(['sent', 'sent'])
  await mend(ids)
})

test('a test message that arrives, or a changed channel, sends at once what waits', async () => {
  const { id: channelId } = await channel()
  receiver.answer = (response) => response.writeHead(500).end()
  const id = await add('waits')
  await silent([id])
  await backend.engine.run(1_800_000)
  received.length = 0
  receiver.answer = fine
  const params = { id: channelId }
  expect((await admin.call(channelTest, { params })).answer).toMatchObject({ ok: true })
  await backend.engine.settle()
  expect(told().slice(1)).toEqual([['began waits']])
  receiver.answer = (response) => response.writeHead(500).end()
  await mend([id])
  await backend.engine.run(1_800_000)
  received.length = 0
  receiver.answer = fine
  await admin.call(channelUpdate, { params, body: { url: `${url}/moved` } })
  await backend.engine.settle()
  expect(told()).toEqual([['ended waits']])
})

test('what waited while its channel was paused is not sent as news days later', async () => {
  const { id: channelId, name } = await channel()
  receiver.answer = (response) => response.writeHead(500).end()
  const id = await add('old')
  await silent([id])
  await backend.engine.run(600_000)
  const params = { id: channelId }
  await admin.call(channelUpdate, { params, body: { paused: true } })
  await mend([id])
  await backend.engine.run(5 * 24 * 3_600_000)
  received.length = 0
  receiver.answer = fine
  await admin.call(channelUpdate, { params, body: { paused: false } })
  await backend.engine.settle()
  expect(told()).not.toContainEqual(['began old'])
  expect((await deliveriesTo(name)).at(-1)).toMatchObject({
    state: 'failed',
    problem: 'It waited for more than a day, so it is not sent any more',
  })
})

test('what is still open of a message that nobody got is told afresh, also by a rule that does not remind', async () => {
  const { items } = (await admin.call(alertRuleList, {})).answer!
  const { id: ruleId } = items.find(({ name }) => name === 'urgent')!
  const remind = (remind_hours: number | null) =>
    admin.call(alertRuleUpdate, { params: { id: ruleId }, body: { remind_hours } })
  await remind(null)
  const { id: channelId } = await channel()
  const pause = (paused: boolean) =>
    admin.call(channelUpdate, { params: { id: channelId }, body: { paused } })
  const ids = [await add('tried'), await add('paused')]
  receiver.answer = (response) => response.writeHead(500).end()
  await silent([ids[0]!])
  await backend.engine.run(25 * 3_600_000)
  received.length = 0
  receiver.answer = fine
  await backend.engine.run(3_600_000)
  expect(told()).toEqual([['began tried']])
  receiver.answer = (response) => response.writeHead(500).end()
  await silent([ids[1]!])
  await backend.engine.run(600_000)
  await pause(true)
  await backend.engine.run(2 * 24 * 3_600_000)
  received.length = 0
  receiver.answer = fine
  await pause(false)
  await backend.engine.settle()
  expect(told()).toEqual([['began paused']])
  await mend(ids)
  await remind(4)
})

/** A mail server on loopback. `refuse`: the reply to a recipient; undefined: it is accepted. */
async function mailServer(refuse: (address: string) => number | undefined) {
  const mails: string[][] = []
  const smtp = new SMTPServer({
    authOptional: true,
    logger: false,
    disabledCommands: ['STARTTLS'],
    onRcptTo({ address }, _session, done) {
      const responseCode = refuse(address)
      done(responseCode ? Object.assign(new Error('not now'), { responseCode }) : null)
    },
    onData(stream, session, done) {
      stream.resume().on('end', () => {
        mails.push(session.envelope.rcptTo.map((one) => one.address))
        done()
      })
    },
  })
  const port = await new Promise<number>((resolve) =>
    smtp.listen(0, '127.0.0.1', () => resolve((smtp.server.address() as AddressInfo).port)),
  )
  onTestFinished(() => smtp.close())
  return { mails, port }
}
const mailTo = (port: number, to: string[]) =>
  channel({
    kind: 'mail',
    host: '127.0.0.1',
    port,
    security: 'none',
    from: 'steelyard@example.com',
    to,
    url: undefined,
    secret: undefined,
  })
const shown = async (name: string) => {
  const [first] = await deliveriesTo(name)
  return (await viewer.call(deliveryGet, { params: { id: first!.id } })).answer!
}

test('Test that each recipient of a mail has its own outcome, and that nobody gets it twice', async () => {
  let isGreylisting = true
  const { mails, port } = await mailServer((address) =>
    address.startsWith('gone')
      ? 550
      : address.startsWith('grey') && isGreylisting
        ? 451
        : undefined,
  )
  const { id: channelId, name } = await mailTo(port, [
    'ops@example.com',
    'gone@example.com',
    'grey@example.com',
  ])
  const id = await add('mailed')
  await silent([id])
  await backend.engine.run(60_000)
  const first = await shown(name)
  expect(first.state).toBe('waiting')
  expect(first.recipients).toMatchObject([
    { address: 'gone@example.com', state: 'failed', status: 550, next_at: null, attempts: 1 },
    { address: 'grey@example.com', state: 'waiting', status: 451 },
    { address: 'ops@example.com', state: 'sent', problem: null, attempts: 1 },
  ])
  expect((await viewer.call(channelGet, { params: { id: channelId } })).answer!.problem).toContain(
    'grey@example.com',
  )
  isGreylisting = false
  await backend.engine.run(3_600_000)
  const last = await shown(name)
  expect(last).toMatchObject({
    state: 'sent',
    problem: '1 of 3 recipients did not get it: gone@example.com',
  })
  expect(mails).toEqual([['ops@example.com'], ['grey@example.com']])
  await mend([id])
})

test('Test that a mail that is refused for good ends at once, and one that is refused for now after a day', async () => {
  let status = 550
  const { port } = await mailServer(() => status)
  const { name } = await mailTo(port, ['ops@example.com'])
  const ids = [await add('final'), await add('for-now')]
  await silent([ids[0]!])
  await backend.engine.run(60_000)
  expect(await deliveriesTo(name)).toMatchObject([{ state: 'failed', attempts: 1 }])
  status = 451
  await silent([ids[1]!])
  await backend.engine.run(3_600_000)
  expect(await deliveriesTo(name)).toMatchObject([{ state: 'waiting' }, { state: 'failed' }])
  await backend.engine.run(25 * 3_600_000)
  expect((await deliveriesTo(name)).map((one) => one.state)).not.toContain('sent')
  expect((await deliveriesTo(name)).filter((one) => one.state === 'failed').length).toBeGreaterThan(
    1,
  )
  await mend(ids)
})

test('Test that Retry-After is kept to, in seconds and as a date, for at most an hour', async () => {
  await channel()
  const times: number[] = []
  let header: () => string = () => '120'
  receiver.answer = (response) => {
    times.push(backend.clock.now())
    response.writeHead(429, { 'retry-after': header() }).end()
  }
  const id = await add('limited')
  await silent([id])
  await backend.engine.run(100_000)
  expect(times).toHaveLength(1)
  await backend.engine.run(60_000)
  expect(times).toHaveLength(2)
  expect(times[1]! - times[0]!).toBeGreaterThanOrEqual(120_000)
  header = () => new Date(backend.clock.now() + 10 * 3_600_000).toUTCString()
  await backend.engine.run(120_000)
  expect(times).toHaveLength(3)
  await backend.engine.run(3_500_000)
  expect(times).toHaveLength(3)
  await backend.engine.run(200_000)
  expect(times).toHaveLength(4)
  await mend([id])
})

test('Test that a webhook that says 410 gets nothing more and is a finding, until its URL is changed', async () => {
  const { id: channelId, name } = await channel()
  receiver.answer = (response) => response.writeHead(410).end()
  const id = await add('gone-1')
  await silent([id])
  await backend.engine.run(3_600_000)
  expect(received).toHaveLength(1)
  const [ended] = await deliveriesTo(name)
  expect(ended).toMatchObject({ state: 'failed' })
  const params = { id: channelId }
  expect((await viewer.call(channelGet, { params })).answer!.gone_since).not.toBeNull()
  await backend.domains.findings.judge()
  const kinds = await backend.platform.db.selectFrom('finding').select('kind').execute()
  expect(kinds.map((one) => one.kind)).toContain('channel_gone')
  expect(await admin.call(deliveryRetry, { params: { id: ended!.id } })).toMatchObject({
    status: 409,
    problem: { code: 'transition_refused' },
  })
  received.length = 0
  receiver.answer = fine
  await admin.call(channelUpdate, { params, body: { url: `${url}/new` } })
  await backend.engine.run(600_000)
  expect((await viewer.call(channelGet, { params })).answer!.gone_since).toBeNull()
  expect(told().flat()).toContain('began gone-1')
  await mend([id])
})
