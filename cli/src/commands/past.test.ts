import { expect, test } from 'vitest'
import { clusterListPast } from '#contract/clusters/past-cluster.ts'
import { type PastServer, serverGetPast, serverListPast } from '#contract/servers/past-server.ts'
import { startApi } from '../testing/api.ts'
import { startCli } from '../testing/cli.ts'
import { id } from '../testing/things.ts'

const at = '2026-11-27T02:00:00.000Z'
const server: PastServer = {
  id: id(4),
  name: 'exact-saddle-787',
  status: 'ready',
  type: 'worker',
  nodeAddresses: ['10.0.4.7'],
  datacenter: { id: null, code: 'PL-POZ-1' },
  placement: null,
  cluster: { id: id(9), name: 'poz-edge-04' },
  capacity_commitment: null,
  kubernetes: { ready: false, reason: 'Kubelet stopped', since: null },
  hardware: { maker: null, model: null, cores: 32, memory_bytes: 2 ** 36, disk_bytes: null },
  ineligible: null,
  drift: null,
  pending: null,
  trial: null,
  failure: null,
  finding: null,
  left_cluster: null,
  labels: null,
  quarantine: null,
  operation_id: null,
  created_at: null,
  talos: {
    version: 'v1.13.9',
    stage: 'running',
    reachable: true,
    last_contact_at: null,
    unreachable_since: null,
    reason: null,
    silent_after: null,
  },
  identity: { state: 'confirmed', uuid: null, serial: null, seen: null },
}
const page = { page: 1, per_page: 50, total: 1, at, not_recorded: ['ineligible'] }

test('a list of the past prints its time first, and passes on the filters', async () => {
  const api = await startApi()
  const cli = await startCli(api)
  api.on(serverListPast, () => ({ ...page, items: [server] }))
  const { out } = await cli.run(
    'server list --at 2026-11-27T03:00+01:00 --cluster poz-edge-04 --sort=-name',
  )
  const [head, titles, row] = out.split('\n')
  expect(head).toMatch(/^As it was at 2026-11-2\d .+ \(2026-11-27 02:00:00 UTC\)$/)
  expect(titles).toMatch(/^NAME +STATUS +STAGE/)
  expect(row).toMatch(/^exact-saddle-787 +ready +running +worker +PL-POZ-1 +poz-edge-04/)
  expect(api.callsOf(serverListPast)[0]!.query).toEqual({
    cluster: 'poz-edge-04',
    sort: '-name',
    at,
  })
})

test('a server is found by the name that it had then', async () => {
  const api = await startApi()
  const cli = await startCli(api)
  api.on(serverListPast, () => ({ ...page, items: [server] }))
  api.on(serverGetPast, () => ({
    ...server,
    talos: { ...server.talos, schematic: null, installed: null },
    parts: ['disk nvme0n1 SAMSUNG 894 GiB'],
    links_up: null,
    resources: null,
    eligibility: null,
    notes: null,
    at,
    not_recorded: ['eligibility', 'labels'],
  }))
  const { out } = await cli.run('server show exact-saddle-787 --at 2026-11-27T02:00Z')
  expect(out).toMatch(/^As it was at /)
  expect(out).toContain('NotReady: Kubelet stopped')
  expect(out).toContain('disk nvme0n1 SAMSUNG 894 GiB')
  expect(out).toContain('Not recorded: eligibility, labels')
  expect(api.callsOf(serverGetPast)[0]).toMatchObject({ query: { at } })
  expect(await cli.run('server show other-name-001 --at 2026-11-27T02:00Z')).toMatchObject({
    err: expect.stringContaining('There was no server other-name-001 at') as string,
  })
})

test('a text that is no time, and what the past does not have, are refused before a call', async () => {
  const api = await startApi()
  const cli = await startCli(api)
  const refused = [
    ['cluster list --at yesterday', 'Write the time as'],
    ['cluster list --at 2026-11-27T02:00Z --watch', 'The past does not change'],
    ['cluster list --at 2026-11-27T02:00Z --columns name', 'The past has columns of its own'],
    ['overview', 'Say the time'],
  ] as const
  for (const [line, reason] of refused)
    expect(await cli.run(line)).toMatchObject({
      exit: 2,
      err: expect.stringContaining(reason) as string,
    })
  expect(api.callsOf(clusterListPast)).toEqual([])
})
