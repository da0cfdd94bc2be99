import { Socket } from 'node:net'
import { expect, test, vi } from 'vitest'
import { parseCidr } from '#contract/network/addresses.ts'
import { Problem } from '#contract/errors.ts'
import { budget } from './budget.ts'
import { dialPolicy } from './dial-policy.ts'
import { fleet } from './fleet.ts'

const everything = [parseCidr('0.0.0.0/0')!, parseCidr('::/0')!]
const lan = [parseCidr('10.0.0.0/8')!, parseCidr('fd12::/16')!]
const policyOf = (more: Partial<Parameters<typeof dialPolicy>[0]> = {}) =>
  dialPolicy({
    networks: lan,
    own: () => ['10.0.0.1', 'fd12::1', 'fe80::1%eth0'],
    simulate: false,
    ...more,
  })

/**
 * Spellings of loopback, link-local, metadata services, this machine, and texts that are no
 * addresses.
 */
const hostile = [
  '127.0.0.1',
  '127.1',
  '127.20.1.1',
  '168.63.129.16',
  '0.0.0.0',
  '0',
  '2130706433',
  '0x7f000001',
  '0x7f.0.0.1',
  '0177.0.0.1',
  '017700000001',
  '127.0.0.1 ',
  '127.0.0.1.',
  '169.254.169.254',
  '169.254.1.1',
  '100.100.100.200',
  '::1',
  '::',
  '[::1]',
  '::ffff:127.0.0.1',
  '[::ffff:127.0.0.1]',
  '::ffff:7f00:1',
  '::127.0.0.1',
  '64:ff9b::7f00:1',
  '2002:7f00:1::',
  'fe80::1',
  'fe80::1%eth0',
  'fd00:ec2::254',
  'localhost',
  'localhost.localdomain',
  'metadata.google.internal',
  '10.0.0.1',
  'fd12::1',
  '10.0.0.2:50000',
  'http://10.0.0.2/',
  '10.0.0.2/24',
  '１０.0.0.2',
  '224.0.0.1',
  '255.255.255.255',
  'ff02::1',
  '',
]

test.each(hostile)('the address %j is refused even if every network is listed', (address) => {
  const policy = policyOf({ networks: everything })
  expect(policy.check(address, 50_000).ok).toBe(false)
})

test.each(hostile.filter((a) => a !== '127.20.1.1'))(
  'the address %j is refused even with the simulator',
  (address) => {
    expect(policyOf({ networks: everything, simulate: true }).check(address, 50_000).ok).toBe(false)
  },
)

test('no packet leaves for a hostile address, whether it is entered or stored with a server', async () => {
  const dialled = vi.spyOn(Socket.prototype, 'connect')
  const { probe, connection } = fleet({
    policy: policyOf({ networks: everything }),
    budget: budget(),
  })
  for (const address of hostile) {
    await expect(probe(address)).rejects.toMatchObject({ code: 'dial_refused' })
    const stored = connection({ id: 'a', name: 'a', address, uuid: null, serial: null })
    await expect(stored.presence()).rejects.toMatchObject({ code: 'dial_refused' })
    await expect(stored.maintenance(() => Promise.resolve())).rejects.toMatchObject({
      code: 'dial_refused',
    })
    await expect(
      stored.secure({ ca: '', crt: '', key: '' }, () => Promise.resolve()),
    ).rejects.toMatchObject({ code: 'dial_refused' })
  }
  expect(dialled).not.toHaveBeenCalled()
  // The spy works: dialling an allowed address is recorded.
  const allowed = fleet({
    policy: policyOf({ networks: everything, simulate: true }),
    budget: budget(),
  })
  await expect(allowed.probe('127.20.255.254')).rejects.toMatchObject({ kind: 'unreachable' })
  expect(dialled).toHaveBeenCalledOnce()
  dialled.mockRestore()
})

test('only listed networks are dialled, and the error names the setting and what to do', () => {
  const policy = policyOf()
  const next = (network: string) =>
    `add the network of your servers to that setting, such as ${network}, and start Steelyard again`
  expect(policy.check('10.2.3.4', 50_000)).toEqual({ ok: true })
  expect(policy.check('fd12::5', 6443)).toEqual({ ok: true })
  expect(policy.check('192.168.1.1', 50_000)).toEqual({
    ok: false,
    reason: `192.168.1.1 is not in STEELYARD_DIAL_NETWORKS (it contains 10.0.0.0/8, fd12::/16): ${next('192.168.1.0/24')}`,
  })
  expect(policyOf({ networks: [] }).check('10.2.3.4', 50_000)).toEqual({
    ok: false,
    reason: `10.2.3.4 is not in STEELYARD_DIAL_NETWORKS (it is empty): ${next('10.2.3.0/24')}`,
  })
  expect(policy.check('fd99:1:2:3::4', 50_000)).toMatchObject({
    reason: expect.stringContaining(next('fd99:1:2:3::/64')) as string,
  })
})

test('only the ports of Talos and Kubernetes are dialled', () => {
  for (const port of [22, 80, 443, 2379, 50_001, 10_250])
    expect(policyOf().check('10.2.3.4', port).ok).toBe(false)
})

test("the simulator's addresses are dialled only with the simulator, and only if they are listed", () => {
  const networks = [parseCidr('127.20.0.0/16')!]
  expect(policyOf({ networks }).check('127.20.1.1', 50_000).ok).toBe(false)
  expect(policyOf({ networks, simulate: true }).check('127.20.1.1', 50_000).ok).toBe(true)
  expect(policyOf({ networks, simulate: true }).check('127.21.1.1', 50_000).ok).toBe(false)
  expect(policyOf({ simulate: true }).check('127.20.1.1', 50_000).ok).toBe(false)
})

test('a network of at most a /22 is expanded to its hosts, and for a network with host bits the correct one is suggested', () => {
  const policy = policyOf()
  expect(policy.read({ cidr: '10.1.2.0/30' })).toEqual(['10.1.2.1', '10.1.2.2'])
  expect(policy.read({ cidr: '10.1.0.0/22' })).toHaveLength(1022)
  expect(() => policy.read({ cidr: '10.1.2.3/30' })).toThrow(
    'Host bits must be zero. Did you mean 10.1.2.0/30?',
  )
  expect(() => policy.read({ cidr: '10.1.0.0/21' })).toThrow('at most 1\u202f024 addresses')
  expect(() => policy.read({ cidr: 'fd12::/64' })).toThrow('at most 1\u202f024 addresses')
  expect(() => policy.read({ cidr: '127.0.0.0/30' })).toThrow(Problem)
})

test('duplicate addresses are removed, and addresses are in canonical notation', () => {
  expect(policyOf().read({ addresses: ['10.1.2.3', 'fd12:0::5', 'fd12::5', '10.1.2.3'] })).toEqual([
    '10.1.2.3',
    'fd12::5',
  ])
  expect(() => policyOf().read({ addresses: ['10.1.2.3', '10.1.2.03'] })).toThrow(
    '"10.1.2.03" is not an IP address in its plain form',
  )
})

test.each([
  ['10.1.2.5:50000', 'leave the port out'],
  ['[fd00::5]:50000', 'leave the port out'],
  ['10.1.2.5/24', 'leave the prefix out'],
  ['::ffff:10.1.2.5', 'write 10.1.2.5'],
  ['fe80::1%eth0', 'leave the zone out'],
  ['10.1.2.5, 10.1.2.6', 'give one address in each entry'],
  ['node-1.example.org', 'names are not looked up'],
])('%j is refused with what to do: %s', (text, advice) => {
  expect(() => policyOf().read({ addresses: [text] })).toThrow(
    new RegExp(`is not an IP address in its plain form: ${advice}`),
  )
})
