/** `doctor`: checks settings, key, database, clock and reachability, and says how to fix problems. Changes nothing. */
import { stat, statfs } from 'node:fs/promises'
import path from 'node:path'
import { supportedMinor } from '#talos/versions.ts'
import { counted } from '#contract/words.ts'
import { systemClock } from '../clock.ts'
import { checkedConfig, type Config, ConfigRefused } from '../config.ts'
import type { Database } from '../db/db.ts'
import { readMigrations } from '../db/migrate.ts'
import { openDatabase } from '../db/open.ts'
import { factory as makeFactory, isPrerelease } from '../domains/images/factory.ts'
import { failpoint } from '../engine/failpoint.ts'
import { heldCounts } from '../engine/holds.ts'
import { silent } from '../log.ts'
import { onlyHere } from '../network.ts'
import { buildDomains } from '../parts.ts'
import { buildPlatform } from '../platform.ts'
import { checkFingerprint, type KeyRing, readKeyFile } from '../vault/key-file.ts'
import { messageOf } from './command.ts'
import { exitCodes, type Surroundings } from './surroundings.ts'

/** `text`: What was found and, unless it is good, what to do. */
type Finding = { readonly check: string; readonly verdict: 'good' | 'warning' | 'bad'; readonly text: string }

const good = (check: string, text: string): Finding => ({ check, verdict: 'good', text })
const warning = (check: string, text: string): Finding => ({ check, verdict: 'warning', text })
const bad = (check: string, text: string): Finding => ({ check, verdict: 'bad', text })

const largestSkewMs = 5_000
const factoryLimits = { callMs: 5_000, overallMs: 8_000, tries: 2, pauseMs: 500, atOnce: 1 }
/** Below this much free space the database may stop in the middle of something. */
const leastFreeBytes = 512 * 1024 ** 2

async function keyFile(config: Config): Promise<Finding[]> {
  const found = await stat(config.keyFile).catch(() => undefined)
  if (!found) return [warning('key', `There is no key file at ${config.keyFile} yet; the first start makes it. Keep a copy where the backups aren't`)]
  try {
    await readKeyFile(config.keyFile)
  } catch (error) {
    return [bad('key', messageOf(error))]
  }
  const inside = path.resolve(config.keyFile).startsWith(`${path.resolve(config.dataFolder)}${path.sep}`)
  return [
    inside
      ? warning(
          'key',
          `The key file lies in the data folder (${config.keyFile}): who copies the folder has the secrets too. Move it and set STEELYARD_KEY_FILE`,
        )
      : good('key', `The key file is ${config.keyFile}, readable by its owner only`),
  ]
}

async function database(config: Config, around: Surroundings): Promise<Finding[]> {
  // Written by the first start: without it, looking for a database would make one.
  if (config.databaseUrl === undefined && !(await stat(path.join(config.dataFolder, 'process-id')).catch(() => undefined))) {
    return [warning('database', `Steelyard has not run with the data folder ${config.dataFolder} yet; the first start makes the database`)]
  }
  const opened = await openDatabase({ config, machine: around.machine, log: silent, beside: true, waitMs: 5_000 }).catch((error: unknown) => messageOf(error))
  if (typeof opened === 'string') return [bad('database', opened)]
  try {
    const { pool } = opened.database
    const asked = Date.now()
    const { rows } = await pool.query<{ now: Date; version: string }>(`select clock_timestamp() as now, current_setting('server_version') as version`)
    const [{ now, version }] = rows as [{ now: Date; version: string }]
    const skewMs = now.getTime() - (asked + Date.now()) / 2
    const findings = [good('database', `${config.databaseUrl === undefined ? 'The embedded PostgreSQL' : 'PostgreSQL'} ${version} answers`)]
    findings.push(
      Math.abs(skewMs) > largestSkewMs
        ? warning('clock', `The database's clock differs from this machine's by ${(skewMs / 1000).toFixed(0)} s: let both follow the same time servers`)
        : good('clock', 'The clocks of this machine and of the database agree'),
    )
    const known = await readMigrations()
    const { rows: tables } = await pool.query(`select 1 from information_schema.tables where table_name = 'migration' and table_schema = current_schema()`)
    if (tables.length === 0) return [...findings, warning('schema', 'The database is empty; the first start fills it')]
    const { rows: done } = await pool.query<{ newest: number }>('select max(number) as newest from migration')
    const newest = done[0]!.newest
    if (newest > known.length)
      return [...findings, bad('schema', `The database has schema ${newest}, this program knows up to ${known.length}: start the newer Steelyard`)]
    findings.push(
      newest < known.length
        ? warning('schema', `The database has schema ${newest}; the next start brings it to ${known.length}`)
        : good('schema', `The database has schema ${newest}, the newest`),
    )
    if (newest === known.length) findings.push(...(await inside(config, around, opened.database)))
    return findings
  } catch (error) {
    return [bad('database', messageOf(error))]
  } finally {
    await opened.close()
  }
}

/** What waits for a person since a restore. */
function heldFindings({ cluster, operation }: Awaited<ReturnType<typeof heldCounts>>): Finding[] {
  if (cluster + operation === 0) return []
  const what = [...(cluster > 0 ? [counted(cluster, 'cluster')] : []), ...(operation > 0 ? [counted(operation, 'operation')] : [])].join(' and ')
  return [
    warning(
      'restore',
      `${what} ${cluster + operation === 1 ? 'is' : 'are'} held since a restore, and nothing is sent to their servers: look at each, then resume it in the console, or by steelyard cluster resume NAME and operation resume ID`,
    ),
  ]
}

/** Checks that need the program's own domains. */
async function inside(config: Config, around: Surroundings, database: Database): Promise<Finding[]> {
  if (!(await stat(config.keyFile).catch(() => undefined)))
    return [bad('fingerprint', `The database is sealed, but there is no key file at ${config.keyFile}: set STEELYARD_KEY_FILE to it`)]
  let keys: KeyRing
  try {
    keys = await readKeyFile(config.keyFile)
    await checkFingerprint(database.db, keys, config.keyFile)
  } catch (error) {
    return [bad('fingerprint', messageOf(error))]
  }
  const platform = buildPlatform({
    config,
    database,
    clock: systemClock,
    random: Math.random,
    log: silent,
    owner: 'doctor',
    keys,
    failpoint: failpoint(undefined, around.kill),
    version: around.version,
  })
  const { users, servers, audit } = buildDomains(platform, () => undefined)
  const people = await users.count()
  const { total, unreachable } = (await servers.summary()).servers
  const chain = await audit.verify()
  const held = await heldCounts(database.db)
  return [
    good('fingerprint', 'The key file is the one of this database'),
    people === 0 ? warning('users', 'Nobody can sign in yet: npm run steelyard -- user add --first EMAIL') : good('users', counted(people, 'user')),
    unreachable > 0
      ? warning('servers', `${unreachable} of ${counted(total, 'server')} can't be reached: the console says of each since when and why`)
      : good('servers', `${counted(total, 'server')}, none out of reach`),
    ...heldFindings(held),
    chain.ok
      ? good('audit log', `${chain.entries} entries, the chain holds`)
      : bad('audit log', `Entry ${chain.seq} ${chain.reason}: somebody wrote to the database past Steelyard`),
  ]
}

async function factory(config: Config): Promise<Finding> {
  const check = 'image factory'
  try {
    const { items: all, simulated } = await makeFactory({ url: config.imageFactoryUrl, clock: systemClock, log: silent, limits: factoryLimits }).versions()
    const items = all.filter((v) => supportedMinor(v) !== undefined && !isPrerelease(v))
    if (items.length === 0)
      return warning(check, `${config.imageFactoryUrl} answers, but builds no Talos that Steelyard supports: set IMAGE_FACTORY_URL to one that does`)
    if (simulated && config.simulate === undefined)
      return warning(check, `${config.imageFactoryUrl} is a simulated one: its images boot no real server. Set IMAGE_FACTORY_URL to a real one`)
    return good(check, `${config.imageFactoryUrl} answers, with Talos up to ${items[0]}`)
  } catch (error) {
    return warning(check, `${messageOf(error)}. Until it answers no new images can be made; all else works. IMAGE_FACTORY_URL names one of your own`)
  }
}

/** Booting servers announce themselves there. */
function reach(config: Config): Finding {
  const check = 'public url'
  if (config.simulate !== undefined || !onlyHere(config.publicUrl)) return good(check, `Servers announce themselves at ${config.publicUrl}`)
  return warning(check, `Servers can't announce themselves at ${config.publicUrl}, which is this machine alone: set STEELYARD_PUBLIC_URL`)
}

async function space(config: Config): Promise<Finding[]> {
  const found = await statfs(config.dataFolder).catch(() => undefined)
  if (!found) return []
  const free = found.bavail * found.bsize
  const text = `${(free / 1024 ** 3).toFixed(1)} GiB free in ${config.dataFolder}`
  return [free < leastFreeBytes ? bad('disk', `Only ${text}: make room, the database needs it to go on`) : good('disk', text)]
}

/** Ends with 0 where nothing is bad; warnings alone are no failure. `--json` prints the findings as a list. */
export async function doctor(args: readonly string[], around: Surroundings): Promise<number> {
  const unknown = args.find((arg) => arg !== '--json')
  if (unknown !== undefined) {
    around.err(`doctor takes --json, not ${unknown.slice(0, 60)}\n`)
    return exitCodes.usage
  }
  const findings: Finding[] = []
  try {
    const config = await checkedConfig(around.environment, around.cwd)
    findings.push(good('settings', 'All settings can be read'))
    if (config.dialNetworks.length === 0)
      findings.push(warning('dial networks', 'STEELYARD_DIAL_NETWORKS is not set: no server can be dialled until it names their networks'))
    if (config.insecure) findings.push(warning('insecure', 'STEELYARD_INSECURE=1: passwords and tokens cross the network in the clear'))
    findings.push(...(await keyFile(config)), ...(await database(config, around)), ...(await space(config)), reach(config), await factory(config))
  } catch (error) {
    if (!(error instanceof ConfigRefused)) throw error
    findings.push(...error.problems.map((problem) => bad('settings', problem)))
  }
  if (args.includes('--json')) around.out(`${JSON.stringify(findings, null, 2)}\n`)
  else {
    const mark = { good: 'ok', warning: 'warning', bad: 'PROBLEM' } as const
    const width = Math.max(...findings.map((f) => f.check.length))
    around.out(findings.map((f) => `${f.check.padEnd(width)}  ${mark[f.verdict].padEnd(7)}  ${f.text}\n`).join(''))
  }
  return findings.some((f) => f.verdict === 'bad') ? exitCodes.failure : exitCodes.ok
}
