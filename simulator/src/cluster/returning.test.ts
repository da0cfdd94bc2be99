import { expect, test } from 'vitest'
import { createClient } from '@connectrpc/connect'
import { MachineService } from '#talos/proto/gen/machine/machine_pb.ts'
import { cluster, configFor, fleet, give, rack, until } from '../testing/fleet.ts'
import { rawTransport } from '../testing/transport.ts'

test('a removed member that returns with its old configuration does not join again, and becomes a new member after it was wiped', async () => {
  const simulator = await fleet({ scenario: rack(3) })
  const { bundle, controlPlanes } = await cluster(simulator, 3, 0)
  const [first, , dead] = controlPlanes
  const etcd = first!.etcdCluster!
  const old = dead!.disk.state.etcd!.member
  await dead!.lifecycle.powerOff()
  const calls = async (host: string) =>
    createClient(MachineService, await rawTransport(host, bundle))
  await (await calls(first!.plan.address)).etcdRemoveMemberByID({ memberId: BigInt(`0x${old}`) })
  dead!.lifecycle.powerOn()
  const events = () => dead!.services.get('etcd')?.events ?? []
  await until(
    'etcd ends again and again',
    () => events().filter(({ state }) => state === 'Running').length > 1,
  )
  expect(events().some(({ message }) => message.includes('going to restart forever'))).toBe(true)
  expect(
    dead!.journal
      .logLines('etcd')!
      .since(0)
      .some((line) => line.endsWith('the member has been permanently removed from the cluster')),
  ).toBe(true)
  expect(dead!.stage.ready).toBe(false)
  expect(etcd.state.members.map(({ id }) => id)).not.toContain(old)

  await (await calls(dead!.plan.address)).reset({ graceful: false, reboot: true })
  await until('the server is in maintenance', () => dead!.stage.stage === 'maintenance')
  await give(dead!, configFor(bundle, dead!, 'control_plane', first!.plan.address))
  await until(
    'it is a voter again',
    () => dead!.stage.stage === 'running' && dead!.stage.ready && etcd.voters.length === 3,
  )
  expect(dead!.disk.state.etcd!.member).not.toBe(old)
  expect(etcd.counters.quorumLosses).toBe(0)
})
