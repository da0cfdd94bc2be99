/**
 * Sends a message by HTTP. The address is checked right before the connection, redirects are not
 * followed, and at most 64 KiB of the answer are read.
 */
import { createHmac } from 'node:crypto'
import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { retryAfterMs } from '#contract/connections/retry-after.ts'
import { byUrl, whyNoAnswer } from '../../endpoints/no-answer.ts'
import { type EndpointPolicy, EndpointRefused } from '../../endpoints/policy.ts'
import { limitInformational } from '../../reading/collect.ts'
import { attemptMs, mostAnswerBytes, type Outcome, shownAnswer } from './outcome.ts'
import { timeLimit } from '../../time-limit.ts'

interface Post {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** What must not be shown if the answer repeats it. */
  readonly secrets: readonly string[]
  /** The time of the attempt. */
  readonly now: Date
}

/** A receiver can't ask for a longer pause, in ms. */
const mostWaitMs = 3_600_000

/**
 * The first bytes of an answer. The connection is closed after them, because a receiver may send
 * bytes without end.
 */
async function firstBytes(answer: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  let length = 0
  for await (const part of answer as AsyncIterable<Buffer>) {
    parts.push(part.subarray(0, mostAnswerBytes - length))
    length += part.length
    if (length >= mostAnswerBytes) break
  }
  return Buffer.concat(parts)
}

/** @throws the reason of `signal`, if it aborts */
export async function post(
  { url, headers, body, secrets, now }: Post,
  policy: EndpointPolicy,
  signal: AbortSignal,
): Promise<Outcome> {
  const isEncrypted = url.protocol === 'https:'
  const within = AbortSignal.any([signal, timeLimit(attemptMs)])
  try {
    policy.demandHost(url.hostname, isEncrypted)
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const request = (isEncrypted ? requestHttps : requestHttp)(
        url,
        {
          method: 'POST',
          headers: {
            'content-length': String(Buffer.byteLength(body)),
            'user-agent': 'steelyard',
            ...headers,
          },
          agent: false,
          signal: within,
          lookup: policy.lookup(isEncrypted),
        },
        resolve,
      )
      limitInformational(request, () =>
        Object.assign(new Error('Too many informational responses'), { code: 'HPE_INFORMATIONAL' }),
      )
      request.on('error', reject)
      request.end(body)
    })
    const status = answer.statusCode ?? 0
    const text = shownAnswer(await firstBytes(answer), secrets)
    const problem = problemOf(url.host, status)
    const waitMs =
      problem === null
        ? null
        : retryAfterMs(answer.headers['retry-after'], { nowMs: now.getTime(), mostMs: mostWaitMs })
    return {
      problem,
      status,
      answer: text,
      ...(waitMs !== null && { waitMs }),
      ...(status === 410 && { isGone: true as const }),
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason
    const problem =
      error instanceof EndpointRefused
        ? error.message
        : whyNoAnswer(url.host, within.aborted ? within.reason : error, byUrl(url))
    return { problem, status: null, answer: '' }
  }
}

const problemOf = (host: string, status: number): string | null => {
  if (status >= 200 && status < 300) return null
  if (status >= 300 && status < 400)
    return `${host} redirects to another address, which is not followed (status ${status})`
  if (status === 401 || status === 403) return `${host} refuses the credentials (status ${status})`
  if (status === 410) return `${host} says that the receiver is gone (status 410)`
  return `${host} answered with status ${status}`
}

/**
 * The headers of Standard Webhooks (standard-webhooks/spec, "Signature scheme"): HMAC-SHA256 of id,
 * time and body. During a rotation there is one signature for each secret.
 * @param secrets `whsec_…`
 */
export function signatureHeaders(
  secrets: readonly string[],
  { id, at, body }: { id: string; at: Date; body: string },
): Record<string, string> {
  const seconds = String(Math.floor(at.getTime() / 1000))
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')}`
  })
  return {
    'webhook-id': id,
    'webhook-timestamp': seconds,
    'webhook-signature': signatures.join(' '),
  }
}
