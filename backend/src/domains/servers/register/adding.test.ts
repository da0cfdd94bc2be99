import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { operationList } from '#contract/operations.ts'
import { serverAdd, serverList } from '#contract/servers/servers.ts'
import { jobOf } from '../../../engine/job.ts'
import type { Fleet, Found } from '../../../talos-fleet/fleet.ts'
import { type Backend, startBackend } from '../../../testing/backend.ts'
import { statementsDuring } from '../../../testing/sent.ts'
import { operations as makeOperations } from '../../operations/operations.ts'
import { adding, addingQueue } from './adding.ts'
import { registering } from './register.ts'

const inventory: Found['reading']['inventory'] = {
  node_addresses: [],
  processors: [],
  memory: [],
  disks: [],
  interfaces: [],
  ports: new Map(),
  linkAddresses: {},
  routes: [],
  truncated: [],
}
const found = (): Found => ({
  identity: { uuid: randomUUID(), serial: 'S1', manufacturer: 'Maker', product: 'Product' },
  pin: { sha256: '', fingerprint: 'f' },
  reading: {
    status: {
      stage: 'maintenance',
      ready: true,
      unmet: [],
      version: 'v1.13.9',
      schematic: undefined,
      hostname: '',
      systemDisk: undefined,
    },
    inventory,
    secureBoot: false,
  },
})
const addressOf = (index: number): string => `10.0.${Math.floor(index / 250)}.${(index % 250) + 1}`

/** Runs the reconciler of additions once, with machines that answer as `probe` says. */
async function runOnce({ platform }: Backend, probe: Fleet['probe']): Promise<void> {
  const remembered: string[] = []
  const remember: Fleet['remember'] = ({ id }) => void remembered.push(id)
  const fleet = { probe, remember } as Fleet
  const operations = makeOperations(platform)
  const registration = registering({ ...platform, fleet })
  const reconcile = adding({
    ...platform,
    fleet,
    operations,
    registration,
    datacenters: { find: async () => null },
    atAddress: async () => undefined,
  })
  const [taken] = await platform.engine.claim([{ queue: addingQueue, places: 1 }])
  await reconcile(jobOf(taken!, new AbortController().signal, platform))
  // Only servers that are stored are remembered.
  const stored =
    remembered.length === 0
      ? []
      : await platform.db.selectFrom('server').select('id').where('id', 'in', remembered).execute()
  expect(stored).toHaveLength(remembered.length)
}

test('the number of statements of a registration and of its events does not depend on the number of machines', async () => {
  const backend = await startBackend({ environment: { STEELYARD_DIAL_NETWORKS: '10.0.0.0/8' } })
  const operator = await backend.signIn({ role: 'operator' })
  const statementsOf = async (first: number, count: number): Promise<string[]> => {
    await operator.call(serverAdd, {
      body: { addresses: Array.from({ length: count }, (_, i) => addressOf(first + i)) },
    })
    await backend.publish()
    const texts = await statementsDuring(async () => {
      await runOnce(backend, async () => found())
      await backend.publish()
    })
    // The process reads new events for its streams whenever it is notified.
    return texts.filter((text) => !text.startsWith('select * from "event"'))
  }
  // The first call reads the key of the audit log.
  await statementsOf(250, 65)
  const few = await statementsOf(0, 70)
  const many = await statementsOf(500, 120)
  expect(many).toHaveLength(few.length)
  expect(few.length).toBeLessThanOrEqual(40)
  expect((await operator.call(serverList)).answer!.total).toBe(255)
})

test('a run begins no more probes after ten seconds, so that a cancel takes effect, and the next run goes on', async () => {
  const backend = await startBackend({ environment: { STEELYARD_DIAL_NETWORKS: '10.0.0.0/8' } })
  const operator = await backend.signIn({ role: 'operator' })
  await operator.call(serverAdd, {
    body: { addresses: Array.from({ length: 600 }, (_, i) => addressOf(i)) },
  })
  let probes = 0
  const slow = async () => {
    if (++probes === 128) backend.clock.advance(10_000)
    return found()
  }
  await runOnce(backend, slow)
  expect(probes).toBe(128)
  const [operation] = (await operator.call(operationList)).answer!.items
  expect(operation!.steps.filter((s) => s.status === 'done')).toHaveLength(128)
})
