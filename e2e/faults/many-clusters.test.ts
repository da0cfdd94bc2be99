/**
 * Many clusters at once under two programs with one PostgreSQL: 50 clusters on 300 servers, of which 20 are upgraded at once, in a long run; 6 on 36 servers, of
 * which 3 are upgraded, in `npm test`.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { clusterChange } from '#contract/clusters/changes/changes.ts'
import { clusterGet } from '#contract/clusters/clusters.ts'
import type { Server } from '#contract/servers/servers.ts'
import type { Caller } from '../../tools/api-client.ts'
import { kubernetesAt, placeWorkload } from './testing/kubernetes.ts'
import { isAtLength } from './testing/length.ts'
import { databaseOf, type Program } from './testing/processes.ts'
import { create, ended, findings, openSite, patiently, type Site, signIn } from './testing/world.ts'

const clusters = isAtLength ? 50 : 6
const upgraded = isAtLength ? 20 : 3
const serversEach = 6
const withinMs = isAtLength ? 20 * 60_000 : 4 * 60_000

let site: Site
let first: Program
let second: Program
let call: Caller
let groups: Server[][]
let ids: string[]

beforeAll(async () => {
  site = await openSite({ servers: clusters * serversEach, seed: 'many', talos: ['v1.12.11'] })
  first = await site.start()
  call = await signIn(first.url)
  const nodes: Server[] = []
  // A network of 1,024 addresses is the largest that one call adds; smaller calls keep the programs responsive.
  while (nodes.length < clusters * serversEach) nodes.push(...(await site.take(call, Math.min(60, clusters * serversEach - nodes.length))))
  groups = Array.from({ length: clusters }, (_, i) => nodes.slice(i * serversEach, (i + 1) * serversEach))
  second = await site.start({ STEELYARD_DATA: `${site.folder}-second`, DATABASE_URL: databaseOf(site.folder).url, STEELYARD_KEY_FILE: `${site.folder}/key` })
  call = await signIn(second.url)
}, withinMs)
afterAll(() => site.stop())

test(
  'clusters that are created at once become ready, each bootstrapped once, although one of two programs is killed half way',
  { timeout: withinMs },
  async () => {
    const made = await Promise.all(
      groups.map((nodes, i) => create(call, site, `many-${i}`, nodes, { talos_version: 'v1.12.11', kubernetes_version: '1.35.4' })),
    )
    ids = made.map(({ cluster }) => cluster.id)
    const isReady = async (id: string) => (await patiently(() => call(clusterGet, { params: { id } }))).status === 'ready'
    // Half way: half of the clusters are ready, or enough time has passed for some of them to be in progress.
    await expect
      .poll(async () => (await Promise.all(ids.map(isReady))).filter(Boolean).length, { timeout: withinMs, interval: 200 })
      .toBeGreaterThanOrEqual(clusters / 2)
    await first.kill()
    for (const [i, { cluster, operation }] of made.entries()) {
      const end = await ended(call, operation.id, withinMs)
      expect(await findings(call, site, cluster.id, groups[i]!, end)).toEqual([])
    }
  },
)

test('clusters that are upgraded at once never lose their quorum and break no disruption budget', { timeout: withinMs }, async () => {
  const chosen = ids.slice(0, upgraded)
  const machines = await site.simulator.servers()
  for (const [i, id] of chosen.entries()) {
    const { uuid } = groups[i]![0]!.identity
    await placeWorkload(await kubernetesAt(call, id, machines.find((m) => m.uuid.toLowerCase() === uuid)!.address))
  }
  const change = { kind: 'upgradeTalos' as const, version: 'v1.13.9' }
  const begun = await Promise.all(chosen.map((id) => patiently(() => call(clusterChange, { params: { id }, body: { change } }))))
  for (const { operation } of begun) expect(await ended(call, operation.id, withinMs)).toMatchObject({ status: 'done', reason: null })
  for (const id of chosen) expect(await patiently(() => call(clusterGet, { params: { id } }))).toMatchObject({ talos_version: 'v1.13.9' })
  const { clusters: counted } = await site.simulator.counters()
  expect(counted.filter((c) => c.quorumLosses > 0 || c.budgetBreaches > 0)).toEqual([])
})
