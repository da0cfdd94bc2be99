import { writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import { authorize } from '#contract/sessions.ts'
import { apiClient } from '../../tools/api-client.ts'
import { admin, home } from './processes.ts'
import { create, ended, findings, openSite, patiently, signIn } from './testing/world.ts'
import { operationGet } from '#contract/operations.ts'

const size = 4
const dayMs = 86_400_000
const site = await openSite({ servers: 2 * size, seed: 'clock' })
afterAll(() => site.stop())
const file = `${site.folder}/clock-shift`
const jump = async (ms: number) => {
  writeFileSync(file, String(ms))
  // Wait until the program has read the file.
  await pause(300)
}
writeFileSync(file, '0')
const program = await site.start({
  CLOCK_SHIFT_FILE: file,
  NODE_OPTIONS: `--import ${home}e2e/faults/testing/shifted-clock.mjs`,
})

/**
 * Tries fewer wrong passwords than the sign-in limit allows. A wrong clock must not make these
 * tries reach the limit.
 */
async function mistype(): Promise<void> {
  for (let n = 0; n < 3; n++)
    await expect(
      apiClient(program.url).call(authorize, {
        body: { email: admin.email, password: `wrong ${n} and long enough` },
      }),
    ).rejects.toThrow(': 401 ')
}

test.each([
  { name: 'ahead', shiftMs: dayMs },
  { name: 'back', shiftMs: -dayMs },
])(
  'if the clock jumps a day $name and later returns during a creation, no server fails and no user is locked out',
  async ({ name, shiftMs }) => {
    let call = await signIn(program.url)
    const nodes = await site.take(call, size)
    const { cluster, operation } = await create(call, site, `clock-${name}`, nodes)
    const look = () => patiently(() => call(operationGet, { params: { id: operation.id } }))
    // Wait until the cluster's certificates exist: the program can't notice that the clock is wrong
    // while it creates them.
    while ((await look()).steps.find((s) => s.key === 'secrets')?.status !== 'done') await pause(50)
    await jump(shiftMs)
    await mistype()
    const { accessToken } = await apiClient(program.url).call(authorize, { body: admin })
    const { iat } = JSON.parse(Buffer.from(accessToken.split('.')[1]!, 'base64url').toString()) as {
      iat: number
    }
    expect(Math.abs(iat * 1_000 - Date.now() - shiftMs)).toBeLessThan(30_000)
    call = apiClient(program.url, accessToken).call
    await pause(2_000)
    expect((await look()).status).toBe('running')
    await jump(0)
    call = await signIn(program.url)
    const end = await ended(call, operation.id, 90_000)
    expect(await findings(call, site, cluster.id, nodes, end)).toEqual([])
  },
)
