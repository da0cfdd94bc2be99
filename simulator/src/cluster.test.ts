import { expect, test } from 'vitest'
import { cluster, fleet, openSecure, rack } from './testing/fleet.ts'

test('three control planes and two workers become a cluster, with one etcd and five ready nodes', async () => {
  const simulator = await fleet({ scenario: rack(5) })
  const { bundle, controlPlanes, workers } = await cluster(simulator, 3, 2)
  const client = await openSecure(controlPlanes[1]!, bundle)
  const members = await client.etcdMembers()
  expect(members.map(({ hostname }) => hostname).toSorted()).toEqual(
    controlPlanes.map(({ hostname }) => hostname).toSorted(),
  )
  expect(members.every(({ learner }) => !learner)).toBe(true)
  expect(simulator.servers.map(({ disk }) => disk.state.counters.bootstraps)).toEqual([
    1, 0, 0, 0, 0,
  ])
  expect(simulator.servers.map(({ disk }) => disk.state.counters.installs)).toEqual([1, 1, 1, 1, 1])
  expect((await client.kubeconfig()).includes('admin@blue-fox')).toBe(true)
  const worker = await openSecure(workers[0]!, bundle)
  expect((await worker.version()).tag).toBe('v1.13.9')
  await expect(worker.kubeconfig()).rejects.toMatchObject({ kind: 'unimplemented' })
})
