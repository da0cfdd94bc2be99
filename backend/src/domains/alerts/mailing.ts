/**
 * Sends a message by SMTP (nodemailer). The connection is made here, so that the address is checked
 * right before it.
 */
import { connect, type Socket } from 'node:net'
import { createTransport } from 'nodemailer'
import { type EndpointPolicy, EndpointRefused } from '../../endpoints/policy.ts'
import { attemptMs, type Outcome, shownAnswer, tooLate, whyNoAnswer } from './outcome.ts'

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
  const within = AbortSignal.any([signal, AbortSignal.timeout(limitMs)])
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
      connectionTimeout: attemptMs,
      greetingTimeout: attemptMs,
      socketTimeout: attemptMs,
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
    if (within.aborted) return { problem: tooLate(place, limitMs), status: null, answer: '' }
    if (error instanceof EndpointRefused)
      return { problem: error.message, status: null, answer: '' }
    return failed(place, error, secrets)
  } finally {
    socket?.destroy()
  }
}

const statusOf = (response: string): number | null => {
  const code = /^(\d{3})/.exec(response)?.[1]
  return code === undefined ? null : Number(code)
}

function failed(place: string, error: unknown, secrets: readonly string[]): Outcome {
  const { code, response } = error as { code?: string; response?: string }
  const answer = shownAnswer(Buffer.from(response ?? ''), secrets)
  const status = statusOf(answer)
  const refused =
    code === 'EAUTH'
      ? `${place} refuses the user name or the password`
      : code === 'ETLS'
        ? `${place} does not offer STARTTLS, or its certificate is not trusted`
        : code === 'EENVELOPE'
          ? `${place} refuses the sender or the recipients`
          : status === null
            ? undefined
            : `${place} refused the mail (status ${status})`
  return { problem: refused ?? whyNoAnswer(place, error), status, answer }
}
