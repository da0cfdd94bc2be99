import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { budget } from '../../../talos-fleet/budget.ts'
import { dialPolicy } from '../../../talos-fleet/dial-policy.ts'
import { fleet as makeFleet, type Found } from '../../../talos-fleet/fleet.ts'
import { startBackend } from '../../../testing/backend.ts'
import { system } from '../../../http/caller.ts'
import { inTransaction } from '../../../db/db.ts'
import { buildCluster, buildServer } from '../testing.ts'
import type { Candidate } from '../registering.ts'
import { registering } from './register.ts'

test('a machine whose old address may not be dialled counts as moved, without a call to that address', async () => {
  const backend = await startBackend()
  const uuid = randomUUID()
  await buildServer(backend, { uuid, serial: 'S1', address: '192.0.2.1' })
  const fleet = makeFleet({
    policy: dialPolicy({ networks: [], own: () => [], simulate: false }),
    budget: budget(),
  })
  const found = {
    identity: { uuid, serial: 'S1', manufacturer: '', product: '' },
    pin: { sha256: '', fingerprint: 'f' },
    reading: { inventory: { interfaces: [] } },
  } as unknown as Found
  const { elsewhere } = await registering({ ...backend.platform, fleet }).candidate(
    '192.0.2.2',
    found,
    new AbortController().signal,
  )
  expect(elsewhere).toEqual({ address: '192.0.2.1', answers: false })
})

test.each([
  ['a member of a cluster', { status: 'ready', type: 'control_plane' } as const, true],
  ['a joining server', { type: 'worker' } as const, true],
  ['a free server that answers', {}, false],
])(
  'case 03: a machine elsewhere that says that it is %s is refused, and that server stays in use',
  async (_what, columns, isInCluster) => {
    const backend = await startBackend()
    const clusterId = randomUUID()
    if (isInCluster) await buildCluster(backend, clusterId, 'web')
    const uuid = randomUUID()
    const id = await buildServer(backend, {
      uuid,
      serial: 'S1',
      address: '127.20.200.1',
      ...columns,
      ...(isInCluster && { cluster_id: clusterId, cluster_name: 'web' }),
    })
    const { servers } = backend.domains
    const inventory = { interfaces: [], node_addresses: ['127.20.200.2'] }
    const found = {
      identity: { uuid, serial: 'S1', manufacturer: '', product: '' },
      pin: { sha256: '', fingerprint: 'f' },
      reading: { inventory },
      address: '127.20.200.2',
      elsewhere: { address: '127.20.200.1', answers: !isInCluster },
    } as unknown as Candidate
    const refuse = () =>
      inTransaction(backend.platform.db, (tx) =>
        servers.register(tx, system, found, { datacenterId: null, token: 'rack' }),
      )
    expect(await refuse()).toMatchObject({ kind: 'alarm', server: { id } })
    const shown = await servers.get(id)
    expect(shown.identity).toMatchObject({
      state: 'confirmed',
      seen: { uuid, serial: 'S1' },
      note: expect.stringContaining('127.20.200.2'),
    })
    await expect(servers.connection(id)).resolves.toBeDefined()
    // The same machine again changes nothing.
    expect(await refuse()).toMatchObject({ kind: 'alarm' })
    expect((await servers.get(id)).version).toBe(shown.version)
  },
)
