/** Announcements with odd queries and from odd addresses. */
import { randomUUID } from 'node:crypto'
import { afterEach, describe, expect, test } from 'vitest'
import { type Backend, startBackend } from '../../testing/backend.ts'
import { harmless, readAnnouncement } from './announcement.ts'
import { announcing, hostNameOf, query, simulated, uuid } from './testing.ts'

const { backend, ask, make, announce, arrivals, token, audited, nextMinute } = await announcing()
afterEach(nextMinute)

describe('queries with odd values from firmware or users', () => {
  const refused: [string, string, string][] = [
    ['no query', '', 'The firmware of the machine gives neither a UUID nor a serial number'],
    [
      'variables that were never filled in',
      'uuid=$%7Buuid%7D&serial=$%7Bserial%7D&mac=$%7Bmac%7D',
      'The firmware of the machine gives neither a UUID nor a serial number of its own',
    ],
    ['a UUID that is none', 'uuid=none&serial=S1', 'The announced UUID cannot be read'],
    ['two UUIDs', `uuid=${uuid()}&uuid=${uuid()}`, 'A query parameter is given twice'],
    ['a list', `uuid[]=${uuid()}`, 'The firmware of the machine gives neither a UUID'],
    ['a text of 10 kB', `uuid=${uuid()}&serial=${'x'.repeat(10_000)}`, 'The URL is too long'],
    ['a text of 3 kB', `uuid=${uuid()}&serial=${'x'.repeat(3000)}`, 'The announcement is too long'],
    ['a NUL', `uuid=${uuid()}&serial=%00`, 'The query contains a character that cannot be stored'],
    [
      'the UUID of boards that have none, all zeros',
      'uuid=00000000-0000-0000-0000-000000000000',
      'The firmware of the machine gives neither a UUID nor a serial number of its own',
    ],
    [
      'the UUID of boards that have none, all ones',
      'uuid=FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF',
      'The firmware of the machine gives neither a UUID nor a serial number of its own',
    ],
    [
      'a token in place of the serial number',
      `uuid=${uuid()}&serial=sy-join-${'C'.repeat(22)}`,
      'The announced serial number is a join token',
    ],
    [
      'an invalid MAC address',
      `uuid=${uuid()}&mac=hello`,
      'The announced MAC address cannot be read',
    ],
  ]
  test.each(refused)(
    'a query with %s gets no one-time host name, and the arrivals and the audit log have the reason',
    async (_what, text, reason) => {
      const { id, token: own } = await make(`weird-${randomUUID().slice(0, 8)}`)
      const answer = await ask(`/join/${own}?${text}`)
      expect([answer.statusCode, answer.body]).toEqual([200, harmless])
      await expect
        .poll(async () =>
          (await audited()).some((e) => String(e.after?.['reason']).startsWith(reason)),
        )
        .toBe(true)
      expect(await token(id)).toMatchObject({ uses: 0 })
      // A query that the app refuses before it is read names no machine.
      for (const arrival of await arrivals(id))
        expect(arrival).toMatchObject({
          result: 'refused',
          reason: expect.stringContaining(reason) as string,
        })
      nextMinute()
    },
  )

  test('a board without SMBIOS, whose UUID Talos never fills in, is told apart by its MAC address', () => {
    const [mac, none] = ['02:00:00:00:00:01', '00000000-0000-0000-0000-000000000000']
    for (const missing of ['uuid=$%7Buuid%7D&serial=$%7Bserial%7D&', 'uuid=&serial=&', ''])
      expect(readAnnouncement(`/join/x?${missing}mac=${mac}`)).toEqual({
        ok: true,
        announcement: { uuid: none, serial: '', mac },
      })
  })

  test('a serial number is stored as one line of visible characters', async () => {
    const { id, token: own } = await make('serials')
    const serials = [
      '',
      '${serial}',
      'Not Specified',
      'To Be Filled By O.E.M.',
      'a\nb\u202e',
      'ü'.repeat(300),
    ]
    for (const serial of serials)
      await ask(
        `/join/${own}?${new URLSearchParams({ uuid: uuid(), serial, mac: '${MAC}' }).toString()}`,
      )
    const shown = (await arrivals(id)).map((a) => a.serial)
    expect(new Set(shown)).toEqual(
      new Set(['', 'Not Specified', 'To Be Filled By O.E.M.', 'a b�', 'ü'.repeat(256)]),
    )
    expect((await arrivals(id)).every((a) => a.mac === null)).toBe(true)
  })

  test('UUIDs are case-insensitive, and only a GET request announces a machine', async () => {
    const { id, token: own } = await make('case', { max_uses: 1 })
    const machine = uuid()
    const head = await backend.app.inject({
      method: 'HEAD',
      url: `/join/${own}?${query(machine)}`,
      remoteAddress: '127.20.9.1',
    })
    expect([head.statusCode, head.body]).toEqual([200, ''])
    expect(await arrivals(id)).toEqual([])
    expect(hostNameOf((await announce(own, machine.toUpperCase())).body)).toBeDefined()
    expect(hostNameOf((await announce(own, machine)).body)).toBeDefined()
    expect(await arrivals(id)).toMatchObject([{ uuid: machine }])
    const post = await backend.app.inject({ method: 'POST', url: `/join/${own}` })
    expect([post.statusCode, post.headers['allow']]).toEqual([405, 'GET, HEAD'])
  })
})

describe('the source address of an announcement', () => {
  test.each([
    [
      'not in a network that may be dialled',
      '10.0.0.5',
      '10.0.0.5 is not in STEELYARD_DIAL_NETWORKS',
    ],
    ['this machine itself', '127.0.0.1', '127.0.0.1 is this machine itself, and is never dialled'],
    ['a metadata service', '169.254.169.254', 'is link-local'],
    ['IPv6 link-local', 'fe80::1', 'is link-local'],
    ['this machine in IPv6', '::1', 'is in the reserved range ::/96'],
  ])(
    'if the source address is %s, it is not dialled, and the arrival shows the reason',
    async (_what, from, reason) => {
      const { id, token: own } = await make(`from-${randomUUID().slice(0, 8)}`)
      const answer = await announce(own, uuid(), from)
      expect([answer.statusCode, answer.body]).toEqual([200, harmless])
      const [arrival] = await arrivals(id)
      expect(arrival).toMatchObject({ result: 'failed', address: from })
      expect(arrival!.reason).toContain(reason)
      await expect
        .poll(async () => (await audited()).find((e) => e.target?.id === id))
        .toMatchObject({ action: 'join.failed', result: 'dial_refused' })
    },
  )

  test('an announcement from an address that may not be dialled does not count as a use of the token', async () => {
    const { id, token: own } = await make('no-use', { max_uses: 1 })
    const machine = uuid()
    await announce(own, machine, '10.0.0.5')
    await announce(own, uuid(), '10.0.0.6')
    expect(await token(id)).toMatchObject({ uses: 0 })
    await announce(own, machine, '127.20.9.40')
    expect(await token(id)).toMatchObject({ uses: 1 })
    // The same machine at another address doesn't count as another use.
    await announce(own, machine, '10.0.0.5')
    await announce(own, machine, '127.20.9.41')
    expect(await token(id)).toMatchObject({ uses: 1 })
  })

  test('an IPv6 address is stored in canonical form, and an IPv4-mapped address as IPv4', async () => {
    const { id, token: own } = await make('ipv6')
    await announce(own, uuid(), 'FD12:0:0::00a1')
    await announce(own, uuid(), '::ffff:127.20.9.4')
    expect((await arrivals(id)).map((a) => `${a.address} ${a.result}`).toSorted()).toEqual([
      '127.20.9.4 waiting',
      'fd12::a1 waiting',
    ])
  })

  test('X-Forwarded-For is accepted only from trusted proxies', async () => {
    const { id, token: own } = await make('proxied')
    const through = async (door: Backend, peer: string, forwarded: string) => {
      const machine = uuid()
      await ask(`/join/${own}?${query(machine)}`, peer, door, {
        headers: { 'x-forwarded-for': forwarded },
      })
      return (await arrivals(id)).find((a) => a.uuid === machine)?.address
    }
    expect(await through(backend, '127.20.9.5', '127.20.9.66')).toBe('127.20.9.5')
    const behind = await startBackend({
      beside: backend,
      environment: { ...simulated, STEELYARD_TRUSTED_PROXIES: '127.20.9.0/28' },
    })
    expect(await through(behind, '127.20.9.5', '127.20.9.66')).toBe('127.20.9.66')
    // The first address was sent by the machine itself, so only the one that the proxy has added
    // counts.
    expect(await through(behind, '127.20.9.5', '127.20.9.99, 127.20.9.66')).toBe('127.20.9.66')
    expect(await through(behind, '127.20.9.100', '127.20.9.66')).toBe('127.20.9.100')
    const known = (await token(id)).uses
    await through(behind, '127.20.9.5', 'unknown')
    expect((await token(id)).uses).toBe(known)
  })
})
