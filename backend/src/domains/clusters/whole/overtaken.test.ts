import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { clusterCreate, clusterDelete, clusterServerReplace } from '#contract/clusters/clusters.ts'
import { operationCancel, operationRetry } from '#contract/operations.ts'
import {
  type Server,
  serverConfirm,
  serverRemove,
  serverReset,
  serverUpdate,
} from '#contract/servers/servers.ts'
import { addFault, clearFaults } from '#simulator/src/machine/trouble.ts'
import { longTests } from '../../../../../tools/testing/length.ts'
import { longTest } from '../../../../../tools/testing/long-test.ts'
import { inTransaction } from '../../../db/db.ts'
import type { Taken } from '../../../engine/engine.ts'
import { claimNow } from '../../../testing/engine.ts'
import { clusterQueue, memberKey, memberQueue } from '../parts.ts'
import { clusterRow, overtake as overtakeRow, serverRow } from '../testing/overtake.ts'
import { onEachMinor } from '../testing/minors.ts'
import { clusterWorld } from '../testing/world.ts'

onEachMinor(async (minor) => {
  // A reconciler reads the wanted state, an API call changes it, then the reconciler writes. The
  // tests run one by one, because each holds row locks.
  const world = await clusterWorld({ minor, servers: longTests ? 32 : 4, seed: 'overtaken' })
  const { admin } = world
  const { engine, db } = world.backend.platform

  const ready = async (nodes: readonly Server[]) => {
    const { cluster, operation } = await world.create(nodes)
    expect((await world.ended(operation.id)).status).toBe('done')
    return cluster
  }
  /**
   * Claims an object in the queue as soon as no reconciler works on it. The object stays claimed
   * until the test reconciles it.
   */
  const held = async (queue: string, key: string): Promise<Taken> =>
    (await world.until(
      () => claimNow(engine, queue, key),
      (taken) => taken !== undefined,
    ))!
  const overtake = <A, B>(
    row: Parameters<typeof overtakeRow>[1],
    first: () => Promise<A>,
    second: () => Promise<B>,
  ) => world.alone(() => overtakeRow(db, row, first, second))
  const run = (taken: Taken) => engine.run(taken, new AbortController().signal)
  const remove = async (id: string, force: 'true' | 'false') =>
    (await admin.call(clusterDelete, { params: { id }, query: { force } })).answer!.operation
  const resetsOf = (nodes: readonly Server[]) =>
    nodes.map((node) => world.machine(node).disk.state.counters.resets)

  longTest(
    'a health check that ends after the deletion was requested does not set the cluster to ready again',
    { timeout: 600_000 },
    async () => {
      const nodes = world.take(2)
      const cluster = await ready(nodes)
      await world.machine(nodes[1]!).lifecycle.powerOff()
      await world.until(
        () => world.judged(cluster.id),
        (c) => c.status === 'degraded',
      )
      const taken = await held(clusterQueue, cluster.id)
      world.machine(nodes[1]!).lifecycle.powerOn()
      const kubernetes = await world.backend.domains.clusters.api(cluster.id)
      await world.until(
        () => kubernetes.nodes(AbortSignal.timeout(10_000)),
        (all) => all.length === 2 && all.every((node) => node.ready),
      )
      await sql`create table said as select id, status from cluster where false`.execute(db)
      await sql`create function say() returns trigger language plpgsql as $$ begin insert into said values (new.id, new.status); return new; end $$`.execute(
        db,
      )
      await sql`create trigger say after update on cluster for each row execute function say()`.execute(
        db,
      )
      const [operation] = await overtake(
        clusterRow(cluster.id),
        () => remove(cluster.id, 'false'),
        () => run(taken),
      )
      expect((await world.ended(operation.id)).status).toBe('done')
      const { rows } = await sql<{
        status: string
      }>`select distinct status from said where id = ${cluster.id}`.execute(db)
      await sql`drop trigger say on cluster`.execute(db)
      expect(rows).toEqual([{ status: 'deleting' }])
    },
  )

  test('a cancel during a forced deletion resets no server', { timeout: 600_000 }, async () => {
    const nodes = world.take(2)
    const [controlPlane, worker] = nodes as [Server, Server]
    await addFault(world.machine(worker), { kind: 'refuse' })
    const { cluster, operation } = await world.create(nodes)
    await world.until(
      () => world.operation(operation.id),
      (o) => o.steps.some((s) => s.key === `join/${controlPlane.id}` && s.status === 'done'),
    )
    const taken = await held(clusterQueue, cluster.id)
    await sql`create table moved as select node_id, at from cluster_server where false`.execute(db)
    await sql`create function move() returns trigger language plpgsql as $$ begin insert into moved values (new.node_id, new.at); return new; end $$`.execute(
      db,
    )
    await sql`create trigger move after update on cluster_server for each row when (old.at = 'done' and new.at <> 'done') execute function move()`.execute(
      db,
    )
    await admin.call(operationCancel, { params: { id: operation.id } })
    const [forced] = await overtake(
      clusterRow(cluster.id),
      () => remove(cluster.id, 'true'),
      () => run(taken),
    )
    expect((await world.ended(forced.id)).status).toBe('done')
    const { rows } = await sql`select * from moved`.execute(db)
    await sql`drop trigger move on cluster_server`.execute(db)
    expect(rows).toEqual([])
    await clearFaults(world.machine(worker))
    expect(resetsOf(nodes)).toEqual([0, 0])
    expect(world.machine(controlPlane).stage.stage).toBe('running')
  })

  longTest(
    'a second forced deletion replaces the first one, which cannot be retried',
    { timeout: 600_000 },
    async () => {
      const nodes = world.take(2)
      const cluster = await ready(nodes)
      const taken = await held(clusterQueue, cluster.id)
      const first = await remove(cluster.id, 'true')
      const [second] = await overtake(
        clusterRow(cluster.id),
        () => remove(cluster.id, 'true'),
        () => run(taken),
      )
      expect((await world.ended(second.id)).status).toBe('done')
      const reason = 'The cluster was deleted by force'
      expect(await world.ended(first.id)).toMatchObject({
        status: 'failed',
        reason,
        steps: [{ key: 'forget', status: 'skipped', reason }],
      })
      expect(
        (await admin.call(operationRetry, { params: { id: first.id } })).problem,
      ).toMatchObject({
        code: 'operation_ended',
        error: `The cluster ${cluster.name} is gone`,
      })
    },
  )

  test(
    'a forced deletion stops a reset that is about to be sent',
    { timeout: 600_000 },
    async () => {
      const nodes = world.take(2)
      const cluster = await ready(nodes)
      // Each response of the machine takes half a second, so the deletion is requested after the
      // reset's intent is recorded and before the reset is sent.
      await addFault(world.machine(nodes[1]!), { kind: 'delay', ms: 50_000 })
      await remove(cluster.id, 'false')
      await world.until(
        () =>
          db
            .selectFrom('effect')
            .select('name')
            .where('name', '=', `reset/${nodes[1]!.id}`)
            .execute(),
        (begun) => begun.length === 1,
      )
      expect((await world.ended((await remove(cluster.id, 'true')).id)).status).toBe('done')
      await world.until(
        () =>
          db
            .selectFrom('effect')
            .select('failed_at')
            .where('name', '=', `reset/${nodes[1]!.id}`)
            .executeTakeFirstOrThrow(),
        ({ failed_at }) => failed_at !== null,
      )
      await clearFaults(world.machine(nodes[1]!))
      expect(resetsOf(nodes)).toEqual([0, 0])
    },
  )

  longTest(
    'a reset that is cancelled just before it is sent is not sent',
    { timeout: 600_000 },
    async () => {
      const nodes = world.take(3)
      const cluster = await ready(nodes)
      const worker = nodes[2]!
      await addFault(world.machine(worker), { kind: 'delay', ms: 50_000 })
      const { operation } = (await admin.call(serverReset, { params: { id: worker.id }, body: {} }))
        .answer!
      await world.until(
        () =>
          db.selectFrom('effect').select('name').where('name', '=', `reset/${worker.id}`).execute(),
        (begun) => begun.length === 1,
      )
      await admin.call(operationCancel, { params: { id: operation.id } })
      expect(await world.ended(operation.id)).toMatchObject({
        status: 'cancelled',
        reason: 'Nothing was wiped',
      })
      await clearFaults(world.machine(worker))
      expect(resetsOf(nodes)).toEqual([0, 0, 0])
      expect(await world.server(worker.id)).toMatchObject({
        status: 'ready',
        cluster: { id: cluster.id },
        operation_id: null,
      })
    },
  )

  longTest(
    'if a deletion is cancelled too late, its operation shows once why the deletion continues',
    { timeout: 600_000 },
    async () => {
      const nodes = world.take(2)
      const cluster = await ready(nodes)
      await world.machine(nodes[1]!).lifecycle.powerOff()
      const deletion = await remove(cluster.id, 'false')
      await admin.call(operationCancel, { params: { id: deletion.id } })
      const said = await world.until(
        () => world.operation(deletion.id),
        (o) => o.reason?.startsWith('A deletion continues to its end') === true,
      )
      expect(said.status).toBe('cancelling')
      const taken = await held(clusterQueue, cluster.id)
      await run(taken)
      expect((await world.operation(deletion.id)).reason).toBe(said.reason)
      const forced = await remove(cluster.id, 'true')
      expect((await world.ended(forced.id)).status).toBe('done')
      expect(
        (await world.operation(deletion.id)).steps.filter(
          (s) => !['done', 'skipped'].includes(s.status),
        ),
      ).toEqual([])
    },
  )

  /** A cluster with a running reset of an unreachable server. */
  const resetting = async () => {
    const nodes = world.take(3)
    const cluster = await ready(nodes)
    const worker = nodes[2]!
    await addFault(world.machine(worker), { kind: 'refuse', port: 'apid' })
    const asked = await admin.call(serverReset, { params: { id: worker.id }, body: {} })
    const { operation } = asked.answer!
    await world.until(
      () => world.operation(operation.id),
      (o) => o.steps.some((s) => s.status === 'waiting'),
    )
    return {
      nodes,
      cluster,
      worker,
      operation,
      taken: await held(memberQueue, memberKey(cluster.id, worker.id)),
    }
  }

  longTest(
    'a reset that is retried during a forced deletion wipes nothing',
    { timeout: 600_000 },
    async () => {
      const { nodes, cluster, worker, operation, taken } = await resetting()
      const cluster2 = await held(clusterQueue, cluster.id)
      const failed = { failed_at: new Date(), failure: 'It was told to and still runs' }
      await inTransaction(db, async (tx) => {
        await tx
          .updateTable('cluster_server')
          .set(failed)
          .where('node_id', '=', worker.id)
          .execute()
        await world.backend.domains.operations.set(tx, operation.id, {
          status: 'failed',
          reason: failed.failure,
        })
      })
      await clearFaults(world.machine(worker))
      expect((await admin.call(operationRetry, { params: { id: operation.id } })).status).toBe(200)
      const [forced] = await overtake(
        clusterRow(cluster.id),
        () => remove(cluster.id, 'true'),
        () => run(taken),
      )
      await run(cluster2)
      expect((await world.ended(forced.id)).status).toBe('done')
      expect(resetsOf(nodes)).toEqual([0, 0, 0])
      expect(
        (await admin.call(operationRetry, { params: { id: operation.id } })).problem,
      ).toMatchObject({ code: 'operation_ended' })
    },
  )

  longTest(
    'a reset that is cancelled while its server is removed by force leaves the server removed',
    { timeout: 600_000 },
    async () => {
      const { nodes, cluster, worker, operation, taken } = await resetting()
      await world.until(
        () => world.server(worker.id),
        (s) => s.talos.reachable === false,
      )
      await world.machine(worker).lifecycle.powerOff()
      await admin.call(operationCancel, { params: { id: operation.id } })
      const [removed] = await overtake(
        clusterRow(cluster.id),
        () => admin.call(serverRemove, { params: { id: worker.id }, query: { force: 'true' } }),
        () => run(taken),
      )
      expect(removed.status).toBe(202)
      await world.until(
        async () => world.nodeNames(nodes[0]!),
        (left) => !left.includes(worker.name),
      )
      expect(await world.cluster(cluster.id)).toMatchObject({ control_planes: 1, workers: 1 })
      expect(
        (await admin.call(operationRetry, { params: { id: operation.id } })).problem,
      ).toMatchObject({ code: 'operation_ended' })
    },
  )

  longTest(
    'if a server is renamed while a cluster reserves it, the new name appears everywhere',
    { timeout: 600_000 },
    async () => {
      const nodes = world.take(1)
      const [renamed, created] = await overtake(
        serverRow(nodes[0]!.id),
        () =>
          admin.call(serverUpdate, { params: { id: nodes[0]!.id }, body: { name: 'renamed-101' } }),
        () => admin.call(clusterCreate, { body: world.ask(nodes) }),
      )
      expect(renamed.status).toBe(200)
      expect(created.answer!.cluster.servers.map((s) => s.name)).toEqual(['renamed-101'])
      expect((await world.ended(created.answer!.operation.id)).status).toBe('done')
    },
  )

  longTest(
    'a server that failed during the creation stays failed until a user retries, even if Kubernetes reports it Ready',
    { timeout: 600_000 },
    async () => {
      const nodes = world.take(3)
      const [, early, late] = nodes as [Server, Server, Server]
      await addFault(world.machine(late), { kind: 'refuse' })
      const { cluster, operation } = await world.create(nodes)
      await world.until(
        () => world.server(early.id),
        (s) => s.status === 'ready',
      )
      // Simulates a server that reaches the limit of 30 minutes just before it is Ready.
      const failed = {
        failed_at: new Date(),
        failure: 'Not done after 30 min',
        node_ready_at: null,
      }
      await db.updateTable('cluster_server').set(failed).where('node_id', '=', early.id).execute()
      await clearFaults(world.machine(late))
      expect(await world.ended(operation.id)).toMatchObject({
        status: 'failed',
        reason: `${early.name}: Not done after 30 min`,
      })
      await admin.call(operationRetry, { params: { id: operation.id } })
      expect((await world.ended(operation.id)).status).toBe('done')
      expect(await world.recovered(cluster.id)).toMatchObject({ status: 'ready' })
      const left = await db
        .selectFrom('cluster_server')
        .select('name')
        .where('cluster_id', '=', cluster.id)
        .where('node_ready_at', 'is', null)
        .execute()
      expect(left).toEqual([])
    },
  )

  longTest(
    'a failed server can be replaced by any free server, even one that failed in this cluster before',
    async () => {
      const nodes = world.take(3)
      const [controlPlane, ill, other] = nodes as [Server, Server, Server]
      const [spare] = world.take(1)
      const { cluster, operation } = await world.withOtherHardware(ill, () => world.create(nodes))
      const replace = (old: Server, by: Server) =>
        admin.call(clusterServerReplace, {
          params: { id: cluster.id, node_id: old.id },
          body: { node_id: by.id },
        })
      expect((await world.ended(operation.id)).status).toBe('failed')
      for (const by of [ill, other, controlPlane])
        expect((await replace(ill, by)).problem).toMatchObject({
          code: 'server_taken',
          error: `${by.name} is already a server of ${cluster.name}`,
        })

      const first = (await world.withOtherHardware(spare!, () => replace(ill, spare!))).answer!
        .operation
      expect((await replace(ill, spare!)).problem).toMatchObject({ code: 'not_found' })
      expect((await world.ended(first.id)).status).toBe('failed')
      expect(
        (await admin.call(operationRetry, { params: { id: operation.id } })).problem,
      ).toMatchObject({
        code: 'operation_ended',
        error: `Another operation has replaced this one on ${cluster.name}`,
      })
      // The original machine is put back and confirmed, and now replaces the server that replaced it.
      await world.until(
        () => world.server(ill.id),
        (server) => server.cluster === null && server.identity.state === 'changed',
      )
      const machine = world.machine(ill)
      machine.disk.change((state) => (state.identitySalt = ''))
      machine.journal.changed()
      const { uuid, serial } = ill.identity
      expect(
        (
          await admin.call(serverConfirm, {
            params: { id: ill.id },
            body: { uuid: uuid!, serial: serial! },
          })
        ).status,
      ).toBe(200)
      await world.until(
        () => world.server(ill.id),
        (server) => server.talos.reachable === true,
      )
      const second = (await replace(spare!, ill)).answer!.operation
      expect((await world.ended(second.id)).status).toBe('done')
      expect((await world.cluster(cluster.id)).servers.map((s) => s.node_id)).toEqual(
        expect.arrayContaining([ill.id, other.id, controlPlane.id]),
      )
    },
    600_000,
  )

  longTest(
    'a creation that is being cancelled does not accept a replacement server',
    { timeout: 600_000 },
    async () => {
      const nodes = world.take(3)
      const [spare] = world.take(1)
      const [, ill, silent] = nodes as [Server, Server, Server]
      const { cluster, operation } = await world.withOtherHardware(ill, async () => {
        const created = await world.create(nodes)
        await addFault(world.machine(silent), { kind: 'refuse' })
        return created
      })
      await world.until(
        () => world.operation(operation.id),
        (o) => o.steps.some((s) => s.node_id === ill.id && s.status === 'failed'),
      )
      const taken = await held(clusterQueue, cluster.id)
      await admin.call(operationCancel, { params: { id: operation.id } })
      const replaced = await admin.call(clusterServerReplace, {
        params: { id: cluster.id, node_id: ill.id },
        body: { node_id: spare!.id },
      })
      expect(replaced.problem).toMatchObject({
        code: 'transition_refused',
        error: 'The creation is being cancelled',
      })
      await run(taken)
      expect((await world.ended(operation.id)).status).toBe('cancelled')
    },
  )
})
