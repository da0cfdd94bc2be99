import { createClient, type Client } from '@connectrpc/connect'
import { anyUnpack } from '@bufbuild/protobuf/wkt'
import { expect, test } from 'vitest'
import { MachineService, TaskEventSchema } from '#talos/proto/gen/machine/machine_pb.ts'
import { State } from '#talos/proto/gen/cosi/state_pb.ts'
import { cluster, fleet, rack, type Cluster } from '../testing/fleet.ts'
import { rawTransport } from '../testing/transport.ts'

const calls = async (
  host: string,
  bundle: Cluster['bundle'],
  roles?: Parameters<typeof rawTransport>[2],
): Promise<Client<typeof MachineService>> =>
  createClient(MachineService, await rawTransport(host, bundle, roles))

test('a control plane forwards calls to its cluster and names each machine in the answer', async () => {
  const simulator = await fleet({ scenario: rack(3) })
  const { bundle, controlPlanes, workers } = await cluster(simulator, 1, 1)
  const [control, worker, stranger] = [controlPlanes[0]!, workers[0]!, simulator.servers[2]!]
  const machine = await calls(control.plan.address, bundle)

  const nodes = [control.plan.address, worker.plan.address, stranger.plan.address]
  const { messages } = await machine.hostname({}, { headers: { nodes: nodes.join(',') } })
  expect(messages.map(({ hostname, metadata }) => [metadata?.hostname, hostname])).toEqual([
    [nodes[0], control.hostname],
    [nodes[1], worker.hostname],
    [nodes[2], ''],
  ])
  // The third machine isn't in the cluster: it is in maintenance and presents a certificate that no
  // known authority has signed.
  expect(messages[2]?.metadata?.error).toMatch(/^rpc error: code = Unavailable desc = /)
  expect(messages[2]?.metadata?.status?.code).toBe(14)

  // If the call names one node, that node's response or error is returned unchanged.
  const one = await machine.hostname({}, { headers: { node: worker.plan.address } })
  expect(one.messages.map(({ hostname, metadata }) => [metadata, hostname])).toEqual([
    [undefined, worker.hostname],
  ])
  await expect(
    machine.etcdMemberList({}, { headers: { node: worker.plan.address } }),
  ).rejects.toMatchObject({ code: 12 })

  // The node is addressed by its name as a cluster member.
  expect(
    (await machine.hostname({}, { headers: { node: worker.hostname } })).messages[0]?.hostname,
  ).toBe(worker.hostname)
  // Calls to a machine that is off fail with grpc-go's errors: the first because the open
  // connection breaks, later ones because connecting fails.
  await worker.lifecycle.powerOff()
  await expect(
    machine.hostname({}, { headers: { node: worker.plan.address } }),
  ).rejects.toMatchObject({ code: 14 })
  await expect(
    machine.hostname({}, { headers: { node: worker.plan.address } }),
  ).rejects.toMatchObject({
    code: 14,
    rawMessage: `connection error: desc = "transport: Error while dialing: dial tcp ${worker.plan.address}:50000: connect: connection refused"`,
  })
})

test('streams of several machines are merged, including errors', async () => {
  const simulator = await fleet({ scenario: rack(2) })
  const { bundle, controlPlanes, workers } = await cluster(simulator, 1, 1)
  const [control, worker] = [controlPlanes[0]!, workers[0]!]
  const machine = await calls(control.plan.address, bundle)
  const headers = { nodes: `${control.plan.address},${worker.plan.address}` }
  const text: Record<string, string> = {}
  for await (const { metadata, bytes } of machine.logs(
    { namespace: 'system', id: 'apid', tailLines: -1 },
    { headers },
  ))
    text[metadata!.hostname] = `${text[metadata!.hostname] ?? ''}${Buffer.from(bytes).toString()}`
  expect(Object.keys(text).toSorted()).toEqual(
    [control.plan.address, worker.plan.address].toSorted(),
  )

  const errors: Record<string, string> = {}
  for await (const { metadata } of machine.logs(
    { namespace: 'system', id: 'etcd', tailLines: -1 },
    { headers },
  ))
    if (metadata?.error) errors[metadata.hostname] = metadata.error
  expect(errors).toEqual({
    [worker.plan.address]: 'rpc error: code = Unknown desc = log "etcd" was not registered',
  })

  // The roles that count are those of the original caller, not those of the API that forwards the
  // call.
  const reader = await calls(control.plan.address, bundle, ['os:reader'])
  await expect(reader.reboot({}, { headers: { node: worker.plan.address } })).rejects.toMatchObject(
    { code: 7, rawMessage: 'not authorized' },
  )

  // Calls for resources can be forwarded to only one machine at a time.
  const state = createClient(State, await rawTransport(control.plan.address, bundle))
  const asked = { namespace: 'network', type: 'HostnameStatuses.net.talos.dev', id: 'hostname' }
  const { resource } = await state.get(asked, { headers: { node: worker.plan.address } })
  expect(resource?.spec?.yamlSpec).toContain(worker.hostname)
  await expect(state.get(asked, { headers })).rejects.toMatchObject({
    code: 3,
    rawMessage: expect.stringContaining('one-2-many proxying is not supported'),
  })

  // Handlers check the original caller's roles too: an admin may read secrets through another
  // machine, a reader may not.
  const secret = { namespace: 'config', type: 'MachineConfigs.config.talos.dev', id: 'v1alpha1' }
  const readerState = createClient(
    State,
    await rawTransport(control.plan.address, bundle, ['os:reader']),
  )
  expect(
    (await state.get(secret, { headers: { node: worker.plan.address } })).resource?.spec?.yamlSpec,
  ).toContain('type: worker')
  await expect(
    readerState.get(secret, { headers: { node: worker.plan.address } }),
  ).rejects.toMatchObject({ code: 7, rawMessage: 'not authorized' })

  // A worker answers calls to itself and forwards nothing.
  const own = await calls(worker.plan.address, bundle)
  expect(
    (await own.hostname({}, { headers: { nodes: worker.plan.address } })).messages[0]?.hostname,
  ).toBe(worker.hostname)
  await expect(own.hostname({}, { headers: { node: control.plan.address } })).rejects.toMatchObject(
    { code: 7, rawMessage: 'no request forwarding' },
  )
})

test('if a reset is forwarded by another machine, its events report that services stop', async () => {
  const simulator = await fleet({ scenario: rack(2) })
  const { bundle, controlPlanes, workers } = await cluster(simulator, 1, 1)
  const machine = await calls(controlPlanes[0]!.plan.address, bundle)
  const headers = { node: workers[0]!.plan.address }
  const told: string[] = []
  const follow = async (): Promise<void> => {
    for await (const { data } of machine.events({ tailEvents: 0 }, { headers })) {
      // The first event confirms that the stream is established.
      if (told.length === 0) await machine.reset({ graceful: false, reboot: true }, { headers })
      const task = data && anyUnpack(data, TaskEventSchema)
      told.push(task?.task ?? '')
    }
  }
  await follow().catch(() => undefined)
  expect(told).toContain('stopAllServices')
})
