import type { Related } from '#contract/errors.ts'
import type { Answer, Asked, Operation } from '#contract/operation.ts'
import { apiBase, isApiElsewhere } from '../lib/api-origin.ts'
import { takeEarly } from '../lib/early.ts'
import { stringifySearch } from '../lib/search.ts'
import { noteServerTime } from '../lib/time/server-time.ts'
import { failedCall } from './messages.ts'

/**
 * A call that failed: an error response, or no response (`status` 0). `message` is a sentence for
 * users.
 */
export class CallError extends Error {
  override readonly name = 'CallError'
  readonly status: number
  readonly code: string
  /** Error sentence per field, for forms. */
  readonly fields: Readonly<Record<string, string>> = {}
  /** The object that caused the refusal, so that a form can link to the object. */
  readonly related: Related | null = null
  readonly retryAfterSeconds: number | null = null
  /** Whether `message` comes from the server. If not, a form may have a better sentence. */
  readonly said: boolean = false

  constructor(
    message: string,
    { status, ...more }: { status: number } & Partial<Omit<CallError, keyof Error>>,
  ) {
    super(message)
    this.status = status
    this.code = status === 0 ? 'unreachable' : 'unknown'
    Object.assign(this, more)
  }
}

/** The server's sentence about a failure, or `otherwise` if there is none. */
export const saidBy = (error: unknown, otherwise: string): string =>
  error instanceof CallError && error.said ? error.message : otherwise

/**
 * Why a call failed, to show below a headline that says what failed. '' if nothing more is known.
 */
export function whyOf(error: unknown): string {
  if (error instanceof CallError) return error.said || error.status === 0 ? error.message : ''
  return error instanceof Error ? error.message : ''
}

export const noAnswer = 'Steelyard does not answer. Check your connection.'

/**
 * Whether a failed call is undecided: no response, an unreadable response, 5xx or 429. Any other
 * 4xx is the server's decision.
 */
export const isUndecided = (error: unknown): error is CallError =>
  error instanceof CallError && (error.status < 400 || error.status === 429 || error.status >= 500)

/**
 * The few calls of the first screen, with name, method and path only. Their full declarations
 * import the schema library, which would be a tenth of what a visitor has to download.
 * `http.test.ts` checks these calls against the contract.
 */
export const entryCalls = {
  authorize: { name: 'authorize', method: 'POST', path: '/v1/authorize' },
  authorizeRefresh: { name: 'authorizeRefresh', method: 'POST', path: '/v1/authorize/refresh' },
  authorizeLogout: { name: 'authorizeLogout', method: 'POST', path: '/v1/authorize/logout' },
  sessionGet: { name: 'sessionGet', method: 'GET', path: '/v1/session' },
  installationGet: { name: 'installationGet', method: 'GET', path: '/v1/installation' },
} as const satisfies Record<string, Pick<Operation, 'name' | 'method' | 'path'>>

export type Ask<O extends Operation> = Partial<Asked<O>>

type Values = Record<string, string | number | boolean | null | undefined>

/** Path and query of a call. Parameters are escaped; undefined query values are omitted. */
function address(
  path: string,
  { params = {}, query = {} }: { params?: unknown; query?: unknown },
): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = (params as Values)[name]
    if (value === undefined || value === null || value === '')
      throw new Error(`The call to ${path} lacks ${name}`)
    return encodeURIComponent(String(value))
  })
  return filled + stringifySearch(query as Values)
}

export interface SendOptions {
  token?: string | null
  signal?: AbortSignal | undefined
  /** Time limit in ms. */
  limitMs?: number
  /** Idempotency-Key: a repeated request with the same key gets the first response. */
  key?: string | undefined
  /** If-Match: the version that the change is based on. */
  version?: number | undefined
  headers?: Record<string, string>
  /**
   * Allows cookies. Sign-in sends the cookie that identifies a known device. Logging out needs
   * cookies because browsers let a response clear this origin's storage (Clear-Site-Data) only if
   * the request was allowed to send cookies.
   */
  cookies?: boolean
  /** The request continues if the page is closed. */
  keepalive?: boolean
}

/** Rejects when the signal is aborted. */
const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.throwIfAborted()
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })

/**
 * Sends one declared request. Throws CallError if there is no response. The caller checks the
 * response's status.
 */
export async function send(
  operation: { method: Operation['method']; path: string },
  ask: { params?: unknown; query?: unknown; body?: unknown },
  {
    token = null,
    signal,
    limitMs,
    key,
    version,
    headers = {},
    cookies = false,
    keepalive = false,
  }: SendOptions,
): Promise<Response> {
  const signals = [signal, limitMs === undefined ? undefined : AbortSignal.timeout(limitMs)].filter(
    (one) => one !== undefined,
  )
  const path = address(operation.path, ask)
  const early = operation.method === 'GET' && !isApiElsewhere ? takeEarly(path, token) : undefined
  try {
    if (early !== undefined)
      return await (signals.length > 0
        ? Promise.race([early, aborted(AbortSignal.any(signals))])
        : early)
    const sentAt = Date.now()
    const response = await fetch(apiBase + path, {
      method: operation.method,
      headers: {
        'content-type': 'application/json',
        ...(token !== null && { authorization: `Bearer ${token}` }),
        ...(key !== undefined && { 'idempotency-key': key }),
        ...(version !== undefined && { 'if-match': `"${version}"` }),
        ...headers,
      },
      credentials: cookies ? 'same-origin' : 'omit',
      cache: 'no-store',
      ...(keepalive && { keepalive }),
      ...(ask.body !== undefined && { body: JSON.stringify(ask.body) }),
      ...(signals.length > 0 && { signal: AbortSignal.any(signals) }),
    })
    noteServerTime(response.headers.get('date'), sentAt, Date.now())
    return response
  } catch (error) {
    if (signal?.aborted) throw error
    throw new CallError(noAnswer, { status: 0 })
  }
}

/**
 * Reads a successful response. Throws CallError for an unsuccessful one, or if a call that must
 * return data returns none.
 */
export async function read<O extends Operation>(
  operation: O,
  ask: { params?: unknown; body?: unknown },
  response: Response,
): Promise<Answer<O>> {
  const failed = failedCall(operation.name, ask)
  const answer = await readAnswer(response, {
    text: operation.media !== 'application/json',
    failed,
  })
  if (answer === undefined && failed !== null && operation.method !== 'PATCH')
    throw new CallError(failed, { status: response.status })
  return answer as Answer<O>
}

/**
 * Like `read`, but without a declaration. Returns text, JSON, or undefined if the response has no
 * content. `failed`: the sentence for a failure without a message of the server.
 */
export async function readAnswer(
  response: Response,
  { text = false, failed = null }: { text?: boolean; failed?: string | null } = {},
): Promise<unknown> {
  if (!response.ok) throw await problemOf(response, failed ?? withoutReason(response.status))
  if (response.status === 204) return undefined
  if (text) return response.text()
  const answer = (await response.json().catch(() => null)) as unknown
  // No call answers `null`.
  if (answer === null)
    throw new CallError(failed ?? 'The response could not be read.', { status: response.status })
  return answer
}

/** The sentence for an error response without a message, such as that of a proxy. */
const withoutReason = (status: number): string =>
  status >= 500
    ? `Steelyard could not do this, and gave no reason (status ${status}).`
    : `Steelyard refused this, and gave no reason (status ${status}).`

async function problemOf(response: Response, failed: string): Promise<CallError> {
  const retryAfter = Number(response.headers.get('retry-after'))
  const rest = {
    status: response.status,
    retryAfterSeconds: Number.isFinite(retryAfter) && retryAfter > 0 ? retryAfter : null,
  }
  const body = (await response.json().catch(() => null)) as {
    error?: unknown
    code?: unknown
    fields?: Record<string, string>
    related?: Related
  } | null
  if (body === null || typeof body !== 'object') return new CallError(failed, rest)
  const { error, code, fields, related } = body
  const said = typeof error === 'string' && error !== ''
  return new CallError(said ? error : failed, {
    ...rest,
    said,
    ...(typeof code === 'string' && { code }),
    ...(fields && { fields }),
    ...(related && { related }),
  })
}
