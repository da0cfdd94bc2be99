import { beforeEach, expect, test } from 'vitest'
import { clusterGet } from '#contract/clusters/clusters.ts'
import { offerAccessAddressSet } from '#contract/marketplace/offers.ts'
import { type SignedIn, startBackend } from '../../testing/backend.ts'
import { decideSearch } from './detect.ts'
import { offerWorld } from './testing.ts'

const minute = 60_000
const backend = await startBackend({ environment: { STEELYARD_OFFER_DETECTION_MINUTES: '3' } })
const world = await offerWorld(backend)
let operator: SignedIn
beforeEach(async () => {
  operator = await backend.signIn({ role: 'operator' })
})
const look = async (id: string) => {
  const { offerId, offer_detection, offer_looking_since } = (
    await operator.call(clusterGet, { params: { id } })
  ).answer!
  return { offerId, offer_detection, offer_looking_since }
}
const now = () => new Date(backend.clock.now()).toISOString()

test('Steelyard looks for the offer of a new cluster as long as the setting says, and then says that there is none', async () => {
  const since = now()
  const { id } = await world.cluster()
  expect(await look(id)).toEqual({
    offerId: null,
    offer_detection: 'looking',
    offer_looking_since: since,
  })
  await backend.engine.run(3 * minute - 1)
  expect(await look(id)).toMatchObject({ offer_detection: 'looking' })
  const { version } = (await operator.call(clusterGet, { params: { id } })).answer!
  await backend.engine.run(1_000)
  expect(await look(id)).toEqual({
    offerId: null,
    offer_detection: 'not_found',
    offer_looking_since: null,
  })
  expect((await operator.call(clusterGet, { params: { id } })).answer!.version).toBe(version + 1)
  // Nobody looks any more, and nothing is due.
  expect(await backend.engine.run(60 * minute)).toBe(0)
})

test('while a cluster is being created Steelyard looks for its offer, and begins again once the cluster is ready', async () => {
  const { id } = await world.cluster(undefined, { status: 'installing', ready: false })
  await backend.engine.run(5 * minute)
  expect(await look(id)).toMatchObject({ offer_detection: 'looking' })
  const ready = new Date(backend.clock.now())
  await backend.platform.db
    .updateTable('cluster')
    .set({ status: 'ready', ready_at: ready })
    .where('id', '=', id)
    .execute()
  await backend.engine.run(minute)
  expect(await look(id)).toEqual({
    offerId: null,
    offer_detection: 'looking',
    offer_looking_since: ready.toISOString(),
  })
  await backend.engine.run(2 * minute)
  expect(await look(id)).toMatchObject({ offer_detection: 'not_found' })
})

test('a cluster that is created from the servers of a removed cluster gets its offer, which stays as it was', async () => {
  const servers = [await world.server(), await world.server(), await world.server()]
  const former = await world.cluster(servers)
  const { offer } = await world.offer(operator, { cluster: former })
  await world.remove(former)
  // One of the three servers was replaced.
  const { id, name } = await world.cluster([servers[0]!, servers[1]!, await world.server()])
  expect(await look(id)).toMatchObject({ offer_detection: 'looking' })
  await backend.engine.settle()
  expect(await look(id)).toEqual({
    offerId: offer.id,
    offer_detection: 'found',
    offer_looking_since: null,
  })
  expect(await world.look(operator, offer.id)).toMatchObject({
    cluster: { id, name },
    access_address: former.key.address,
    resources: offer.resources,
    in_use: false,
  })
})

test('an offer whose servers are mostly elsewhere is not the offer of the cluster', async () => {
  const servers = [await world.server(), await world.server()]
  const former = await world.cluster(servers)
  await world.offer(operator, { cluster: former })
  await world.remove(former)
  const { id } = await world.cluster([servers[0]!, await world.server()])
  await backend.engine.settle()
  expect(await look(id)).toMatchObject({ offerId: null, offer_detection: 'looking' })
})

test('an offer is found by its access address at once, also after the search has ended', async () => {
  const former = await world.cluster()
  const { offer } = await world.offer(operator, { cluster: former })
  await world.remove(former)
  const { id, key } = await world.cluster()
  await backend.engine.run(5 * minute)
  expect(await look(id)).toMatchObject({ offer_detection: 'not_found' })
  operator = await backend.signIn({ role: 'operator' })
  expect(
    (
      await operator.call(offerAccessAddressSet, {
        params: { id: offer.id },
        body: { address: key.address },
      })
    ).status,
  ).toBe(200)
  await backend.engine.settle()
  expect(await look(id)).toMatchObject({ offerId: offer.id, offer_detection: 'found' })
})

test('a cluster whose former cluster is removed later gets the offer then', async () => {
  const servers = [await world.server(), await world.server(), await world.server()]
  const former = await world.cluster(servers)
  const { offer } = await world.offer(operator, { cluster: former })
  await world.remove(former)
  const { id } = await world.cluster(servers)
  await backend.engine.settle()
  expect(await look(id)).toMatchObject({ offerId: offer.id })
  await world.remove({ ...former, id })
  const third = await world.cluster(servers)
  await backend.engine.settle()
  expect(await look(third.id)).toMatchObject({ offerId: offer.id })
})

const at = new Date(1_000_000)
const later = new Date(2_000_000)
const search = {
  cluster_id: 'c',
  since: at,
  ended_at: null,
  ready_at: at,
  status: 'ready' as const,
}
test.each([
  ['goes on until the limit', search, minute, 'look'],
  ['ends at the limit', search, 3 * minute, 'end'],
  [
    'goes on while the cluster is being created, however long that takes',
    { ...search, ready_at: null, status: 'installing' as const },
    90 * minute,
    'look',
  ],
  [
    'ends if the creation has failed',
    { ...search, ready_at: null, status: 'failed' as const },
    3 * minute,
    'end',
  ],
  [
    'begins again when the cluster becomes ready',
    { ...search, ready_at: later },
    20 * minute,
    'restart',
  ],
  [
    'begins again when the cluster becomes ready after the search had ended',
    { ...search, ended_at: at, ready_at: later },
    20 * minute,
    'restart',
  ],
  ['rests after its end', { ...search, ended_at: later }, minute, 'rest'],
] as const)('a search %s', (_name, of, elapsedMs, next) => {
  expect(decideSearch(of, elapsedMs, 3 * minute)).toBe(next)
})
