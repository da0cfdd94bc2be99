import type { Related } from '#contract/errors.ts'
import type { Answer, Asked, Operation } from '#contract/operation.ts'

/** An answer that says no, or none at all (`status` 0). `message` is a sentence for people. */
export class CallError extends Error {
  readonly status: number
  readonly code: string
  /** Sentence per field, for forms. */
  readonly fields: Readonly<Record<string, string>>
  /** What stands in the way, for a link to it. */
  readonly related: Related | null
  readonly requestId: string | null
  readonly retryAfterSeconds: number | null
  /** Whether `message` is the server's own sentence. Where an answer brings none, a form may know a better one than ours. */
  readonly said: boolean

  constructor(
    message: string,
    of: {
      status: number
      code?: string
      fields?: Record<string, string>
      related?: Related | null
      requestId?: string | null
      retryAfterSeconds?: number | null
      said?: boolean
    },
  ) {
    super(message)
    this.name = 'CallError'
    this.status = of.status
    this.code = of.code ?? (of.status === 0 ? 'unreachable' : 'unknown')
    this.fields = of.fields ?? {}
    this.related = of.related ?? null
    this.requestId = of.requestId ?? null
    this.retryAfterSeconds = of.retryAfterSeconds ?? null
    this.said = of.said ?? false
  }
}

/** What the server itself says of a failure; `otherwise` where its answer has no sentence, or there is none. */
export const saidBy = (error: unknown, otherwise: string): string => (error instanceof CallError && error.said ? error.message : otherwise)

/** Why a call failed, for beside a headline that says what failed; '' where nobody knows more than the headline. */
export function whyOf(error: unknown): string {
  if (error instanceof CallError) return error.said || error.status === 0 ? error.message : ''
  return error instanceof Error ? error.message : ''
}

export const noAnswer = 'Steelyard does not answer. Check your connection.'

/** Whether a call got no decision: no answer, one that can't be read, 5xx or 429. What was refused (any other 4xx) is decided. */
export const isUndecided = (error: unknown): error is CallError =>
  error instanceof CallError && (error.status < 400 || error.status === 429 || error.status >= 500)

export type Ask<O extends Operation> = Partial<Asked<O>>

/** `VITE_API_URL`: the API's origin, ours unless told otherwise. */
const base = import.meta.env['VITE_API_URL'] ?? ''

/** Path and query of a call; parameters are escaped, absent query values left out. */
type Plain = string | number | boolean | null | undefined

function address(path: string, { params, query }: { params?: unknown; query?: unknown }): string {
  const [given, asked] = [params ?? {}, query ?? {}] as [Record<string, Plain>, Record<string, Plain>]
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = given[name]
    if (value === undefined || value === null || value === '') throw new Error(`The call to ${path} lacks ${name}`)
    return encodeURIComponent(String(value))
  })
  const search = new URLSearchParams(
    Object.entries(asked).flatMap(([key, value]) => (value === undefined || value === null || value === '' ? [] : [[key, String(value)]])),
  )
  return search.size === 0 ? filled : `${filled}?${search}`
}

export interface SendOptions {
  token?: string | null
  signal?: AbortSignal | undefined
  /** No answer within so many ms is none. */
  limitMs?: number
  /** Idempotency-Key: a repeat with the same key is answered as the first was. */
  key?: string
  /** If-Match: the version that the change is based on. */
  version?: number | undefined
  headers?: Record<string, string>
  /**
   * Cookies may be sent and set. At sign-in: the one that makes a device known. At log out: browsers let an answer clear what this origin has stored
   * (Clear-Site-Data) only where cookies could be sent.
   */
  cookies?: boolean
}

/** One request, as it is declared. Throws CallError where there is no answer; the answer itself is for the caller to judge. */
export async function send(
  operation: { method: Operation['method']; path: string },
  ask: { params?: unknown; query?: unknown; body?: unknown },
  { token = null, signal, limitMs, key, version, headers = {}, cookies = false }: SendOptions,
): Promise<Response> {
  const signals = [signal, limitMs === undefined ? undefined : AbortSignal.timeout(limitMs)].filter((one) => one !== undefined)
  try {
    return await fetch(base + address(operation.path, ask), {
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
      ...(ask.body !== undefined && { body: JSON.stringify(ask.body) }),
      ...(signals.length > 0 && { signal: AbortSignal.any(signals) }),
    })
  } catch (error) {
    if (signal?.aborted) throw error
    throw new CallError(noAnswer, { status: 0 })
  }
}

/** What a good answer holds; throws CallError for any other. */
export async function read<O extends Operation>(operation: O, response: Response): Promise<Answer<O>> {
  const text = operation.media !== 'application/json'
  return (await readAnswer(response, text)) as Answer<O>
}

/** The same without a declaration: text, JSON, or undefined where there is no content. */
export async function readAnswer(response: Response, text = false): Promise<unknown> {
  if (!response.ok) throw await problemOf(response)
  if (response.status === 204) return undefined
  if (text) return response.text()
  try {
    return (await response.json()) as unknown
  } catch {
    throw new CallError('The answer could not be read.', { status: response.status })
  }
}

async function problemOf(response: Response): Promise<CallError> {
  const retryAfter = Number(response.headers.get('retry-after'))
  const rest = { status: response.status, retryAfterSeconds: Number.isFinite(retryAfter) && retryAfter > 0 ? retryAfter : null }
  try {
    const body = (await response.json()) as { error?: unknown; code?: unknown; fields?: Record<string, string>; related?: Related; request_id?: string }
    if (typeof body.error !== 'string') throw new Error('not ours')
    return new CallError(body.error, {
      ...rest,
      said: body.error !== '',
      ...(typeof body.code === 'string' && { code: body.code }),
      ...(body.fields && { fields: body.fields }),
      ...(body.related && { related: body.related }),
      requestId: body.request_id ?? null,
    })
  } catch {
    return new CallError(`Steelyard answered ${response.status}.`, rest)
  }
}

/** A fresh Idempotency-Key. Without a secure context there is no randomUUID. */
export function newKey(): string {
  if (typeof crypto.randomUUID === 'function') return crypto.randomUUID()
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, '0')).join('')
}
