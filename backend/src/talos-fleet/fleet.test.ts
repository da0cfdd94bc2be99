import { once } from 'node:events'
import { createSecureServer } from 'node:http2'
import { createServer } from 'node:net'
import { create, toBinary } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import { connectNodeAdapter } from '@connectrpc/connect-node'
import { onTestFinished, test, expect } from 'vitest'
import { parseCidr } from '#contract/network/addresses.ts'
import { maintenanceIdentity } from '#simulator/src/wire/maintenance-identity.ts'
import { apiPort } from '#talos/client/connect.ts'
import { resources } from '#talos/client/resources.ts'
import { State } from '#talos/proto/gen/cosi/state_pb.ts'
import { SystemInformationSpecSchema } from '#talos/proto/gen/definitions/hardware_pb.ts'
import { MachineStatusSpecSchema } from '#talos/proto/gen/definitions/runtime_pb.ts'
import { budget } from './budget.ts'
import { dialPolicy } from './dial-policy.ts'
import { fleet } from './fleet.ts'

const policy = dialPolicy({ networks: [parseCidr('127.20.0.0/16')!], own: () => [], simulate: true })

test('only connections that may send a configuration use the hybrid key exchange, which costs a third of a contact', async () => {
  const address = '127.20.254.254'
  const hellos: number[] = []
  const server = createServer((socket) => socket.once('data', (bytes) => (hellos.push(bytes.length), socket.destroy()))).listen(apiPort, address)
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { connection, probe } = fleet({ policy, budget: budget() })
  const known = connection({ id: 'a', name: 'a', address, uuid: null, serial: null })
  const nothing = () => Promise.resolve()
  for (const act of [() => known.maintenance(nothing), () => known.openMaintenance()]) await expect(act()).rejects.toMatchObject({ kind: 'unavailable' })
  for (const act of [() => known.maintenance(nothing, { lane: 'held' }), () => known.presence(), () => probe(address)])
    await expect(act()).rejects.toMatchObject({ kind: 'unavailable' })
  // The public key of ML-KEM-768 has 1,184 bytes.
  expect(hellos.map((bytes) => bytes > 1_184)).toEqual([true, true, false, false, false])
})

test('a new machine is read by short calls on one connection, and over a session if it answers in another way', async () => {
  const address = '127.20.254.253'
  const uuid = '4c4c4544-0000-4000-8000-000000000001'
  const specs = {
    [resources.systemInformation.type]: toBinary(SystemInformationSpecSchema, create(SystemInformationSpecSchema, { uuid })),
    [resources.machineStatus.type]: toBinary(MachineStatusSpecSchema, create(MachineStatusSpecSchema, { stage: 3 })),
  }
  let refusal = Code.NotFound
  const answers = connectNodeAdapter({
    routes: (router) =>
      router.service(State, {
        get: ({ type, id }) => {
          if (specs[type] === undefined) throw new ConnectError('refused', type === resources.securityState.type ? refusal : Code.NotFound)
          return { resource: { metadata: { type, id }, spec: { protoSpec: specs[type] } } }
        },
        async *list() {},
      }),
  })
  const { crt: cert, key } = maintenanceIdentity([address], Date.now())
  let connections = 0
  const server = createSecureServer({ cert, key }, answers)
    .on('secureConnection', () => connections++)
    .listen(apiPort, address)
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { probe } = fleet({ policy, budget: budget() })

  const found = await probe(address)
  expect(found).toMatchObject({ identity: { uuid }, reading: { status: { stage: 'maintenance' }, secureBoot: null } })
  expect(found.pin.isLong).toBeUndefined()
  expect(connections).toBe(1)

  // Older versions of Talos refuse the call in this way.
  refusal = Code.PermissionDenied
  expect(await probe(address)).toEqual({ ...found, pin: { ...found.pin, isLong: true } })
  expect(connections).toBe(3)
})
