import { randomUUID } from 'node:crypto'
import * as z from 'zod/mini'
import type { Answer, Asked, Operation } from '#contract/operation.ts'
import { authorize, authorizeRefresh, deviceCookie } from '#contract/sessions.ts'
import { CliError, exitOfStatus } from '../exit.ts'
import type { Terminal } from '../terminal.ts'
import { oneLine } from '../text.ts'
import { checkSafe, defaultUrl, readUrl } from './address.ts'
import type { Sessions } from './sessions.ts'

type Parts = 'params' | 'query' | 'body'
/** Parts that have nothing required in them may be left out. */
type Left<O extends Operation> = { [K in Parts]: Asked<O>[K] extends undefined ? K : Record<string, never> extends Asked<O>[K] ? K : never }[Parts]
export type Ask<O extends Operation> = Omit<Asked<O>, Left<O>> & Partial<Pick<Asked<O>, Left<O>>>

export interface Api {
  /** The address that is called. */
  url(): Promise<string>
  /**
   * Checks what is asked with the contract's schemas, calls, checks the answer. Refreshes an ended access token once.
   * Throws CliError: what was asked is wrong (`usage`), or what the API said, by its status.
   */
  call<O extends Operation>(operation: O, ask: Ask<O>, options?: CallOptions): Promise<Answer<O>>
}
export interface CallOptions {
  readonly signal?: AbortSignal
  /** Key of a write that may be repeated; made up where it isn't given. */
  readonly idempotencyKey?: string | undefined
  /** `If-Match`: the `version` that the change rests on; refused (`conflict`, code `stale`) where somebody has changed it since. */
  readonly version?: number | undefined
}

const timeoutMs = 30_000
const tries = 3
const longestWaitMs = 10_000

const issueText = (issue: z.core.$ZodIssue) => (issue.path.length > 0 ? `${issue.path.join('.')}: ${issue.message}` : issue.message)

/** What is asked, checked before anything is sent. */
function check(operation: Operation, ask: Partial<Record<Parts, unknown>>): void {
  for (const part of ['params', 'query', 'body'] as const) {
    const read = z.safeParse(operation[part], ask[part] ?? (part === 'body' ? undefined : {}))
    if (!read.success) throw new CliError('usage', oneLine(read.error.issues.map(issueText).join('; ')))
  }
}

function pathOf(operation: Operation, ask: Partial<Record<Parts, unknown>>): string {
  const params = Object.entries(ask.params ?? {})
  const query = new URLSearchParams(
    Object.entries(ask.query ?? {})
      .filter(([, value]) => value !== undefined)
      .map(([key, value]): [string, string] => [key, String(value)]),
  )
  const path = params.reduce((p, [name, value]) => p.replace(`{${name}}`, encodeURIComponent(String(value))), operation.path as string)
  return query.size > 0 ? `${path}?${query.toString()}` : path
}

/** Why fetch gave up, in words. */
function unreachable(url: string, e: unknown): CliError {
  const cause = e instanceof Error && e.cause instanceof Error ? e.cause : e
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  const known: Record<string, string> = {
    ECONNREFUSED: 'nothing listens there',
    ENOTFOUND: 'the name is not known',
    EAI_AGAIN: 'the name could not be looked up',
    ECONNRESET: 'the connection was cut',
    UND_ERR_SOCKET: 'the connection was cut',
    ETIMEDOUT: 'no answer',
    UND_ERR_CONNECT_TIMEOUT: 'no answer',
    EHOSTUNREACH: 'no way to it',
    ENETUNREACH: 'no way to it',
  }
  const isTimeout = e instanceof Error && e.name === 'TimeoutError'
  const why = isTimeout ? `no answer within ${timeoutMs / 1000} s` : (known[code] ?? (cause instanceof Error ? cause.message : String(cause)))
  const isCertificate = /CERT|SIGNED|ERR_TLS/.test(code)
  return new CliError('unreachable', `${url} could not be reached: ${oneLine(why)}`, {
    cause: e,
    hint: isCertificate ? 'Name the authority that signed its certificate in NODE_EXTRA_CA_CERTS' : 'Say where it is with --url or STEELYARD_URL',
  })
}

const ErrorAnswer = z.object({ error: z.string(), code: z.string(), fields: z.optional(z.record(z.string(), z.string())), request_id: z.string() })

/** The API's refusal as the error that ends the command. */
function refusal(url: string, status: number, text: string): CliError {
  let read
  try {
    read = z.safeParse(ErrorAnswer, JSON.parse(text))
  } catch {
    read = null
  }
  if (!read?.success) return new CliError(exitOfStatus(status), `${url} answered ${status}, and not as Steelyard does`)
  const body = read.data
  const details = Object.entries(body.fields ?? {}).filter(([, sentence]) => !body.error.includes(sentence))
  const message = [body.error, ...details.map(([path, sentence]) => `  ${path}: ${sentence}`)].map(oneLine).join('\n')
  if (status >= 500) return new CliError(exitOfStatus(status), message, { body, hint: `Request ${oneLine(body.request_id)}` })
  return new CliError(exitOfStatus(status), message, {
    body,
    ...(status === 403 && { hint: 'Ask an administrator for the role, and sign in again once you have it' }),
  })
}

/** Milliseconds to wait before the same request may succeed; null: it won't, or nobody would wait that long. */
function waitBeforeRepeat(answer: Response, attempt: number): number | null {
  if (![409, 429, 503].includes(answer.status)) return null
  const seconds = answer.headers.get('retry-after')
  if (seconds === null || !/^\d{1,6}$/.test(seconds)) return null
  const ms = Number(seconds) * 1000
  return ms <= longestWaitMs && attempt < tries ? ms : null
}

interface ApiParts {
  readonly terminal: Terminal
  readonly sessions: Sessions
  readonly url: string | undefined
}

export function openApi({ terminal, sessions, url: asked }: ApiParts): Api {
  const { env } = terminal
  let known: Promise<string> | undefined
  const url = () => (known ??= (async () => readUrl(asked ?? (env['STEELYARD_URL'] || ((await sessions.current()) ?? defaultUrl))))())

  /** One request with its repeats: only where a repeat can't do the thing twice. */
  async function send(
    operation: Operation,
    ask: Partial<Record<Parts, unknown>>,
    token: string | null,
    key: string,
    { signal, version }: Pick<CallOptions, 'signal' | 'version'> = {},
  ): Promise<{ status: number; text: string; base: string }> {
    const base = await url()
    checkSafe(base, env)
    // By it the server knows a machine that has signed in before, and does not slow it for what others do.
    const device = operation.name === authorize.name ? await sessions.device(base) : null
    // A write is repeated with its key; a refresh is answered the same successor for a short while; a sign-in is never repeated for a person.
    const repeatable = operation.method === 'GET' || (operation.method === 'POST' && operation.name !== authorize.name)
    for (let attempt = 1; ; attempt++) {
      try {
        const answer = await fetch(base + pathOf(operation, ask), {
          method: operation.method,
          redirect: 'manual',
          signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])]),
          headers: {
            accept: operation.media,
            ...(token !== null && { authorization: `Bearer ${token}` }),
            ...(ask.body !== undefined && { 'content-type': 'application/json' }),
            ...(operation.method === 'POST' && operation.scope !== null && { 'idempotency-key': key }),
            ...(device !== null && { cookie: device }),
            ...(version !== undefined && { 'if-match': `"${version}"` }),
          },
          ...(ask.body !== undefined && { body: JSON.stringify(ask.body) }),
        })
        if (answer.status >= 300 && answer.status < 400) {
          throw new CliError('unreachable', `${base} sends the caller on to ${oneLine(answer.headers.get('location') ?? 'another address')}`, {
            hint: 'Give that address with --url',
          })
        }
        const text = await answer.text()
        const cookie =
          operation.name === authorize.name && answer.ok ? answer.headers.getSetCookie().find((one) => one.startsWith(`${deviceCookie}=`)) : undefined
        if (cookie !== undefined) await sessions.keepDevice(base, cookie.split(';', 1)[0]!)
        const waitMs = repeatable ? waitBeforeRepeat(answer, attempt) : null
        if (waitMs === null) return { status: answer.status, text, base }
        await terminal.sleep(waitMs, signal)
      } catch (e) {
        if (e instanceof CliError || signal?.aborted) throw e
        const error = unreachable(base, e)
        // Refused or unknown now is refused or unknown in a second; only a connection that was cut is worth another try.
        if (!repeatable || attempt >= tries || !error.message.endsWith('the connection was cut')) throw error
        await terminal.sleep(200 * attempt, signal)
      }
    }
  }

  /** The access token to go on with after `spent` was refused. One process refreshes, the others take what it stored. */
  async function refresh(base: string, spent: string): Promise<string | null> {
    const session = await sessions.change(base, async (now) => {
      if (!now || now.access_token !== spent) return now
      const answer = await send(authorizeRefresh, { body: { refresh_token: now.refresh_token, rotate: true } }, null, randomUUID())
      if (answer.status === 401) return null
      if (answer.status !== 200) throw refusal(base, answer.status, answer.text)
      const { access_token, refresh_token } = readAnswer(authorizeRefresh, answer.text, base)
      return { ...now, access_token, refresh_token: refresh_token ?? now.refresh_token }
    })
    return session?.access_token ?? null
  }

  async function tokenOf(base: string): Promise<string> {
    const token = env['STEELYARD_TOKEN'] || (await sessions.read(base))?.access_token
    if (!token) throw new CliError('not_signed_in', `Not signed in to ${base}`, { hint: `steelyard login --url ${base}` })
    return token
  }

  return {
    url,
    async call(operation, ask, { idempotencyKey, ...options } = {}) {
      check(operation, ask)
      const base = await url()
      const key = idempotencyKey ?? randomUUID()
      const token = operation.scope === null ? null : await tokenOf(base)
      let answer = await send(operation, ask, token, key, options)
      if (answer.status === 401 && token !== null) {
        if (env['STEELYARD_TOKEN']) throw new CliError('not_signed_in', 'STEELYARD_TOKEN is not valid, or has expired')
        const next = await refresh(base, token)
        if (next === null) throw new CliError('not_signed_in', 'Session expired. Please sign in again.', { hint: `steelyard login --url ${base}` })
        answer = await send(operation, ask, next, key, options)
      }
      if (answer.status !== operation.status) throw refusal(base, answer.status, answer.text)
      return readAnswer(operation, answer.text, base)
    },
  }
}

/** The answer as the contract promises it. */
function readAnswer<O extends Operation>(operation: O, text: string, base: string): Answer<O> {
  if (operation.status === 204) return undefined as Answer<O>
  if (operation.media !== 'application/json') return text as Answer<O>
  try {
    return z.parse(operation.answer, JSON.parse(text)) as Answer<O>
  } catch (e) {
    throw new CliError('failure', `${base} answered something that this version does not understand`, {
      cause: e,
      hint: 'steelyard version shows both versions',
    })
  }
}
