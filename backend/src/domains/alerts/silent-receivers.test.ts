/**
 * Moments of silence of a mail server or a webhook, 5 to 60 s long: each delivery goes on by itself,
 * none ends as failed, and nobody gets a message twice.
 */
import { createHash } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import { SMTPServer } from 'smtp-server'
import { deliveryGet } from '#contract/alerts/deliveries.ts'
import { spread } from '../../../../tools/testing/length.ts'
import { alertWorld, fine } from './testing/world.ts'

const { backend, viewer, received, receiver, add, silent, mend, channel, deliveriesTo } =
  await alertWorld()

/** A whole number in these bounds, the same in every run. */
const numberOf = (seed: string, least: number, most: number): number =>
  least + (createHash('sha256').update(seed).digest().readUInt32LE(0) % (most - least + 1))

/**
 * `cut`: each connection is cut. `busy`: 503 or 421. `half`: a mail is cut after its recipients, a
 * webhook after its request. `grey`: one recipient is refused for now.
 */
const kinds = ['cut', 'busy', 'half', 'grey'] as const
/** The moment begins with the first connection. */
const moment = { kind: 'cut' as (typeof kinds)[number], lengthMs: 0, endsAt: 0 }
const isSilent = (): boolean => {
  if (moment.endsAt === 0) moment.endsAt = backend.clock.now() + moment.lengthMs
  return backend.clock.now() < moment.endsAt
}
const recipients = ['a@example.com', 'b@example.com', 'c@example.com']

const got: string[] = []
const refusal = (responseCode: number) => Object.assign(new Error('not now'), { responseCode })
const smtp = new SMTPServer({
  authOptional: true,
  logger: false,
  disabledCommands: ['STARTTLS'],
  onConnect(_session, done) {
    const isNow = isSilent()
    if (isNow && moment.kind === 'busy') return done(refusal(421))
    if (isNow && moment.kind === 'cut') for (const one of smtp.connections) one._socket.destroy()
    return done()
  },
  onRcptTo({ address }, _session, done) {
    done(isSilent() && moment.kind === 'grey' && address.startsWith('b') ? refusal(451) : null)
  },
  onData(stream, session, done) {
    if (isSilent() && moment.kind === 'half')
      for (const one of smtp.connections) one._socket.destroy()
    stream.resume().on('end', () => {
      if (moment.kind === 'half' && isSilent()) return done(refusal(451))
      got.push(...session.envelope.rcptTo.map((one) => one.address))
      return done()
    })
  },
})
smtp.on('error', () => undefined)
const port = await new Promise<number>((resolve) =>
  smtp.listen(0, '127.0.0.1', () => resolve((smtp.server.address() as AddressInfo).port)),
)
afterAll(() => smtp.close())

const seeds = Array.from({ length: 75 }, (_, i) => i + 1)

test.each(spread(seeds, 5))(
  'Test that a delivery goes on after a moment of silence (seed %i)',
  async (seed) => {
    const isMail = seed % 2 === 0
    Object.assign(moment, {
      kind: kinds[numberOf(`kind ${seed}`, 0, kinds.length - 1)],
      lengthMs: numberOf(`length ${seed}`, 5, 60) * 1000,
      endsAt: 0,
    })
    got.length = 0
    let taken = 0
    receiver.answer = (response) => {
      if (!isSilent()) {
        taken++
        return fine(response)
      }
      if (moment.kind === 'busy') return void response.writeHead(503).end()
      if (moment.kind === 'grey') return void response.writeHead(429, { 'retry-after': '20' }).end()
      return void response.destroy()
    }
    const { name } = await channel(
      isMail
        ? {
            kind: 'mail',
            host: '127.0.0.1',
            port,
            security: 'none',
            from: 'steelyard@example.com',
            to: recipients,
            url: undefined,
            secret: undefined,
          }
        : {},
    )
    const id = await add(`silent-${seed}`)
    await silent([id])
    await backend.engine.run(600_000)
    const sent = await deliveriesTo(name)
    expect(sent).toMatchObject([{ state: 'sent', problem: null }])
    const { tries } = (await viewer.call(deliveryGet, { params: { id: sent[0]!.id } })).answer!
    expect(tries.length).toBeGreaterThan(1)
    expect(tries[0]!.problem).not.toBeNull()
    expect(isMail ? got.toSorted() : taken).toEqual(isMail ? recipients : 1)
    expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(isMail ? 0 : 1)
    await mend([id])
  },
)
