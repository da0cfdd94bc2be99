import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { parseCidr } from '#contract/network/addresses.ts'
import { endpointPolicy } from '../../endpoints/policy.ts'
import { type MailServer, sendMail } from './mailing.ts'

const policyFor = (network: string) =>
  endpointPolicy([parseCidr(network)!], {
    setting: 'STEELYARD_ALERT_NETWORKS',
    encrypted: 'the connection must be encrypted',
  })
const policy = policyFor('127.0.0.0/8')

interface Mail {
  readonly from: string
  readonly to: readonly string[]
  readonly text: string
  readonly user: unknown
  readonly secure: boolean
}
const stops: (() => void)[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
})

/** A real mail server (smtp-server) on loopback, with what it has received. */
async function mailServer(options: SMTPServerOptions = {}) {
  const received: Mail[] = []
  const server = new SMTPServer({
    authOptional: true,
    logger: false,
    onData(stream, session, done) {
      let text = ''
      stream.on('data', (part: Buffer) => (text += part.toString('utf8')))
      stream.on('end', () => {
        received.push({
          from: session.envelope.mailFrom === false ? '' : session.envelope.mailFrom.address,
          to: session.envelope.rcptTo.map((one) => one.address),
          text,
          user: session.user,
          secure: session.secure,
        })
        done()
      })
    },
    ...options,
  })
  server.on('error', () => undefined)
  const port = await new Promise<number>((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve((server.server.address() as AddressInfo).port)),
  )
  stops.push(() => server.close())
  return { port, received }
}

const serverAt = (port: number, more: Partial<MailServer> = {}): MailServer => ({
  host: '127.0.0.1',
  port,
  security: 'none',
  user: null,
  password: null,
  from: 'steelyard@example.com',
  to: ['ops@example.com', 'night@example.com'],
  ...more,
})
const mail = {
  id: '0198c0de-0000-7000-8000-000000000001',
  at: new Date('2026-11-27T03:00:00Z'),
  subject: '[Steelyard] Down: web-1: Server unreachable',
  text: 'Down: web-1\nNo answer since 03:00 UTC.\n',
}
const signal = new AbortController().signal

test('a mail arrives with its recipients, text and the id of the message', async () => {
  const { port, received } = await mailServer()
  const outcome = await sendMail(serverAt(port), mail, policy, signal)
  expect(outcome).toMatchObject({ problem: null, status: 250 })
  expect(received).toMatchObject([
    {
      from: 'steelyard@example.com',
      to: ['ops@example.com', 'night@example.com'],
      user: undefined,
    },
  ])
  const [{ text }] = received as [Mail]
  expect(text).toContain(`Message-ID: <${mail.id}@steelyard>`)
  expect(text).toContain('Auto-Submitted: auto-generated')
  expect(text).toContain('No answer since 03:00 UTC.')
  expect(text).toContain('Date: Fri, 27 Nov 2026 03:00:00 +0000')
})

test('a server whose certificate is not trusted gets neither the mail nor the password', async () => {
  for (const [security, options] of [
    ['starttls', {}],
    ['tls', { secure: true }],
  ] as const) {
    const asked: unknown[] = []
    const { port, received } = await mailServer({
      ...options,
      onAuth(auth, _session, done) {
        asked.push(auth)
        done(null, { user: 'x' })
      },
    })
    const server = serverAt(port, { security, user: 'steelyard', password: 'word' })
    const { problem } = await sendMail(server, mail, policy, signal)
    expect(problem).toMatch(/certificate that is not trusted \([^)]+\): /)
    expect(problem).not.toContain('STARTTLS')
    expect([received, asked]).toEqual([[], []])
  }
})

test('without STARTTLS a mail that must be encrypted is not sent', async () => {
  const { port, received } = await mailServer({ disabledCommands: ['STARTTLS'] })
  const { problem } = await sendMail(serverAt(port, { security: 'starttls' }), mail, policy, signal)
  expect(problem).toBe(
    `127.0.0.1:${port} does not offer STARTTLS: choose TLS with its port (usually 465), or offer STARTTLS there`,
  )
  expect(received).toEqual([])
})

test('Test that TLS and plain text that meet at a port of a mail server are told apart', async () => {
  const plain = await mailServer()
  const begun = await sendMail(serverAt(plain.port, { security: 'tls' }), mail, policy, signal)
  expect(begun.problem).toBe(
    `127.0.0.1:${plain.port} answers without TLS: choose STARTTLS, or the port for TLS (usually 465)`,
  )
  const encrypted = await mailServer({ secure: true })
  for (const security of ['starttls', 'none'] as const) {
    const server = serverAt(encrypted.port, { security })
    const { problem } = await sendMail(server, mail, policy, signal, 300)
    expect(problem).toBe(
      `127.0.0.1:${encrypted.port} did not answer within 300 ms: if this port is for TLS (usually 465), choose TLS`,
    )
  }
})

test('Test that connections that are refused, cut or answered in another protocol have sentences of their own', async () => {
  const free = await listener(() => undefined)
  stops.splice(0).forEach((stop) => stop())
  const refused = await sendMail(serverAt(free), mail, policy, signal)
  expect(refused.problem).toBe(`127.0.0.1:${free} refuses connections`)
  const cut = await listener((socket) => void socket.end('220 hello\r\n'))
  expect((await sendMail(serverAt(cut), mail, policy, signal)).problem).toBe(
    `127.0.0.1:${cut} broke the connection off`,
  )
})

test('a refused recipient is named, and a refused password is not in what is kept', async () => {
  const picky = await mailServer({
    onRcptTo({ address }, _session, done) {
      done(address.startsWith('night') ? new Error('no such mailbox') : null)
    },
  })
  const some = await sendMail(serverAt(picky.port), mail, policy, signal)
  expect(some.problem).toContain('refused 1 of 2 recipients: night@example.com (status 550)')
  expect(some.recipients).toMatchObject([
    { address: 'ops@example.com', problem: null },
    { address: 'night@example.com', status: 550, isFinal: true },
  ])
  const none = serverAt(picky.port, { to: ['night@example.com'] })
  expect((await sendMail(none, mail, policy, signal)).recipients).toMatchObject([
    { status: 550, isFinal: true },
  ])
  const strict = await mailServer({
    allowInsecureAuth: true,
    authMethods: ['PLAIN'],
    onAuth: ({ password }, _session, done) => done(new Error(`${password} is wrong`)),
  })
  const wrong = serverAt(strict.port, { user: 'steelyard', password: 'hunter2-hunter2' })
  const refused = await sendMail(wrong, mail, policy, signal)
  expect(refused.problem).toContain('refuses the user name or the password')
  expect(refused.answer).toContain('••• is wrong')
  expect(JSON.stringify(refused)).not.toContain('hunter2')
  expect([picky.received.length, strict.received.length]).toEqual([1, 0])
})

/** Accepts connections and does with them what a test says. */
async function listener(act: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>()
  const server: Server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    act(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  stops.push(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

test('a server that accepts the connection and says nothing is left after the limit', async () => {
  const port = await listener(() => undefined)
  const { problem } = await sendMail(serverAt(port), mail, policy, signal, 300)
  expect(problem).toContain('did not answer within')
})

test('a mail server that never stops talking is disconnected', async () => {
  const port = await listener((socket) => {
    const line = `220-${'x'.repeat(60_000)}`
    const more = () => {
      while (!socket.destroyed && socket.write(line));
    }
    socket.on('drain', more)
    more()
  })
  const { problem } = await sendMail(serverAt(port), mail, policy, signal)
  expect(problem).not.toBeNull()
})

test('the address is checked at each connection, and a shutdown ends an attempt', async () => {
  let connections = 0
  const port = await listener(() => void connections++)
  const strict = policyFor('10.0.0.0/8')
  for (const host of ['127.0.0.1', 'localhost']) {
    const { problem } = await sendMail(serverAt(port, { host }), mail, strict, signal)
    expect(problem).toContain('STEELYARD_ALERT_NETWORKS')
  }
  expect(connections).toBe(0)
  const stop = new AbortController()
  const attempt = sendMail(serverAt(port), mail, policy, stop.signal)
  await expect.poll(() => connections).toBe(1)
  stop.abort(new Error('Steelyard stops'))
  await expect(attempt).rejects.toThrow('Steelyard stops')
})
