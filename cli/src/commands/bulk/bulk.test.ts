import { expect, test } from 'vitest'
import { operationGet } from '#contract/operations.ts'
import {
  type BulkItem,
  type BulkPlan,
  bulkActs,
  bulkWords,
  serverBulk,
  serverBulkPlan,
} from '#contract/servers/bulk.ts'
import { serverCommands, serverList } from '#contract/servers/servers.ts'
import { startApi } from '../../testing/api.ts'
import { startCli } from '../../testing/cli.ts'
import { aServer, anOperation, id, pageOf } from '../../testing/things.ts'

const item = (n: number, change: Partial<BulkItem> = {}): BulkItem => ({
  id: id(n),
  name: `srv-${n}`,
  version: n,
  cluster: { id: id(20), name: 'web' },
  role: 'worker',
  ok: true,
  reason: null,
  warnings: [],
  disks: [],
  commitment: null,
  ...change,
})
const refused = item(3, { ok: false, reason: 'srv-3 does not answer' })
const disk = { id: 'nvme0n1', model: 'PM9A3', serial: 'S6' }

/** A Steelyard whose plans have these servers. */
async function started(items: readonly BulkItem[], warnings: string[] = []) {
  const api = await startApi()
  const cli = await startCli(api)
  api.on(serverList, ({ query }) =>
    pageOf(
      [1, 2, 3]
        .map((n) => aServer({ id: id(n), name: `srv-${n}` }))
        .filter((s) => s.name === query.q),
    ),
  )
  api.on(serverBulkPlan, ({ body }): BulkPlan => {
    const allowed = items.filter((one) => one.ok).length
    return {
      act: body.act,
      items: [...items],
      allowed,
      refused: items.length - allowed,
      expected: bulkActs[body.act.kind].danger ? allowed : null,
      warnings,
    }
  })
  const operation = anOperation({ id: id(9), kind: 'serverBulk' })
  api.on(serverBulk, ({ body }) => ({
    operation: {
      ...operation,
      target: {
        kind: 'server' as const,
        id: null,
        name: bulkWords(body.act.kind, body.items.length),
      },
    },
  }))
  api.on(operationGet, () => ({ ...operation, status: 'done' as const }))
  api.on(serverCommands.serverReboot, () => ({
    operation: {
      ...operation,
      kind: 'serverReboot' as const,
      target: { kind: 'server' as const, id: id(1), name: 'srv-1' },
    },
  }))
  return { api, cli }
}

test('one name reboots one server, as before', async () => {
  const { api, cli } = await started([])
  expect(await cli.run('server reboot srv-1')).toMatchObject({
    exit: 0,
    out: 'srv-1 is being rebooted\n',
  })
  expect(api.callsOf(serverBulkPlan)).toEqual([])
})

test('several servers are planned together, the plan is shown, and only allowed ones are sent', async () => {
  const { api, cli } = await started([item(1), item(2), refused], ['web has one control plane'])
  const run = await cli.run('server reboot srv-1 srv-2 srv-3 --yes')
  expect(run).toMatchObject({ exit: 0, out: 'The reboot of 2 servers has begun\n' })
  expect(run.err).toContain('no: srv-3 does not answer')
  expect(run.err).toContain('Warning: web has one control plane\n2 servers, 1 refused\n')
  expect(api.callsOf(serverBulkPlan).map((c) => c.body)).toEqual([
    {
      act: { kind: 'reboot', keep_workload_disks: false, in_window: false },
      node_ids: [id(1), id(2), id(3)],
    },
  ])
  expect(api.callsOf(serverBulk).map((c) => c.body)).toEqual([
    {
      act: { kind: 'reboot', keep_workload_disks: false, in_window: false },
      items: [
        { id: id(1), version: 1 },
        { id: id(2), version: 2 },
      ],
    },
  ])
})

test('servers are chosen by labels, or by an earlier operation; --dry-run only shows the plan', async () => {
  const { api, cli } = await started([item(1)])
  const run = await cli.run(['server', 'reboot', '-l', 'rack=3,gen!=r640', '--dry-run'])
  expect(run).toMatchObject({ exit: 0, out: expect.stringContaining('srv-1') as string })
  expect((await cli.run(`server reboot --failed-of ${id(9)} --dry-run`)).exit).toBe(0)
  expect(api.callsOf(serverBulkPlan).map((c) => c.body)).toMatchObject([
    { filter: 'label=rack%3D3%2Cgen%21%3Dr640' },
    { failed_of: id(9) },
  ])
  expect(api.callsOf(serverBulk)).toEqual([])
  expect((await cli.run('server reboot')).exit).toBe(2)
  expect((await cli.run(['server', 'reboot', 'srv-1', '-l', 'a=1'])).exit).toBe(2)
})

test('a reset lists the disks, and the number of servers is typed', async () => {
  const { api, cli } = await started([item(1, { disks: [disk] }), item(2, { disks: [disk] })])
  const wrong = await cli.run('server reset srv-1 srv-2', { ask: async () => '3' })
  expect(wrong).toMatchObject({
    exit: 1,
    err: expect.stringContaining('Nothing was done') as string,
  })
  expect(wrong.err).toContain('/dev/nvme0n1 (PM9A3, serial S6)')
  expect(api.callsOf(serverBulk)).toEqual([])
  const right = await cli.run('server reset srv-1 srv-2 --keep-workload-disks', {
    ask: async () => '2',
  })
  expect(right).toMatchObject({ exit: 0, out: 'The reset of 2 servers has begun\n' })
  expect(api.callsOf(serverBulk).map((c) => c.body)).toMatchObject([
    { act: { kind: 'reset', keep_workload_disks: true }, expected: 2 },
  ])
})

test('a script confirms a removal of several servers by their number', async () => {
  const { api, cli } = await started([item(1), item(2)])
  expect(await cli.run('server remove srv-1 srv-2 --yes')).toMatchObject({
    exit: 2,
    err: expect.stringContaining('Add --expect 2 if the plan is right') as string,
  })
  expect(await cli.run('server remove srv-1 srv-2 --expect 3')).toMatchObject({ exit: 6 })
  expect(api.callsOf(serverBulk)).toEqual([])
  expect(await cli.run('server remove srv-1 srv-2 --expect 2')).toMatchObject({
    exit: 0,
    out: 'The removal of 2 servers has begun\n',
  })
})

test('an upgrade names its version, and begins in the windows of the clusters if asked', async () => {
  const { api, cli } = await started([item(1), refused])
  expect((await cli.run('server upgrade srv-1 --yes')).exit).toBe(2)
  const run = await cli.run('server upgrade srv-1 srv-3 --talos-version v1.13.9 --in-window --yes')
  expect(run).toMatchObject({ exit: 0, out: 'The Talos upgrade of 1 server has begun\n' })
  expect(run.err).toContain('no: srv-3 does not answer')
  expect(api.callsOf(serverBulk).map((c) => c.body)).toEqual([
    {
      act: {
        kind: 'upgrade',
        keep_workload_disks: false,
        talos_version: 'v1.13.9',
        in_window: true,
      },
      items: [{ id: id(1), version: 1 }],
    },
  ])
})

test('capacity is committed with the terms of the options, and with the versions of the drafts', async () => {
  const expires_at = '2027-02-14T00:00:00Z'
  const price = { amount: '1.25', currency: 'EUR', basis: 'server' as const }
  const commitment = { price, starts_at: null, expires_at, offer_id: null, compute_units: 16 }
  const { api, cli } = await started([
    item(1, { commitment: { ...commitment, version: null } }),
    item(2, { commitment: { ...commitment, version: 4 } }),
    refused,
  ])
  const run = await cli.run(
    'server commit srv-1 srv-2 srv-3 --price 1.25 --currency EUR --end 2027-02-14 --yes',
  )
  expect(run).toMatchObject({ exit: 0, out: 'The capacity commitment of 2 servers has begun\n' })
  expect(run.err).toMatch(/srv-1 .*1\.25 EUR.*until 2027-02-14.*16 CU/)
  const act = {
    kind: 'commit',
    keep_workload_disks: false,
    in_window: false,
    terms: { price, expires_at },
  }
  expect(api.callsOf(serverBulk).map((c) => c.body)).toEqual([
    {
      act,
      items: [
        { id: id(1), version: 1 },
        { id: id(2), version: 2, commitment_version: 4 },
      ],
    },
  ])
})

test('nothing begins if every server refuses or none matches', async () => {
  const every = await started([refused])
  expect((await every.cli.run('server reboot -l a=1 --yes')).exit).toBe(6)
  const none = await started([])
  expect((await none.cli.run('server reboot -l a=1 --yes')).exit).toBe(5)
  expect((await none.cli.run('server reboot -l a=1 --dry-run')).exit).toBe(5)
  expect(every.api.callsOf(serverBulk)).toEqual([])
})
