import { afterEach, expect, test } from 'vitest'
import { account, closeAll, type TestBmc, testBmc } from '../testing/server.ts'
import { two } from '../testing/certificates.ts'
import { powerStateOf, sendReset, setLight } from '../acts/power.ts'
import { discover, readMacs } from '../acts/discover.ts'
import { usualLimits } from '../limits.ts'
import { readDocument } from '../readers/readers.ts'
import { type ClientParts, redfishClient, type SignedIn, tagLadder } from './client.ts'
import { readCertificate } from './transport.ts'

afterEach(closeAll)
const { signal } = new AbortController()
const systemPath = '/redfish/v1/Systems/1'
const clientOf = (bmc: Pick<TestBmc, 'place'>, more: Partial<ClientParts> = {}) =>
  redfishClient({
    place: bmc.place,
    account,
    read: (kind, bytes) => Promise.resolve(readDocument(kind, bytes)),
    ...more,
  })
const sweep = () => ({ left: 400 })
/** What reached the server that tells the secret, in any form. */
const secretsIn = ({ seen }: TestBmc) =>
  seen.filter(({ headers, body }) => body.includes(account.password) || headers.authorization)

test('a BMC is found with one session, and switched on and off', async () => {
  const bmc = await testBmc()
  const kept: (SignedIn | null)[] = []
  const client = clientOf(bmc, { onSignedIn: async (now) => void kept.push(now) })
  const { system, manager, facts } = await discover(client, signal, sweep())
  expect(system).toMatchObject({ UUID: expect.any(String) as string, PowerState: 'Off' })
  expect(manager).toMatchObject({ FirmwareVersion: '1.45' })
  expect(await readMacs(client, system, signal, sweep())).toEqual(['12:44:6a:3b:04:11'])
  await sendReset(client, system, { to: 'on', kind: 'graceful' }, signal)
  const { document } = await client.get('system', systemPath, signal)
  expect(powerStateOf(document.PowerState, facts)).toBe('on')
  expect(await setLight(client, systemPath, true, signal)).toBe(true)
  expect(
    bmc.seen.filter(({ method, path }) => method === 'POST' && path.endsWith('Sessions')),
  ).toHaveLength(1)
  expect(bmc.seen.find(({ method }) => method === 'PATCH')!.headers['if-match']).toBe('"1"')
  // Another client goes on with the same session, and ends it.
  const next = clientOf(bmc, { signedIn: kept.at(-1)! })
  await next.get('system', systemPath, signal)
  expect(bmc.sessions.size).toBe(1)
  await next.signOut(signal)
  expect(bmc.sessions.size).toBe(0)
})

test('a session that the BMC has ended is replaced once', async () => {
  const bmc = await testBmc()
  const client = clientOf(bmc)
  await client.get('system', systemPath, signal)
  bmc.sessions.clear()
  await client.get('system', systemPath, signal)
  expect(bmc.sessions.size).toBe(1)
})

test('without sessions, or without a free one, it speaks Basic', async () => {
  const bmc = await testBmc()
  bmc.on.set(
    'POST /redfish/v1/SessionService/Sessions',
    (_, response) => void response.writeHead(503).end('{}'),
  )
  const { document } = await clientOf(bmc).get('system', systemPath, signal)
  expect(document.Model).toBe('3500')
  const bare = await testBmc()
  bare.documents.set('/redfish/v1/', { Systems: { '@odata.id': '/redfish/v1/Systems' } })
  await clientOf(bare).get('system', systemPath, signal)
  expect(bare.seen.every(({ method }) => method === 'GET')).toBe(true)
})

test('a refused password is sent once, and the answer does not repeat it', async () => {
  const bmc = await testBmc()
  const wrong = { username: 'steelyard', password: 'wrong horse' }
  const failed = clientOf(bmc, { account: wrong }).get('system', systemPath, signal)
  await expect(failed).rejects.toMatchObject({
    kind: 'denied',
    message: 'The BMC refuses the user name or the password: Not with …',
  })
  expect(bmc.seen.filter(({ body }) => body.includes('wrong horse'))).toHaveLength(1)
})

test('nothing is sent to a BMC with another certificate', async () => {
  const bmc = await testBmc()
  const client = clientOf(bmc)
  await client.get('system', systemPath, signal)
  await bmc.close()
  const changed = await testBmc({ certificate: two, port: bmc.place.port })
  await expect(client.get('system', systemPath, signal)).rejects.toMatchObject({
    kind: 'certificate',
  })
  await expect(clientOf(bmc).root(signal)).rejects.toMatchObject({ kind: 'certificate' })
  expect(changed.seen).toEqual([])
  expect(secretsIn(changed)).toEqual([])
  const shown = await readCertificate(bmc.place, usualLimits, signal)
  expect(shown).toMatchObject({ fingerprint: changed.place.fingerprint, subject: 'bmc-two' })
  expect(changed.seen).toEqual([])
})

test.each([
  ['a page', 'text/html', '<html>Sign in</html>', 'unreadable', 'a page (HTML)'],
  ['no JSON', 'application/json', '{"a":', 'unreadable', 'no JSON'],
  ['too many values', 'application/json', `[${'1,'.repeat(200_000)}1]`, 'unreadable', 'too many'],
  ['a list', 'application/json', '[1]', 'unreadable', 'no Redfish document'],
])('a document that is %s is refused', async (_what, type, text, kind, says) => {
  const bmc = await testBmc()
  bmc.on.set(
    `GET ${systemPath}`,
    (_, response) => void response.writeHead(200, { 'Content-Type': type }).end(text),
  )
  await expect(clientOf(bmc).get('system', systemPath, signal)).rejects.toMatchObject({
    kind,
    message: expect.stringContaining(says) as string,
  })
})

test('a BMC that sends without end, hangs or redirects is left', async () => {
  const bmc = await testBmc()
  const limits = { ...usualLimits, readMs: 300 }
  const client = clientOf(bmc, { limits })
  await client.root(signal)
  bmc.on.set(`GET ${systemPath}`, (_, response) => {
    const piece = Buffer.alloc(256 * 1024, ' ')
    const more = (error?: Error | null): void => {
      if (!error && response.socket !== null) response.write(piece, more)
    }
    more()
  })
  await expect(client.get('system', systemPath, signal)).rejects.toMatchObject({
    kind: 'unreadable',
    message: 'The BMC sent a document of more than 2 MiB',
  })
  bmc.on.set(`GET ${systemPath}`, () => undefined)
  await expect(client.get('system', systemPath, signal)).rejects.toMatchObject({
    kind: 'unreachable',
    message: 'The BMC did not answer within 0.3 s',
  })
  const other = await testBmc()
  bmc.on.set(
    `GET ${systemPath}`,
    (_, response) =>
      void response
        .writeHead(307, { Location: `https://127.0.0.1:${other.place.port}/redfish/v1/` })
        .end(),
  )
  await expect(client.get('system', systemPath, signal)).rejects.toMatchObject({
    kind: 'unreadable',
    message: expect.stringContaining('redirects are not followed') as string,
  })
  expect(other.seen).toEqual([])
})

test('a system without power, or with a strange one, is unknown and never off', () => {
  const words = { powerWords: { reset: 'turning_on' } } as const
  const states = [null, '', 'Paused', 'Unknown', 'Off', 'On', 'PoweringOn', 'Powering Off', 'Reset']
  expect(states.map((word) => powerStateOf(word, words))).toEqual([
    'unknown',
    'unknown',
    'unknown',
    'unknown',
    'off',
    'on',
    'turning_on',
    'turning_off',
    'turning_on',
  ])
})

test('tags are tried as read, weak, strong, and none', () => {
  expect(tagLadder('W/"a"')).toEqual(['W/"a"', '"a"', null])
  expect(tagLadder('"a"')).toEqual(['"a"', 'W/"a"', null])
  expect(tagLadder('')).toEqual([null])
})

test('several systems behind one BMC are unsupported', async () => {
  const bmc = await testBmc()
  bmc.documents.set('/redfish/v1/Systems', {
    Members: [1, 2, 3, 4].map((n) => ({ '@odata.id': `/redfish/v1/Systems/${n}` })),
  })
  await expect(discover(clientOf(bmc), signal, sweep())).rejects.toMatchObject({
    kind: 'unsupported',
    message: 'This BMC shows 4 systems',
  })
})
