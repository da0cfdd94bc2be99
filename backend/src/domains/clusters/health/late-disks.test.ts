import { expect, test } from 'vitest'
import { findingList } from '#contract/findings/findings.ts'
import { serverCommands } from '#contract/servers/servers.ts'
import { addFault, clearFaults } from '#simulator/src/machine/trouble.ts'
import { inTransaction } from '../../../db/db.ts'
import { nextRunAt } from '../../../testing/engine.ts'
import { healthQueue } from '../parts.ts'
import { onEachMinor } from '../testing/minors.ts'
import { clusterWorld } from '../testing/world.ts'
import { apartMs } from './observed.ts'

onEachMinor(async (minor) => {
  const world = await clusterWorld({ minor, servers: 2 })
  const { admin } = world
  const { clock, platform } = world.backend
  const nodes = world.take(2)
  const worker = nodes[1]!
  const machine = world.machine(worker)
  /** The last disk of the worker holds its workload. */
  const workloadDisk = `/dev/${machine.hardware.disks.at(-1)!.name}`
  const { cluster, operation } = await world.create(nodes, {
    servers: world
      .ask(nodes)
      .servers.map((s, i) => (i === 1 ? { ...s, workload_disks: [workloadDisk] } : s)),
  })
  await world.ended(operation.id)

  /** Observes the cluster now, and waits until that is done. */
  const observed = async () => {
    const { db, engine } = platform
    await inTransaction(db, (tx) => engine.wake(tx, healthQueue, cluster.id))
    await world.until(
      () => nextRunAt(db, healthQueue, cluster.id),
      (due) => due !== null && due.getTime() > clock.now(),
    )
  }
  const found = async () => {
    await world.backend.domains.findings.judge()
    return (
      await admin.call(findingList, { query: { kind: 'server_disk_missing' } })
    ).answer!.items.map((f) => [f.object.name, f.cluster?.name, f.severity, f.reason])
  }
  const reboot = async () => {
    const { answer } = await admin.call(serverCommands.serverReboot, { params: { id: worker.id } })
    return world.ended(answer!.operation.id)
  }
  const hasDisk = async () =>
    (await world.server(worker.id)).resources.disks.some(({ id }) => `/dev/${id}` === workloadDisk)
  /**
   * Moves the monotonic clock until the hardware that was read has the disk, or lacks it. The steps
   * are shorter than the lease of contacts, whose loss puts off the next reading. The wall clock stays
   * that of the machines, which refuse certificates from the future.
   */
  const untilRead = async (isThere: boolean): Promise<void> => {
    await world.until(
      async () => {
        const has = await hasDisk()
        if (has !== isThere) {
          clock.advance(5_000)
          clock.jump(-5_000)
        }
        return has
      },
      (has) => has === isThere,
    )
  }
  const lost = [
    [
      worker.name,
      cluster.name,
      'degraded',
      `${workloadDisk} of the server is gone: it broke or was taken out.`,
    ],
  ]

  test('disks that appear one after another while a server starts are not lost', async () => {
    // The machine is `booting` for 30 s, and the disk appears an hour after the others.
    await addFault(machine, { kind: 'slow-boot', ms: 30_000 })
    await addFault(machine, { kind: 'late-disks', ms: 3_600_000 })
    expect((await reboot()).status).toBe('done')
    await untilRead(false)
    await observed()
    expect(await found()).toEqual([])
    await clearFaults(machine)
    await observed()
    expect(await found()).toEqual([])
    expect(await world.cluster(cluster.id)).toMatchObject({ status: 'ready' })
    await untilRead(true)
    clock.advance(apartMs)
    await observed()
    expect(await found()).toEqual([])
  })

  test('a disk that is missing in two readings is a finding about its server, and ends when it is back', async () => {
    await addFault(machine, { kind: 'disks', what: 'lost' })
    await untilRead(false)
    await observed()
    expect(await found()).toEqual([])
    clock.advance(apartMs)
    await observed()
    expect(await found()).toEqual(lost)
    expect((await world.server(worker.id)).finding?.kind).toBe('server_disk_missing')
    machine.disk.change((state) => void delete state.disks)
    machine.reread()
    machine.journal.changed()
    await untilRead(true)
    await observed()
    expect(await found()).toEqual([])
    expect((await world.server(worker.id)).finding).toBeNull()
  })
})
