/** Sends a message to a channel, in the form of its kind. */
import type { EndpointPolicy } from '../../endpoints/policy.ts'
import { tracedRequest } from '../../tracing/requests.ts'
import type { Tracing } from '../../tracing/tracing.ts'
import { type MailServer, sendMail } from './mailing.ts'
import { cloudEvent, type Content, postableAlerts, subjectOf, textOf } from './message.ts'
import type { Outcome } from './outcome.ts'
import { post, signatureHeaders } from './posting.ts'

/** A channel with its opened secrets. */
export type Opened =
  | { readonly kind: 'webhook'; readonly url: string; readonly secrets: readonly string[] }
  | {
      readonly kind: 'alertmanager'
      readonly url: string
      readonly user: string | null
      readonly secret: string | null
    }
  | ({ readonly kind: 'mail' } & MailServer)

export interface Message {
  /** The same in each attempt. */
  readonly id: string
  /** When it was made. */
  readonly at: Date
  readonly content: Content
}

/**
 * An open alert counts as resolved at an Alertmanager after this time, in ms. It is sent again
 * before (`refreshMs`), as Prometheus does, because an Alertmanager forgets its alerts when it
 * restarts.
 */
const openMs = 15 * 60_000
export const refreshMs = 4 * 60_000

const json = { 'content-type': 'application/json' }

/** The URL of an Alertmanager may have a path, and a slash at its end. */
const alertsUrl = (url: string): URL =>
  new URL('api/v2/alerts', url.endsWith('/') ? url : `${url}/`)

interface Attempt {
  readonly policy: EndpointPolicy
  readonly origin: string
  /** The time of the attempt. */
  readonly now: Date
  readonly signal: AbortSignal
}

/** @throws the reason of `signal`, if it aborts */
export function send(
  channel: Opened,
  message: Message,
  { tracing, ...attempt }: Attempt & { readonly tracing?: Tracing | undefined },
): Promise<Outcome> {
  return tracedRequest(
    tracing,
    { name: `channel ${channel.kind}`, ...placeOf(channel) },
    () => sendTo(channel, message, attempt),
    ({ status, problem }) => ({ status, failed: problem !== null }),
  )
}

const placeOf = (channel: Opened): { host: string; port: number; method?: string } => {
  if (channel.kind === 'mail') return { host: channel.host, port: channel.port }
  const { hostname, port, protocol } = new URL(channel.url)
  return {
    host: hostname,
    port: Number(port) || (protocol === 'https:' ? 443 : 80),
    method: 'POST',
  }
}

/** What of a URL is not shown to everybody who may read the answer, which may repeat it. */
const partsOf = ({ pathname, search }: URL): string[] =>
  [`${pathname}${search}`, pathname, search.slice(1)].filter((part) => part.length > 1)

async function sendTo(
  channel: Opened,
  { id, at, content }: Message,
  { policy, origin, now, signal }: Attempt,
): Promise<Outcome> {
  if (channel.kind === 'webhook') {
    const url = new URL(channel.url)
    const body = cloudEvent({ id, at, origin }, content)
    const headers = {
      'content-type': 'application/cloudevents+json',
      ...signatureHeaders(channel.secrets, { id, at: now, body }),
    }
    return post(
      { url, headers, body, secrets: [...channel.secrets, ...partsOf(url)], now },
      policy,
      signal,
    )
  }
  if (channel.kind === 'alertmanager') {
    const { user, secret } = channel
    const url = alertsUrl(channel.url)
    const openUntil = new Date(now.getTime() + openMs)
    const credential =
      secret === null
        ? undefined
        : user === null
          ? `Bearer ${secret}`
          : `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}`
    return post(
      {
        url,
        headers: { ...json, ...(credential && { authorization: credential }) },
        body: postableAlerts(content, { origin, at, openUntil }),
        secrets: [
          secret ?? '',
          credential?.split(' ', 2)[1] ?? '',
          ...partsOf(new URL(channel.url)),
        ],
        now,
      },
      policy,
      signal,
    )
  }
  const mail = {
    id,
    at,
    subject: `[Steelyard] ${subjectOf(content)}`,
    text: textOf(content, origin),
  }
  return sendMail(channel, mail, policy, signal)
}
