import { expect, test } from 'vitest'
import { type Server, serverReset } from '#contract/servers/servers.ts'
import { inTransaction } from '../../../db/db.ts'
import { claimNow } from '../../../testing/engine.ts'
import { memberKey, memberQueue } from '../parts.ts'
import { memberOf } from '../store.ts'
import { clusterWorld } from '../testing/world.ts'

const world = await clusterWorld({ servers: 3, seed: 'keeping-disks' })
const reset = (node: Server, body: { keep_workload_disks?: boolean } = {}) =>
  world.admin.call(serverReset, { params: { id: node.id }, body })

test(
  'workload disks are wiped as well, unless the call asks to keep them',
  { timeout: 600_000 },
  async () => {
    const nodes = world.take(3)
    const disks = nodes.map((node) => {
      const machine = world.machine(node)
      const disk = machine.hardware.disks.findLast((d) => d.sizeBytes > 20 * 1024 ** 3)!
      return `/dev/${disk.name}`
    })
    const asked = world.ask(nodes)
    const servers = asked.servers.map((s, i) =>
      i === 0
        ? s
        : {
            ...s,
            install_disk: `/dev/${world.machine(nodes[i]!).hardware.disks[0]!.name}`,
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
    // Calls are recorded here, because a restarting machine forgets them, and concurrent tests
    // clear the library's spies.
    const said = nodes.map((node) => {
      const { journal } = world.machine(node)
      const lines = new Set<string>()
      journal.watch(() => {
        for (const line of journal.kernelLines.since(0))
          if (line.includes('will wipe')) lines.add(line)
      })
      return lines
    })
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
