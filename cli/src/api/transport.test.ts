import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer as createHttp, type Server } from 'node:http'
import { createServer as createHttps } from 'node:https'
import { type AddressInfo, connect, createServer as createTcp } from 'node:net'
import { join } from 'node:path'
import 'reflect-metadata'
import * as x509 from '@peculiar/x509'
import { expect, onTestFinished, test } from 'vitest'
import { installationGet } from '#contract/users.ts'
import { startCli } from '../testing/cli.ts'
import { proxyFor } from './proxy.ts'

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const hourMs = 3_600_000
const pemOfKey = async (key: CryptoKey) =>
  `-----BEGIN PRIVATE KEY-----\n${Buffer.from(await crypto.subtle.exportKey('pkcs8', key)).toString('base64')}\n-----END PRIVATE KEY-----\n`

/** An authority, and a certificate that it signs for `name` from `from` to `to`, in hours from now. */
async function certificate(
  name: x509.JsonGeneralName,
  [from, to]: readonly [from: number, to: number] = [-1, 1],
) {
  const [authorityKeys, keys] = await Promise.all([
    crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']),
    crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']),
  ])
  const authority = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=Rack authority',
    notAfter: new Date(Date.now() + hourMs),
    signingAlgorithm: algorithm,
    keys: authorityKeys,
    extensions: [new x509.BasicConstraintsExtension(true, undefined, true)],
  })
  const leaf = await x509.X509CertificateGenerator.create({
    subject: 'CN=steelyard',
    issuer: authority.subject,
    notBefore: new Date(Date.now() + from * hourMs),
    notAfter: new Date(Date.now() + to * hourMs),
    signingAlgorithm: algorithm,
    publicKey: keys.publicKey,
    signingKey: authorityKeys.privateKey,
    extensions: [new x509.SubjectAlternativeNameExtension([name])],
  })
  return {
    authority: authority.toString('pem'),
    cert: leaf.toString('pem'),
    key: await pemOfKey(keys.privateKey),
  }
}

async function listen(server: Server | ReturnType<typeof createTcp>): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

/** A Steelyard with TLS that answers only its version. */
async function steelyard(made: { cert: string; key: string }): Promise<number> {
  return listen(
    createHttps(made, (_request, answer) =>
      answer
        .writeHead(200, { 'content-type': 'application/json', connection: 'close' })
        .end(JSON.stringify({ version: '9.9.9', simulated: false })),
    ),
  )
}

const local: x509.JsonGeneralName = { type: 'ip', value: '127.0.0.1' }

test('a certificate of an unknown authority is named, and --ca-file or STEELYARD_CA_FILE makes the authority known', async () => {
  const made = await certificate(local)
  const cli = await startCli()
  const url = `https://127.0.0.1:${await steelyard(made)}`
  const file = join(cli.folder, 'ca.pem')
  await writeFile(file, made.authority)
  const other = join(cli.folder, 'other.pem')
  await writeFile(other, (await certificate(local)).authority)
  const refused = await cli.run(`api GET ${installationGet.path} --url ${url}`)
  expect(refused).toMatchObject({ exit: 7, out: '' })
  expect(refused.err).toContain(
    "its certificate is signed by an authority that this machine doesn't know",
  )
  expect(refused.err).toContain('If the authority is yours, give its PEM file with --ca-file')
  expect(refused.err).not.toContain('Set the address')
  expect(
    (await cli.run(`api GET ${installationGet.path} --url ${url} --ca-file ${other}`)).err,
  ).toContain(`${other} doesn't have it`)
  expect(
    (await cli.run(`api GET ${installationGet.path} --url ${url} --ca-file ${file}`)).out,
  ).toContain('9.9.9')
  cli.env['STEELYARD_CA_FILE'] = file
  expect((await cli.run(`api GET ${installationGet.path} --url ${url}`)).out).toContain('9.9.9')
  await writeFile(file, 'no certificate')
  expect(await cli.run(`api GET ${installationGet.path} --url ${url}`)).toMatchObject({
    exit: 2,
    err: `${file} has no certificate in PEM form\n`,
  })
})

test('a certificate for another name, one that has ended, and one of the future are told apart', async () => {
  const cli = await startCli()
  const why = async (name: x509.JsonGeneralName, hours?: [number, number]) => {
    const made = await certificate(name, hours)
    const file = join(cli.folder, 'ca.pem')
    await writeFile(file, made.authority)
    const url = `https://127.0.0.1:${await steelyard(made)}`
    const ran = await cli.run(`api GET ${installationGet.path} --url ${url} --ca-file ${file}`)
    expect(ran.exit).toBe(7)
    return ran.err
  }
  expect(await why({ type: 'dns', value: 'rack.example' })).toMatch(
    /its certificate is for rack\.example\nUse one of its names/,
  )
  expect(await why(local, [-2, -1])).toMatch(/has expired\nRenew it, or set the clock/)
  expect(await why(local, [1, 2])).toMatch(/is not valid yet\nSet the clock of this machine/)
})

test('HTTP on a port with TLS, and TLS on a port without, are told apart', async () => {
  const cli = await startCli()
  const plain = await listen(createHttp((_request, answer) => answer.end()))
  expect((await cli.run(`api GET /v1/x --url https://127.0.0.1:${plain}`)).err).toMatch(
    new RegExp(`it answers without TLS\\nUse http://127\\.0\\.0\\.1:${plain}`),
  )
  const odd = await listen(createTcp((socket) => void socket.end('SSH-2.0-OpenSSH_10\r\n')))
  expect((await cli.run(`api GET /v1/x --url http://127.0.0.1:${odd}`)).err).toContain(
    'its answer is not HTTP',
  )
})

test('HTTPS_PROXY carries the connection, and the certificate of Steelyard is still checked', async () => {
  const made = await certificate({ type: 'dns', value: 'steelyard.example' })
  const port = await steelyard(made)
  const cli = await startCli()
  const file = join(cli.folder, 'ca.pem')
  await writeFile(file, made.authority)
  const asked: [target: string | undefined, user: string | undefined][] = []
  const proxy = createHttp()
  let challenge: readonly string[] | undefined
  proxy.on('connect', (request, client) => {
    asked.push([request.url, request.headers['proxy-authorization']])
    if (challenge !== undefined)
      return client.end(
        `HTTP/1.1 407 Proxy Authentication Required\r\n${challenge.map((one) => `Proxy-Authenticate: ${one}\r\n`).join('')}\r\n`,
      )
    const server = connect(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n')
      server.pipe(client)
      client.pipe(server)
    })
    for (const [one, other] of [
      [server, client],
      [client, server],
    ] as const)
      one.on('error', () => other.destroy())
    return undefined
  })
  const proxyPort = await listen(proxy)
  cli.env['HTTPS_PROXY'] = `http://grace:pa%40ss@127.0.0.1:${proxyPort}`
  const line = `api GET ${installationGet.path} --url https://steelyard.example`
  expect(await cli.run(`${line} --ca-file ${file}`)).toMatchObject({
    exit: 0,
    out: expect.stringContaining('9.9.9') as string,
  })
  expect(asked).toEqual([
    ['steelyard.example:443', `Basic ${Buffer.from('grace:pa@ss').toString('base64')}`],
  ])
  expect((await cli.run(line)).err).toContain("an authority that this machine doesn't know")
  challenge = ['Basic realm="corp"']
  const refused = await cli.run(line)
  expect(refused.exit).toBe(7)
  expect(refused.err).toContain(
    'https://steelyard.example could not be reached: the proxy wants a user\nCheck the user and the password in HTTPS_PROXY',
  )
  expect(refused.err).not.toContain('pa%40ss')
  cli.env['HTTPS_PROXY'] = `http://127.0.0.1:${proxyPort}`
  expect((await cli.run(line)).err).toContain('Set HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT')
  challenge = ['Negotiate', 'NTLM']
  expect((await cli.run(line)).err).toContain(
    'It offers Negotiate, NTLM, of which only Basic is supported here. NO_PROXY may name the host',
  )
})

test('Test that a proxy that wants a user says so for a plain connection too', async () => {
  const proxyPort = await listen(
    createHttp((_request, answer) =>
      answer.writeHead(407, { 'proxy-authenticate': 'Negotiate' }).end(),
    ),
  )
  const cli = await startCli()
  Object.assign(cli.env, {
    HTTP_PROXY: `http://127.0.0.1:${proxyPort}`,
    STEELYARD_INSECURE: '1',
  })
  const { err } = await cli.run(`api GET ${installationGet.path} --url http://steelyard.example`)
  expect(err).toContain('the proxy wants a user\nIt offers Negotiate, of which only Basic')
})

test('NO_PROXY names hosts, domains, ports and networks that need no proxy', () => {
  const through = (url: string, none: string) =>
    proxyFor(new URL(url), { https_proxy: 'proxy.example:3128', NO_PROXY: none })?.href ?? null
  const proxy = 'http://proxy.example:3128/'
  expect(through('https://a.example', '')).toBe(proxy)
  expect(through('https://127.0.0.1', '')).toBeNull()
  expect(through('https://a.example', '*')).toBeNull()
  expect(through('https://a.example', 'b.example, a.example')).toBeNull()
  expect(through('https://a.b.example', '.b.example')).toBeNull()
  expect(through('https://a.b.example', 'b.example')).toBeNull()
  expect(through('https://ab.example', 'b.example')).toBe(proxy)
  expect(through('https://a.example:8443', 'a.example:443')).toBe(proxy)
  expect(through('https://a.example', 'a.example:443')).toBeNull()
  expect(through('https://10.1.2.3', '10.0.0.0/8')).toBeNull()
  expect(through('https://11.1.2.3', '10.0.0.0/8')).toBe(proxy)
  expect(through('https://[fd00::1]', 'fd00::/8')).toBeNull()
  for (const none of ['[fd00::1]', 'FD00:0:0:0::0001', '[fd00:0::1]:443', '[fd00::]/8'])
    expect([none, through('https://[fd00::1]', none)]).toEqual([none, null])
  for (const none of ['[fd00::1]:8443', 'fd00::2', '[fd00::1', 'fd00::/200', ':443', ''])
    expect([none, through('https://[fd00::1]', none)]).toEqual([none, proxy])
  expect(through('https://[::ffff:10.1.2.3]', '10.1.2.3')).toBeNull()
  expect(through('https://10.1.2.3', '::ffff:a01:203')).toBeNull()
  expect(through('https://[::ffff:10.1.2.3]', '10.0.0.0/8')).toBeNull()
  expect(through('https://[::ffff:127.0.0.1]', '')).toBeNull()
  expect(through('https://10.1.2.3', '10.1.2.3:443')).toBeNull()
  expect(through('https://10.1.2.3', '1.2.3')).toBe(proxy)
  expect(through('https://a.example.', 'a.example')).toBeNull()
  expect(through('https://a.example', '.example.')).toBeNull()
  expect(() => proxyFor(new URL('https://a.example'), { HTTPS_PROXY: 'socks5://u:p@h' })).toThrow(
    'HTTPS_PROXY is no address of a proxy, such as http://proxy.example.com:3128: socks5://…@h',
  )
})
