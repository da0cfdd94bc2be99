import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { channelCreate, channelTest } from '#contract/alerts/channels.ts'
import { storeCreate } from '#contract/storage/stores.ts'
import { startBackend } from '../testing/backend.ts'
import { receiver } from './testing.ts'

/** A service that answers everything with this status. */
async function service(status: number): Promise<number> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(status).end())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

test('messages to channels and calls to stores are spans below the request, without paths and keys', async () => {
  const { url, spans, text } = await receiver()
  const backend = await startBackend({
    environment: {
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_BSP_SCHEDULE_DELAY: '20',
      STEELYARD_ALERT_NETWORKS: '127.0.0.0/8',
      STEELYARD_STORE_NETWORKS: '127.0.0.0/8',
    },
  })
  const admin = await backend.signIn()
  const [told, refusing] = [await service(204), await service(403)]
  const secret = Buffer.alloc(32, 7).toString('base64')
  const made = await admin.call(channelCreate, {
    body: {
      name: 'on-call',
      kind: 'webhook',
      url: `http://127.0.0.1:${told}/path-of-hook`,
      secret: `whsec_${secret}`,
    },
  })
  const trace = randomUUID().replaceAll('-', '')
  const headers = { traceparent: `00-${trace}-00f067aa0ba902b7-01` }
  const { id } = made.answer!
  expect(await admin.call(channelTest, { params: { id } }, { headers })).toMatchObject({
    status: 200,
  })
  const refused = await admin.call(
    storeCreate,
    {
      body: {
        name: 'offsite',
        kind: 's3',
        endpoint: `http://127.0.0.1:${refusing}`,
        region: 'eu',
        bucket: 'name-of-bucket',
        path_style: true,
        access_key_id: 'key-of-access',
        secret_access_key: secret,
      },
    },
    { headers },
  )
  expect(refused.problem).toMatchObject({ code: 'store_refused' })

  const of = (name: string) => spans.find((s) => s.traceId === trace && s.name.startsWith(name))
  await expect.poll(() => of('POST /v1/channels')).toBeDefined()
  await expect.poll(() => of('POST /v1/stores')).toBeDefined()
  expect(of('channel webhook')).toMatchObject({
    kind: 3,
    failed: false,
    parentId: of('POST /v1/channels')!.spanId,
    attributes: {
      'server.address': '127.0.0.1',
      'server.port': told,
      'http.request.method': 'POST',
      'http.response.status_code': 204,
    },
  })
  expect(of('s3 ')).toMatchObject({
    kind: 3,
    failed: true,
    parentId: of('POST /v1/stores')!.spanId,
    attributes: {
      'server.port': refusing,
      'http.response.status_code': 403,
      'error.type': 'status 403',
    },
  })
  for (const hidden of ['path-of-hook', 'name-of-bucket', 'key-of-access', secret])
    expect(text()).not.toContain(hidden)
})
