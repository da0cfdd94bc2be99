/**
 * Kills −9 in each kind of work, one to four in a row, while other work runs: each ends by itself,
 * and nothing is done twice. `FAULT_SEEDS=7 FAULT_KILLS=5` replays a seed, with so many kills of
 * each kind.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { datacenterList } from '#contract/datacenters.ts'
import {
  bulk,
  documents,
  makeClusters,
  type Made,
  reboots,
  sharedPatches,
} from './testing/kills/clusters.ts'
import {
  applies,
  deliveries,
  labelImports,
  openReceiver,
  pipeline,
  quarantines,
} from './testing/kills/others.ts'
import { type KilledSite, killedSite, killRounds, type Kind } from './testing/kills/rounds.ts'
import { ended, openSite } from './testing/world.ts'

const seed = Number(process.env['FAULT_SEEDS']?.split(',')[0] ?? '1')
const kills = Number(process.env['FAULT_KILLS'] ?? '25')
/** Clusters that are moved to documents, one in each round. */
const moved = Math.min(kills, 12)
const newest = 'v1.14.1'

const site = await openSite({ servers: 7 + moved, seed: 'kills' })
const receiver = await openReceiver()
let killed: KilledSite
let others: Made
const kinds = new Map<string, Kind>()

beforeAll(async () => {
  killed = await killedSite(site, { STEELYARD_ALERT_NETWORKS: '127.0.0.0/8' })
  const { call } = killed
  const [main, beside, byFiles, ...old] = await makeClusters(killed, [
    { name: 'kills', servers: 3, talos: newest },
    { name: 'beside', servers: 2, talos: newest },
    { name: 'by-files', servers: 2, talos: newest },
    ...Array.from({ length: moved }, (_, i) => ({
      name: `old-${i}`,
      servers: 1,
      talos: 'v1.13.9',
    })),
  ])
  others = beside!
  const upgraded = old.flatMap(({ nodes }) => nodes)
  const end = await ended(
    call,
    await bulk(killed, upgraded, { kind: 'upgrade', talos_version: newest }),
    280_000,
  )
  expect(end).toMatchObject({ status: 'done', reason: null })
  const { items } = await call(datacenterList, { query: {} })
  const { code } = items.find(({ id }) => id === site.datacenterId)!
  const run = await pipeline(killed)
  const all = [main!, beside!, byFiles!].flatMap(({ nodes }) => nodes)
  for (const kind of [
    { name: 'bulk', mostMs: 1_500, begin: () => reboots(killed, main!.nodes) },
    ...(await sharedPatches(killed, main!)),
    documents(killed, old),
    applies(killed, run, byFiles!, code),
    await deliveries(killed, receiver),
    quarantines(killed, all),
    labelImports(killed, run, all),
  ])
    kinds.set(kind.name, kind)
}, 900_000)
afterAll(async () => {
  receiver.close()
  await site.stop()
})

test.each([
  'bulk',
  'roll-out',
  'undo',
  'documents',
  'apply --wait',
  'delivery',
  'quarantine',
  'import of labels',
])(
  '%s goes on by itself after kills −9 while other work runs, and nothing is done twice',
  async (name) => {
    const beside = () => reboots(killed, others.nodes)
    const tally = await killRounds(killed, kinds.get(name)!, beside, seed, kills)
    process.stdout.write(`${name}: ${JSON.stringify(tally)}\n`)
    expect(tally).toMatchObject({ wrong: [], inWork: expect.any(Number) as number })
    expect(tally.inWork).toBeGreaterThan(kills / 2)
  },
)
