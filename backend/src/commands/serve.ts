/**
 * `serve`: reads the settings, starts the database, the reconcilers and the HTTP server, waits for
 * a signal, and stops them in reverse order.
 */
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { FastifyInstance } from 'fastify'
import { Problem } from '#contract/errors.ts'
import { counted } from '#contract/words.ts'
import { isDatabaseAway } from '../causes/causes.ts'
import { holdIfBack } from '../backup/went-back.ts'
import { systemClock, wrongClock } from '../clock.ts'
import { checkedConfig, type Config, ConfigRefused } from '../config.ts'
import { untilDatabase } from '../db/db.ts'
import { FolderInUse } from '../db/embedded/lock.ts'
import { keepPosition } from '../db/keep-position.ts'
import { migrate, readMigrations } from '../db/migrate.ts'
import { openDatabase } from '../db/open.ts'
import { missingSentence, positionFile, readPosition, wentBackSentence } from '../db/position.ts'
import { eventChannel } from '../domains/events/api.ts'
import { failpoint } from '../engine/failpoint.ts'
import { type Log, logger } from '../log.ts'
import type { Domains } from '../parts.ts'
import type { Platform } from '../platform.ts'
import { Refusal, whyRefused } from '../refusal.ts'
import { tracedStatements } from '../tracing/statements.ts'
import { checkFingerprint, keysFor } from '../vault/key-file.ts'
import { exitCodes, type Surroundings } from './surroundings.ts'

const engineGraceMs = 10_000
const housekeepingMs = 3600_000
/**
 * Wait before the imports, in ms: long enough to check for a running PostgreSQL and to launch it if
 * there is none.
 */
const launchMs = 10

/**
 * The name of this process in leases. It is stored, so that the process recognises its own leases
 * after a restart.
 */
function processName(dataFolder: string): string {
  const file = path.join(dataFolder, 'process-id')
  if (existsSync(file)) return readFileSync(file, 'utf8').trim()
  const name = randomUUID()
  writeFileSync(file, `${name}\n`, { mode: 0o600 })
  return name
}

/** Shutdown steps: each part adds its step when it starts, and the steps run in reverse order. */
function shutdownSteps(log: Log) {
  const steps: { name: string; act: () => Promise<unknown> }[] = []
  return {
    push: (name: string, act: () => Promise<unknown>) => void steps.push({ name, act }),
    async run(): Promise<void> {
      for (let step = steps.pop(); step; step = steps.pop()) {
        try {
          await step.act()
        } catch (error) {
          log.error('stop.failed', { stage: step.name, error })
        }
      }
    },
  }
}

async function firstUser(
  { config, log }: Platform,
  { users }: Domains,
  ownCommand: string,
): Promise<void> {
  if (config.firstUser) {
    try {
      if (await users.createFirst(config.firstUser)) log.info('user.first_made')
    } catch (error) {
      if (error instanceof Problem && error.code === 'invalid')
        throw new Refusal(`STEELYARD_ADMIN_PASSWORD is refused: ${error.message}`, { lasts: true })
      throw error
    }
  } else if ((await users.count()) === 0) {
    log.warn('user.none', {
      reason: `Nobody can sign in yet: set STEELYARD_ADMIN_EMAIL and STEELYARD_ADMIN_PASSWORD, or run: ${ownCommand} user add --first EMAIL`,
    })
  }
}

/**
 * The URL to open in a browser. If the program listens on all addresses, the URL has the loopback
 * address.
 */
function addressOf(config: Config, app: FastifyInstance): string {
  const bound = app.server.address()
  const port = typeof bound === 'object' && bound ? bound.port : config.port
  const host = config.host === '0.0.0.0' || config.host === '::' ? '127.0.0.1' : config.host
  return `${config.tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** Imports the modules that need the database. */
async function imported() {
  // Lets PostgreSQL be launched first, because the imports block this process.
  await new Promise((resolve) => setTimeout(resolve, launchMs))
  const { engineQueue } = await import('../engine/queue.ts')
  const { listen } = await import('../http/listen.ts')
  const { buildDomains, buildWatched, buildWeb } = await import('../parts.ts')
  const { buildPlatform } = await import('../platform.ts')
  return { engineQueue, listen, buildDomains, buildWatched, buildWeb, buildPlatform }
}

/** Loads the program without starting it. */
export async function compile({ out }: Surroundings): Promise<number> {
  await imported()
  out('Compiled\n')
  return exitCodes.ok
}

/** Loads and starts traces, if they are on. */
async function startTracing({ tracing: settings }: Config, version: string, log: Log) {
  if (!settings) return undefined
  const { otelTracing } = await import('../tracing/otel.ts')
  log.info('tracing.started', { host: settings.endpoint.host })
  return otelTracing({ settings, version, instance: randomUUID(), log })
}

async function start(
  config: Config,
  around: Surroundings,
  log: Log,
  steps: ReturnType<typeof shutdownSteps>,
  { stop, onBack }: { stop: AbortSignal; onBack: () => void },
): Promise<void> {
  const stopAsked = () => stop.aborted
  const { machine, home, version } = around
  const tracing = await startTracing(config, version, log)
  if (tracing) steps.push('tracing', () => tracing.stop())
  const onStatement = tracing && tracedStatements(tracing)
  const opening = openDatabase({ config, machine, log, stopAsked, onStatement })
  // PostgreSQL starts in a separate process. Meanwhile this process loads the rest of the program,
  // which takes about as long.
  const loading = imported()
  loading.catch(() => undefined)
  const migrations = readMigrations()
  migrations.catch(() => undefined)
  const opened = await opening
  steps.push('database', () => opened.close())
  if (stopAsked()) return
  const keys = await keysFor(opened.database.pool, config.keyFile)
  const ran = await migrate(opened.database.pool, await migrations)
  if (ran.length > 0) log.info('database.migrated', { migrations: ran.map(String) })
  await checkFingerprint(opened.database.db, keys, config.keyFile)
  const kept = positionFile(config.dataFolder)
  const back = await holdIfBack(opened.database.pool, kept.read(), systemClock)
  if (back)
    log.error('database.went_back', {
      reason: `${wentBackSentence(back.newest, missingSentence(back.missing))}. ${counted(back.clusters, 'cluster')} and ${counted(back.operations, 'open operation')} are held until a user resumes them`,
    })
  const position = await readPosition(opened.database.pool)
  kept.write(position)
  opened.database.guard(position, (seen) => {
    // The file lacks what was seen in the last second, and the next start compares with the file.
    try {
      kept.write(seen)
    } catch (error) {
      log.error('database.position_failed', { error })
    }
    onBack()
  })
  opened.embedded?.supervise()
  const { engineQueue, listen, buildDomains, buildWatched, buildWeb, buildPlatform } = await loading

  const platform = buildPlatform({
    config,
    database: opened.database,
    clock: systemClock,
    random: Math.random,
    log,
    owner: processName(config.dataFolder),
    keys,
    failpoint: failpoint(config.failpoint, around.kill),
    version,
    tracing,
  })
  let app: FastifyInstance | undefined
  const domains = buildDomains(platform, (id) => app?.streams.endSession(id))
  const queue = engineQueue(platform.engine, platform)
  steps.push('listener', () => platform.listener.stop())
  platform.listener.start()
  await domains.events.open()
  steps.push('position', keepPosition({ ...platform, file: kept, channel: eventChannel }))
  platform.publisher.start()
  steps.push('events', async () => {
    await platform.publisher.stop()
    domains.events.close()
  })
  // After a key was added to the key file: wraps the data keys again with the newest key.
  const rewrapped = await platform.vault.rotate(platform.db)
  if (rewrapped > 0) log.info('vault.rotated', { count: rewrapped })
  await firstUser(platform, domains, around.ownCommand)

  const reconciles = config.roles.includes('reconcile')
  // These steps are pushed before those of the app, although they start later, so that requests end
  // first.
  steps.push('engine', () => queue.stop(engineGraceMs))
  if (reconciles)
    for (const domain of domains.all) if (domain.stop) steps.push(domain.name, domain.stop)
  const answers = config.roles.includes('http')
  if (answers)
    app = await buildWeb(platform, domains, {
      consoleFolder: path.join(home, 'console/dist'),
      cliFile: path.join(home, 'cli/dist/steelyard.mjs'),
      docsFolder: path.join(home, 'docs/dist'),
    })
  const web = app ?? (await buildWatched(platform, domains))
  steps.push('http', () => web.close())
  const stopListening = await listen(web, config, log).catch((error: unknown) => {
    throw cannotListen(config, error)
  })
  steps.push('listening', async () => stopListening())
  if (config.tls) {
    const { keepCertificate } = await import('../http/renewal.ts')
    steps.push('certificate', await keepCertificate(web.server, config.tls, log))
  }
  around.out(
    answers
      ? `Steelyard is ready at ${addressOf(config, web)}\n`
      : `Steelyard is ready, without API and console: ${addressOf(config, web)}/readyz\n`,
  )
  // Starts after the app, because reading ten thousand servers would delay it by a second. The
  // program has reported that it is ready, so from here on it waits for a database that is away.
  if (reconciles) {
    queue.start()
    for (const { start: begin } of domains.all) if (begin) await untilDatabase(begin, stop)
    keepHouse(platform, domains, steps)
  }
  if (
    config.dialNetworks.length === 0 &&
    config.simulate === undefined &&
    config.roles.includes('reconcile')
  )
    log.warn('dial.nowhere', {
      setting: 'STEELYARD_DIAL_NETWORKS',
      reason:
        'No server can be dialled until STEELYARD_DIAL_NETWORKS contains the networks of the servers',
    })
  log.info('ready', { version, roles: config.roles, pid: machine.pid })
}

/**
 * Removes data that is no longer needed, once an hour. Several processes may run the cleanup at the
 * same time.
 */
function keepHouse(
  { log }: Platform,
  domains: Domains,
  steps: ReturnType<typeof shutdownSteps>,
): void {
  const tidy = async () => {
    for (const domain of domains.all) {
      try {
        await domain.removeOld?.()
      } catch (error) {
        if (!isDatabaseAway(error)) log.error('housekeeping.failed', { stage: domain.name, error })
      }
    }
  }
  const timer = setInterval(() => void tidy(), housekeepingMs)
  steps.push('housekeeping', async () => clearInterval(timer))
}

/** The reason why the program can't listen on the address, and what to do. */
function cannotListen({ host, port }: Config, error: unknown): Refusal {
  const why: Record<string, string> = {
    EADDRINUSE: `port ${port} is in use by another program: stop that program, or set PORT to another port`,
    EADDRNOTAVAIL:
      'no interface of this machine has that address: set HOST to one of its own, or to 0.0.0.0 for all',
    EACCES: `this user may not use port ${port}: set PORT to one above 1023`,
    ENOTFOUND: 'the host name is unknown here: set HOST to an address',
  }
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return new Refusal(
    `Steelyard can't listen on ${host}:${port}: ${why[code] ?? whyRefused(error)}`,
    { cause: error, lasts: code === 'EACCES' },
  )
}

export async function serve(around: Surroundings): Promise<number> {
  const wrong = wrongClock(systemClock.now())
  if (wrong) {
    around.err(`${wrong}\n`)
    return exitCodes.failure
  }
  let config: Config
  try {
    config = await checkedConfig(around.environment, around.cwd)
  } catch (error) {
    if (!(error instanceof ConfigRefused)) throw error
    around.err(`${error.message}\n`)
    return exitCodes.usage
  }
  const log = logger({
    level: config.logLevel,
    readable: around.readable,
    now: Date.now,
    write: around.err,
  })
  const steps = shutdownSteps(log)
  const stop = new AbortController()
  void around.stopAsked.then(() => stop.abort())
  for (;;) {
    const back = Promise.withResolvers<'back'>()
    try {
      await start(config, around, log, steps, {
        stop: stop.signal,
        onBack: () => back.resolve('back'),
      })
    } catch (error) {
      await steps.run()
      if (stop.signal.aborted) return exitCodes.ok
      // An error that the operator can fix is printed as a sentence, without a stack.
      if (error instanceof Refusal) around.err(`${error.message}\n`)
      else if (error instanceof Error && 'syscall' in error)
        around.err(`Steelyard can't start: ${error.message}\n`)
      else log.error('start.failed', { error })
      if (error instanceof FolderInUse) return exitCodes.conflict
      return error instanceof Refusal && error.lasts ? exitCodes.usage : exitCodes.failure
    }
    const why = await Promise.race([around.stopAsked, back.promise])
    log.info('stopping', { signal: why })
    await steps.run()
    if (why !== 'back' || stop.signal.aborted) {
      log.info('stopped')
      return exitCodes.ok
    }
    // The database went back in time. Nothing that this process remembers holds any more, so it
    // begins again from nothing, and the start holds everything.
  }
}
