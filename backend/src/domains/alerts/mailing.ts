/**
 * Sends a message by SMTP (nodemailer). The connection is made here, so that the address is checked
 * right before it.
 */
import { connect, type Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { createTransport } from 'nodemailer'
import { NoStarttls, OutOfTime } from '#contract/connections/causes.ts'
import type { Attempt } from '#contract/connections/words.ts'
import { whyNoAnswer } from '../../endpoints/no-answer.ts'
import { type EndpointPolicy, EndpointRefused } from '../../endpoints/policy.ts'
import { attemptMs, type Outcome, type RecipientOutcome, shownAnswer } from './outcome.ts'

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

/** Characters that are kept of a reply about a recipient. */
const mostSaid = 300
/**
 * Time limit in ms of the reply to a whole mail. A server that has it and is silent may have taken
 * it, so it is waited for longer (RFC 5321, 4.5.3.2.6): a second attempt would be a second mail.
 */
const lastReplyMs = 120_000

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
  const late = new AbortController()
  const limit = (ms: number) => setTimeout(() => late.abort(new OutOfTime(ms)), ms)
  let timer = limit(limitMs)
  const within = AbortSignal.any([signal, late.signal])
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
      socketTimeout: 2 * lastReplyMs,
      socketCloseTimeout: 1,
      maxResponseSize: mostResponseBytes,
      getSocket: (_options, done) => done(null, { connection }),
    })
    transport.use('stream', ({ message }, done) => {
      // Its end is read when the server has asked for the mail and all of it is sent.
      message.transform(
        new PassThrough({
          flush(over) {
            clearTimeout(timer)
            timer = limit(lastReplyMs)
            over()
          },
        }),
      )
      done()
    })
    const { response, rejectedErrors: refusals = [] } = await transport.sendMail({
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
    const recipients = outcomesOf(to, refusals as readonly Raised[], { place, secrets })
    return {
      problem: refusedSome(place, recipients),
      status: statusOf(response),
      answer: shownAnswer(Buffer.from(response), secrets),
      recipients,
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason
    if (error instanceof EndpointRefused)
      return { problem: error.message, status: null, answer: '' }
    const isSilent = security !== 'tls' && (socket?.bytesRead ?? 1) === 0
    const by = isSilent ? 'mail_silent' : ways[security]
    return failed({ place, by, secrets, to }, within.aborted ? within.reason : error)
  } finally {
    clearTimeout(timer)
    socket?.destroy()
  }
}

const statusOf = (response: string): number | null => {
  const code = /^(\d{3})/.exec(response)?.[1]
  return code === undefined ? null : Number(code)
}

/** nodemailer's error. `code` is its own, `response` the reply of the mail server. */
interface Raised {
  readonly code?: string
  readonly response?: string
  /** That it refused. */
  readonly command?: string
  readonly recipient?: string
  readonly rejectedErrors?: readonly Raised[]
}

interface Tried {
  readonly place: string
  readonly secrets: readonly string[]
}

/** A permanent negative reply (RFC 5321, 4.2.1). */
const isFinal = (status: number | null): boolean => status !== null && status >= 500

/** The outcome of each recipient of a mail that the server has taken for the others. */
function outcomesOf(
  to: readonly string[],
  refusals: readonly Raised[],
  { place, secrets }: Tried,
): RecipientOutcome[] {
  return to.map((address) => {
    const refusal = refusals.find(
      ({ recipient }) => recipient?.toLowerCase() === address.toLowerCase(),
    )
    if (refusal === undefined) return { address, status: null, problem: null, isFinal: false }
    const said = shownAnswer(Buffer.from(refusal.response ?? ''), secrets).slice(0, mostSaid)
    const status = statusOf(said)
    const problem = `${place} refuses this recipient${said === '' ? '' : `: ${said}`}`
    return { address, status, problem, isFinal: isFinal(status) }
  })
}

/** Names the recipients that were refused; null if none was. */
function refusedSome(place: string, recipients: readonly RecipientOutcome[]): string | null {
  const refused = recipients.flatMap(({ address, status, problem }) =>
    problem === null ? [] : [status === null ? address : `${address} (status ${status})`],
  )
  return refused.length === 0
    ? null
    : `${place} refused ${refused.length} of ${recipients.length} recipients: ${refused.join(', ')}`
}

/** Commands about a mail. A refusal of any other is about the connection or the settings. */
const ofMail: ReadonlySet<string> = new Set(['MAIL FROM', 'RCPT TO', 'DATA'])

function failed(
  { place, by, secrets, to }: Tried & { by: Attempt['by']; to: readonly string[] },
  error: unknown,
): Outcome {
  const { code, response, command, rejectedErrors } = error as Raised
  const answer = shownAnswer(Buffer.from(response ?? ''), secrets)
  const status = statusOf(answer)
  const refused =
    status === null
      ? undefined
      : code === 'EAUTH'
        ? `${place} refuses the user name or the password`
        : code === 'EENVELOPE'
          ? `${place} refuses the sender or the recipients (status ${status})`
          : `${place} refused the mail (status ${status})`
  // nodemailer has this code for a server that refuses the command, and for none that offers it.
  const why = command === 'STARTTLS' ? whyNoAnswer(place, new NoStarttls(), by) : refused
  if (rejectedErrors) {
    const recipients = outcomesOf(to, rejectedErrors, { place, secrets })
    return { problem: refusedSome(place, recipients), status, answer, recipients }
  }
  const problem = why ?? whyNoAnswer(place, error, by)
  const isAboutMail = command !== undefined && ofMail.has(command)
  const recipients = to.map((address) => ({
    address,
    status: isAboutMail ? status : null,
    problem,
    isFinal: isAboutMail && isFinal(status),
  }))
  return { problem, status, answer, recipients }
}
