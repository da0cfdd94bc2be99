import { expect, test } from 'vitest'
import {
  type CapacityCommitment,
  ccCreate,
  ccEvents,
  ccGet,
  ccList,
  ccUpdate,
} from '#contract/marketplace/ccs.ts'
import { Problem } from '#contract/errors.ts'
import { serverGet, serverList, serverRemove } from '#contract/servers/servers.ts'
import { startApi } from '../testing/api.ts'
import { startCli } from '../testing/cli.ts'
import { anOperation, aServer, id, pageOf } from '../testing/things.ts'

const at = '2026-11-20T08:00:00.000Z'
const price = { amount: '1.248', currency: 'EUR', basis: 'server' } as const
const aCc = (more: Partial<CapacityCommitment> = {}): CapacityCommitment => ({
  id: id(80),
  status: 'not_committed',
  reason: null,
  server: { id: id(1), name: 'brave-otter-042', status: 'ready', unreachable_since: null },
  datacenter: { id: id(50), code: 'PL-POZ-1' },
  cluster: { id: id(20), name: 'web' },
  offer: null,
  capacity: {
    compute_units: 64,
    cores: 64,
    vcpu: 128,
    memory_bytes: 768 * 1024 ** 3,
    disk_bytes: 15_400_000_000_000,
  },
  price,
  price_per_hour: '1.248',
  starts_at: null,
  expires_at: '2027-02-14T00:00:00.000Z',
  committed_at: null,
  committed_by: null,
  delegated_at: null,
  delegated_by: null,
  started_at: null,
  ended_at: null,
  version: 1,
  created_at: at,
  updated_at: at,
  ...more,
})

async function signedIn() {
  const api = await startApi()
  const cli = await startCli(api)
  api.on(serverList, () => pageOf([aServer()]))
  api.on(ccList, () => pageOf([aCc()]))
  api.on(ccGet, () => aCc())
  return { api, cli }
}

test('the list shows the price of the whole server, and what is unknown as unknown', async () => {
  const { api, cli } = await signedIn()
  const none = {
    compute_units: null,
    cores: null,
    vcpu: null,
    memory_bytes: null,
    disk_bytes: null,
  }
  api.on(ccList, () =>
    pageOf([
      aCc({ status: 'active' }),
      aCc({
        server: { ...aCc().server, name: 'unread' },
        capacity: none,
        price: { ...price, basis: 'compute_unit' },
        price_per_hour: null,
      }),
      aCc({ server: { ...aCc().server, name: 'gone', status: 'deleted' }, status: 'active' }),
      aCc({
        server: { ...aCc().server, name: 'draft' },
        price: null,
        price_per_hour: null,
        expires_at: null,
      }),
    ]),
  )
  const { out } = await cli.run('cc list --cu 32..64 --price ..2')
  expect(out).toMatch(/^brave-otter-042 +PL-POZ-1 +web +64 +768 GiB +1\.248 EUR .* active$/m)
  expect(out).toMatch(/^unread .* unknown +unknown +unknown .* not committed$/m)
  expect(out).toMatch(/^gone .* active: the server was removed$/m)
  expect(out).toMatch(/^draft .* - +- +not committed$/m)
  expect(api.callsOf(ccList)[0]!.query).toEqual({ cu: '32..64', price: '..2' })
})

test('a range with the ends in the wrong order is refused before anything is sent', async () => {
  const { api, cli } = await signedIn()
  const ran = await cli.run('cc list --cu 64..32')
  expect(ran).toMatchObject({ exit: 2, out: '' })
  expect(ran.err).toContain('A range is two numbers such as 32..64')
  expect(api.callsOf(ccList)).toEqual([])
})

test('a commitment is created with its terms, as a draft or committed', async () => {
  const { api, cli } = await signedIn()
  api.on(ccCreate, ({ body }) => aCc({ status: body.status, price: body.price }))
  const ran = await cli.run(
    'cc create brave-otter-042 --price 1.2480 --currency EUR --end 2027-02-14 --commit',
  )
  expect(ran).toMatchObject({
    exit: 0,
    out: 'brave-otter-042 is waiting delegation at 1.248 EUR per server and hour\n',
  })
  await cli.run('cc create brave-otter-042')
  expect(api.callsOf(ccCreate).map((c) => c.body)).toEqual([
    {
      node_id: id(1),
      price: { amount: '1.2480', currency: 'EUR', basis: 'server' },
      expires_at: '2027-02-14T00:00:00Z',
      status: 'waiting_delegation',
    },
    { node_id: id(1) },
  ])
})

test.each([
  ['cc create brave-otter-042 --price 1', 'Give --price and --currency together'],
  [
    'cc create brave-otter-042 --price 1e400 --currency EUR',
    'An amount is a decimal number such as 12.50',
  ],
  [
    'cc create brave-otter-042 --price=-1 --currency EUR',
    'An amount is a decimal number such as 12.50',
  ],
  [
    'cc create brave-otter-042 --price 0.1+0.2 --currency EUR',
    'An amount is a decimal number such as 12.50',
  ],
  ['cc create brave-otter-042 --end tomorrow', '--end is a time as 2027-02-14'],
  ['cc create brave-otter-042 --end 2027-02-30', 'Enter a time in ISO 8601'],
  ['cc create brave-otter-042 --offer-id 0x12', 'An offer id is 0x and 64 hexadecimal digits'],
  ['cc update brave-otter-042', 'Specify what to change'],
  ['cc update brave-otter-042 --price 1 --no-price', 'Give either a price or --no-price'],
])('%s is refused without a call that writes', async (line, sentence) => {
  const { api, cli } = await signedIn()
  const ran = await cli.run(line)
  expect(ran.exit).toBe(2)
  expect(ran.err).toContain(sentence)
  expect([...api.callsOf(ccCreate), ...api.callsOf(ccUpdate)]).toEqual([])
})

test('a new amount keeps the currency and the basis of the price', async () => {
  const { api, cli } = await signedIn()
  api.on(ccGet, () => aCc({ price: { ...price, basis: 'compute_unit' } }))
  api.on(ccUpdate, () => aCc())
  await cli.run('cc update brave-otter-042 --price 1.2')
  await cli.run(['cc', 'update', id(80), '--status', 'failed', '--reason', 'Power was lost'])
  await cli.run('cc update brave-otter-042 --no-price --no-start --no-end --no-offer')
  expect(api.callsOf(ccUpdate).map((c) => [c.params, c.body])).toEqual([
    [{ id: id(80) }, { price: { amount: '1.2', currency: 'EUR', basis: 'compute_unit' } }],
    [{ id: id(80) }, { status: 'failed', reason: 'Power was lost' }],
    [{ id: id(80) }, { price: null, starts_at: null, expires_at: null, offer_id: null }],
  ])
  // A server's name stands for its newest commitment.
  expect(api.callsOf(ccList)[0]!.query).toEqual({
    server: 'brave-otter-042',
    sort: '-created_at',
    per_page: '1',
  })
})

test('a price that was changed meanwhile is not overwritten', async () => {
  const { api, cli } = await signedIn()
  api.on(ccGet, () => aCc({ version: 4 }))
  api.on(ccUpdate, () => {
    throw new Problem('stale', 'This object has changed since you opened it.')
  })
  expect((await cli.run('cc update brave-otter-042 --price 1.2')).exit).toBe(6)
  // Nothing of these was read before.
  await cli.run('cc update brave-otter-042 --price 1.2 --currency EUR --basis server')
  await cli.run('cc update brave-otter-042 --status waiting_start')
  expect(api.callsOf(ccUpdate).map(({ headers }) => headers['if-match'])).toEqual([
    '"4"',
    undefined,
    undefined,
  ])
})

test('a server without a commitment is told apart from an unknown status', async () => {
  const { api, cli } = await signedIn()
  api.on(ccList, () => pageOf([]))
  expect(await cli.run('cc show brave-otter-042')).toMatchObject({
    exit: 5,
    err: expect.stringContaining('brave-otter-042 has no capacity commitment') as string,
  })
  expect((await cli.run('cc update brave-otter-042 --status sold')).exit).toBe(2)
})

test('a commitment is shown with its history; escape sequences never reach the terminal', async () => {
  const { api, cli } = await signedIn()
  api.on(ccGet, () =>
    aCc({
      status: 'failed',
      reason: 'dark\u001b[2J',
      committed_at: at,
      committed_by: 'a@example.com',
    }),
  )
  api.on(ccEvents, () => ({
    items: [
      {
        id: '1',
        at,
        type: 'cc.failed',
        message: 'Failed: dark\u001b[2J',
        by: 'a@example.com',
        operation_id: null,
      },
    ],
  }))
  const { out } = await cli.run('cc show brave-otter-042')
  expect(out).toContain('dark\ufffd[2J')
  expect(out).not.toContain('\u001b')
  expect(out).toMatch(/^Committed +2026-11-20 .* by a@example\.com$/m)
  expect(out).toMatch(/Failed: .* a@example\.com$/m)
})

test('removing a server whose capacity is promised asks for its name', async () => {
  const { api, cli } = await signedIn()
  const target = { kind: 'server', id: id(1), name: 'brave-otter-042' } as const
  api.on(serverGet, () => aServer({ capacity_commitment: { id: id(80), status: 'active' } }))
  api.on(serverRemove, () => ({
    operation: anOperation({ kind: 'serverRemove', target, status: 'done' }),
  }))
  const asked: string[] = []
  const ran = await cli.run('server remove brave-otter-042', {
    ask: async (question) => (asked.push(question), 'no'),
  })
  expect(ran.exit).not.toBe(0)
  expect(asked[0]).toContain(
    'The capacity of brave-otter-042 is promised (active): the commitment fails without the server',
  )
  expect(api.callsOf(serverRemove)).toEqual([])
  expect((await cli.run('server remove brave-otter-042 --yes')).exit).toBe(0)
  api.on(serverGet, () => aServer())
  expect((await cli.run('server remove brave-otter-042')).exit).toBe(0)
})
