import { describe, expect, test } from 'vitest'
import { clusterExtensions } from '#contract/clusters/extensions.ts'
import { emptySchematicId, schematicId } from '#talos/schematic/schematic.ts'
import { longTest } from '../../../../../tools/testing/long-test.ts'
import { clusterWorld } from '../../clusters/testing/world.ts'
import { upgradeWorld } from './testing.ts'

const world = await clusterWorld({ servers: 2 })
const { ready, plan, versions, cordoned } = upgradeWorld(world)
const gvisor = { kind: 'extensions' as const, extensions: ['siderolabs/gvisor'] }
const withGvisor = schematicId({ officialExtensions: ['siderolabs/gvisor'] })

describe('extensions, kernel arguments and a rollback', async () => {
  const { nodes, cluster } = await ready(2)
  const [, worker] = nodes
  const rollback = { kind: 'rollbackTalos' as const, node_id: worker!.id }

  test('a rollback is refused for a server that Steelyard has not upgraded', async () => {
    expect(
      (await plan(cluster.id, rollback)).checks.find((c) => c.check === 'before'),
    ).toMatchObject({ ok: false })
  })

  test('an extension that does not exist is refused before anything changes', async () => {
    const planned = await plan(cluster.id, {
      kind: 'extensions',
      extensions: ['siderolabs/nonsense'],
    })
    expect(planned.checks.find((c) => c.check === 'image')).toMatchObject({
      ok: false,
      message: expect.stringContaining('siderolabs/nonsense'),
    })
  })

  test(
    'a server gets an extension by an upgrade to another image of its version, and its configuration names the image',
    { timeout: 600_000 },
    async () => {
      const change = { ...gvisor, node_ids: [worker!.id] }
      expect((await plan(cluster.id, change)).warnings).toContain(
        `${worker!.name}: adds siderolabs/gvisor`,
      )
      const { id } = await world.change(cluster.id, change)
      expect(await world.ended(id)).toMatchObject({ status: 'done' })
      expect(nodes.map((n) => world.machine(n).schematic)).toEqual([emptySchematicId, withGvisor])
      expect(versions(nodes)).toEqual(['v1.13.8', 'v1.13.8'])
      await expect
        .poll(async () => (await world.server(worker!.id)).talos)
        .toMatchObject({ schematic: withGvisor, version: 'v1.13.8' })
      expect(world.machine(worker!).disk.state.config).toContain(`/${withGvisor}:v1.13.8`)
      expect(
        (await plan(cluster.id, change)).checks.find((c) => c.check === 'change'),
      ).toMatchObject({ ok: false })
    },
  )

  longTest(
    'kernel arguments are added, and the extensions stay',
    { timeout: 600_000 },
    async () => {
      const { id } = await world.change(cluster.id, {
        kind: 'extensions',
        kernel_args: ['panic=10'],
      })
      expect(await world.ended(id)).toMatchObject({ status: 'done' })
      expect(nodes.map((n) => world.machine(n).kernelCommandLine.includes('panic=10'))).toEqual([
        true,
        true,
      ])
      expect(world.machine(worker!).schematic).toBe(
        schematicId({ officialExtensions: ['siderolabs/gvisor'], extraKernelArgs: ['panic=10'] }),
      )
      const { items } = (await world.admin.call(clusterExtensions, { params: { id: cluster.id } }))
        .answer!
      expect(items.map((s) => [s.name, s.extensions, s.kernel_args])).toEqual([
        [nodes[0]!.name, [], ['panic=10']],
        [nodes[1]!.name, ['siderolabs/gvisor'], ['panic=10']],
      ])
    },
  )

  test(
    'a staged upgrade of the version keeps the image of each server, and one server is rolled back after it',
    { timeout: 600_000 },
    async () => {
      const before = nodes.map((n) => world.machine(n).schematic)
      const upgrade = { kind: 'upgradeTalos' as const, version: 'v1.13.9', stage: true }
      expect((await plan(cluster.id, upgrade)).groups[1]!.steps[0]!.key).toBe(`drain/${worker!.id}`)
      expect(await world.ended((await world.change(cluster.id, upgrade)).id)).toMatchObject({
        status: 'done',
      })
      expect(versions(nodes)).toEqual(['v1.13.9', 'v1.13.9'])
      expect(nodes.map((n) => world.machine(n).schematic)).toEqual(before)
      // The version is on the disk, so no image factory is needed.
      await world.simulator.factory.fault({ kind: 'down' })
      expect(await world.ended((await world.change(cluster.id, rollback)).id)).toMatchObject({
        status: 'done',
      })
      await world.simulator.factory.fault(null)
      expect(versions(nodes)).toEqual(['v1.13.9', 'v1.13.8'])
      expect(world.machine(worker!).disk.state.config).toContain(':v1.13.8')
      expect(cordoned(nodes[0]!)).toEqual([])
      // The same upgrade can be requested again, and is one of the server that was rolled back.
      const again = await plan(cluster.id, upgrade)
      expect(again.groups.flatMap((g) => g.name ?? [])).toEqual([worker!.name])
      expect(again.checks.filter((c) => !c.ok)).toEqual([])
    },
  )
})
