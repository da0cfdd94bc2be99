/**
 * Many clusters at once under two programs with one PostgreSQL: 50 clusters on 300 servers, of
 * which 20 are upgraded at once, in a long run; 6 on 36 servers, of which 3 are upgraded, in `npm
 * test`.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { clusterChange } from '#contract/clusters/changes/changes.ts'
import { clusterGet } from '#contract/clusters/clusters.ts'
import { operationGet } from '#contract/operations.ts'
import type { Server } from '#contract/servers/servers.ts'
import type { Caller } from '../../tools/api-client.ts'
import { longTests } from '../../tools/testing/length.ts'
import { databaseOf, type Program } from './processes.ts'
import { create, ended, findings, openSite, patiently, type Site, signIn } from './testing/world.ts'

const clusters = longTests ? 50 : 6
const upgraded = longTests ? 20 : 3
const serversEach = 6
const withinMs = longTests ? 30 * 60_000 : 4 * 60_000
/**
 * Pause in ms between two looks at all clusters. In the long form each look costs as much as the
 * programs do in a second.
 */
const lookEveryMs = longTests ? 5_000 : 200

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
  // A network of 1,024 addresses is the largest that one call adds; smaller calls keep the programs
  // responsive.
  while (nodes.length < clusters * serversEach)
    nodes.push(...(await site.take(call, Math.min(60, clusters * serversEach - nodes.length))))
  groups = Array.from({ length: clusters }, (_, i) =>
    nodes.slice(i * serversEach, (i + 1) * serversEach),
  )
  second = await site.start({
    STEELYARD_DATA: `${site.folder}-second`,
    DATABASE_URL: databaseOf(site.folder).url,
    STEELYARD_KEY_FILE: `${site.folder}/key`,
  })
  call = await signIn(second.url)
}, withinMs)
afterAll(() => site.stop())

test(
  'clusters that are created at once become ready, each bootstrapped once, although one of two programs is killed half way',
  { timeout: withinMs },
  async () => {
    const made = await Promise.all(
      groups.map((nodes, i) =>
        create(call, site, `many-${i}`, nodes, {
          talos_version: 'v1.12.11',
          kubernetes_version: '1.35.4',
        }),
      ),
    )
    ids = made.map(({ cluster }) => cluster.id)
    const isReady = async (id: string) =>
      (await patiently(() => call(clusterGet, { params: { id } }))).status === 'ready'
    // Half way: half of the clusters are ready, or enough time has passed for some of them to be in
    // progress.
    await expect
      .poll(async () => (await Promise.all(ids.map(isReady))).filter(Boolean).length, {
        timeout: withinMs,
        interval: lookEveryMs,
      })
      .toBeGreaterThanOrEqual(clusters / 2)
    await first.kill()
    for (const [i, { cluster, operation }] of made.entries()) {
      const end = await ended(call, operation.id, withinMs)
      expect(await findings(call, site, cluster.id, groups[i]!, end)).toEqual([])
    }
  },
)

test(
  'clusters that are upgraded at once, while one of two programs is killed, never lose their quorum, break no budget and keep their workload',
  { timeout: withinMs },
  async () => {
    const { clusters: created } = await site.simulator.counters()
    expect(created.map((c) => c.etcdMade)).toEqual(groups.map(() => 1))
    first = await site.start()
    const chosen = ids.slice(0, upgraded)
    const names = chosen.map((_, i) => `many-${i}`)
    const shown = async () => {
      const clustersNow = await Promise.all(names.map((name) => site.simulator.cluster(name)))
      return clustersNow.map(({ uid, workloads }) => ({
        uid,
        workloads: workloads.map((w) => ({ ...w, serial: 0 })),
      }))
    }
    const isRunning = (all: Awaited<ReturnType<typeof shown>>) =>
      all.every(({ workloads }) => workloads.length === 1 && workloads[0]!.ready === 3)
    for (const name of names)
      await site.simulator.ask('POST', `/clusters/${name}/workloads`, {
        replicas: 3,
        min_available: 2,
      })
    await expect.poll(async () => isRunning(await shown()), { timeout: withinMs }).toBe(true)
    const before = await shown()

    const change = { kind: 'upgradeTalos' as const, version: 'v1.13.9' }
    // So many plans at once may take longer than a plan or an answer of an API server may, if the
    // machine is busy. Then a user plans again.
    const begun = await Promise.all(
      chosen.map((id) =>
        patiently(
          () => call(clusterChange, { params: { id }, body: { change } }),
          withinMs,
          /The cluster has not answered within|it took longer than \d+ s to answer/,
        ),
      ),
    )
    const over = async () => {
      const operations = await Promise.all(
        begun.map(({ operation }) =>
          patiently(() => call(operationGet, { params: { id: operation.id } })),
        ),
      )
      return operations.flatMap(({ steps }) => steps).filter((s) => s.status === 'done').length
    }
    const steps = begun.reduce((n, { operation }) => n + operation.steps.length, 0)
    await expect
      .poll(over, { timeout: withinMs, interval: lookEveryMs })
      .toBeGreaterThanOrEqual(steps / 2)
    await first.kill()
    for (const { operation } of begun)
      expect(await ended(call, operation.id, withinMs)).toMatchObject({
        status: 'done',
        reason: null,
      })
    for (const id of chosen)
      await expect
        .poll(() => patiently(() => call(clusterGet, { params: { id } })))
        .toMatchObject({ status: 'ready', talos_version: 'v1.13.9' })

    const { clusters: counted } = await site.simulator.counters()
    const harm = counted.map(({ name, etcdMade, quorumLosses, budgetBreaches, mostUnready }) => ({
      name,
      etcdMade,
      quorumLosses,
      budgetBreaches,
      isOneByOne: mostUnready <= 1,
    }))
    expect(harm).toEqual(
      counted.map(({ name }) => ({
        name,
        etcdMade: 1,
        quorumLosses: 0,
        budgetBreaches: 0,
        isOneByOne: true,
      })),
    )
    await expect.poll(async () => isRunning(await shown()), { timeout: withinMs }).toBe(true)
    expect(await shown()).toEqual(before)
  },
)
