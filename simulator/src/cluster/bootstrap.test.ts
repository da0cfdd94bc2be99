import { createClient } from '@connectrpc/connect'
import { expect, test } from 'vitest'
import { MachineService } from '#talos/proto/gen/machine/machine_pb.ts'
import type { SecretsBundle } from '#talos/secrets/bundle.ts'
import type { Machine } from '../machine/machine.ts'
import { addFault } from '../machine/trouble.ts'
import { configFor, fleet, give, openSecure, rack, secrets, until } from '../testing/fleet.ts'
import { rawTransport } from '../testing/transport.ts'

/** A control plane whose etcd waits, with a configuration that is changed by `edit`. */
const waitingControlPlane = async (
  edit: (config: string) => string = (config) => config,
): Promise<{ machine: Machine; bundle: SecretsBundle }> => {
  const simulator = await fleet({ scenario: rack(1) })
  const [machine] = simulator.servers
  const bundle = await secrets()
  await give(machine!, edit(configFor(bundle, machine!, 'control_plane', machine!.plan.address)))
  await until('etcd waits', () => machine!.services.get('etcd')?.state === 'Preparing')
  return { machine: machine!, bundle }
}

test('each bootstrap of a control plane without data stops the pull of etcd and begins it again, and the history of the service too', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const [machine] = simulator.servers
  const bundle = await secrets()
  await addFault(machine!, { kind: 'slow-pull', image: '/etcd:', ms: 3_600_000 })
  await give(machine!, configFor(bundle, machine!, 'control_plane', machine!.plan.address))
  await until('etcd is prepared', () => machine!.services.get('etcd')?.state === 'Preparing')
  const client = await openSecure(machine!, bundle)
  const pulls = () =>
    machine!.journal.kernelLines
      .since(0)
      .filter((line) => line.includes('pulling image registry.k8s.io/etcd:v3.6.12: starting...'))
      .length
  expect(pulls()).toBe(1)
  for (const calls of [1, 2, 3]) {
    await client.bootstrap()
    expect(machine!.services.get('etcd')!.events.map(({ message }) => message)).toEqual([
      'Starting service',
      'Running pre state',
    ])
    expect(pulls()).toBe(calls + 1)
  }
  expect(machine!.disk.state).toMatchObject({
    etcd: null,
    counters: { bootstrapCalls: 3, bootstraps: 0 },
  })
  simulator.world.clock.setSpeed(10_000)
  await until('the pull is reported', () =>
    machine!.journal.kernelLines
      .since(0)
      .some((line) => /downloading 1 layers \(\d+ MiB\/50 MiB\) \(\d+\.\d\d%\)/.test(line)),
  )
  await until('etcd runs', () => machine!.services.isUp('etcd'))
  expect(machine!.disk.state.counters).toMatchObject({ bootstrapCalls: 3, bootstraps: 1 })
})

test('without known control planes, etcd answers only what it is asked locally', async () => {
  // Without discovery, with an endpoint that no name server knows, and without an API server, the
  // machine knows no control plane.
  const { machine, bundle } = await waitingControlPlane((config) =>
    config
      .replaceAll(/https:\/\/127\.20\.[\d.]+:6443/g, 'https://k8s.example.com:6443')
      .replace(/( +)discovery:\n +enabled: true/, '$1discovery:\n$1    enabled: false'),
  )
  await addFault(machine, { kind: 'image-missing', image: 'kube-apiserver' })
  const calls = createClient(MachineService, await rawTransport(machine.plan.address, bundle))
  // etcd's client waits for an etcd that doesn't run.
  await expect(
    calls.etcdMemberList({ queryLocal: true }, { timeoutMs: 200 }),
  ).rejects.toMatchObject({ code: 4 })
  await calls.bootstrap({})
  await until('etcd runs', () => machine.services.isUp('etcd'))
  expect((await calls.etcdMemberList({ queryLocal: true })).messages[0]!.members).toHaveLength(1)
  const none = {
    code: 2,
    rawMessage: expect.stringContaining('no controlplane endpoints discovered yet') as string,
  }
  await expect(calls.etcdMemberList({})).rejects.toMatchObject(none)
  await expect(calls.etcdRemoveMemberByID({ memberId: 1n })).rejects.toMatchObject(none)
  await expect(calls.etcdLeaveCluster({})).rejects.toMatchObject(none)
  await expect(calls.etcdForfeitLeadership({})).rejects.toMatchObject(none)
  await expect(
    calls.upgrade({ image: `factory.talos.dev/metal-installer/${machine.schematic}:v1.13.9` }),
  ).rejects.toMatchObject(none)
  machine.disk.change((state) => (state.faults = []))
  await until('the API server runs', () => machine.apiServerUp)
  expect((await calls.etcdMemberList({})).messages[0]!.members).toHaveLength(1)
})

test('a member list through control planes that are known and silent waits until the caller gives up', async () => {
  const { machine, bundle } = await waitingControlPlane((config) =>
    config
      .replaceAll(/https:\/\/127\.20\.[\d.]+:6443/g, 'https://127.20.255.254:6443')
      .replace(/( +)discovery:\n +enabled: true/, '$1discovery:\n$1    enabled: false'),
  )
  await addFault(machine, { kind: 'image-missing', image: 'kube-apiserver' })
  const calls = createClient(MachineService, await rawTransport(machine.plan.address, bundle))
  await calls.bootstrap({})
  await until('etcd runs', () => machine.services.isUp('etcd'))
  await expect(calls.etcdMemberList({}, { timeoutMs: 300 })).rejects.toMatchObject({ code: 4 })
  expect((await calls.etcdMemberList({ queryLocal: true })).messages[0]!.members).toHaveLength(1)
})
