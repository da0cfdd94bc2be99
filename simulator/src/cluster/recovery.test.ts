import { createClient } from '@connectrpc/connect'
import { expect, test } from 'vitest'
import { EtcdMemberAlarm_AlarmType, MachineService } from '#talos/proto/gen/machine/machine_pb.ts'
import type { SecretsBundle } from '#talos/secrets/bundle.ts'
import type { Machine } from '../machine/machine.ts'
import { handOn } from '../kubernetes/hand.ts'
import { addFault } from '../machine/trouble.ts'
import { cluster, configFor, fleet, give, openSecure, rack, until } from '../testing/fleet.ts'
import { APPLY, as } from '../testing/kubernetes.ts'
import { rawTransport } from '../testing/transport.ts'

const MAP = '/api/v1/namespaces/default/configmaps'
const calls = async (machine: Machine, bundle: SecretsBundle) =>
  createClient(MachineService, await rawTransport(machine.plan.address, bundle))

async function* upload(file: Buffer): AsyncGenerator<{ bytes: Uint8Array }> {
  for (let at = 0; at < file.length; at += 10_000) yield { bytes: file.subarray(at, at + 10_000) }
}

test('a cluster whose servers were wiped continues from its snapshot, and etcd refuses damaged snapshots', async () => {
  const simulator = await fleet({ scenario: rack(3) })
  const { bundle, controlPlanes } = await cluster(simulator, 3, 0)
  const [machine] = controlPlanes
  const ask = await as(bundle, machine!.plan.address)
  expect((await ask('POST', MAP, { metadata: { name: 'kept' }, data: { a: '1' } })).status).toBe(
    201,
  )
  const { uid } = (await ask('GET', '/api/v1/namespaces/kube-system')).body.metadata as {
    uid: string
  }
  const services = () => handOn(simulator.world, 'blue-fox')!.show().services
  await until('the first Services', () => services().length === 3)
  const file = Buffer.concat(
    await Array.fromAsync((await openSecure(machine!, bundle)).etcdSnapshot()),
  )
  await ask('POST', MAP, { metadata: { name: 'lost' } })
  for (const one of controlPlanes)
    await (await calls(one, bundle)).reset({ graceful: false, reboot: true })
  await until('all are in maintenance', () =>
    controlPlanes.every(({ stage }) => stage.stage === 'maintenance'),
  )
  for (const one of controlPlanes)
    await give(one, configFor(bundle, one, 'control_plane', machine!.plan.address))
  await until('etcd waits', () => machine!.services.get('etcd')?.state === 'Preparing')

  const client = await calls(machine!, bundle)
  const recover = async (content: Buffer, skip = false): Promise<string | undefined> => {
    await client.etcdRecover(upload(content))
    await client.bootstrap({ recoverEtcd: true, recoverSkipHashCheck: skip })
    return machine!.services.get('etcd')?.events.at(-1)?.message
  }
  const changed = Buffer.from(file)
  changed[changed.length - 1]! ^= 1
  expect(await recover(changed)).toMatch(
    /^Failed to run pre stage: error recovering from the snapshot: expected sha256 \[\d+ .*\], got \[\d+ .*\]$/,
  )
  expect(await recover(file.subarray(0, 20_000))).toMatch(
    /^Failed to run pre stage: error verifying snapshot: /,
  )
  const bare = file.subarray(0, -32)
  expect(await recover(bare)).toBe(
    'Failed to run pre stage: error recovering from the snapshot: snapshot missing hash but --skip-hash-check=false',
  )
  expect(machine!.disk.state.etcd).toBeNull()
  await recover(bare, true)
  await until('the control planes run', () =>
    controlPlanes.every(({ stage }) => stage.stage === 'running' && stage.ready),
  )
  expect((await ask('GET', `${MAP}/kept`)).body).toMatchObject({ data: { a: '1' } })
  expect((await ask('GET', `${MAP}/lost`)).status).toBe(404)
  expect((await ask('GET', '/api/v1/namespaces/kube-system')).body.metadata).toMatchObject({ uid })
  expect(machine!.etcdCluster!.state.members).toHaveLength(3)
  const pool = {
    apiVersion: 'cilium.io/v2',
    kind: 'CiliumLoadBalancerIPPool',
    spec: { blocks: [{ cidr: '203.0.113.0/28' }] },
  }
  expect(
    (
      await ask(
        'PATCH',
        '/apis/cilium.io/v2/ciliumloadbalancerippools/a?fieldManager=test',
        pool,
        APPLY,
      )
    ).status,
  ).toBe(201)
  await until('the load balancer gives addresses', () =>
    services().every(({ addresses }) => addresses.length === 1),
  )
  await expect(client.bootstrap({ recoverEtcd: true })).rejects.toThrow(
    'etcd data directory is not empty',
  )
})

test('an alarm of a full database stops writes until the member is defragmented and the alarm is disarmed', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const { bundle, controlPlanes } = await cluster(simulator, 1, 0)
  const [machine] = controlPlanes
  const ask = await as(bundle, machine!.plan.address)
  const client = await calls(machine!, bundle)
  const alarms = async (): Promise<unknown> =>
    (await client.etcdAlarmList({})).messages[0]?.memberAlarms.map(({ alarm }) => alarm)
  await addFault(machine!, { kind: 'etcd-alarm', alarm: 'nospace', db_bytes: 2_200_000_000 })
  expect(await alarms()).toEqual([EtcdMemberAlarm_AlarmType.NOSPACE])
  expect((await client.etcdStatus({})).messages[0]?.memberStatus).toMatchObject({
    dbSize: 2_200_000_000n,
    errors: [expect.stringContaining('alarm:NOSPACE')],
  })
  expect(await ask('POST', MAP, { metadata: { name: 'a' } })).toMatchObject({
    status: 500,
    body: { message: 'etcdserver: mvcc: database space exceeded' },
  })
  expect((await ask('GET', MAP)).status).toBe(200)
  await client.etcdAlarmDisarm({})
  expect(await alarms()).toEqual([EtcdMemberAlarm_AlarmType.NOSPACE])
  await client.etcdDefragment({})
  await client.etcdAlarmDisarm({})
  expect(await alarms()).toEqual([])
  expect((await ask('POST', MAP, { metadata: { name: 'a' } })).status).toBe(201)
})
