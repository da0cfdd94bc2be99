/**
 * Sends a message by SMTP (nodemailer). The connection is made here, so that the address is checked
 * right before it.
 */
import { connect, type Socket } from 'node:net'
import { createTransport } from 'nodemailer'
import { NoStarttls } from '#contract/connections/causes.ts'
import type { Attempt } from '#contract/connections/words.ts'
import { whyNoAnswer } from '../../endpoints/no-answer.ts'
import { type EndpointPolicy, EndpointRefused } from '../../endpoints/policy.ts'
import { attemptMs, type Outcome, shownAnswer } from './outcome.ts'
import { timeLimit } from '../../time-limit.ts'

export interface MailServer {
  readonly host: string
  readonly port: number
  readonly security: 'starttls' | 'tls' | 'none'
  readonly user: string | null
  readonly password: string | null
  readonly from: string
  readonly to: readonly string[]
}

interface Mail {
  readonly id: string
  readonly at: Date
  readonly subject: string
  readonly text: string
}

/** Longest answer of a mail server to one command, in bytes. RFC 5321 allows lines of 512. */
const mostResponseBytes = 16 * 1024

const ways = { starttls: 'mail_starttls', tls: 'mail_tls', none: 'mail_plain' } as const

/** Makes a connection to an allowed address. */
const dial = (
  { host, port, security }: MailServer,
  policy: EndpointPolicy,
  signal: AbortSignal,
): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const isEncrypted = security !== 'none'
    policy.demandHost(host, isEncrypted)
    const socket = connect({ host, port, lookup: policy.lookup(isEncrypted), signal })
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.off('error', reject)
      resolve(socket)
    })
  })

/** @throws the reason of `signal`, if it aborts */
export async function sendMail(
  server: MailServer,
  { id, at, subject, text }: Mail,
  policy: EndpointPolicy,
  signal: AbortSignal,
  limitMs = attemptMs,
): Promise<Outcome> {
  const { host, port, security, user, password, from, to } = server
  const place = `${host}:${port}`
  const secrets = [
    password,
    password === null ? null : Buffer.from(`\0${user}\0${password}`).toString('base64'),
    password === null ? null : Buffer.from(password).toString('base64'),
  ].filter((one) => one !== null)
  const within = AbortSignal.any([signal, timeLimit(limitMs)])
  let socket: Socket | undefined
  try {
    socket = await dial(server, policy, within)
    const connection = socket
    within.addEventListener('abort', () => connection.destroy(), { once: true })
    const transport = createTransport({
      host,
      port,
      secure: security === 'tls',
      requireTLS: security === 'starttls',
      ignoreTLS: security === 'none',
      ...(user !== null && { auth: { user, pass: password ?? '' } }),
      connectionTimeout: 2 * attemptMs,
      // The limit of the attempt ends it before, and is told.
      greetingTimeout: 2 * attemptMs,
      socketTimeout: 2 * attemptMs,
      socketCloseTimeout: 1,
      maxResponseSize: mostResponseBytes,
      getSocket: (_options, done) => done(null, { connection }),
    })
    const { response, rejected } = await transport.sendMail({
      from,
      to: [...to],
      subject,
      text,
      date: at,
      messageId: `<${id}@steelyard>`,
      headers: { 'auto-submitted': 'auto-generated' },
      signal: within,
      disableFileAccess: true,
      disableUrlAccess: true,
    })
    const status = statusOf(response)
    const sent = { status, answer: shownAnswer(Buffer.from(response), secrets) }
    if (rejected.length === 0) return { problem: null, ...sent }
    return {
      problem: `${place} refused ${rejected.length} of ${to.length} recipients: ${rejected.join(', ')}`,
      ...sent,
      // If it refuses all of them, nodemailer throws.
      partly: true,
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason
    if (error instanceof EndpointRefused)
      return { problem: error.message, status: null, answer: '' }
    const isSilent = security !== 'tls' && (socket?.bytesRead ?? 1) === 0
    const by = isSilent ? 'mail_silent' : ways[security]
    return failed(place, within.aborted ? within.reason : error, by, secrets)
  } finally {
    socket?.destroy()
  }
}

const statusOf = (response: string): number | null => {
  const code = /^(\d{3})/.exec(response)?.[1]
  return code === undefined ? null : Number(code)
}

/** nodemailer's error. `code` is its own, `responseCode` that of the mail server. */
interface Raised {
  readonly code?: string
  readonly response?: string
  /** That it refused. */
  readonly command?: string
}

function failed(
  place: string,
  error: unknown,
  by: Attempt['by'],
  secrets: readonly string[],
): Outcome {
  const { code, response, command } = error as Raised
  const answer = shownAnswer(Buffer.from(response ?? ''), secrets)
  const status = statusOf(answer)
  const refused =
    status === null
      ? undefined
      : code === 'EAUTH'
        ? `${place} refuses the user name or the password`
        : code === 'EENVELOPE'
          ? `${place} refuses the sender or the recipients`
          : `${place} refused the mail (status ${status})`
  const why = command === 'STARTTLS' ? whyNoAnswer(place, new NoStarttls(), by) : refused
  return { problem: why ?? whyNoAnswer(place, error, by), status, answer }
}
