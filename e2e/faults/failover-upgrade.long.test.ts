/** A failover of PostgreSQL to its standby in the middle of an upgrade of a cluster. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { clusterChange } from '#contract/clusters/changes/changes.ts'
import { clusterCreate, clusterGet } from '#contract/clusters/clusters.ts'
import { datacenterCreate } from '#contract/datacenters.ts'
import { operationGet } from '#contract/operations.ts'
import { restorationGet } from '#contract/restoration.ts'
import { serverAdd, serverConfirm, serverList } from '#contract/servers/servers.ts'
import { startProgram, startSimulator, temporaryFolder } from './processes.ts'
import { freePort, postgresPair, systemPrograms } from './testing/postgres-pair.ts'
import { writes } from './testing/writes.ts'
import { ended, patiently, signIn } from './testing/world.ts'

const bin = systemPrograms()
const patient = { timeout: 240_000, interval: 50 }

test('a failover in the middle of an upgrade of Talos loses no acknowledged write, and the upgrade goes on without doing anything twice', async () => {
  const pair = await postgresPair(bin)
  await pair.synchronous()
  const { folder, remove } = temporaryFolder()
  const simulator = await startSimulator(folder, {
    servers: 4,
    seed: 'failover-upgrade',
    speed: 100,
    talos: ['v1.13.9'],
  })
  const program = await startProgram(join(folder, 'data'), {
    DATABASE_URL: pair.url,
    PORT: String(await freePort()),
    IMAGE_FACTORY_URL: simulator.factory,
  })
  try {
    const call = await signIn(program.url)
    const site = await call(datacenterCreate, {
      body: { country_code: 'PL', city_code: 'POZ', city_name: 'Poznań' },
    })
    const machines = await simulator.servers()
    const added = await call(serverAdd, {
      body: { addresses: machines.map((m) => m.address), datacenter_id: site.id },
    })
    expect((await ended(call, added.operation.id)).status).toBe('done')
    const nodes = (await call(serverList, { query: {} })).items
    for (const { id, identity } of nodes)
      await call(serverConfirm, {
        params: { id },
        body: { uuid: identity.uuid!, serial: identity.serial! },
      })
    const made = await call(clusterCreate, {
      body: {
        name: 'failover',
        datacenter_id: site.id,
        talos_version: 'v1.13.9',
        servers: nodes.map(({ id }, i) => ({
          node_id: id,
          role: i < 3 ? ('control_plane' as const) : ('worker' as const),
        })),
      },
    })
    expect((await ended(call, made.operation.id, 240_000)).status).toBe('done')
    const before = await simulator.counters()

    const work = writes(() => call)
    const params = { id: made.cluster.id }
    const { operation } = await call(clusterChange, {
      params,
      body: { change: { kind: 'upgradeTalos', version: 'v1.14.1' } },
    })
    const stepsDone = async () =>
      (await call(operationGet, { params: { id: operation.id } })).steps.filter(
        (s) => s.status === 'done',
      ).length
    await expect.poll(stepsDone, patient).toBeGreaterThan(12)
    const acknowledged = work.acknowledged.length
    await pair.failOver()
    await expect.poll(() => work.acknowledged.length, patient).toBeGreaterThan(acknowledged + 10)

    expect(await ended(call, operation.id, 240_000)).toMatchObject({ status: 'done', reason: null })
    await work.stop()
    const missing = await work.missing(call)
    process.stdout.write(
      `failover, synchronous, in an upgrade: ${work.acknowledged.length} acknowledged, ${missing.length} missing, ${work.longestGapS().toFixed(1)} s without writes\n`,
    )
    expect(missing).toEqual([])
    expect(await patiently(() => call(clusterGet, { params }))).toMatchObject({
      talos_version: 'v1.14.1',
      status: 'ready',
    })
    expect((await call(restorationGet, {})).restored).toBeNull()

    // Each machine was restarted once, for the upgrade, one after the other.
    const after = await simulator.counters()
    const boots = (all: typeof after) => all.servers.map((s) => s.boots)
    expect(boots(after)).toEqual(boots(before).map((n) => n + 1))
    expect(after.servers.map((s) => [s.installs, s.resets])).toEqual(nodes.map(() => [1, 0]))
    expect(after.clusters).toMatchObject([
      { name: 'failover', etcdMade: 1, quorumLosses: 0, mostUnready: 1 },
    ])
  } finally {
    await program.kill()
    await simulator.stop()
    await pair.stop()
    remove()
  }
}, 600_000)
