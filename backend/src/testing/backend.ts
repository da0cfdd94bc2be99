/**
 * A real app on a real database of its own, cloned from the migrated template; only time,
 * randomness and what a test passes in are replaced. Calls go through the whole app without a
 * socket, and each answer is compared with the contract; `listen()` opens a socket for tests of
 * streams.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import path from 'node:path'
import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import type { ErrorBody } from '#contract/errors.ts'
import type { Answer, Asked, Operation } from '#contract/operation.ts'
import type { Role } from '#contract/permissions.ts'
import { sessionProve } from '#contract/people/profile.ts'
import { authorize } from '#contract/sessions.ts'
import type { Connection } from '../db/connection.ts'
import { type TestClock, testClock } from './clock.ts'
import { type Config, readConfig } from '../config.ts'
import { connect, type Database } from '../db/db.ts'
import { failpoint } from '../engine/failpoint.ts'
import { type ManualEngine, manualEngine } from './manual-engine.ts'
import { defaultLimits, type Limits } from '../http/limits.ts'
import { type Log, silent } from '../log.ts'
import { buildDomains, buildWeb, type Domains } from '../parts.ts'
import { buildPlatform, type Platform } from '../platform.ts'
import type { Reader } from '../reading/reader.ts'
import { tracedStatements } from '../tracing/statements.ts'
import { checkFingerprint, keysFor } from '../vault/key-file.ts'
import { checkAnswer } from './contract-check.ts'
import { freshDatabase } from './databases.ts'
import { whenOver } from './ending.ts'
import { temporaryFolder } from './folder.ts'
import { sharedReader } from './reader.ts'
import { setWork } from './work.ts'

export interface CallOptions {
  readonly headers?: Readonly<Record<string, string>>
  readonly ifMatch?: number
  readonly idempotencyKey?: string
}

export interface Called<O extends Operation> {
  readonly status: number
  /** Set for a success. */
  readonly answer: Answer<O> | undefined
  /** Set for an error. */
  readonly problem: ErrorBody | undefined
  readonly headers: LightMyRequestResponse['headers']
  readonly text: string
}

export type Call = <O extends Operation>(
  operation: O,
  input?: Partial<Asked<O>>,
  options?: CallOptions,
) => Promise<Called<O>>

export interface SignedIn {
  readonly userId: string
  readonly email: string
  readonly password: string
  readonly accessToken: string
  readonly refreshToken: string
  /**
   * A call as the console and the CLI make it: if a recent proof of identity is needed, the
   * password is given and the call repeated.
   */
  readonly call: Call
  /** The same without that. */
  readonly callOnce: Call
}

export interface Backend {
  readonly app: FastifyInstance
  readonly platform: Platform
  readonly domains: Domains
  readonly config: Config
  readonly database: Database
  readonly clock: TestClock
  /** Runs reconcilers by the test's clock, without the queue. */
  readonly engine: ManualEngine
  /** Creates a user with the role and signs in. */
  /**
   * `lasts`: `call` and `callOnce` sign in again when the access token has expired. A file with
   * simulated machines may take longer on a slow machine than a token is valid.
   */
  signIn(who?: { role?: Role; lasts?: boolean }): Promise<SignedIn>
  /** A call without a session. */
  readonly call: Call
  /** Opens a port on loopback. Returns the URL. */
  listen(): Promise<string>
  /** Publishes recorded changes to the audit log and the event stream. */
  publish(): Promise<void>
  stop(): Promise<void>
}

export interface BackendOptions {
  readonly environment?: Readonly<Record<string, string>>
  readonly clock?: TestClock
  readonly log?: Log
  readonly limits?: Limits
  /** Called before the app is built, to register reconcilers and domains of a test. */
  readonly prepare?: (platform: Platform, domains: Domains) => void
  /** Another process on the same database. */
  readonly beside?: Backend
  /** A database that the test made, not a new one. */
  readonly connection?: Connection
  /** Finds the host of `connection` that accepts writes, as with DATABASE_URL. */
  readonly find?: () => Promise<Connection>
  /**
   * Whether passwords are hashed, and keys derived from passphrases, with the work of production.
   * Only a test that measures this work needs it: each user who signs in costs two hashes.
   */
  readonly fullWork?: boolean
  /** What the backend reads texts with, from the usual one. */
  readonly reading?: (read: Reader) => Reader
}

/** Limits so high that only the tests of limits reach them. */
const generous: Limits = {
  ...defaultLimits,
  inFlight: 1000,
  inFlightOfPerson: 1000,
  unreadOfPerson: 1e6,
  heavy: 1000,
  heavyOfPerson: 1000,
  waitMs: 5000,
  delayMs: 60_000,
  writesPerSecond: 1e6,
  writeBurst: 1e6,
}

/** Starts a backend, which is stopped when the running test ends, or else the file. */
export async function startBackend({
  environment = {},
  clock = testClock(),
  log = silent,
  limits = generous,
  prepare,
  beside,
  connection: given,
  find,
  fullWork = false,
  reading = (read) => read,
}: BackendOptions = {}): Promise<Backend> {
  setWork(fullWork ? 'full' : 'little')
  const folder = beside ? beside.config.dataFolder : temporaryFolder('data')
  const connection = given ?? beside?.database.connection ?? (await freshDatabase())
  // No test calls the public image factory.
  const config = readConfig(
    {
      STEELYARD_DATA: folder,
      PORT: '0',
      IMAGE_FACTORY_URL: 'http://127.0.0.1:9',
      KUBERNETES_RELEASES_URL: 'http://127.0.0.1:9',
      ...environment,
    },
    folder,
  )
  const tracing =
    config.tracing &&
    (await import('../tracing/otel.ts')).otelTracing({
      settings: config.tracing,
      version: '1.2.3',
      instance: randomUUID(),
      log,
    })
  const onStatement = tracing && tracedStatements(tracing)
  const database = connect({ connection, ...(find && { find }), poolSize: 12, onStatement })
  // On a busy machine, fifty requests at once wait longer for a connection than the product allows.
  database.pool.options.connectionTimeoutMillis = 120_000
  const keys = await keysFor(database.pool, config.keyFile)
  await checkFingerprint(database.db, keys, config.keyFile)
  let chance = 1
  const random = () => {
    chance = (chance * 48_271) % 2_147_483_647
    return chance / 2_147_483_647
  }
  const never = (): never => {
    throw new Error('A failpoint was reached')
  }
  const built = buildPlatform({
    config,
    database,
    clock,
    random,
    log,
    owner: randomUUID(),
    keys,
    failpoint: failpoint(config.failpoint, never),
    version: '1.2.3',
    tracing,
  })
  const platform: Platform = { ...built, read: reading(sharedReader) }
  let app: FastifyInstance | undefined
  const domains = buildDomains(platform, (id) => app?.streams.endSession(id))
  const engine = manualEngine(platform.engine, clock)
  prepare?.(platform, domains)
  app = await buildWeb(platform, domains, {
    consoleFolder: path.join(folder, 'console'),
    cliFile: path.join(folder, 'cli.mjs'),
    docsFolder: path.join(folder, 'docs'),
    limits,
  })
  platform.listener.start()
  await domains.events.open()

  const send = async <O extends Operation>(
    token: string | undefined,
    operation: O,
    input: Partial<Asked<O>> = {},
    options: CallOptions = {},
  ): Promise<Called<O>> => {
    const { params, query, body } = input as {
      params?: Record<string, unknown>
      query?: Record<string, unknown>
      body?: unknown
    }
    const url = operation.path.replaceAll(/\{(\w+)\}/g, (_all, name: string) =>
      encodeURIComponent(String(params?.[name])),
    )
    const search = new URLSearchParams(
      Object.entries(query ?? {})
        .filter(([, value]) => value !== undefined)
        .map(([name, value]): [string, string] => [name, String(value)]),
    ).toString()
    const response = await app.inject({
      method: operation.method,
      url: search === '' ? url : `${url}?${search}`,
      headers: {
        'content-type': 'application/json',
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(options.ifMatch !== undefined && { 'if-match': `"${options.ifMatch}"` }),
        ...(options.idempotencyKey !== undefined && { 'idempotency-key': options.idempotencyKey }),
        ...options.headers,
      },
      ...(body !== undefined && { payload: JSON.stringify(body) }),
    })
    checkAnswer(operation, response)
    const json = String(response.headers['content-type']).startsWith('application/json')
    const success = response.statusCode < 400
    return {
      status: response.statusCode,
      answer: success
        ? ((json ? response.json() : response.body === '' ? undefined : response.body) as Answer<O>)
        : undefined,
      problem: success || !json ? undefined : response.json<ErrorBody>(),
      headers: response.headers,
      text: response.body,
    }
  }

  let stopped = false
  const stop = async () => {
    if (stopped) return
    stopped = true
    await app.close()
    domains.events.close()
    await platform.listener.stop()
    await database.close()
    await tracing?.stop()
    if (beside) return
    rmSync(folder, { recursive: true, force: true })
  }
  const backend: Backend = {
    app,
    platform,
    domains,
    config,
    database,
    clock,
    engine,
    stop,
    call: (operation, input, options) => send(undefined, operation, input, options),
    async publish() {
      await platform.publisher.publish()
    },
    listen: () => app.listen({ host: '127.0.0.1', port: 0 }),
    async signIn({ role = 'admin', lasts = false } = {}) {
      const email = `${role}-${randomBytes(4).toString('hex')}@example.com`
      const password = `right ${randomBytes(8).toString('hex')}`
      await domains.users.create(
        { kind: 'system', name: 'test' },
        { email, name: role, role, password },
      )
      const { answer, text } = await send(undefined, authorize, { body: { email, password } })
      if (!answer) throw new Error(`Sign-in failed: ${text}`)
      const { accessToken, refreshToken, userData } = answer
      let token = accessToken
      const callOnce: Call = async (operation, input, options) => {
        const first = await send(token, operation, input, options)
        if (!lasts || first.problem?.code !== 'session_expired') return first
        token = (await send(undefined, authorize, { body: { email, password } })).answer!
          .accessToken
        return send(token, operation, input, options)
      }
      const call: Call = async (operation, input, options) => {
        const first = await callOnce(operation, input, options)
        if (first.problem?.code !== 'proof_needed') return first
        const { status, text: why } = await callOnce(sessionProve, { body: { password } })
        if (status !== 200) throw new Error(`The proof failed: ${why}`)
        return callOnce(operation, input, options)
      }
      return { userId: userData.id, email, password, accessToken, refreshToken, call, callOnce }
    },
  }
  whenOver(stop)
  return backend
}
