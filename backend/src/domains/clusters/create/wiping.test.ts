import { expect, test } from 'vitest'
import {
  clusterCreate,
  clusterPreview,
  clusterServerReplace,
  type NewClusterInput,
} from '#contract/clusters/clusters.ts'
import { contentOf } from '#contract/disks/choice.ts'
import { type ConfirmedDisk } from '#contract/disks/disks.ts'
import { operationRetry, operationRetryDisks } from '#contract/operations.ts'
import type { Server } from '#contract/servers/servers.ts'
import { addFault } from '#simulator/src/machine/trouble.ts'
import { clusterWorld } from '../testing/world.ts'

const hardware = 'gigabyte-r152'
const special = {
  1: { hardware, contents: { nvme0n1: 'lvm', nvme1n1: 'ceph' } },
  2: { hardware, contents: { nvme1n1: 'zfs' } },
  3: { hardware, missing_disks: true, media: ['usb'] },
  4: { hardware },
  5: { hardware },
  6: { hardware, contents: { nvme0n1: 'zfs', nvme1n1: 'xfs' } },
}
const world = await clusterWorld({ servers: 6, special })
const { admin } = world
const [full, half, stick, clean, thin, spare] = world.nodes as [
  Server,
  Server,
  Server,
  Server,
  Server,
  Server,
]
const only = (id: string, more: Partial<NewClusterInput['servers'][number]> = {}) => [
  { node_id: id, role: 'control_plane' as const, ...more },
]
const installs = (node: Server) => world.machine(node).disk.state.counters.installs

test('the API returns each server with the content of its disks', () => {
  expect(full.resources.disks.map(contentOf)).toEqual(['LVM physical volume', 'Ceph OSD'])
  expect(half.resources.disks.map(contentOf)).toEqual([
    'empty',
    '2 partitions: 1 ZFS member "tank", 2 unknown content',
  ])
  expect(stick.resources.disks).toMatchObject([{ transport: 'usb', content: 'empty' }])
})

test('a disk with content is wiped only by a call that names the disk and its content', async () => {
  const [disk] = full.resources.disks
  const ask = (confirmed_disks: NewClusterInput['confirmed_disks'] = []) =>
    world.ask([full], { confirmed_disks })
  const refusals = [
    [],
    [{ serial: disk!.serial!, content: 'empty' }],
    [{ serial: 'another', content: 'LVM physical volume' }],
  ]
  for (const confirmed of refusals) {
    const refused = await admin.call(clusterCreate, { body: ask(confirmed) })
    expect(refused).toMatchObject({ status: 409, problem: { code: 'disk_not_confirmed' } })
    expect(refused.problem!.error).toContain(
      `(${disk!.model}, serial ${disk!.serial}, WWID ${disk!.wwid}): it holds LVM physical volume`,
    )
  }
  const preview = await admin.call(clusterPreview, { body: ask() })
  expect(preview.answer!.checks.filter((c) => !c.ok).map((c) => c.check)).toEqual([
    'confirmed_disks',
  ])
  expect(installs(full)).toBe(0)

  const asked = ask([{ serial: disk!.serial!, content: 'LVM physical volume' }])
  const { operation } = (await admin.call(clusterCreate, { body: asked })).answer!
  expect((await world.ended(operation.id)).status).toBe('done')
  expect(installs(full)).toBe(1)
})

test('a workload disk with content must also be confirmed, because a later reset wipes that disk', async () => {
  const refused = await admin.call(clusterCreate, {
    body: world.ask([half], { servers: only(half.id, { workload_disks: ['nvme1n1'] }) }),
  })
  expect(refused.problem!.error).toContain('it holds 2 partitions: 1 ZFS member "tank"')
})

test('if a USB stick is the only disk, it is not selected by default, and the check gives the reason', async () => {
  expect(stick.eligibility.find((e) => e.check === 'disks')).toEqual({
    check: 'disks',
    ok: false,
    reason: 'No disk is chosen: sdu is a USB disk',
  })
  const refused = await admin.call(clusterCreate, { body: world.ask([stick]) })
  expect(refused.problem).toMatchObject({
    code: 'not_eligible',
    error: expect.stringContaining('sdu is a USB disk') as string,
  })
  const named = await admin.call(clusterCreate, {
    body: world.ask([stick], { servers: only(stick.id, { install_disk: 'sdu' }) }),
  })
  expect(named.problem).toMatchObject({
    code: 'disk_not_confirmed',
    error: expect.stringContaining('it is a USB disk, and it is empty') as string,
  })
})

test(
  'a disk that got content after it was selected is not wiped; a retry requires a confirmation and then continues',
  { timeout: 600_000 },
  async () => {
    const machine = world.machine(clean)
    machine.disk.change((state) => (state.contents = { nvme0n1: 'ext4' }))
    const { operation } = await world.create([clean], {
      servers: only(clean.id, { install_disk: 'nvme0n1' }),
    })
    const end = await world.ended(operation.id)
    expect(end).toMatchObject({ status: 'failed' })
    expect(end.reason).toContain(
      'it holds ext4 "data", but it was empty when the wipe was confirmed',
    )
    expect(end.reason).toContain('Nothing was wiped')
    expect(machine.disk.state.counters).toMatchObject({ applies: 0, installs: 0 })

    // A retry would fail the same way. It is refused, and the error names the disk to confirm.
    const retry = (confirmed_disks: readonly ConfirmedDisk[]) =>
      admin.call(operationRetry, {
        params: { id: operation.id },
        body: { confirmed_disks: [...confirmed_disks] },
      })
    expect((await retry([])).problem).toMatchObject({
      code: 'disk_not_confirmed',
      error: expect.stringContaining('it holds ext4 "data"') as string,
    })
    const { items } = (await admin.call(operationRetryDisks, { params: { id: operation.id } }))
      .answer!
    expect(items).toMatchObject([
      {
        server: clean.name,
        device: '/dev/nvme0n1',
        content: 'ext4 "data"',
        media: null,
        by: { content: 'ext4 "data"' },
      },
    ])
    expect((await retry([{ ...items[0]!.by!, content: 'empty' }])).problem).toMatchObject({
      code: 'disk_not_confirmed',
    })
    expect(machine.disk.state.counters).toMatchObject({ applies: 0, installs: 0 })
    expect((await retry([items[0]!.by!])).status).toBe(200)
    expect((await world.ended(operation.id)).status).toBe('done')
    expect(installs(clean)).toBe(1)
  },
)

test(
  'a server that lost its disk receives nothing, and its replacement needs a confirmation of the disk content',
  { timeout: 600_000 },
  async () => {
    const machine = world.machine(thin)
    const disk = thin.resources.disks[1]!
    const body = world.ask([thin], { servers: only(thin.id, { install_disk: disk.id }) })
    expect((await admin.call(clusterPreview, { body })).answer!.checks.every((c) => c.ok)).toBe(
      true,
    )
    await addFault(machine, { kind: 'disks', what: 'lost' })
    const { cluster, operation } = (await admin.call(clusterCreate, { body })).answer!
    const end = await world.ended(operation.id)
    expect(end).toMatchObject({
      status: 'failed',
      reason: expect.stringContaining(
        `${thin.name} no longer has /dev/${disk.id} (${disk.model}, serial ${disk.serial}`,
      ) as string,
    })
    expect(machine.disk.state.counters).toMatchObject({ applies: 0, installs: 0 })

    // The replacement names no disk, so the default disk of the new server is used. That disk has
    // content too.
    const target = spare.resources.disks.find((d) => d.id === 'nvme0n1')!
    const replace = (confirmed_disks: NewClusterInput['confirmed_disks'] = []) =>
      admin.call(clusterServerReplace, {
        params: { id: cluster.id, node_id: thin.id },
        body: { node_id: spare.id, confirmed_disks },
      })
    for (const confirmed of [
      [],
      [{ serial: target.serial!, content: 'empty' }],
      [{ wwid: spare.resources.disks[1]!.wwid!, content: contentOf(target) }],
    ]) {
      const refused = await replace(confirmed)
      expect(refused).toMatchObject({ status: 409, problem: { code: 'disk_not_confirmed' } })
      expect(refused.problem!.error).toContain(
        `serial ${target.serial}, WWID ${target.wwid}): it holds ${contentOf(target)}`,
      )
    }
    expect(await world.server(spare.id)).toMatchObject({ cluster: null, operation_id: null })
    expect(world.machine(spare).disk.state.counters).toMatchObject({ applies: 0, installs: 0 })

    const replaced = (
      await replace([{ wwid: target.wwid!, serial: target.serial!, content: contentOf(target) }])
    ).answer!
    expect((await world.ended(replaced.operation.id)).status).toBe('done')
    expect(world.machine(spare).systemDisk).toBe('nvme0n1')
    // The other disk was not chosen and keeps its content.
    expect(world.machine(spare).disk.state.contents).toEqual({ nvme1n1: 'xfs' })
  },
)
