/**
 * A call to the image factory, limited in time, size and attempts, with a message for every
 * failure. The response comes from an external program, so its length, characters and format are
 * not trusted.
 */
import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { setTimeout as wait } from 'node:timers/promises'
import { retryAfterMs } from '#contract/connections/retry-after.ts'
import { mayPass } from '#contract/connections/words.ts'
import { text as printable } from '#talos/client/text.ts'
import { Told } from '../../causes/told.ts'
import { byUrl, whyNoAnswer } from '../../endpoints/no-answer.ts'
import { collector, limitInformational } from '../../reading/collect.ts'
import { readJson } from '../../reading/json.ts'
import type { Reader } from '../../reading/reader.ts'
import { sentBy } from '../../reading/asker.ts'
import { withoutTokens } from '../../talos-fleet/without-tokens.ts'
import { timeLimit } from '../../time-limit.ts'

/**
 * `unreachable`: the factory gave no usable response, but may do so later. `refused`: the factory
 * answered that it refuses the request.
 */
export class FactoryError extends Told {
  override readonly name = 'FactoryError'
  readonly kind: 'unreachable' | 'refused'
  constructor(kind: FactoryError['kind'], sentence: string) {
    super(sentence, { meaning: kind === 'unreachable' ? 'peer_silent' : 'peer_refused' })
    this.kind = kind
  }
}

export interface CallLimits {
  /** Time limit of one attempt. */
  readonly callMs: number
  /** Time limit of all attempts and the pauses between them. */
  readonly overallMs: number
  readonly tries: number
  /** Pause before the second attempt; each further pause is twice as long. */
  readonly pauseMs: number
  /** Maximum number of concurrent calls, each of which keeps a request waiting. */
  readonly atOnce: number
}
export const usualLimits: CallLimits = {
  callMs: 10_000,
  overallMs: 15_000,
  tries: 3,
  pauseMs: 250,
  atOnce: 16,
}

interface Question {
  /** Begins with a slash. */
  readonly path: string
  /** YAML. With a body the call is a POST, which may be repeated safely. */
  readonly body?: string
  readonly status: 200 | 201
  readonly mostBytes: number
  /** True: the response is text; `json` is then this text. */
  readonly isText?: true
}

interface Answered {
  readonly json: unknown
  readonly simulated: boolean
  /** When the answer was last changed, in ms since 1970; null if the server does not tell. */
  readonly modifiedMs: number | null
}

const mostWords = 200
/**
 * Makes a text of the factory safe for responses, the log and the database. The factory may repeat
 * a schematic with its join token.
 */
const words = (text: string): string =>
  printable(withoutTokens(text).replaceAll(/\s+/g, ' ').trim(), mostWords)

/** The call may be repeated after `afterMs` at the earliest. */
class TryAgain extends Error {
  readonly error: FactoryError
  readonly afterMs: number
  constructor(error: FactoryError, afterMs = 0) {
    super(error.message)
    this.error = error
    this.afterMs = afterMs
  }
}

const pauseOf = ({ headers }: IncomingMessage): number =>
  retryAfterMs(headers['retry-after'], { nowMs: Date.now(), mostMs: Infinity }) ?? 0

async function bytesOf(
  answer: IncomingMessage,
  most: number,
): Promise<Buffer<ArrayBuffer> | undefined> {
  const collected = collector(most)
  // Leaving the loop closes the connection: the rest of the response is never read.
  for await (const part of answer as AsyncIterable<Uint8Array>)
    if (!collected.take(part)) return undefined
  return collected.bytes()
}

/**
 * Returns a function that calls the factory and throws only FactoryError.
 * @param read for long responses
 * @param url of the factory, without a trailing slash
 * @param what is called there
 */
export function factoryCalls(
  read: Reader,
  url: string,
  limits: CallLimits = usualLimits,
  what = 'The image factory',
) {
  const place = `${what} at ${url}`
  const unreachable = (what: string) => new FactoryError('unreachable', `${place} ${what}`)

  const failure = (error: unknown, late: AbortSignal, overall: AbortSignal): Error => {
    const own = overall.aborted ? overall : late.aborted ? late : undefined
    const sentence = whyNoAnswer(place, own?.reason ?? error, byUrl(new URL(url)))
    const reached = new FactoryError('unreachable', sentence)
    return own === undefined && mayPass(error) ? new TryAgain(reached) : reached
  }

  const once = async (
    { path, body, status, mostBytes, isText }: Question,
    overall: AbortSignal,
  ): Promise<Answered> => {
    const late = timeLimit(limits.callMs)
    let answer: IncomingMessage
    let bytes: Buffer<ArrayBuffer> | undefined
    const headers = {
      accept: 'application/json',
      'accept-encoding': 'identity',
      ...(body !== undefined && { 'content-type': 'application/yaml' }),
    }
    const options = {
      method: body === undefined ? 'GET' : 'POST',
      headers,
      signal: AbortSignal.any([late, overall]),
    }
    const request = url.startsWith('https:') ? requestHttps : requestHttp
    try {
      // Not with `fetch`, which takes 5 MB and follows redirects: they could lead the schematic to
      // another server.
      answer = await new Promise((resolve, reject) => {
        const asked = request(`${url}${path}`, options, resolve).on('error', reject)
        limitInformational(asked, () =>
          Object.assign(new Error('Too many informational responses'), {
            code: 'HPE_INFORMATIONAL',
          }),
        )
        asked.end(body)
      })
      bytes = await bytesOf(answer, mostBytes)
    } catch (error) {
      throw failure(error, late, overall)
    }
    const code = answer.statusCode ?? 0
    if (code >= 300 && code < 400) {
      const to = words(answer.headers.location ?? 'nowhere')
      throw unreachable(
        `redirects to ${to}, which is not followed: set IMAGE_FACTORY_URL to the final address`,
      )
    }
    const said = bytes === undefined ? '' : words(new TextDecoder().decode(bytes.subarray(0, 4096)))
    if (code === 429)
      throw new TryAgain(unreachable('refuses more requests for now (429)'), pauseOf(answer))
    if (code >= 500)
      throw new TryAgain(
        unreachable(`failed with ${code}${said === '' ? '' : `: ${said}`}`),
        pauseOf(answer),
      )
    if (code >= 400) throw new FactoryError('refused', `${place} refuses: ${said || String(code)}`)
    if (code !== status) throw unreachable(`sent an invalid response: status ${code}`)
    if (bytes === undefined)
      throw unreachable(`sent an invalid response: more than ${mostBytes} bytes`)
    try {
      const json = isText
        ? new TextDecoder('utf-8', { fatal: true }).decode(bytes)
        : await readJson(read, sentBy(url), bytes)
      const modifiedMs = Date.parse(answer.headers['last-modified'] ?? '')
      return {
        json,
        simulated: (answer.headers['x-simulated'] ?? '') !== '',
        modifiedMs: Number.isNaN(modifiedMs) ? null : modifiedMs,
      }
    } catch {
      throw unreachable(`sent an invalid response: not ${isText ? 'text' : 'JSON'}`)
    }
  }

  const patiently = async (question: Question): Promise<Answered> => {
    const overall = timeLimit(limits.overallMs)
    const until = performance.now() + limits.overallMs
    for (let tried = 1; ; tried++) {
      try {
        return await once(question, overall)
      } catch (error) {
        if (!(error instanceof TryAgain)) throw error
        const pauseMs = Math.max(error.afterMs, limits.pauseMs * 2 ** (tried - 1))
        // No retry if the pause exceeds the remaining time.
        if (tried >= limits.tries || performance.now() + pauseMs >= until) throw error.error
        await wait(pauseMs)
      }
    }
  }

  let underWay = 0
  return async (question: Question): Promise<Answered> => {
    if (underWay >= limits.atOnce) throw unreachable(`has ${underWay} requests to answer already`)
    underWay += 1
    try {
      return await patiently(question)
    } finally {
      underWay -= 1
    }
  }
}
