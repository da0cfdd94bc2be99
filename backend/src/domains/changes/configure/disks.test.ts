/** A change of the workload disks of a server of a running cluster. */
import { expect, test } from 'vitest'
import { clusterChange, clusterPlan } from '#contract/clusters/changes/changes.ts'
import type { Server } from '#contract/servers/servers.ts'
import { clusterWorld } from '../../clusters/testing/world.ts'

const world = await clusterWorld({
  servers: 1,
  seed: 'disks',
  special: { 1: { contents: { nvme1n1: 'ext4', nvme2n1: 'xfs' } } },
})
const { admin } = world
const [node] = world.take(1) as [Server]
const { cluster, operation: creation } = await world.create([node])
await world.ended(creation.id)
const params = { id: cluster.id }
const machine = world.machine(node)
const system = `/dev/${machine.systemDisk}`
const [first, second] = ['/dev/nvme1n1', '/dev/nvme2n1']
const contentOf = (device: string) => machine.disk.state.contents?.[device.slice('/dev/'.length)]

const change = (more: object) => ({ kind: 'disks' as const, node_id: node.id, ...more })
const planOf = async (more: object) => {
  const called = await admin.call(clusterPlan, { params, body: { change: change(more) } })
  if (!called.answer) throw new Error(called.text)
  return called.answer
}
const workloadDisks = async () =>
  (await world.cluster(cluster.id)).servers.find((s) => s.node_id === node.id)!.workload_disks

/** Makes the change and confirms each disk that its plan lists. */
const make = async (more: object) => {
  const plan = await planOf(more)
  const confirmed = plan.disks.flatMap((d) => d.by ?? [])
  return world.ended((await world.change(cluster.id, change(more), confirmed)).id)
}

test('a disk that is the system disk, unknown or named twice is refused with a sentence', async () => {
  const refusal = async (more: object) => (await planOf(more)).checks.find((c) => !c.ok)?.message
  expect(await refusal({})).toBe('Name a disk to add or to remove')
  expect(await refusal({ add: [system] })).toBe(
    `Talos is installed on ${system} of ${node.name}, so the disk can't be a workload disk`,
  )
  expect(await refusal({ add: ['nvme99n1'] })).toContain(`${node.name} has no disk /dev/nvme99n1`)
  expect(await refusal({ add: [first, first] })).toBe(`The disk ${first} is named twice`)
  expect(await refusal({ remove: [first] })).toBe(`${first} is no workload disk of ${node.name}`)
})

test('an added disk is recorded, and a disk with content must be confirmed first', async () => {
  const plan = await planOf({ add: [first, second] })
  expect(plan.warnings).toEqual([
    `${first} and ${second} will be wiped when ${node.name} leaves the cluster`,
  ])
  expect(plan.disks.map((d) => [d.device, d.content])).toEqual([
    [first, 'ext4 "data"'],
    [second, 'xfs "backup"'],
  ])
  expect(
    (
      await admin.call(clusterChange, {
        params,
        body: { change: change({ add: [first, second] }) },
      })
    ).problem,
  ).toMatchObject({
    code: 'disk_not_confirmed',
  })
  expect(await make({ add: [first, second] })).toMatchObject({ status: 'done', reason: null })
  expect(await workloadDisks()).toEqual([first, second])
})

test('a removed disk is wiped only on request, and the other disk keeps its content', async () => {
  expect(await make({ remove: [second] })).toMatchObject({ status: 'done' })
  expect(await workloadDisks()).toEqual([first])
  expect([contentOf(first), contentOf(second)]).toEqual(['ext4', 'xfs'])
  const ended = await make({ remove: [first], wipe: true })
  expect(ended).toMatchObject({ status: 'done', reason: null })
  expect(ended.steps.map((s) => s.title)[0]).toBe(`Wipe ${first} of ${node.name}`)
  expect(await workloadDisks()).toEqual([])
  expect([contentOf(first), contentOf(second)]).toEqual([undefined, 'xfs'])
})
