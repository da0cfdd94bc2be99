import { createServer as createHttp } from 'node:http'
import { type AddressInfo, createServer as createTcp, type Server, type Socket } from 'node:net'
import { createServer as createTls } from 'node:tls'
import { afterAll, expect, test } from 'vitest'
import { parseCidr } from '#contract/network/addresses.ts'
import { createAuthority, issueCertificate } from '#talos/pki/certificates.ts'
import { post } from '../domains/alerts/posting.ts'
import { factoryCalls, usualLimits } from '../domains/images/factory-call.ts'
import { s3Store } from '../domains/stores/s3.ts'
import { reader } from '../reading/reader.ts'
import { endpointPolicy } from './policy.ts'

const policy = endpointPolicy([parseCidr('127.0.0.0/8')!])
const { signal } = new AbortController()
const stops: (() => void)[] = []
afterAll(() => {
  for (const stop of stops) stop()
})

/** Listens on loopback until the tests end. */
async function listen(server: Server): Promise<number> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
  })
  server.on('tlsClientError', () => undefined)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  stops.push(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** What each kind of service says of an address: the sentence after its name. */
const askers: Readonly<Record<string, (url: string) => Promise<string>>> = {
  webhook: async (url) =>
    (
      await post(
        { url: new URL(url), headers: {}, body: '{}', secrets: [], now: new Date() },
        policy,
        signal,
      )
    ).problem ?? 'it answered',
  store: (url) =>
    s3Store(
      {
        endpoint: url,
        region: 'eu-1',
        bucket: 'snaps',
        prefix: '',
        pathStyle: true,
        accessKeyId: 'a',
        secretAccessKey: 's',
      },
      policy,
    )
      .remove('a', signal)
      .then(
        () => 'it answered',
        (error: Error) => error.message,
      ),
  factory: (url) =>
    factoryCalls(reader(), url, { ...usualLimits, pauseMs: 1 })({
      path: '/versions',
      status: 200,
      mostBytes: 1000,
    }).then(
      () => 'it answered',
      (error: Error) => error.message,
    ),
}

const now = new Date()
const authority = await createAuthority({ kind: 'p256', subject: { commonName: 'us' }, now })
const leaf = await issueCertificate(authority, {
  subject: { commonName: 'x' },
  usages: ['server'],
  names: { dns: ['rack.example'] },
  lifetimeMs: 3_600_000,
  now,
})
const plain = createHttp((_request, answer) => answer.writeHead(404).end())
const speaking = await listen(createTcp((socket) => void socket.end('220 mail.example ESMTP\r\n')))
const encrypted = createTls({ cert: leaf.crt, key: leaf.key })
/** A server of TLS that answers plain text with an alert, as OpenSSL's do (RFC 8446, 6.2). */
const alerting = createTcp((socket) =>
  socket.once('data', () => socket.end(Buffer.from([0x15, 3, 1, 0, 2, 2, 22]))),
)
const cutting = createTcp((socket) => socket.once('data', () => socket.destroy()))
const closed = await listen(createTcp(() => undefined))
stops.pop()!()

test.each([
  [
    'plain HTTP at a port for TLS',
    await listen(alerting),
    'http',
    'wants TLS: use https://, or another port',
  ],
  [
    'TLS at a port of plain HTTP',
    await listen(plain),
    'https',
    'answers without TLS: use http://, or another port',
  ],
  [
    'TLS at a port of another protocol',
    speaking,
    'https',
    'answers without TLS: use http://, or another port',
  ],
  [
    'HTTP at a port of another protocol',
    speaking,
    'http',
    'sent an answer that is not HTTP: use https://, or another port',
  ],
  [
    'a certificate of an unknown authority',
    await listen(encrypted),
    'https',
    "has a certificate that is not trusted (this machine doesn't know its authority): if the authority is yours, set NODE_EXTRA_CA_CERTS to its PEM file and restart Steelyard",
  ],
  ['a connection that is cut', await listen(cutting), 'https', 'broke the connection off'],
  ['a port where nothing listens', closed, 'https', 'refuses connections'],
] as const)('Test that every service says the same of %s', async (_what, port, scheme, said) => {
  for (const [asker, ask] of Object.entries(askers)) {
    const sentence = await ask(`${scheme}://127.0.0.1:${port}`)
    expect([asker, sentence]).toEqual([asker, expect.stringMatching(/127\.0\.0\.1:\d+(\/snaps)? /)])
    expect([asker, sentence]).toEqual([asker, expect.stringContaining(said)])
  }
})
