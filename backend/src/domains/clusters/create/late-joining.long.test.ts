import { expect, test } from 'vitest'
import { clusterServerReplace } from '#contract/clusters/clusters.ts'
import { hasEnded, type Operation, operationGet, operationRetry } from '#contract/operations.ts'
import { addFault, clearFaults } from '#simulator/src/machine/trouble.ts'
import { onEachMinor } from '../testing/minors.ts'
import { clusterWorld } from '../testing/world.ts'
onEachMinor(async (minor) => {
  // The test moves the clock forward once, after all clusters have started. The last server is slow,
  // so it is in the middle of a step at that time.
  const world = await clusterWorld({ minor, servers: 7, special: { 7: { slowness: 30 } } })

  const says = (o: Operation, key: string, words: RegExp) =>
    o.steps.some((s) => s.key === key && s.status === 'waiting' && words.test(s.reason ?? ''))

  test('the step of a server that does not join shows the reason, and fails after half an hour; a retry and a replacement both succeed', async () => {
    // At first a control plane can't pull its installer, and a worker can't synchronise its clock.
    const [controlPlane, worker] = world.take(2)
    await addFault(world.machine(controlPlane!), { kind: 'no-image' })
    await addFault(world.machine(worker!), { kind: 'time', off_ms: 0 })
    const small = await world.create([controlPlane!, worker!])
    await world.until(
      () => world.operation(small.operation.id),
      (o) => says(o, `install/${controlPlane!.id}`, /^Installing since/),
    )
    world.backend.clock.advance(25_000)
    await world.until(
      () => world.operation(small.operation.id),
      (o) =>
        says(
          o,
          `install/${controlPlane!.id}`,
          /^Installing since \d\d:\d\d UTC: failed to pull image "/,
        ),
    )
    await clearFaults(world.machine(controlPlane!))

    // Another control plane dies after etcd has added it as a member and before its own etcd has
    // started.
    const [first, second, spare] = world.take(3)
    const slow = world.nodes[6]!
    const nodes = [first!, second!, slow]
    const large = await world.create(nodes, {
      servers: nodes.map((n) => ({ node_id: n.id, role: 'control_plane' })),
    })
    const members = () =>
      world.simulator.world.etcd.all.find((e) => e.state.name === large.cluster.name)?.state
        .members ?? []
    await world.until(
      async () => members(),
      (all) => all.some((m) => m.learner && m.machine === world.machine(slow).plan.index),
    )
    await world.machine(slow).lifecycle.powerOff()
    expect(members().find((m) => m.learner)?.name).toBe('')

    await world.until(
      () => world.operation(small.operation.id),
      (o) =>
        says(o, `join/${worker!.id}`, /^Waiting to be Ready in Kubernetes: time is not synced/),
    )
    await world.until(
      () => world.operation(large.operation.id),
      (o) => o.steps.filter((s) => s.key.startsWith('join/') && s.status === 'done').length === 2,
    )
    world.backend.clock.advance(31 * 60_000)
    // Tokens last ten minutes, so users sign in again.
    const admin = await world.backend.signIn({ role: 'admin' })
    const ended = (id: string) =>
      world.until(
        async () => (await admin.call(operationGet, { params: { id } })).answer!,
        hasEnded,
      )
    expect(await ended(small.operation.id)).toMatchObject({
      status: 'failed',
      reason: expect.stringMatching(
        new RegExp(
          `^${worker!.name}: Not done after 31 min. Waiting to be Ready in Kubernetes: time is not synced`,
        ),
      ),
    })
    expect(await ended(large.operation.id)).toMatchObject({
      status: 'failed',
      reason: expect.stringContaining(slow.name),
    })

    await clearFaults(world.machine(worker!))
    expect((await admin.call(operationRetry, { params: { id: small.operation.id } })).status).toBe(
      200,
    )
    expect(await ended(small.operation.id)).toMatchObject({ status: 'done' })
    expect(world.etcds(small.cluster.name)).toBe(1)

    const replaced = await admin.call(clusterServerReplace, {
      params: { id: large.cluster.id, node_id: slow.id },
      body: { node_id: spare!.id },
    })
    expect(replaced.problem).toBeUndefined()
    expect(await ended(replaced.answer!.operation.id)).toMatchObject({ status: 'done' })
    expect(
      members()
        .map((m) => m.name)
        .toSorted(),
    ).toEqual([first!, second!, spare!].map((n) => n.name).toSorted())
  }, 600_000)
})
