import { expect, test } from 'vitest'
import { clusterChange } from '#contract/clusters/changes/changes.ts'
import { hasEnded, operationGet, operationRetry } from '#contract/operations.ts'
import { addFault, clearFaults } from '#simulator/src/machine/trouble.ts'
import { clusterWorld } from '../../clusters/testing/world.ts'
import { stepsThat, upgradeWorld } from './testing.ts'

// The last test advances the clock of this world, so certificates that are made afterwards are not
// valid yet for the machines.
const world = await clusterWorld({ servers: 6, talos: 'v1.12.11' })
const { ready, plan, versions, upgrades, cordoned } = upgradeWorld(world)
const upgrade = { kind: 'upgradeTalos' as const, version: 'v1.13.9' }

test(
  'a version that does not run the Kubernetes of the cluster is refused',
  { timeout: 600_000 },
  async () => {
    const { cluster } = await ready(1, { talos_version: 'v1.12.11', kubernetes_version: '1.30.14' })
    expect((await plan(cluster.id, upgrade)).checks.find((c) => c.check === 'path')).toMatchObject({
      ok: false,
      message: 'Talos 1.13 runs Kubernetes 1.31 to 1.36, not 1.30.14: upgrade Kubernetes first',
      remedies: [{ change: 'upgradeKubernetes' }],
    })
  },
)

test(
  'a server of Talos 1.12, which can not write an image before its restart, is upgraded to 1.14 in one change of two passes',
  { timeout: 600_000 },
  async () => {
    const { nodes, cluster } = await ready(1, {
      talos_version: 'v1.12.11',
      kubernetes_version: '1.35.4',
    })
    const change = { ...upgrade, version: 'v1.14.1' }
    const planned = await plan(cluster.id, change)
    expect(planned.checks.find((c) => c.check === 'path')).toMatchObject({
      ok: true,
      message: expect.stringContaining('in 2 passes, by way of v1.13.9') as string,
    })
    const ended = await world.ended((await world.change(cluster.id, change)).id)
    expect(ended).toMatchObject({ status: 'done', reason: null })
    const writes = ended.steps.flatMap((s) => (s.key.startsWith('write/') ? [s.key] : []))
    expect(writes.toSorted()).toEqual(nodes.map((n) => `write/${n.id}`).toSorted())
    expect(
      ended.steps.flatMap((s) => (s.key.startsWith('image') ? [[s.key, s.status]] : [])),
    ).toEqual([
      ['image/v1.13.9', 'done'],
      ['image', 'done'],
    ])
    expect(versions(nodes)).toEqual(['v1.14.1'])
    expect(upgrades(nodes)).toEqual([2])
    expect(cordoned(nodes[0]!)).toEqual([])
    expect(await world.cluster(cluster.id)).toMatchObject({
      talos_version: 'v1.14.1',
      kubernetes_version: '1.35.4',
    })
  },
)

test(
  'a server that hangs in an upgrade fails after the time limit and gets the command again in a retry; one that never becomes Ready is rolled back',
  { timeout: 600_000 },
  async () => {
    const kubernetes = { talos_version: 'v1.12.11', kubernetes_version: '1.35.4' }
    const [hanging, ill] = [await ready(2, kubernetes), await ready(2, kubernetes)]
    const [slow, never] = [hanging.nodes[1]!, ill.nodes[1]!]
    await addFault(world.machine(slow), { kind: 'hang-upgrade' })
    // Takes effect in the next boot.
    await addFault(world.machine(never), { kind: 'boots-never-ready' })
    const [first, second] = [
      await world.change(hanging.cluster.id, upgrade),
      await world.change(ill.cluster.id, upgrade),
    ]
    const waits = (id: string, key: string, reason: RegExp) =>
      world.until(
        () => world.operation(id),
        (o) =>
          o.steps.some(
            (s) => s.key === key && s.status === 'waiting' && reason.test(s.reason ?? ''),
          ),
      )
    await waits(
      first.id,
      `upgrade/${slow.id}`,
      /The restart with Talos .* was requested|is upgrading/,
    )
    await waits(second.id, `node-ready/${never.id}`, /is not Ready/)
    world.backend.clock.advance(21 * 60_000)
    // Tokens last ten minutes, so the user signs in again.
    const admin = await world.backend.signIn({ role: 'admin' })
    const read = async (id: string) => (await admin.call(operationGet, { params: { id } })).answer!
    const failed = await world.until(() => read(first.id), hasEnded)
    expect(failed).toMatchObject({
      status: 'failed',
      reason: expect.stringMatching(
        `^Not done after 21 min. ${slow.name} .*(The restart with Talos v1.13.9 was requested|is upgrading).* Then retry, or roll Talos back on it`,
      ),
    })
    expect(stepsThat(failed, 'failed')).toEqual(['upgrade'])
    expect(upgrades(hanging.nodes)).toEqual([0, 0])
    expect(await world.until(() => read(second.id), hasEnded)).toMatchObject({
      status: 'failed',
      reason: expect.stringContaining(`${never.name} is not Ready`),
    })
    for (const [id, { name }] of [[first.id, slow] as const, [second.id, never] as const])
      expect((await read(id)).reason).toContain(
        `. ${name} stays cordoned until a retry or kubectl uncordon ${name}, because `,
      )
    expect([cordoned(hanging.nodes[0]!), cordoned(ill.nodes[0]!)]).toEqual([
      [slow.name],
      [never.name],
    ])

    const machine = world.machine(slow)
    await machine.lifecycle.powerOff()
    await clearFaults(machine)
    machine.lifecycle.powerOn()
    expect(
      (await admin.call(operationRetry, { params: { id: first.id }, body: {} })).problem,
    ).toBeUndefined()
    await world.until(
      () => read(first.id),
      (o) => o.steps.some((s) => s.key === `upgrade/${slow.id}` && s.status === 'done'),
    )
    expect(versions([slow])).toEqual(['v1.13.9'])
    expect(upgrades([slow])).toEqual([1])

    const rollback = await admin.call(clusterChange, {
      params: { id: ill.cluster.id },
      body: { change: { kind: 'rollbackTalos', node_id: never.id } },
    })
    expect(rollback.problem).toBeUndefined()
    await world.until(
      async () => versions([never])[0],
      (version) => version === 'v1.12.11',
    )
    await clearFaults(world.machine(never))
    await world.until(
      () => read(rollback.answer!.operation.id),
      (o) => o.steps.some((s) => s.key === `upgrade/${never.id}` && s.status === 'done'),
    )
  },
)
