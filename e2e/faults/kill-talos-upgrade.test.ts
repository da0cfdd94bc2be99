import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Cluster, clusterCreate, clusterGet } from '#contract/clusters/clusters.ts'
import { type Server, serverGet } from '#contract/servers/servers.ts'
import type { Caller } from '../../tools/api-client.ts'
import { longTests } from '../../tools/testing/length.ts'
import { killedAt } from './testing/killing.ts'
import type { Program } from './processes.ts'
import { ended, openSite, patiently, signIn } from './testing/world.ts'

const site = await openSite({ servers: 2, seed: 'kill-talos-upgrade' })
afterAll(() => site.stop())
const { url } = await site.simulator.ask<{ url: string }>('GET', '/factory')
const start = (more: Readonly<Record<string, string>> = {}) =>
  site.start({ IMAGE_FACTORY_URL: url, ...more })

let program: Program = await start()
let call: Caller = await signIn(program.url)
let nodes: readonly Server[] = []
let cluster: Cluster

beforeAll(async () => {
  nodes = await site.take(call, 2)
  const servers = nodes.map(({ id }, i) => ({
    node_id: id,
    role: i === 0 ? ('control_plane' as const) : ('worker' as const),
  }))
  const made = await call(clusterCreate, {
    body: { name: 'killed', datacenter_id: site.datacenterId, servers, talos_version: 'v1.13.5' },
  })
  expect((await ended(call, made.operation.id)).status).toBe('done')
  cluster = made.cluster
}, 90_000)

const points = [
  ['before the image is written', 'write-talos:before', 'v1.13.6'],
  ['after the image was written', 'write-talos:after', 'v1.13.7'],
  ['before the restart', 'restart-talos:before', 'v1.13.8'],
  ['after the restart was requested', 'restart-talos:after', 'v1.13.9'],
  ['after the node was cordoned', 'cordon:after', 'v1.13.8'],
  ['before the node is uncordoned', 'uncordon:before', 'v1.13.7'],
] as const
// Each case changes both servers to another patch release. The short run kills at the points whose
// outcome is unknown to the next run.
const chosen = longTests
  ? points
  : points.filter(([, point]) => point.endsWith(':after') && !point.startsWith('cordon'))

test.each(chosen)(
  'an upgrade of Talos interrupted by kill −9 %s ends with both servers upgraded',
  async (_name, point, version) => {
    const killed = await killedAt(point, {
      program,
      start,
      clusterId: cluster.id,
      change: { kind: 'upgradeTalos', version },
    })
    ;({ program, call } = killed)
    const end = await ended(call, killed.operation.id, 90_000)
    expect({
      status: end.status,
      reason: end.reason,
      open: end.steps.filter((s) => s.status !== 'done' && s.status !== 'skipped'),
    }).toEqual({
      status: 'done',
      reason: null,
      open: [],
    })
    expect(
      (await patiently(() => call(clusterGet, { params: { id: cluster.id } }))).talos_version,
    ).toBe(version)
    for (const node of nodes)
      expect(await patiently(() => call(serverGet, { params: { id: node.id } }))).toMatchObject({
        operation_id: null,
        talos: { version },
      })
  },
)
