import { expect, test } from 'vitest'
import { clusterDelete } from '#contract/clusters/clusters.ts'
import { type Server, serverReset } from '#contract/servers/servers.ts'
import { inTransaction } from '../../../db/db.ts'
import { claimNow } from '../../../testing/engine.ts'
import { memberKey, memberQueue } from '../parts.ts'
import { memberOf } from '../store.ts'
import { clusterWorld } from '../testing/world.ts'

const world = await clusterWorld({ servers: 5, seed: 'keeping-disks' })
/** A disk that is large enough for data, and not the one with Talos. */
const workloadDiskOf = (node: Server): string => {
  const { disks } = world.machine(node).hardware
  return `/dev/${disks.findLast((d) => d.sizeBytes > 20 * 1024 ** 3)!.name}`
}
const installDiskOf = (node: Server): string =>
  `/dev/${world.machine(node).hardware.disks[0]!.name}`
/**
 * The wipes of disks that the machines announce. Recorded, because a restarting machine forgets its
 * calls, and concurrent tests clear the library's spies.
 */
const wipesOf = (nodes: readonly Server[]): ReadonlySet<string>[] =>
  nodes.map((node) => {
    const { journal } = world.machine(node)
    const lines = new Set<string>()
    journal.watch(() => {
      for (const line of journal.kernelLines.since(0))
        if (line.includes('will wipe')) lines.add(line)
    })
    return lines
  })
const reset = (node: Server, body: { keep_workload_disks?: boolean } = {}) =>
  world.admin.call(serverReset, { params: { id: node.id }, body })

test(
  'workload disks are wiped as well, unless the call asks to keep them',
  { timeout: 600_000 },
  async () => {
    const nodes = world.take(3)
    const disks = nodes.map(workloadDiskOf)
    const asked = world.ask(nodes)
    const servers = asked.servers.map((s, i) =>
      i === 0
        ? s
        : {
            ...s,
            install_disk: installDiskOf(nodes[i]!),
            workload_disks: [disks[i]!],
          },
    )
    const { cluster, operation } = await world.create(nodes, { servers })
    expect((await world.ended(operation.id)).status).toBe('done')
    // A removal that was to keep the disks fails before the reset was sent. The test holds the
    // server's work until then.
    const [, worker] = nodes as [Server, Server, Server]
    const { db, engine, pool } = world.backend.platform
    const key = memberKey(cluster.id, worker.id)
    const held = (await world.until(
      async () => {
        await inTransaction(db, (tx) => engine.wake(tx, memberQueue, key, { afterMs: 3_600_000 }))
        return claimNow(engine, memberQueue, key)
      },
      (taken) => taken !== undefined,
    ))!
    const { id: removal } = await world.change(cluster.id, {
      kind: 'shrink',
      servers: [{ node_id: worker.id, keep_workload_disks: true }],
    })
    await world.until(
      () => memberOf(db, worker.id),
      (m) => m?.wanted === 'released',
    )
    // As after three resets that the server did not carry out.
    await pool.query('update cluster_server set resets = 3 where node_id = $1', [worker.id])
    await engine.run(held, new AbortController().signal)
    expect((await world.ended(removal)).status).toBe('failed')
    expect(await memberOf(db, worker.id)).toMatchObject({ wanted: 'joined', keeps_disks: false })
    // As left by an earlier version of Steelyard.
    await pool.query('update cluster_server set keeps_disks = true where node_id = $1', [worker.id])
    const said = wipesOf(nodes)
    const resets = await Promise.all([
      world.until(
        () => reset(worker),
        ({ answer }) => answer !== undefined,
      ),
      reset(nodes[2]!, { keep_workload_disks: true }),
    ])
    expect(resets.map((r) => r.answer!.operation.steps[0]!.title)).toEqual([
      `Reset ${nodes[1]!.name}, wiping ${disks[1]}`,
      `Reset ${nodes[2]!.name}`,
    ])
    for (const { answer } of resets)
      expect((await world.ended(answer!.operation.id)).status).toBe('done')
    expect([[...said[1]!], [...said[2]!]]).toEqual([[expect.stringContaining(disks[1]!)], []])
  },
)

test(
  'a deletion keeps the disks of a server that was removed while it was silent, and says so',
  { timeout: 600_000 },
  async () => {
    const nodes = world.take(2)
    const [controlPlane, worker] = nodes as [Server, Server]
    const servers = world.ask(nodes).servers.map((s, i) => ({
      ...s,
      install_disk: installDiskOf(nodes[i]!),
      workload_disks: [workloadDiskOf(nodes[i]!)],
    }))
    const { cluster, operation } = await world.create(nodes, { servers })
    expect((await world.ended(operation.id)).status).toBe('done')
    await world.machine(worker).lifecycle.powerOff()
    await world.until(
      () => world.server(worker.id),
      (s) => s.talos.reachable === false,
    )
    const { id: removal } = await world.change(cluster.id, {
      kind: 'shrink',
      servers: [{ node_id: worker.id, keep_workload_disks: true, force: true }],
    })
    expect((await world.ended(removal)).status).toBe('done')
    const { db, pool } = world.backend.platform
    // As left by an earlier version of Steelyard.
    await pool.query('update cluster_server set keeps_disks = true where node_id = $1', [
      controlPlane.id,
    ])
    const said = wipesOf(nodes)
    const { answer } = await world.admin.call(clusterDelete, { params: { id: cluster.id } })
    expect(
      answer!.operation.steps.map((s) => s.title).filter((t) => t.startsWith('Reset')),
    ).toEqual([
      `Reset ${worker.name}`,
      `Reset ${controlPlane.name}, wiping ${workloadDiskOf(controlPlane)}`,
    ])
    world.machine(worker).lifecycle.powerOn()
    expect((await world.ended(answer!.operation.id)).status).toBe('done')
    expect([...said[0]!]).toEqual([expect.stringContaining(workloadDiskOf(controlPlane))])
    expect([...said[1]!]).toEqual([])
    expect(await memberOf(db, worker.id)).toBeUndefined()
  },
)
