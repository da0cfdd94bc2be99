/** Failovers of the operator's own PostgreSQL: two servers, streaming replication, a promotion. */
import { spawn, spawnSync } from 'node:child_process'
import { chownSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { datacenterList } from '#contract/datacenters.ts'
import { restorationGet } from '#contract/restoration.ts'
import { authorize } from '#contract/sessions.ts'
import { apiClient } from '../../tools/api-client.ts'
import { admin, startProgram, temporaryFolder } from './processes.ts'
import { writes, writtenNames } from './testing/writes.ts'
import { patiently, signIn } from './testing/world.ts'
import { freePort, postgresAccount, postgresPair, systemPrograms } from './testing/postgres-pair.ts'

const bin = systemPrograms()
const patient = { timeout: 120_000 }

async function site(url: string) {
  const { folder, remove } = temporaryFolder()
  const program = await startProgram(join(folder, 'data'), {
    DATABASE_URL: url,
    PORT: String(await freePort()),
  })
  return {
    program,
    stop: async (): Promise<void> => {
      await program.kill()
      remove()
    },
  }
}
test('a failover to a synchronous standby loses no acknowledged write', async () => {
  const pair = await postgresPair(bin)
  await pair.synchronous()
  const { program, stop } = await site(pair.url)
  try {
    const call = await signIn(program.url)
    const work = writes(() => call)
    await expect.poll(() => work.acknowledged.length, patient).toBeGreaterThan(10)
    const before = work.acknowledged.length
    await pair.failOver()
    await expect.poll(() => work.acknowledged.length, patient).toBeGreaterThan(before + 10)
    await work.stop()
    const missing = await work.missing(call)
    process.stdout.write(
      `failover, synchronous: ${work.acknowledged.length} acknowledged, ${missing.length} missing, ${work.longestGapS().toFixed(1)} s without writes\n`,
    )
    expect(missing).toEqual([])
    expect((await call(restorationGet, {})).restored).toBeNull()
    expect(program.log()).not.toContain('database.went_back')
  } finally {
    await stop()
    await pair.stop()
  }
}, 300_000)

test('a failover to a standby that lags is noticed before the first write', async () => {
  const pair = await postgresPair(bin)
  const { program, stop } = await site(pair.url)
  try {
    const call = await signIn(program.url)
    // Unlike `call`, it doesn't sign in again.
    const { accessToken } = await call(authorize, { body: admin })
    const work = writes(() => call)
    await expect.poll(() => work.acknowledged.length, patient).toBeGreaterThan(5)
    await pair.lag()
    const before = work.acknowledged.length
    await expect.poll(() => work.acknowledged.length, patient).toBeGreaterThan(before + 10)
    await work.stop()
    const began = performance.now()
    await pair.failOver()
    await expect.poll(() => program.log(), patient).toContain('"event":"database.went_back"')
    // The sessions have ended too: what was revoked after the standby's state would be valid again.
    await expect(
      patiently(() => apiClient(program.url, accessToken).call(datacenterList, { query: {} })),
    ).rejects.toThrow('401')
    const again = await signIn(program.url)
    const missing = await work.missing(again)
    process.stdout.write(
      `failover, lagging: ${work.acknowledged.length} acknowledged, ${missing.length} missing and told, ${((performance.now() - began) / 1000).toFixed(1)} s without writes\n`,
    )
    expect(missing.length).toBeGreaterThan(0)
    // The program may not know the audit entries of the last second before the failover.
    expect(program.log()).toMatch(/"database.went_back".* lacks events \d+ to \d+/)
  } finally {
    await stop()
    await pair.stop()
  }
}, 300_000)

test('a standby alone is refused with a sentence', async () => {
  const pair = await postgresPair(bin)
  try {
    const url = `postgresql://steelyard@127.0.0.1:${pair.standby.port}/postgres`
    await expect(site(url)).rejects.toThrow(
      /is a standby, which accepts no writes\. Steelyard writes: name the primary in DATABASE_URL/,
    )
  } finally {
    await pair.stop()
  }
}, 300_000)

/** pgbouncer in front of the pair's primary, in one mode. */
async function pooler(pair: Awaited<ReturnType<typeof postgresPair>>, mode: string) {
  if (spawnSync('pgbouncer', ['--version']).status !== 0)
    throw new Error('pgbouncer is missing; install it with: apt-get install pgbouncer')
  const as = postgresAccount()
  const port = await freePort()
  const [file, users] = [join(pair.folder, `${mode}.ini`), join(pair.folder, 'users.txt')]
  writeFileSync(users, '"steelyard" ""\n')
  writeFileSync(
    file,
    `[databases]\npostgres = host=127.0.0.1 port=${pair.primary.port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${port}\nauth_type = trust\nauth_file = ${users}\npool_mode = ${mode}\nunix_socket_dir =\n`,
  )
  if (as.uid !== undefined) for (const each of [file, users]) chownSync(each, as.uid, as.gid!)
  const child = spawn('pgbouncer', [file], { ...as, stdio: 'ignore' })
  return {
    url: `postgresql://steelyard@127.0.0.1:${port}/postgres`,
    end: () => child.kill('SIGTERM'),
  }
}

test('pgbouncer in transaction mode is refused with a sentence, and works in session mode as it comes', async () => {
  const pair = await postgresPair(bin)
  try {
    const transactions = await pooler(pair, 'transaction')
    await expect(site(transactions.url)).rejects.toThrow(
      /pgbouncer in transaction or statement mode/,
    )
    transactions.end()
    const sessions = await pooler(pair, 'session')
    const { program, stop } = await site(sessions.url)
    expect(await writtenNames(await signIn(program.url))).toEqual(new Set())
    await stop()
    sessions.end()
  } finally {
    await pair.stop()
  }
}, 300_000)
