import { once } from 'node:events'
import { createServer } from 'node:net'
import { onTestFinished, test, expect } from 'vitest'
import { parseCidr } from '#contract/network/addresses.ts'
import { apiPort } from '#talos/client/connect.ts'
import { budget } from './budget.ts'
import { dialPolicy } from './dial-policy.ts'
import { fleet } from './fleet.ts'

test('only connections that may send a configuration use the hybrid key exchange, which costs a third of a contact', async () => {
  const address = '127.20.254.254'
  const hellos: number[] = []
  const server = createServer((socket) =>
    socket.once('data', (bytes) => (hellos.push(bytes.length), socket.destroy())),
  ).listen(apiPort, address)
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const policy = dialPolicy({
    networks: [parseCidr('127.20.0.0/16')!],
    own: () => [],
    simulate: true,
  })
  const { connection, probe } = fleet({ policy, budget: budget() })
  const known = connection({ id: 'a', name: 'a', address, uuid: null, serial: null })
  const nothing = () => Promise.resolve()
  for (const act of [() => known.maintenance(nothing), () => known.openMaintenance()])
    await expect(act()).rejects.toMatchObject({ kind: 'unavailable' })
  for (const act of [
    () => known.maintenance(nothing, { lane: 'held' }),
    () => known.presence(),
    () => probe(address),
  ])
    await expect(act()).rejects.toMatchObject({ kind: 'unavailable' })
  // The public key of ML-KEM-768 has 1,184 bytes.
  expect(hellos.map((bytes) => bytes > 1_184)).toEqual([true, true, false, false, false])
})
