/** What Talos and etcd give up, or refuse for a while. */
import { expect, test } from 'vitest'
import { configFor, fleet, give, openSecure, rack, secrets, until } from '../testing/fleet.ts'

test('a control plane that finds no etcd gives up and has no data of etcd, and a boot that gives up restarts and tries again', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const { patience } = simulator.world
  const machine = simulator.servers[0]!
  const bundle = await secrets()
  patience.etcdJoin = 100
  await give(machine, configFor(bundle, machine, 'control_plane', machine.plan.address))
  await until('etcd gave up', () => machine.services.get('etcd')?.state === 'Failed')
  const client = await openSecure(machine, bundle)
  const etcd = (await client.services()).find(({ id }) => id === 'etcd')!
  expect(etcd.lastEvent?.message).toContain(
    'Failed to run pre stage: failed to build initial etcd cluster: failed to build cluster arguments: ',
  )
  expect(await client.hasEtcdData()).toBe(false)
  delete patience.etcdJoin
  patience.boot = 2_000
  await (await openSecure(machine, bundle)).reboot({ mode: 'force' })
  const { bootId } = machine
  await until('it boots', () => machine.bootId !== bootId)
  const second = machine.bootId
  await until('the boot gave up', () => machine.bootId !== second)
  delete patience.boot
  await until('etcd waits', () => machine.services.get('etcd')?.state === 'Preparing')
  await (await openSecure(machine, bundle)).bootstrap()
  await until('etcd runs', () => machine.services.isUp('etcd'))
  expect(await (await openSecure(machine, bundle)).hasEtcdData()).toBe(true)
})

test('etcd refuses to remove a running member until enough members have been connected for five seconds', async () => {
  const simulator = await fleet({ scenario: rack(3), speed: 200 })
  const bundle = await secrets()
  const [first, ...others] = simulator.servers
  for (const machine of simulator.servers)
    await give(machine, configFor(bundle, machine, 'control_plane', first!.plan.address))
  await until('etcd waits', () => first!.services.get('etcd')?.state === 'Preparing')
  await (await openSecure(first!, bundle)).bootstrap()
  await until('all have joined', () => others.every(({ services }) => services.isUp('etcd')))
  const cluster = first!.etcdCluster!
  const [, , last] = cluster.state.members
  await until('they are connected', () => cluster.removeRefusal(last!.id) === null)
  expect(cluster.addRefusal).toBeNull()
  // Two of three can't lose another one, and no member is added while one is down.
  await cluster.machineOf(cluster.state.members[1]!)!.lifecycle.powerOff()
  expect(cluster.removeRefusal(last!.id)).toBe('etcdserver: unhealthy cluster')
  expect(cluster.addRefusal).toBe('etcdserver: unhealthy cluster')
  expect(cluster.removeRefusal(cluster.state.members[1]!.id)).toBeNull()
})
