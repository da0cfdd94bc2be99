/** A backend with a receiver of messages on loopback, for tests of alerts. */
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeEach } from 'vitest'
import { channelCreate, type NewChannel } from '#contract/alerts/channels.ts'
import { deliveryList } from '#contract/alerts/deliveries.ts'
import { startBackend } from '../../../testing/backend.ts'
import { buildServer } from '../../servers/testing.ts'

export interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}
interface Told {
  readonly event: string
  readonly object: { readonly name: string }
}

export const fine = (response: ServerResponse) => void response.end('thanks')
/** The signing secret of webhooks. */
export const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

/** Each test begins without channels, silences and findings, and with a receiver that accepts. */
export async function alertWorld() {
  const backend = await startBackend({ environment: { STEELYARD_ALERT_NETWORKS: '127.0.0.0/8' } })
  const admin = await backend.signIn({ lasts: true })
  const operator = await backend.signIn({ role: 'operator', lasts: true })
  const viewer = await backend.signIn({ role: 'viewer', lasts: true })
  const { db } = backend.platform
  const { findings } = backend.domains

  const received: Received[] = []
  /** How the receiver answers. */
  const receiver: { answer: (response: ServerResponse, request: Received) => void } = {
    answer: fine,
  }
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (part: string) => (body += part))
    request.on('end', () => {
      const one = { path: request.url ?? '', headers: request.headers, body }
      received.push(one)
      receiver.answer(response, one)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })
  beforeEach(async () => {
    receiver.answer = fine
    received.length = 0
    await db.deleteFrom('channel').execute()
    await db.deleteFrom('silence').execute()
    await db.deleteFrom('finding').execute()
    await db.deleteFrom('incident').execute()
  })

  return {
    backend,
    admin,
    operator,
    viewer,
    received,
    receiver,
    url,
    add: (name: string) => buildServer(backend, { name, reachable: true }),
    silent: async (ids: readonly string[]) => {
      await db
        .updateTable('server')
        .set({
          reachable: false,
          unreachable_since: new Date(backend.clock.now()),
          reason: 'connection refused',
        })
        .where('id', 'in', ids)
        .execute()
      await findings.judge()
    },
    mend: async (ids: readonly string[]) => {
      await db
        .updateTable('server')
        .set({ reachable: true, unreachable_since: null, reason: null })
        .where('id', 'in', ids)
        .execute()
      await findings.judge()
    },
    /** Adds a channel, by default a webhook of the receiver. */
    channel: async (more: Partial<NewChannel> = {}) =>
      (
        await admin.call(channelCreate, {
          body: { name: `c-${randomUUID().slice(0, 8)}`, kind: 'webhook', url, secret, ...more },
        })
      ).answer!,
    deliveriesTo: async (name: string) =>
      (await viewer.call(deliveryList, { query: { channel: name, per_page: 100 } })).answer!.items,
    /** What the receiver was told: `began web-1`. */
    told: () =>
      received.map(({ body }) =>
        (JSON.parse(body) as { data: { findings: Told[] } }).data.findings.map(
          (one) => `${one.event} ${one.object.name}`,
        ),
      ),
  }
}
