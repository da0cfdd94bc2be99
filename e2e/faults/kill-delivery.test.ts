/**
 * The program is killed with −9 before and after a message is sent to a webhook. The next process
 * sends the message: once, or a second time with the same id and the same body.
 */
import { mkdirSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, expect, inject, test } from 'vitest'
import { channelCreate, channelTest } from '#contract/alerts/channels.ts'
import { deliveryGet, deliveryRetry } from '#contract/alerts/deliveries.ts'
import { authorize } from '#contract/sessions.ts'
import { apiClient } from '../../tools/api-client.ts'
import { longTests } from '../../tools/testing/length.ts'
import { copyTemplate } from '../template.ts'
import { failpointFile } from './testing/failpoint-file.ts'
import { admin, endDatabase, type Program, startProgram, temporaryFolder } from './processes.ts'

const received: { id: string; body: string }[] = []
/** Whether the receiver takes messages. */
let isUp = false
const receiver = createServer((request, response) => {
  let body = ''
  request.setEncoding('utf8').on('data', (part: string) => (body += part))
  request.on('end', () => {
    if (isUp) received.push({ id: String(request.headers['webhook-id']), body })
    response.writeHead(isUp ? 200 : 503).end()
  })
})
await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`

const { folder, remove } = temporaryFolder()
const data = `${folder}/data`
mkdirSync(data, { mode: 0o711 })
copyTemplate(inject('template'), data)
const failpoint = failpointFile(`${folder}/failpoint`)
const start = () =>
  startProgram(data, { ...failpoint.setting, STEELYARD_ALERT_NETWORKS: '127.0.0.0/8' })
let program: Program = await start()
afterAll(async () => {
  receiver.closeAllConnections()
  receiver.close()
  await program.kill()
  await endDatabase(data)
  remove()
})
const { accessToken } = await apiClient(program.url).call(authorize, { body: admin })
const call = () => apiClient(program.url, accessToken).call
const { id: channelId } = await call()(channelCreate, {
  body: {
    name: 'on-call',
    kind: 'webhook',
    url,
    secret: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
  },
})

const points = [
  ...(longTests ? [{ point: 'deliver:before', times: 1 }] : []),
  { point: 'deliver:after', times: 2 },
]
test.each(points)(
  'a message during which the program is killed at $point arrives $times times with one id',
  async ({ point, times }) => {
    received.length = 0
    isUp = false
    const { ok, delivery_id: id } = await call()(channelTest, { params: { id: channelId } })
    expect(ok).toBe(false)
    isUp = true
    failpoint.set(point)
    await call()(deliveryRetry, { params: { id } }).catch(() => undefined)
    const how = await Promise.race([program.ended, pause(60_000).then(() => 'not killed')])
    expect(how).toBe('SIGKILL')
    failpoint.clear()
    program = await start()
    await expect
      .poll(async () => (await call()(deliveryGet, { params: { id } })).state, { timeout: 60_000 })
      .toBe('sent')
    expect(received.map((one) => one.id)).toEqual(Array.from({ length: times }, () => id))
    expect(new Set(received.map((one) => one.body)).size).toBe(1)
  },
)
