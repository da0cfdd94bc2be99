import { connectionFault } from '#contract/connections/causes.ts'
import { randomUUID } from 'node:crypto'
import * as z from 'zod/mini'
import { applyHeader } from '#contract/apply/applied.ts'
import { eventStream } from '#contract/events.ts'
import { type Answer, answerWithinMs, type Asked, type Operation } from '#contract/operation.ts'
import { sessionProve } from '#contract/people/profile.ts'
import { authorize, authorizeRefresh, deviceCookie, secureName } from '#contract/sessions.ts'
import { CliError } from '../exit.ts'
import type { Terminal } from '../terminal.ts'
import { oneLine } from '../text.ts'
import type { Contexts } from './contexts.ts'
import { refusal, unreachable } from './failures.ts'
import { bytesOf, textIn, textOf } from './long-read.ts'
import type { Session, Sessions } from './sessions.ts'
import { isLoopback } from './proxy.ts'
import { openStream, readEvents } from './stream.ts'
import { openTransport } from './transport.ts'

type Parts = 'params' | 'query' | 'body'
/** The parts of a request that the caller may omit, because they have no required fields. */
type Left<O extends Operation> = {
  [K in Parts]: Asked<O>[K] extends undefined
    ? K
    : Record<string, never> extends Asked<O>[K]
      ? K
      : never
}[Parts]
type Ask<O extends Operation> = Omit<Asked<O>, Left<O>> & Partial<Pick<Asked<O>, Left<O>>>

export type Api = ReturnType<typeof openApi>
interface CallOptions {
  readonly signal?: AbortSignal
  /** Idempotency-Key of a write. Default: a random one. */
  readonly idempotencyKey?: string | undefined
  /**
   * `If-Match`: the object's `version` when it was read. The API refuses the write (`conflict`,
   * code `stale`) if the object has changed since.
   */
  readonly version?: number | undefined
  /**
   * The set of files to which an object that the call creates will belong; see
   * `contract/apply/applied.ts`.
   */
  readonly set?: string | undefined
}

/** The address on which `npm start` listens. */
const defaultUrl = 'http://127.0.0.1:8080'

/**
 * Normalizes an address and removes a trailing slash, because sessions are stored by address.
 * Throws CliError `usage`.
 */
export function readUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  if (!url || !['http:', 'https:'].includes(url.protocol))
    throw new CliError(
      'usage',
      `${oneLine(text)} is no address such as https://steelyard.example.com`,
    )
  if (url.username || url.password || url.search || url.hash)
    throw new CliError(
      'usage',
      'The address must not contain a user, a password, a query or a fragment',
    )
  return url.origin + url.pathname.replace(/(?<!\/)\/+$/, '')
}

/** Refuses to send passwords and tokens over a network without TLS. */
export function checkSafe(url: string, env: Readonly<Record<string, string | undefined>>): void {
  const { protocol, hostname } = new URL(url)
  if (protocol === 'https:' || isLoopback(hostname) || env['STEELYARD_INSECURE'] === '1') return
  throw new CliError(
    'usage',
    `${url} is not encrypted: others on the network can read what is sent there`,
    {
      hint: 'Use https://, or set STEELYARD_INSECURE=1 on a network that you trust',
    },
  )
}

const tries = 3
const longestWaitMs = 10_000

const issueText = (issue: z.core.$ZodIssue) =>
  issue.path.length > 0 ? `${issue.path.join('.')}: ${issue.message}` : issue.message

/** Validates a request before it is sent. */
function check(operation: Operation, ask: Partial<Record<Parts, unknown>>): void {
  for (const part of ['params', 'query', 'body'] as const) {
    const read = z.safeParse(operation[part], ask[part] ?? (part === 'body' ? undefined : {}))
    if (!read.success)
      throw new CliError('usage', oneLine(read.error.issues.map(issueText).join('; ')))
  }
}

function pathOf(operation: Operation, ask: Partial<Record<Parts, unknown>>): string {
  const params = Object.entries(ask.params ?? {})
  const query = new URLSearchParams(
    Object.entries(ask.query ?? {})
      .filter(([, value]) => value !== undefined)
      .map(([key, value]): [string, string] => [key, String(value)]),
  )
  const path = params.reduce(
    (p, [name, value]) => p.replace(`{${name}}`, encodeURIComponent(String(value))),
    operation.path as string,
  )
  return query.size > 0 ? `${path}?${query.toString()}` : path
}

/** Milliseconds to wait before a retry, or null if a retry is useless or would come too late. */
function waitBeforeRepeat(answer: Response, attempt: number): number | null {
  if (![409, 429, 503].includes(answer.status)) return null
  const seconds = answer.headers.get('retry-after')
  if (seconds === null || !/^\d{1,6}$/.test(seconds)) return null
  const ms = Number(seconds) * 1000
  return ms <= longestWaitMs && attempt < tries ? ms : null
}

/** How a command line names a Steelyard. */
export interface Address {
  readonly url: string | undefined
  /** Name of a context. */
  readonly context: string | undefined
}
/** An address, and the file of further authorities that may have signed its certificate. */
interface Target extends Address {
  readonly caFile: string | undefined
}

/**
 * The address in the options, or else in the environment. Throws CliError `usage` if one of them
 * names a Steelyard twice.
 */
function namedIn(options: Address, env: Terminal['env']): Address {
  if (options.url !== undefined && options.context !== undefined)
    throw new CliError('usage', 'Give either --url or --context')
  if (options.url !== undefined || options.context !== undefined) return options
  const [url, context] = [env['STEELYARD_URL'] || undefined, env['STEELYARD_CONTEXT'] || undefined]
  if (url !== undefined && context !== undefined)
    throw new CliError('usage', 'STEELYARD_URL and STEELYARD_CONTEXT are both set: set one of them')
  return { url, context }
}

/** The header `Set-Cookie` of the device's cookie. Over HTTPS its name has a prefix. */
const isDevice = (header: string): boolean =>
  [deviceCookie, secureName(deviceCookie)].some((name) => header.startsWith(`${name}=`))

/**
 * The API at one address: that of the options, else of the environment, else of the last sign-in,
 * else the default port on this machine.
 */
export function openApi(terminal: Terminal, sessions: Sessions, contexts: Contexts, asked: Target) {
  const { env } = terminal
  const caFile = asked.caFile ?? (env['STEELYARD_CA_FILE'] || undefined)
  const fetch = openTransport(env, caFile)
  const failed = (base: string, e: unknown, timeoutMs: number) =>
    unreachable(base, e, { timeoutMs, caFile })
  let known: Promise<string> | undefined
  const find = async (): Promise<string> => {
    const { url, context } = namedIn(asked, env)
    if (context !== undefined) return contexts.urlOf(context)
    return url ?? (await sessions.current()) ?? defaultUrl
  }
  const url = () => (known ??= find().then(readUrl))

  /** Sends a request. Retries it only if the request can't take effect twice. */
  async function send(
    operation: Operation,
    ask: Partial<Record<Parts, unknown>>,
    token: string | null,
    key: string,
    { signal, version, set }: Pick<CallOptions, 'signal' | 'version' | 'set'> = {},
  ): Promise<{ status: number; text: string }> {
    const base = await url()
    checkSafe(base, env)
    const timeoutMs = answerWithinMs(operation)
    // The cookie identifies a known device, so that failed sign-ins from other devices don't delay
    // a sign-in from this device.
    const device = operation.name === authorize.name ? await sessions.device(base) : null
    // Safe to retry: a write with an Idempotency-Key, and a refresh, which returns the same new
    // tokens for a short time. A sign-in is never retried.
    const repeatable =
      operation.method === 'GET' ||
      (operation.method === 'POST' && operation.name !== authorize.name)
    for (let attempt = 1; ; attempt++) {
      try {
        const answer = await fetch(base + pathOf(operation, ask), {
          method: operation.method,
          signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])]),
          headers: {
            accept: operation.media,
            ...(token !== null && { authorization: `Bearer ${token}` }),
            ...(ask.body !== undefined && { 'content-type': 'application/json' }),
            ...(operation.method === 'POST' &&
              operation.scope !== null && { 'idempotency-key': key }),
            ...(device !== null && { cookie: device }),
            ...(version !== undefined && { 'if-match': `"${version}"` }),
            ...(set !== undefined && { [applyHeader]: set }),
          },
          ...(ask.body !== undefined && { body: JSON.stringify(ask.body) }),
        })
        if (answer.status >= 300 && answer.status < 400) {
          throw new CliError(
            'unreachable',
            `${base} redirects to ${oneLine(answer.headers.get('location') ?? 'another address')}`,
            {
              hint: 'If you trust the new address, give it with --url',
            },
          )
        }
        const text = await textIn(answer)
        const cookie =
          operation.name === authorize.name && answer.ok
            ? answer.headers.getSetCookie().find(isDevice)
            : undefined
        if (cookie !== undefined) await sessions.keepDevice(base, cookie.split(';', 1)[0]!)
        // A call that was answered 503 with a short `Retry-After` has changed nothing.
        const mayRepeat = repeatable || (answer.status === 503 && operation.name !== authorize.name)
        const waitMs = mayRepeat ? waitBeforeRepeat(answer, attempt) : null
        if (waitMs === null) return { status: answer.status, text }
        await terminal.sleep(waitMs, signal)
      } catch (e) {
        if (e instanceof CliError || signal?.aborted) throw e
        const error = failed(base, e, timeoutMs)
        // Retries only after a broken connection, not after a refused connection or for an unknown
        // host.
        if (!repeatable || attempt >= tries || connectionFault(e)?.cause !== 'lost') throw error
        await terminal.sleep(200 * attempt, signal)
      }
    }
  }

  /** Email of the user as whom this command began. */
  let begun: string | undefined
  /**
   * Throws CliError if somebody else has signed in on this machine since: the rest of the command
   * must not be done with their rights.
   */
  function demandSameUser(base: string, { email }: Session): void {
    begun ??= email
    if (email === begun) return
    throw new CliError(
      'not_signed_in',
      `The command was begun as ${oneLine(begun)}, but ${oneLine(email)} has signed in to ${base} meanwhile`,
      {
        hint: 'Run the command again',
      },
    )
  }

  /**
   * Returns a new access token after `spent` was refused. If another process has already refreshed
   * the session, returns the token stored by that process.
   */
  async function refresh(base: string, spent: string): Promise<string | null> {
    const session = await sessions.change(base, async (now) => {
      if (!now || now.access_token !== spent) return now
      const answer = await send(
        authorizeRefresh,
        { body: { refresh_token: now.refresh_token, rotate: true } },
        null,
        randomUUID(),
      )
      if (answer.status === 401) return null
      if (answer.status !== 200) throw refusal(base, answer.status, answer.text)
      const { access_token, refresh_token } = readAnswer(authorizeRefresh, answer.text, base)
      return { ...now, access_token, refresh_token: refresh_token ?? now.refresh_token }
    })
    if (session) demandSameUser(base, session)
    return session?.access_token ?? null
  }

  /**
   * Asks the user for the password and proves their identity with it. Throws CliError; `refused` if
   * there is no terminal.
   */
  async function prove(base: string, token: string, refused: CliError): Promise<void> {
    terminal.err(`${refused.message}\n`)
    const password = await terminal.ask('Password: ', { secret: true })
    if (password === null)
      throw new CliError('conflict', 'Your last sign-in is too long ago for this command', {
        hint: 'Sign in again with steelyard login, or use an API token: steelyard api-token create --help',
        ...(refused.body && { body: refused.body }),
      })
    const answer = await send(sessionProve, { body: { password } }, token, randomUUID())
    if (answer.status !== sessionProve.status) throw refusal(base, answer.status, answer.text)
  }

  async function tokenOf(base: string): Promise<string> {
    if (env['STEELYARD_TOKEN']) return env['STEELYARD_TOKEN']
    const session = await sessions.read(base)
    if (!session)
      throw new CliError('not_signed_in', `Not signed in to ${base}`, {
        hint: `steelyard login --url ${base}`,
      })
    demandSameUser(base, session)
    return session.access_token
  }

  /**
   * The bytes of a long response. Refreshes the token and proves the user's identity if necessary.
   */
  async function* long<O extends Operation>(operation: O, ask: Ask<O>): AsyncGenerator<Uint8Array> {
    check(operation, ask)
    const base = await url()
    checkSafe(base, env)
    const timeoutMs = answerWithinMs(operation)
    const stop = new AbortController()
    const open = async (token: string) => {
      const timer = setTimeout(
        () => stop.abort(new DOMException('There is no response', 'TimeoutError')),
        timeoutMs,
      )
      const headers = { accept: operation.media, authorization: `Bearer ${token}` }
      return fetch(base + pathOf(operation, ask), {
        signal: stop.signal,
        headers,
      }).finally(() => clearTimeout(timer))
    }
    try {
      let token = await tokenOf(base)
      let answer = await open(token)
      if (answer.status === 401 && !env['STEELYARD_TOKEN']) {
        token = (await refresh(base, token)) ?? token
        answer = await open(token)
      }
      if (operation.proof === true && answer.status === 409) {
        const refused = refusal(base, answer.status, await textIn(answer))
        if (refused.body?.code !== 'proof_needed') throw refused
        await prove(base, token, refused)
        answer = await open(token)
      }
      if (answer.status !== operation.status || !answer.body)
        throw refusal(base, answer.status, await textIn(answer))
      yield* bytesOf(answer.body, timeoutMs)
    } catch (e) {
      throw failed(base, e, timeoutMs)
    }
  }

  return {
    /** Address of the API. */
    url,
    /**
     * Validates the request against the contract, calls the API, validates the response. Refreshes
     * an expired access token once, and asks the user for the password if the call needs a recent
     * proof of identity. Throws CliError: `usage` for an invalid request, otherwise by the status
     * of the response.
     */
    async call<O extends Operation>(
      operation: O,
      ask: Ask<O>,
      { idempotencyKey, ...options }: CallOptions = {},
    ): Promise<Answer<O>> {
      check(operation, ask)
      const base = await url()
      const key = idempotencyKey ?? randomUUID()
      let token = operation.scope === null ? null : await tokenOf(base)
      let answer = await send(operation, ask, token, key, options)
      if (answer.status === 401 && token !== null) {
        if (env['STEELYARD_TOKEN'])
          throw new CliError('not_signed_in', 'STEELYARD_TOKEN is not valid, or has expired')
        const next = await refresh(base, token)
        if (next === null)
          throw new CliError('not_signed_in', 'Session expired. Please sign in again.', {
            hint: `steelyard login --url ${base}`,
          })
        token = next
        answer = await send(operation, ask, token, key, options)
      }
      if (operation.proof === true && token !== null && answer.status === 409) {
        const refused = refusal(base, answer.status, answer.text)
        if (refused.body?.code === 'proof_needed') {
          await prove(base, token, refused)
          answer = await send(operation, ask, token, key, options)
        }
      }
      if (answer.status !== operation.status) throw refusal(base, answer.status, answer.text)
      return readAnswer(operation, answer.text, base)
    },
    /**
     * Calls a read whose response is long, and yields the text of the response in parts. Throws
     * CliError; `unreachable` if the connection is cut before the end, so that a part isn't taken
     * for the whole.
     */
    read: <O extends Operation>(operation: O, ask: Ask<O>): AsyncGenerator<string> =>
      textOf(long(operation, ask)),
    /** Like `read`, for a file that isn't text. */
    readBytes: long,
    /**
     * Sends a request that needs no declaration, signed in if there is a session, and resolves to
     * the response whatever its status. Refreshes the token and proves the user's identity if
     * necessary. @param path with its query
     */
    async raw(
      method: Operation['method'],
      path: string,
      body: string | undefined,
    ): Promise<Response> {
      const base = await url()
      checkSafe(base, env)
      const key = randomUUID()
      const timeoutMs = answerWithinMs({ method, scope: 'signed_in' })
      const send = (token: string | null) => {
        const stop = new AbortController()
        const late = () => stop.abort(new DOMException('There is no response', 'TimeoutError'))
        const timer = setTimeout(late, timeoutMs)
        const headers = {
          accept: 'application/json, */*;q=0.5',
          ...(token !== null && { authorization: `Bearer ${token}` }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...(method === 'POST' && token !== null && { 'idempotency-key': key }),
        }
        return fetch(base + path, {
          method,
          signal: stop.signal,
          headers,
          ...(body !== undefined && { body }),
        })
          .catch((e: unknown) => {
            throw failed(base, e, timeoutMs)
          })
          .finally(() => clearTimeout(timer))
      }
      const isSignedIn = Boolean(env['STEELYARD_TOKEN']) || (await sessions.read(base)) !== null
      let token = isSignedIn ? await tokenOf(base) : null
      let answer = await send(token)
      if (answer.status === 401 && token !== null && !env['STEELYARD_TOKEN']) {
        token = (await refresh(base, token)) ?? token
        answer = await send(token)
      }
      if (answer.status !== 409 || token === null) return answer
      const text = await textIn(answer)
      const refused = refusal(base, answer.status, text)
      if (refused.body?.code !== 'proof_needed') return new Response(text, answer)
      await prove(base, token, refused)
      return send(token)
    },
    /**
     * Reads the stream of events until it ends: with the access token, or if it is silent. Calls
     * `onEvent` for each event, and once at the beginning, because something may have changed
     * before. Throws CliError, or the error of the connection.
     */
    async listen(signal: AbortSignal, onEvent: () => void): Promise<void> {
      const base = await url()
      checkSafe(base, env)
      const open = (token: string) => openStream(fetch, `${base}${eventStream.path}`, token, signal)
      const token = await tokenOf(base)
      let answer = await open(token)
      if (answer.status === 401 && !env['STEELYARD_TOKEN']) {
        const next = await refresh(base, token)
        if (next === null)
          throw new CliError('not_signed_in', 'Session expired. Please sign in again.')
        answer = await open(next)
      }
      if (answer.status !== eventStream.status || !answer.body)
        throw refusal(base, answer.status, await textIn(answer))
      onEvent()
      await readEvents(answer.body, onEvent)
    },
  }
}

/** Validates a response against the contract. */
function readAnswer<O extends Operation>(operation: O, text: string, base: string): Answer<O> {
  if (operation.status === 204) return undefined as Answer<O>
  if (operation.media !== 'application/json') return text as Answer<O>
  try {
    return z.parse(operation.answer, JSON.parse(text)) as Answer<O>
  } catch (e) {
    throw new CliError('failure', `${base} sent a response that this version does not understand`, {
      cause: e,
      hint: 'steelyard version shows both versions',
    })
  }
}
