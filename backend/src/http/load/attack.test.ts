/**
 * Floods that try to block other clients. Meanwhile `/healthz` and another person's calls must be
 * answered as usual.
 */
import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { datacenterCreate, datacenterList } from '#contract/datacenters.ts'
import { patchPreview } from '#contract/patches.ts'
import { buildServer } from '../../domains/servers/testing.ts'
import { defaultLimits } from '../limits.ts'
import { spread } from '../../../../tools/testing/length.ts'
import { startBackend } from '../../testing/backend.ts'
import { longestTurnMs, watchTurns } from '../../testing/turns.ts'

const backend = await startBackend({
  fullWork: true,
  limits: { ...defaultLimits, delayMs: 60_000, writesPerSecond: 1e6, writeBurst: 1e6 },
})
const url = await backend.listen()
const port = Number(new URL(url).port)
const [attacker, other] = [await backend.signIn({ role: 'viewer' }), await backend.signIn()]

/**
 * Sends calls of an unrelated person until the attack is over, and measures the longest turn of the
 * main thread, which is what makes others wait.
 */
async function bystander(attack: Promise<unknown>) {
  const going = new Set([attack])
  void attack.finally(() => going.clear())
  const cost = watchTurns()
  const statuses = new Set<number>()
  for (let asked = 0; going.size > 0 || asked < 5; asked++) {
    const { status } = await fetch(`${url}/healthz`)
    statuses.add(status)
    const answer = await fetch(url + datacenterList.path, {
      headers: { authorization: `Bearer ${other.accessToken}` },
    })
    statuses.add(answer.status)
    await answer.arrayBuffer()
    await pause(10)
  }
  await attack
  return { longestMs: cost().longestTurnMs, statuses: [...statuses] }
}

/** Sends these bytes and reads nothing. */
const neverRead = (bytes: string): Promise<Socket> =>
  new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' }, () =>
      socket.write(bytes, () => resolve(socket)),
    )
    socket.pause()
    socket.on('error', () => undefined)
  })

const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost:x\r\n${more}\r\n`
const asViewer = `Authorization: Bearer ${attacker.accessToken}\r\n`
// Enough datacenters that 310 responses with their list exceed the kernel's socket buffers.
await Promise.all(
  Array.from({ length: 60 }, (_, i) =>
    other.call(datacenterCreate, {
      body: {
        country_code: 'PL',
        city_code: `${String.fromCharCode(65 + (i % 26), 65 + Math.floor(i / 26))}X`,
        city_name: 'Somewhere',
        certifications: ['ISO 27001', 'ISO 9001', 'SOC 2'],
      },
    }),
  ),
)

// The first request compiles code, so it isn't measured.
await bystander(fetch(`${url}/v1/openapi.json`))

const attacks: [string, number, string][] = [
  ['small responses, on fifty sockets', 50, get('/v1/installation').repeat(310)],
  ['lists, on one socket', 1, get(datacenterList.path, asViewer).repeat(310)],
  ['lists, on fifty sockets', 50, get(datacenterList.path, asViewer).repeat(310)],
  ['the largest response, on ten sockets', 10, get('/v1/openapi.json').repeat(310)],
]
test.each(spread(attacks, 2))(
  'other clients are served while attackers send requests and read no responses: %s',
  async (_what, count, bytes) => {
    const sockets = await Promise.all(Array.from({ length: count }, () => neverRead(bytes)))
    const { longestMs, statuses } = await bystander(pause(800))
    for (const socket of sockets) socket.destroy()
    // Waits until this attack is over before the next attack begins.
    await pause(300)
    expect(statuses).toEqual([200])
    expect(longestMs).toBeLessThanOrEqual(longestTurnMs)
  },
)

test('most of one viewer’s 300 previews are refused, and another user’s preview does not wait for them', async () => {
  const id = await buildServer(backend, { address: '10.0.0.5', reachable: true })
  const body = `machine:\n  sysctls:\n${Array.from({ length: 300 }, (_, i) => `    net.ipv4.conf.test${i}.rp_filter: "1"\n`).join('')}`
  const agent = new Agent({ keepAlive: true, maxSockets: 40 })
  const preview = (token: string) =>
    new Promise<number>((resolve, reject) => {
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
      request(
        url + patchPreview.path.replace('{id}', id),
        { method: 'POST', agent, headers },
        (answer) => {
          answer.resume().once('end', () => resolve(answer.statusCode!))
        },
      )
        .once('error', reject)
        .end(JSON.stringify({ body }))
    })
  const answered: number[] = []
  const previews = Promise.all(
    Array.from({ length: 300 }, async (_, i) => {
      await pause(10 * i)
      answered.push(await preview(attacker.accessToken))
    }),
  )
  /**
   * Calls as another user during the attack. Returns how many of the attacker's calls were answered
   * meanwhile.
   */
  const overtaken = async () => {
    await pause(600)
    const done = answered.length
    expect(await preview(other.accessToken)).toBe(200)
    return answered.slice(done).filter((status) => status === 200).length
  }
  const [before, { longestMs, statuses }] = await Promise.all([
    overtaken(),
    bystander(previews),
  ]).finally(() => agent.destroy())
  expect(statuses).toEqual([200])
  expect(longestMs).toBeLessThanOrEqual(longestTurnMs)
  expect(new Set(answered)).toEqual(new Set([200, 429]))
  expect(before).toBeLessThan(10)
})
