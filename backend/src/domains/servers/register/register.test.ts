import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { budget } from '../../../talos-fleet/budget.ts'
import { dialPolicy } from '../../../talos-fleet/dial-policy.ts'
import { fleet as makeFleet, type Found } from '../../../talos-fleet/fleet.ts'
import { startBackend } from '../../../testing/backend.ts'
import { buildServer } from '../testing.ts'
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
  } as Found
  const { elsewhere } = await registering({ ...backend.platform, fleet }).candidate(
    '192.0.2.2',
    found,
    new AbortController().signal,
  )
  expect(elsewhere).toEqual({ address: '192.0.2.1', answers: false })
})
