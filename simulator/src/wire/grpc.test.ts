import { connect, constants } from 'node:http2'
import { connect as connectTls } from 'node:tls'
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { resources } from '#talos/client/resources.ts'
import type { Machine } from '../machine/machine.ts'
import { fleet, openMaintenance, rack } from '../testing/fleet.ts'

const open = async (machine: Machine): Promise<ReturnType<typeof connect>> => {
  const socket = connectTls({
    host: machine.plan.address,
    port: 50_000,
    rejectUnauthorized: false,
    ALPNProtocols: ['h2'],
  })
  await once(socket, 'secureConnect')
  const session = connect(`https://${machine.plan.address}:50000`, {
    createConnection: () => socket,
  })
  onTestFinished(() => session.destroy())
  return session
}

interface End {
  trailers: Record<string, unknown>
  bytes: number
  resetCode: number | undefined
}

const call = async (
  session: ReturnType<typeof connect>,
  path: string,
  send: (stream: ReturnType<typeof session.request>) => void,
): Promise<End> => {
  const stream = session.request(
    { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' },
    { endStream: false },
  )
  let trailers: Record<string, unknown> = {}
  let bytes = 0
  stream.on('response', (headers) => (trailers = { ...headers }))
  stream.on('trailers', (headers) => (trailers = { ...headers }))
  stream.on('data', (chunk: Buffer) => (bytes += chunk.length))
  send(stream)
  await once(stream, 'close')
  return { trailers, bytes, resetCode: stream.rstCode }
}

const EMPTY_MESSAGE = Buffer.alloc(5)

test('a request that does not end is answered, and its stream is then reset with NO_ERROR', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const session = await open(simulator.servers[0]!)
  const late = await call(
    session,
    '/machine.MachineService/Version',
    (stream) => void stream.write(EMPTY_MESSAGE),
  )
  expect(late).toMatchObject({
    trailers: { 'grpc-status': '0' },
    resetCode: constants.NGHTTP2_NO_ERROR,
  })
  expect(late.bytes).toBeGreaterThan(5)
  const ended = await call(
    session,
    '/machine.MachineService/Version',
    (stream) => void stream.end(EMPTY_MESSAGE),
  )
  expect(ended.bytes).toBe(late.bytes)
})

test('an unknown call fails with UNIMPLEMENTED', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const session = await open(simulator.servers[0]!)
  const send = (stream: { end(chunk: Buffer): unknown }): void => void stream.end(EMPTY_MESSAGE)
  expect((await call(session, '/machine.MachineService/Nonsense', send)).trailers).toMatchObject({
    'grpc-status': '12',
    'grpc-message': 'unknown%20method%20Nonsense%20for%20service%20machine.MachineService',
  })
  expect(
    (await call(session, '/inspect.InspectService/ControllerRuntimeDependencies', send)).trailers,
  ).toMatchObject({ 'grpc-status': '12' })
})

test("Steelyard's client keeps answers that arrive before its request ends", async () => {
  const simulator = await fleet({
    scenario: rack(1, { 1: { faults: [{ kind: 'early-answer' }] } }),
  })
  const [machine] = simulator.servers
  const client = await openMaintenance(machine!)
  const tags: string[] = []
  for (let i = 0; i < 100; i++) tags.push((await client.version()).tag)
  expect(tags).toEqual(Array.from({ length: 100 }, () => machine!.talosVersion))
  // Calls with a request that isn't empty are unaffected.
  expect((await client.list(resources.extension)).truncated).toBe(false)
})
