// Two Steelyards with a database each, and one cluster that both manage.
import { beforeAll, expect, test } from 'vitest'
import { type Cluster, clusterDelete, clusterGet } from '#contract/clusters/clusters.ts'
import {
  clusterImport,
  clusterImportPreview,
  clusterKeyReplace,
  type Takeover,
} from '#contract/clusters/takeover.ts'
import {
  type Offer,
  offerAccessAddressSet,
  offerChallenge,
  offerCreate,
  offerGet,
  offerProve,
} from '#contract/marketplace/offers.ts'
import { clusterSubnetsAssign, subnetCreate, subnetGet } from '#contract/network/subnets.ts'
import { writeSecrets } from '#talos/secrets/bundle.ts'
import type { Server } from '#contract/servers/servers.ts'
import { longTest } from '../../../../../tools/testing/long-test.ts'
import type { SignedIn } from '../../../testing/backend.ts'
import { addressOf } from '../../../chain-address.ts'
import { signature64 } from '../../offers/testing.ts'
import { clusterKeyPath, clusterKeySecret, operatorBindingPath, secretsPath } from '../objects.ts'
import { makeChainKey } from '../create/chain-key.ts'
import { announcementCollection, usualApi } from '../../pools/manifest.ts'
import { clusterWorld } from '../testing/world.ts'

const world = await clusterWorld({ servers: 1, seed: 'keeping' })
const first = { admin: world.admin, backend: world.backend }
const second = await world.another()
const { signal } = new AbortController()
let node: Server
let theirs: Cluster
let offer: Offer
let secrets: string

/** The objects of the cluster, read and written by its first Steelyard. */
const api = () => first.backend.domains.clusters.api(theirs.id)
interface Held {
  readonly metadata: { readonly uid: string; readonly resourceVersion: string }
  readonly data: Readonly<Record<string, string>>
}
const keyIn = async () => (await (await api()).get(clusterKeyPath, signal)) as Held | null
const addressIn = async () => Buffer.from((await keyIn())!.data['address']!, 'base64').toString()

/** Proves an offer with the key that is in the cluster, as a pod does. */
async function prove(by: SignedIn, id: string): Promise<number> {
  const challenge = await by.call(offerChallenge, { params: { id } })
  const key = Buffer.from(
    Buffer.from((await keyIn())!.data['private-key']!, 'base64').toString(),
    'hex',
  )
  const signature = signature64(challenge.answer!.message, { privateKey: key })
  return (
    await by.call(offerProve, {
      params: { id },
      body: { nonce: challenge.answer!.nonce, signature },
    })
  ).status
}
beforeAll(async () => {
  ;[node] = world.take(1) as [Server]
  const made = await world.create([node], { name: 'theirs' })
  const { status, reason } = await world.ended(made.operation.id)
  if (status !== 'done') throw new Error(`No cluster: ${reason}`)
  theirs = await world.cluster(made.cluster.id)
  offer = (await first.admin.call(offerCreate, { body: { cluster_id: theirs.id } })).answer!
  await first.admin.call(offerAccessAddressSet, {
    params: { id: offer.id },
    body: { address: theirs.chainAddress! },
  })
  secrets = writeSecrets(
    (await first.backend.domains.clusters.secrets.bundle(first.backend.platform.db, theirs.id))!,
  )
})

const asked = () => ({
  datacenter_id: second.datacenterId,
  secrets,
  addresses: [world.machine(node).plan.address],
})
const preview = async (): Promise<Takeover> =>
  (await second.admin.call(clusterImportPreview, { body: asked() })).answer!
const take = (
  more: Partial<{ seen: string; replace: ('cluster_key' | 'operator_binding')[]; confirm: string }>,
) => second.admin.call(clusterImport, { body: { ...asked(), seen: '', ...more } })
const ours = async (id: string) => (await second.admin.call(clusterGet, { params: { id } })).answer!
/** Waits until the second Steelyard has written into the cluster what it wants to. */
const settled = (id: string) =>
  world.until(
    () =>
      second.backend.platform.db
        .selectFrom('cluster')
        .select(['escrowed_at', 'key_applied_at', 'access_applied_at'])
        .where('id', '=', id)
        .executeTakeFirstOrThrow(),
    (row) =>
      row.escrowed_at !== null && row.key_applied_at !== null && row.access_applied_at !== null,
  )
/** Removes the cluster from the second Steelyard; its machine runs on. */
async function forget(id: string): Promise<void> {
  const deleted = await second.admin.call(clusterDelete, {
    params: { id },
    query: { force: 'true' },
  })
  await world.until(
    () => ours(id).then((c) => c?.status ?? null),
    (status) => status === null,
  )
  expect(deleted.status).toBe(202)
}

test('a takeover keeps the key of another Steelyard, whose offer can still be proved', async () => {
  const before = await keyIn()
  const shown = await preview()
  expect(shown.existing.map((one) => [one.object, one.name, one.replaceable])).toEqual([
    ['cluster_key', 'Secret kube-system/steelyard-cluster-key', true],
    ['operator_binding', 'ClusterRoleBinding steelyard-operators', false],
    ...shown.existing.slice(2).map((one) => ['bootstrap_token', one.name, false]),
  ])
  expect(shown.existing[0]!.message).toContain(
    `Its address is ${theirs.chainAddress}. This Steelyard does not know it`,
  )
  expect(shown.checks.find((c) => c.check === 'adds')?.message).toBe(
    'Nothing is sent to its machines, and nothing is added to its Kubernetes.',
  )
  const taken = await take({ seen: shown.seen })
  expect(taken.status).toBe(202)
  const { id } = taken.answer!.cluster
  await settled(id)
  expect(await keyIn()).toEqual(before)
  expect(await ours(id)).toMatchObject({
    status: 'ready',
    chainAddress: null,
    kept: [{ object: 'cluster_key', address: theirs.chainAddress }],
  })
  expect(await prove(first.admin, offer.id)).toBe(200)
  expect((await first.admin.call(offerGet, { params: { id: offer.id } })).answer).toMatchObject({
    in_use: true,
  })

  const wrong = await second.admin.call(clusterKeyReplace, {
    params: { id },
    body: { address: theirs.chainAddress, confirm: 'other' },
  })
  expect(wrong).toMatchObject({
    status: 422,
    problem: { fields: { confirm: expect.stringContaining('theirs') as string } },
  })
  const stale = await second.admin.call(clusterKeyReplace, {
    params: { id },
    body: { address: null, confirm: 'theirs' },
  })
  expect(stale).toMatchObject({ status: 412 })
  expect(await keyIn()).toEqual(before)
  const replaced = await second.admin.call(clusterKeyReplace, {
    params: { id },
    body: { address: theirs.chainAddress, confirm: 'theirs' },
  })
  expect(replaced.status).toBe(200)
  await settled(id)
  const { chainAddress } = await ours(id)
  expect(chainAddress).toMatch(/^0x/)
  expect(await addressIn()).toBe(chainAddress)
  await forget(id)
})

test('a takeover replaces a key and a binding only if they are named and the name of the cluster confirms it', async () => {
  const client = await api()
  await client.remove(operatorBindingPath, signal)
  const binding = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'steelyard-operators' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'auditors' }],
  }
  await client.apply(operatorBindingPath, binding, signal)
  const before = await keyIn()
  const shown = await preview()
  expect(shown.existing.find((one) => one.object === 'operator_binding')).toMatchObject({
    replaceable: true,
    message: expect.stringContaining('It gives ClusterRole view') as string,
  })
  const { seen } = shown
  for (const confirm of [undefined, 'other'])
    expect(
      await take({ seen, replace: ['cluster_key'], ...(confirm !== undefined && { confirm }) }),
    ).toMatchObject({
      status: 422,
      problem: {
        error: 'Enter the name of the cluster, theirs, to confirm that its cluster key is replaced',
      },
    })
  const kept = (await take({ seen })).answer!.cluster
  await settled(kept.id)
  expect((await ours(kept.id)).kept!.map((one) => one.object).toSorted()).toEqual([
    'cluster_key',
    'operator_binding',
  ])
  expect(await client.get(operatorBindingPath, signal)).toMatchObject({
    roleRef: { name: 'view' },
    subjects: [{ name: 'auditors' }],
  })
  expect(await keyIn()).toEqual(before)
  await forget(kept.id)

  const taken = await take({
    seen,
    replace: ['cluster_key', 'operator_binding'],
    confirm: 'theirs',
  })
  expect(taken.status).toBe(202)
  const { id } = taken.answer!.cluster
  await settled(id)
  const now = await ours(id)
  expect(now).toMatchObject({ chainAddress: expect.stringMatching(/^0x/) as string, kept: [] })
  expect(await addressIn()).toBe(now.chainAddress)
  expect(await client.get(operatorBindingPath, signal)).toMatchObject({
    roleRef: { name: 'cluster-admin' },
    subjects: [{ name: 'steelyard:operators' }],
  })
  await forget(id)
  // The cluster is known now, although it was removed.
  expect((await preview()).existing[0]!.message).toContain(
    `This Steelyard made it for the cluster theirs, which was removed.`,
  )
  const nothing = await take({
    seen: (await preview()).seen,
    replace: ['operator_binding'],
    confirm: 'theirs',
  })
  expect(nothing).toMatchObject({
    status: 422,
    problem: { error: 'The cluster has no role binding of operators that would be replaced' },
  })
})

longTest('a key that comes into the cluster after the takeover is kept', async () => {
  const client = await api()
  const mine = await makeChainKey()
  const key = clusterKeySecret({
    address: mine.address,
    privateKeyHex: Buffer.from(mine.privateKey).toString('hex'),
  })
  expect(await addressOf(mine.privateKey)).toBe(mine.address)
  await client.remove(clusterKeyPath, signal)
  const shown = await preview()
  expect(shown.existing.map((one) => one.object)).not.toContain('cluster_key')
  const id = await second.alone(async () => {
    const taken = await take({ seen: shown.seen })
    expect(taken.answer!.cluster).toMatchObject({
      chainAddress: expect.stringMatching(/^0x/) as string,
      kept: [],
    })
    await client.apply(key.path, key.object, signal)
    return taken.answer!.cluster.id
  })
  await settled(id)
  expect(await addressIn()).toBe(mine.address)
  expect(await ours(id)).toMatchObject({
    chainAddress: null,
    kept: [{ object: 'cluster_key', address: mine.address }],
  })
  await forget(id)
})

test('a confirmed replacement spares a key that was exchanged since it was seen', async () => {
  const client = await api()
  const id = await second.alone(async () => {
    const taken = await take({
      seen: (await preview()).seen,
      replace: ['cluster_key'],
      confirm: 'theirs',
    })
    const other = await makeChainKey()
    const { path, object } = clusterKeySecret({
      address: other.address,
      privateKeyHex: Buffer.from(other.privateKey).toString('hex'),
    })
    await client.apply(path, object, signal)
    return taken.answer!.cluster.id
  })
  const before = await keyIn()
  await settled(id)
  expect(await keyIn()).toEqual(before)
  expect(await ours(id)).toMatchObject({
    chainAddress: null,
    kept: [{ object: 'cluster_key', address: await addressIn() }],
  })
  await forget(id)
})

longTest('a preview names the bootstrap tokens of others, and a takeover leaves them', async () => {
  const client = await api()
  const path = `${secretsPath}/bootstrap-token-abcdef`
  const object = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'bootstrap-token-abcdef', namespace: 'kube-system' },
    type: 'bootstrap.kubernetes.io/token',
    data: {},
  }
  await client.apply(path, object, signal)
  const before = await client.get(path, signal)
  const shown = await preview()
  expect(shown.existing).toContainEqual({
    object: 'bootstrap_token',
    name: 'Secret kube-system/bootstrap-token-abcdef',
    message: 'Made by others, and kept: Steelyard never changes it.',
    replaceable: false,
  })
  const { id } = (await take({ seen: shown.seen })).answer!.cluster
  await settled(id)
  expect(await client.get(path, signal)).toEqual(before)
  await forget(id)
})

test('the announcements of two Steelyards in one cluster leave each other alone', async () => {
  const { id } = (await take({ seen: (await preview()).seen })).answer!.cluster
  const assign = async (
    by: { admin: SignedIn; datacenterId: string },
    cluster: string,
    cidr: string,
  ) => {
    const subnet = (
      await by.admin.call(subnetCreate, {
        body: { name: 'front', cidr, datacenter_id: by.datacenterId },
      })
    ).answer!
    const assigned = await by.admin.call(clusterSubnetsAssign, {
      params: { id: cluster },
      body: { subnet_ids: [subnet.id] },
    })
    expect(assigned.status).toBe(202)
    await world.until(
      async () => (await by.admin.call(subnetGet, { params: { id: subnet.id } })).answer!.status,
      (status) => status === 'active',
    )
  }
  const announced = async () => {
    const lists = await Promise.all(
      [announcementCollection(usualApi.cilium)!, announcementCollection(usualApi.metallb)!].map(
        async (collection) =>
          (await api()).list(
            collection,
            { most: 100, keep: (one) => (one as { metadata: { name: string } }).metadata.name },
            signal,
          ),
      ),
    )
    return lists.flatMap((names) => names ?? [])
  }
  await assign(
    { admin: first.admin, datacenterId: world.datacenterId },
    theirs.id,
    '203.0.113.16/28',
  )
  expect(await announced()).toEqual(['steelyard'])
  await assign(second, id, '203.0.113.32/28')
  const both = ['steelyard', `steelyard-${id.slice(-12)}`]
  expect((await announced()).toSorted()).toEqual(both)
  // The first Steelyard looks again, and leaves those of the second.
  const checked = () =>
    first.backend.platform.db
      .selectFrom('cluster_pool')
      .select('checked_at')
      .where('cluster_id', '=', theirs.id)
      .executeTakeFirstOrThrow()
  const before = (await checked()).checked_at
  await world.toNextRun('cluster-pools', theirs.id)
  await world.until(checked, (row) => row.checked_at! > before!)
  expect((await announced()).toSorted()).toEqual(both)
})
