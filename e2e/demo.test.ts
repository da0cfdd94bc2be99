import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, expect, test } from 'vitest'
import { totpBegin, totpConfirm } from '#contract/people/second-factor.ts'
import { clusterList } from '#contract/clusters/clusters.ts'
import { imageList } from '#contract/images.ts'
import { ccList } from '#contract/marketplace/ccs.ts'
import { offerList } from '#contract/marketplace/offers.ts'
import { subnetList } from '#contract/network/subnets.ts'
import { operationList, operationRetry } from '#contract/operations.ts'
import { serverList } from '#contract/servers/servers.ts'
import { authorize } from '#contract/sessions.ts'
import { apiClient, type Caller } from '../tools/api-client.ts'
import { codeOf } from '../tools/identity-provider.ts'
import { freeBlock } from './free-block.ts'

const data = mkdtempSync(path.join(tmpdir(), 'sy-demo-'))
const admin = { email: 'admin@example.com', password: 'a password for the tests' }
const offset = await freeBlock(2)
let kill: () => void = () => undefined
afterAll(() => {
  kill()
  rmSync(data, { recursive: true, force: true })
})

/**
 * Starts the demo, and resolves with its lines when it has written the `last`: by default, when it
 * has said how to sign in and where the data stays.
 */
async function start(more: Record<string, string | undefined> = {}, last = 'The image factory') {
  const child = spawn(process.execPath, ['tools/demo.ts', '--subnet-offset', String(offset)], {
    stdio: ['ignore', 'pipe', 'ignore'],
    // A process group, so that a kill reaches the simulator and the program as well.
    detached: true,
    env: {
      ...Object.fromEntries(
        Object.entries(process.env).filter(([name]) => !name.startsWith('STEELYARD_')),
      ),
      PORT: '0',
      STEELYARD_DATA: data,
      STEELYARD_SIMULATE: '1',
      STEELYARD_ADMIN_EMAIL: admin.email,
      STEELYARD_ADMIN_PASSWORD: admin.password,
      ...more,
    },
  })
  kill = () => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, 'SIGKILL')
  }
  const ended = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)))
  const lines: string[] = []
  await new Promise<void>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      lines.push(line)
      if (line.startsWith(last)) resolve()
    })
    void ended.then((code) => reject(new Error(`The demo ended with ${code}: ${lines.join('\n')}`)))
  })
  const stop = () => {
    child.kill('SIGTERM')
    return ended
  }
  return {
    url: /http:\S+/.exec(lines[0]!)![0],
    line: lines.find((one) => one.startsWith('Sign in as'))!,
    stop,
  }
}
const isUp = async (url: string): Promise<boolean> => (await fetch(`${url}/readyz`)).status === 200

test('the demo starts, and keeps running, after its admin has got a second factor, and where its role requires one', async () => {
  const required = await start({ STEELYARD_SECOND_FACTOR_ROLES: 'admin' })
  expect(required.line).toContain(
    "and a second factor. Without it, the demo can't act as admin@example.com",
  )
  expect([await isUp(required.url), await required.stop()]).toEqual([true, 0])

  const first = await start()
  expect(first.line).toBe(`Sign in as ${admin.email} with the password ${admin.password}`)
  const { call } = apiClient(
    first.url,
    (await apiClient(first.url).call(authorize, { body: admin })).accessToken,
  )
  const { secret } = await call(totpBegin, {})
  await call(totpConfirm, { body: { code: codeOf(secret, Date.now()) } })
  expect(await first.stop()).toBe(0)

  const second = await start()
  expect(second.line).toContain(
    "and a second factor. Without it, the demo can't act as admin@example.com, and adds no simulated server",
  )
  // The demo ends with 1 if it can't continue.
  expect([await isUp(second.url), await second.stop()]).toEqual([true, 0])
}, 240_000)

test('the whole demo shows two clusters, a subnet, an offer, commitments and a failed growth that a retry mends, and a start after a kill makes nothing twice', async () => {
  const whole = {
    STEELYARD_SIMULATE: undefined,
    STEELYARD_DATA: path.join(data, 'whole'),
    STEELYARD_SECOND_FACTOR_ROLES: undefined,
  }
  const begun = await start(whole)
  const signedIn = async (url: string) =>
    apiClient(url, (await apiClient(url).call(authorize, { body: admin })).accessToken).call
  await expect
    .poll(async () => (await (await signedIn(begun.url))(clusterList, { query: {} })).total, {
      timeout: 240_000,
    })
    .toBe(2)
  kill()
  await expect.poll(() => isUp(begun.url).catch(() => false), { timeout: 30_000 }).toBe(false)
  const { url, stop } = await start(whole, 'The demo is complete')
  const call = await signedIn(url)
  const clusters = await call(clusterList, { query: {} })
  const totals = async (asks: Caller) =>
    (
      await Promise.all([
        asks(serverList, { query: {} }),
        asks(subnetList, { query: {} }),
        asks(imageList, { query: {} }),
        asks(offerList, { query: {} }),
        asks(ccList, { query: {} }),
      ])
    ).map(({ total }) => total)
  expect(clusters.items.map((c) => [c.name, c.status])).toEqual([
    ['fra-web-01', 'ready'],
    ['poz-render-01', 'ready'],
  ])
  expect(await totals(call)).toEqual([20, 1, 1, 1, 3])
  const growth = async () =>
    (await call(operationList, { query: {} })).items.find((o) => o.kind === 'clusterGrow')!
  await expect.poll(async () => (await growth()).status, { timeout: 240_000 }).toBe('failed')
  await call(operationRetry, { params: { id: (await growth()).id }, body: {} })
  await expect.poll(async () => (await growth()).status, { timeout: 240_000 }).toBe('done')
  expect(await stop()).toBe(0)

  // As if each step had been killed after the API's answer and before it was remembered.
  const file = path.join(data, 'whole/demo.json')
  const made = Object.entries(JSON.parse(readFileSync(file, 'utf8')) as object)
  writeFileSync(
    file,
    JSON.stringify(Object.fromEntries(made.filter(([name]) => name.startsWith('servers of')))),
  )
  const again = await start(whole, 'The demo is complete')
  expect(await totals(await signedIn(again.url))).toEqual([20, 1, 1, 1, 3])
  expect(await again.stop()).toBe(0)
}, 600_000)
