import { createClient } from '@connectrpc/connect'
import { expect, test } from 'vitest'
import { ClusterService } from '#talos/proto/gen/cluster/cluster_pb.ts'
import { ConnectRecord_State, MachineService } from '#talos/proto/gen/machine/machine_pb.ts'
import { cluster, fleet, rack } from '../testing/fleet.ts'
import { rawTransport } from '../testing/transport.ts'

const all = async <T>(stream: AsyncIterable<T>): Promise<T[]> => {
  const items: T[] = []
  for await (const item of stream) items.push(item)
  return items
}

test('a machine lists its containers, processes, mounts, connections and files', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const { bundle, controlPlanes } = await cluster(simulator, 1, 0)
  const machine = createClient(
    MachineService,
    await rawTransport(controlPlanes[0]!.plan.address, bundle),
  )

  const system = (await machine.containers({ namespace: 'system' })).messages[0]!.containers
  expect(system.map(({ id }) => id)).toEqual(['apid', 'etcd', 'kubelet', 'trustd'])
  const pods = (await machine.containers({ namespace: 'k8s.io' })).messages[0]!.containers
  expect(pods.map(({ status }) => status)).toEqual([
    'SANDBOX_READY',
    'CONTAINER_RUNNING',
    'SANDBOX_READY',
    'CONTAINER_RUNNING',
    'SANDBOX_READY',
    'CONTAINER_RUNNING',
  ])
  const { stats } = (await machine.stats({ namespace: 'system' })).messages[0]!
  expect(stats.map(({ id }) => id)).toEqual(system.map(({ id }) => id))
  const { processes } = (await machine.processes({})).messages[0]!
  expect(processes.find(({ command }) => command === 'etcd')?.pid).toBe(system[1]!.pid)
  expect(new Set(processes.map(({ pid }) => pid)).size).toBe(processes.length)

  expect((await machine.mounts({})).messages[0]!.stats.map(({ mountedOn }) => mountedOn)).toContain(
    '/var',
  )
  const { connectrecord } = (await machine.netstat({})).messages[0]!
  expect(
    connectrecord
      .filter(({ state }) => state === ConnectRecord_State.LISTEN)
      .map(({ localport }) => localport),
  ).toEqual([50_000, 50_001, 2379, 2380, 10_250, 6443])
  expect(
    connectrecord.filter(({ state }) => state === ConnectRecord_State.ESTABLISHED),
  ).toHaveLength(1)

  expect(
    (await all(machine.list({ root: '/etc/' }))).map(({ relativeName, isDir }) => [
      relativeName,
      isDir,
    ]),
  ).toEqual([
    ['.', true],
    ['os-release', false],
  ])
  expect((await all(machine.list({ root: '/nowhere' }))).map(({ error }) => error)).toEqual([
    'lstat /nowhere: no such file or directory',
  ])
  const [file] = await all(machine.list({ root: '/etc/os-release' }))
  expect(
    (await all(machine.diskUsage({ paths: ['/etc'] }))).map(({ name, size }) => [name, size]),
  ).toEqual([['/etc', file!.size]])
})

test('the health check reports each condition, and times out if one is not met', async () => {
  const simulator = await fleet({ scenario: rack(2) })
  const { bundle, controlPlanes, workers } = await cluster(simulator, 1, 1)
  const health = createClient(
    ClusterService,
    await rawTransport(controlPlanes[0]!.plan.address, bundle, ['os:reader']),
  )
  const check = (seconds: bigint): Promise<{ message: string }[]> =>
    all(health.healthCheck({ waitTimeout: { seconds, nanos: 0 } }))
  const told = (await check(10n)).map(({ message }) => message)
  expect(told[0]).toBe(
    `discovered nodes: ["${controlPlanes[0]!.plan.address}" "${workers[0]!.plan.address}"]`,
  )
  expect(told.at(-1)).toBe('waiting for all k8s nodes to report ready: OK')

  await workers[0]!.lifecycle.powerOff()
  await expect(check(0n)).rejects.toMatchObject({
    code: 4,
    rawMessage: 'context deadline exceeded',
  })
  // With `clusterInfo`, only the named nodes are checked.
  const named = all(
    health.healthCheck({ clusterInfo: { controlPlaneNodes: [controlPlanes[0]!.plan.address] } }),
  )
  await expect(named).resolves.not.toHaveLength(0)
})

test('over the API only the kubelet can be restarted, and no service can be stopped', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const { bundle, controlPlanes } = await cluster(simulator, 1, 0)
  const machine = createClient(
    MachineService,
    await rawTransport(controlPlanes[0]!.plan.address, bundle, ['os:operator']),
  )
  for (const id of ['etcd', 'apid', 'trustd', 'cri'])
    await expect(machine.serviceRestart({ id })).rejects.toMatchObject({
      code: 2,
      rawMessage: `service "${id}" doesn't support restart operation via API`,
    })
  await expect(machine.serviceStop({ id: 'kubelet' })).rejects.toMatchObject({
    rawMessage: 'service "kubelet" doesn\'t support stop operation via API',
  })
  await expect(machine.serviceRestart({ id: 'nothing' })).rejects.toMatchObject({
    rawMessage: 'service "nothing" not defined',
  })
  expect((await machine.serviceStart({ id: 'etcd' })).messages[0]!.resp).toBe(
    'Service "etcd" started',
  )

  const health = async () =>
    (await machine.serviceList({})).messages[0]!.services.find(({ id }) => id === 'kubelet')!
  expect((await machine.serviceRestart({ id: 'kubelet' })).messages[0]!.resp).toBe(
    'Service "kubelet" restarted',
  )
  await expect.poll(async () => (await health()).health!.healthy).toBe(true)
  expect((await health()).events!.events.map(({ state }) => state)).toEqual(
    expect.arrayContaining(['Stopping', 'Finished', 'Starting', 'Running']),
  )
})
