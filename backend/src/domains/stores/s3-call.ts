/**
 * A signed call to an S3-compatible service (AWS Signature Version 4), with a sentence for every
 * failure. The response is untrusted, so its length is limited and its texts are escaped.
 */
import { createHash } from 'node:crypto'
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { setTimeout as wait } from 'node:timers/promises'
import { AwsV4Signer } from 'aws4fetch'
import { OutOfTime } from '#contract/connections/causes.ts'
import { mayPass } from '#contract/connections/words.ts'
import { text as printable } from '#talos/client/text.ts'
import { collector, limitInformational } from '../../reading/collect.ts'
import { byUrl, whyNoAnswer } from '../../endpoints/no-answer.ts'
import { type EndpointPolicy, EndpointRefused } from '../../endpoints/policy.ts'
import { ofHttp, tracedRequest } from '../../tracing/requests.ts'
import type { Tracing } from '../../tracing/tracing.ts'
import { StoreError } from './object-store.ts'

export interface S3Settings {
  readonly endpoint: string
  readonly region: string
  readonly bucket: string
  readonly prefix: string
  readonly pathStyle: boolean
  readonly accessKeyId: string
  readonly secretAccessKey: string
}

export interface S3Question {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE'
  /** Key of the object, without the prefix; undefined: the bucket. */
  readonly key?: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: Uint8Array
}

/** Time limit in ms of a connection on which no byte arrives. */
const idleMs = 60_000
/**
 * Time limit in ms until the head of a response: a part of 16 MiB has to be sent before. A service
 * that sends a byte now and then keeps no call for longer.
 */
const headMs = 600_000
/** Time limit in ms of a response that is a text. */
const textMs = 60_000
const tries = 4
const pauseMs = 300
/** The longest are lists of unfinished uploads, of which a service sends at most 1,000. */
const longestText = 512 * 1024
const emptyHash = createHash('sha256').digest('hex')

/** Whether the call may succeed if it is repeated. */
class Passing extends StoreError {
  constructor(message: string, options: ErrorOptions = {}) {
    super(message, { meaning: 'peer_silent', ...options })
  }
}

const tagged = (xml: string, tag: string): string | undefined =>
  new RegExp(`<${tag}>([^<]*)</${tag}>`).exec(xml)?.[1]
/** The values of all elements with this tag. */
export const allTagged = (xml: string, tag: string): string[] =>
  Array.from(xml.matchAll(new RegExp(`<${tag}>([^<]*)</${tag}>`, 'g')), ([, value]) =>
    unescaped(value!),
  )
const unescaped = (text: string): string =>
  text
    .replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&apos;', "'")
    .replaceAll('&#34;', '"')
    .replaceAll('&amp;', '&')

const meanings: Readonly<Record<string, string>> = {
  AccessDenied:
    'the access key lacks a permission: allow it to read, write and delete objects of the bucket',
  AllAccessDisabled: 'the access is disabled',
  InvalidAccessKeyId: 'the access key does not exist',
  SignatureDoesNotMatch: 'the secret access key is wrong',
  NoSuchBucket: 'the bucket does not exist',
  NoSuchUpload: 'the upload was ended or has expired',
  InvalidPart: 'it has lost a part of the file',
  EntityTooLarge: 'the file is larger than it allows',
  QuotaExceeded: 'its quota is exceeded',
  RequestTimeTooSkewed: 'its clock and the clock of this machine differ by more than 15 minutes',
  AuthorizationHeaderMalformed: 'the region is wrong',
  PermanentRedirect: 'the bucket is in another region or has another endpoint',
  SlowDown: 'it receives too many requests at the moment',
}

export async function textOf(answer: IncomingMessage): Promise<string> {
  const collected = collector(longestText)
  const timer = setTimeout(
    () =>
      answer.destroy(
        new StoreError(`The store did not send its response within ${textMs / 1000} s`),
      ),
    textMs,
  )
  try {
    for await (const part of answer as AsyncIterable<Buffer>)
      if (!collected.take(part))
        throw new StoreError('The store sent an invalid response: too long')
  } finally {
    clearTimeout(timer)
  }
  return collected.bytes().toString('utf8')
}

export function s3Calls(
  settings: S3Settings,
  policy: EndpointPolicy,
  tracing: Tracing | undefined,
) {
  const { endpoint, region, bucket, prefix, pathStyle, accessKeyId, secretAccessKey } = settings
  const base = new URL(endpoint)
  const isEncrypted = base.protocol === 'https:'
  const place = `The store ${base.host}/${bucket}`
  const agent = isEncrypted
    ? new HttpsAgent({ keepAlive: true, maxSockets: 4 })
    : new HttpAgent({ keepAlive: true, maxSockets: 4 })
  const signingKeys = new Map<string, ArrayBuffer>()

  const urlOf = ({ key, query = {} }: S3Question): URL => {
    const url = new URL(base)
    if (!pathStyle) url.hostname = `${bucket}.${base.hostname}`
    const object = key === undefined ? '' : `${prefix === '' ? '' : `${prefix}/`}${key}`
    url.pathname = pathStyle
      ? `/${bucket}/${object}`.replace(/\/$/, key === undefined ? '' : '/')
      : `/${object}`
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    return url
  }

  const failure = (error: unknown): Error => {
    if (error instanceof StoreError) return error
    if (error instanceof EndpointRefused) return new StoreError(error.message, { cause: error })
    const sentence = whyNoAnswer(place, error, byUrl(base))
    return mayPass(error)
      ? new Passing(sentence, { cause: error })
      : new StoreError(sentence, { cause: error })
  }

  /** The StoreError for an error response. */
  const refusalOf = (status: number, body: string): StoreError => {
    const code = tagged(body, 'Code') ?? ''
    const said =
      meanings[code] ??
      (printable(unescaped(tagged(body, 'Message') ?? code).trim(), 200) || `status ${status}`)
    const sentence = `${place} refuses: ${said}`
    // A load balancer answers 404 too while no service is behind it.
    if (status === 404 && code === 'NoSuchKey') return new StoreError(sentence, { kind: 'missing' })
    if (status >= 300 && status < 400)
      return new StoreError(`${place} redirects to another address, which is not followed: ${said}`)
    return status >= 500 || status === 429 || code === 'SlowDown' || code === 'RequestTimeout'
      ? new Passing(sentence)
      : new StoreError(sentence)
  }

  const once = async (question: S3Question, signal: AbortSignal): Promise<IncomingMessage> => {
    const { method, body } = question
    const url = urlOf(question)
    policy.demandHost(url.hostname, isEncrypted)
    const hash = body === undefined ? emptyHash : createHash('sha256').update(body).digest('hex')
    const signer = new AwsV4Signer({
      method,
      url: url.href,
      headers: { 'x-amz-content-sha256': hash },
      accessKeyId,
      secretAccessKey,
      service: 's3',
      region,
      cache: signingKeys,
    })
    const signed = await signer.sign()
    const headers = {
      ...Object.fromEntries(signed.headers),
      'content-length': String(body?.byteLength ?? 0),
    }
    const options = {
      method,
      headers,
      agent,
      signal,
      lookup: policy.lookup(isEncrypted),
      timeout: idleMs,
    }
    return new Promise((resolve, reject) => {
      const late = (ms: number) => () => request.destroy(new OutOfTime(ms))
      const timer = setTimeout(late(headMs), headMs)
      const request = (isEncrypted ? requestHttps : requestHttp)(url, options, resolve)
      limitInformational(
        request,
        () => new StoreError(`${place} sent an invalid response: too many informational ones`),
      )
      request.on('timeout', late(idleMs))
      request.on('error', reject)
      for (const end of ['response', 'close']) request.once(end, () => clearTimeout(timer))
      request.end(body)
    })
  }

  return {
    place,

    /** The error of a response with status 200 whose body is an error (CompleteMultipartUpload). */
    refusalIn: (body: string): StoreError | undefined =>
      tagged(body, 'Code') !== undefined && body.includes('<Error')
        ? refusalOf(200, body)
        : undefined,

    /**
     * The response of a successful call. Temporary failures are retried. @throws StoreError, or the
     * reason of `signal`
     */
    async ask(question: S3Question, signal: AbortSignal): Promise<IncomingMessage> {
      for (let tried = 1; ; tried++) {
        try {
          const { method } = question
          const port = Number(base.port) || (isEncrypted ? 443 : 80)
          const answer = await tracedRequest(
            tracing,
            { name: `s3 ${method}`, host: base.hostname, port, method },
            () => once(question, signal),
            ({ statusCode = 0 }) => ofHttp(statusCode),
          )
          const status = answer.statusCode ?? 0
          if (status >= 200 && status < 300) return answer
          throw refusalOf(status, await textOf(answer))
        } catch (error) {
          if (signal.aborted) throw signal.reason
          const known = failure(error)
          if (!(known instanceof Passing) || tried >= tries) throw known
          await wait(pauseMs * 2 ** (tried - 1), undefined, { signal })
        }
      }
    },

    failure,
  }
}
