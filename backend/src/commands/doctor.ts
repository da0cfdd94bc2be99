/**
 * `doctor`: checks settings, key, database, clock and reachability, and prints how to fix problems.
 * Changes nothing.
 */
import { readFile, stat, statfs } from 'node:fs/promises'
import path from 'node:path'
import { supportedMinor } from '#talos/versions.ts'
import { providerReturnPath } from '#contract/people/sign-in.ts'
import { counted } from '#contract/words.ts'
import { systemClock } from '../clock.ts'
import { checkedConfig, type Config, ConfigRefused } from '../config.ts'
import type { Database } from '../db/db.ts'
import { readMigrations } from '../db/migrate.ts'
import { factory as makeFactory, isPrerelease } from '../domains/images/factory.ts'
import { providerClient } from '../domains/sessions/provider/client.ts'
import { channelCondition, channelsSaid } from '../domains/alerts/api.ts'
import { backupCondition, backupsSaid } from '../domains/snapshots/api.ts'
import { heldCounts } from '../engine/holds.ts'
import { silent } from '../log.ts'
import { onlyHere } from '../network.ts'
import { reader } from '../reading/reader.ts'
import { checkFingerprint, type KeyRing, readKeyFile } from '../vault/key-file.ts'
import { certificateSaid } from './certificate.ts'
import { messageOf, withDatabase } from './command.ts'
import { domainsFor } from './domains.ts'
import { exitCodes, type Surroundings } from './surroundings.ts'

type Finding = {
  readonly check: string
  readonly verdict: 'good' | 'warning' | 'bad'
  readonly text: string
}
/** Adds a finding: the result and, if there is a problem, what to do. */
type Report = Readonly<Record<Finding['verdict'], (check: string, text: string) => void>>

const largestSkewMs = 5_000
const factoryLimits = { callMs: 5_000, overallMs: 8_000, tries: 2, pauseMs: 500, atOnce: 1 }
/** With less free space than this, the database may stop unexpectedly. */
const leastFreeBytes = 512 * 1024 ** 2

const found = (file: string) => stat(file).catch(() => undefined)

async function keyFile(
  { good, warning, bad }: Report,
  { keyFile: file, dataFolder }: Config,
): Promise<void> {
  if (!(await found(file)))
    return warning(
      'key',
      `There is no key file at ${file} yet; the first start makes it. Keep a copy where the backups aren't`,
    )
  try {
    await readKeyFile(file)
  } catch (error) {
    return bad('key', messageOf(error))
  }
  if (path.resolve(file).startsWith(`${path.resolve(dataFolder)}${path.sep}`))
    warning(
      'key',
      `The key file is in the data folder (${file}): anyone who copies the folder has the secrets too. Move it and set STEELYARD_KEY_FILE`,
    )
  else good('key', `The key file is ${file}, readable by its owner only`)
}

async function database(report: Report, config: Config, around: Surroundings): Promise<void> {
  const { good, warning, bad } = report
  // The first start writes this file, and makes the database.
  if (
    config.databaseUrl === undefined &&
    !(await found(path.join(config.dataFolder, 'process-id')))
  )
    return warning(
      'database',
      `Steelyard has not run with the data folder ${config.dataFolder} yet; the first start makes the database`,
    )
  const check = async (opened: Database): Promise<void> => {
    const { pool } = opened
    const asked = Date.now()
    const { rows } = await pool.query<{ now: Date; version: string }>(
      `select clock_timestamp() as now, current_setting('server_version') as version`,
    )
    const [{ now, version }] = rows as [{ now: Date; version: string }]
    const skewMs = now.getTime() - (asked + Date.now()) / 2
    good(
      'database',
      `${config.databaseUrl === undefined ? 'The embedded PostgreSQL' : 'PostgreSQL'} ${version} answers`,
    )
    if (Math.abs(skewMs) > largestSkewMs)
      warning(
        'clock',
        `The database's clock differs from this machine's by ${(skewMs / 1000).toFixed(0)} s: let both follow the same time servers`,
      )
    else good('clock', 'The clocks of this machine and of the database agree')
    const known = await readMigrations()
    const { rows: tables } = await pool.query(
      `select 1 from information_schema.tables where table_name = 'migration' and table_schema = current_schema()`,
    )
    if (tables.length === 0)
      return warning(
        'schema',
        'The database is empty; the first start of Steelyard creates its tables',
      )
    const { rows: done } = await pool.query<{ newest: number }>(
      'select max(number) as newest from migration',
    )
    const newest = done[0]!.newest
    if (newest > known.length)
      return bad(
        'schema',
        `The database has schema ${newest}, but this program knows only up to ${known.length}: start a newer one`,
      )
    if (newest < known.length)
      return warning(
        'schema',
        `The database has schema ${newest}; the next start brings it to ${known.length}`,
      )
    good('schema', `The database has schema ${newest}, the newest`)
    await inside(report, config, around, opened)
  }
  await withDatabase(config, around, check, { mayMake: false, waitMs: 5_000 }).catch(
    (error: unknown) => bad('database', messageOf(error)),
  )
}

/** Checks the stored data: key file, users, servers, restore and audit log. */
async function inside(
  { good, warning, bad }: Report,
  config: Config,
  around: Surroundings,
  opened: Database,
): Promise<void> {
  if (!(await found(config.keyFile)))
    return bad(
      'fingerprint',
      `The secrets in the database are encrypted, but there is no key file at ${config.keyFile}: set STEELYARD_KEY_FILE to its path`,
    )
  let keys: KeyRing
  try {
    keys = await readKeyFile(config.keyFile)
    await checkFingerprint(opened.db, keys, config.keyFile)
  } catch (error) {
    return bad('fingerprint', messageOf(error))
  }
  const { users, servers, audit } = domainsFor(around, {
    config,
    database: opened,
    keys,
    owner: 'doctor',
  })
  good('fingerprint', 'The key file belongs to this database')
  const people = await users.count()
  if (people === 0)
    warning('users', `Nobody can sign in yet: ${around.ownCommand} user add --first EMAIL`)
  else good('users', counted(people, 'user'))
  const { total, unreachable } = (await servers.summary()).servers
  if (unreachable > 0)
    warning(
      'servers',
      `${unreachable} of ${counted(total, 'server')} can't be reached: the console shows for each since when and why`,
    )
  else good('servers', `${counted(total, 'server')}, none unreachable`)
  const backups = backupsSaid(await backupCondition(opened.db), systemClock.now())
  if (backups !== null) (backups.isWell ? good : warning)('backups', backups.text)
  const channels = channelsSaid(await channelCondition(opened.db))
  if (channels !== null) (channels.isWell ? good : warning)('channels', channels.text)
  const { cluster, operation } = await heldCounts(opened.db)
  const held = [
    ...(cluster > 0 ? [counted(cluster, 'cluster')] : []),
    ...(operation > 0 ? [counted(operation, 'operation')] : []),
  ].join(' and ')
  if (held !== '')
    warning(
      'restore',
      `${held} ${cluster + operation === 1 ? 'is' : 'are'} held since a restore, and nothing is sent to their servers: look at each, then resume it in the console, or by steelyard cluster resume NAME and operation resume ID`,
    )
  const chain = await audit.verify()
  if (chain.ok) good('audit log', `${chain.entries} entries, the chain is intact`)
  else
    bad(
      'audit log',
      `Entry ${chain.seq} ${chain.reason}: somebody changed the database without Steelyard`,
    )
}

async function factory(
  { good, warning }: Report,
  { imageFactoryUrl: url, simulate }: Config,
): Promise<void> {
  const check = 'image factory'
  try {
    const { items: all, simulated } = await makeFactory({
      url,
      clock: systemClock,
      log: silent,
      limits: factoryLimits,
      read: reader(),
    }).versions()
    const items = all.filter((v) => supportedMinor(v) !== undefined && !isPrerelease(v))
    if (items.length === 0)
      return warning(
        check,
        `${url} answers, but builds no Talos that Steelyard supports: set IMAGE_FACTORY_URL to one that does`,
      )
    if (simulated && simulate === undefined)
      return warning(
        check,
        `${url} is a simulated one: its images boot no real server. Set IMAGE_FACTORY_URL to a real one`,
      )
    good(check, `${url} answers, with Talos up to ${items[0]}`)
  } catch (error) {
    warning(
      check,
      `${messageOf(error)}. Until the factory answers, no new images can be prepared; everything else works. Set IMAGE_FACTORY_URL to use a factory of your own`,
    )
  }
}

async function identityProvider(
  { good, warning }: Report,
  { provider, publicUrl }: Config,
): Promise<void> {
  if (!provider) return
  const check = 'identity provider'
  const redirectUri = `${publicUrl}${providerReturnPath}`
  try {
    await providerClient(provider, { clock: systemClock, log: silent, redirectUri }).ready()
    good(
      check,
      `${provider.issuer.href} answers. Its client ${provider.clientId} must have the redirect URI ${redirectUri}`,
    )
  } catch (error) {
    warning(
      check,
      `${messageOf(error)} Nobody can sign in with it until then: compare STEELYARD_OIDC_ISSUER with the issuer in its metadata`,
    )
  }
}

/** The address at which booting servers announce themselves. */
function reach({ good, warning }: Report, { publicUrl, simulate }: Config): void {
  if (simulate !== undefined || !onlyHere(publicUrl))
    good('public url', `Servers announce themselves at ${publicUrl}`)
  else
    warning(
      'public url',
      `Servers can't announce themselves at ${publicUrl}, which only this machine can reach: set STEELYARD_PUBLIC_URL`,
    )
}

/** The certificate with which this installation answers, if it does so itself. */
async function certificate(
  report: Report,
  { tls, publicUrl, trustedProxies }: Config,
): Promise<void> {
  if (!tls) return
  const { verdict, text } = certificateSaid(await readFile(tls.certFile), {
    publicUrl: trustedProxies.length === 0 ? publicUrl : null,
    now: new Date(systemClock.now()),
  })
  report[verdict]('certificate', text)
}

async function space({ good, bad }: Report, { dataFolder }: Config): Promise<void> {
  const disk = await statfs(dataFolder).catch(() => undefined)
  if (!disk) return
  const free = disk.bavail * disk.bsize
  const text = `${(free / 1024 ** 3).toFixed(1)} GiB free in ${dataFolder}`
  if (free < leastFreeBytes)
    bad('disk', `Only ${text}: make room, because the database needs free space to continue`)
  else good('disk', text)
}

/**
 * Exit code 0 if no check failed; warnings don't count as failures. `--json` prints the findings as
 * a list.
 */
export async function doctor(args: readonly string[], around: Surroundings): Promise<number> {
  const unknown = args.find((arg) => arg !== '--json')
  if (unknown !== undefined) {
    around.err(`doctor takes --json, not ${unknown.slice(0, 60)}\n`)
    return exitCodes.usage
  }
  const findings: Finding[] = []
  const add = (verdict: Finding['verdict']) => (check: string, text: string) =>
    void findings.push({ check, verdict, text })
  const report: Report = { good: add('good'), warning: add('warning'), bad: add('bad') }
  try {
    const config = await checkedConfig(around.environment, around.cwd)
    report.good('settings', 'All settings can be read')
    if (config.dialNetworks.length === 0)
      report.warning(
        'dial networks',
        'STEELYARD_DIAL_NETWORKS is not set. Set it to the networks of your servers; until then, no server can be dialled',
      )
    if (config.insecure)
      report.warning(
        'insecure',
        'STEELYARD_INSECURE=1: passwords and tokens cross the network unencrypted',
      )
    await keyFile(report, config)
    await database(report, config, around)
    await space(report, config)
    reach(report, config)
    await certificate(report, config)
    await factory(report, config)
    await identityProvider(report, config)
  } catch (error) {
    if (!(error instanceof ConfigRefused)) throw error
    for (const problem of error.problems) report.bad('settings', problem)
  }
  if (args.includes('--json')) around.out(`${JSON.stringify(findings, null, 2)}\n`)
  else {
    const mark = { good: 'ok', warning: 'warning', bad: 'PROBLEM' } as const
    const width = Math.max(...findings.map((f) => f.check.length))
    around.out(
      findings
        .map((f) => `${f.check.padEnd(width)}  ${mark[f.verdict].padEnd(7)}  ${f.text}\n`)
        .join(''),
    )
  }
  return findings.some((f) => f.verdict === 'bad') ? exitCodes.failure : exitCodes.ok
}
