/**
 * The manifest of docs/offers.md in a simulated cluster: the control plane runs the real program,
 * which calls the real app.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { auditList } from '#contract/audit.ts'
import type { Cluster } from '#contract/clusters/clusters.ts'
import {
  type Offer,
  offerAccessAddressSet,
  offerCreate,
  offerGet,
} from '#contract/marketplace/offers.ts'
import { makeChainKey } from '../clusters/create/chain-key.ts'
import { clusterWorld } from '../clusters/testing/world.ts'

const docs = fileURLToPath(new URL('../../../../docs/', import.meta.url))
const program = readFileSync(path.join(docs, 'prove-offer.mjs'), 'utf8')
const page = readFileSync(path.join(docs, 'offers.md'), 'utf8')
const manifest = /^```yaml\n([\s\S]*?)^```/m.exec(page)![1]!

const world = await clusterWorld({ servers: 1, seed: 'offers' })
const { admin, backend } = world
let url: string
let cluster: Cluster
let offer: Offer
beforeAll(async () => {
  url = await backend.listen()
  const created = await world.create(world.take(1))
  const { status, reason } = await world.ended(created.operation.id)
  if (status !== 'done') throw new Error(`No cluster: ${reason}`)
  cluster = await world.cluster(created.cluster.id)
  offer = (await admin.call(offerCreate, { body: { cluster_id: cluster.id } })).answer!
}, 600_000)

const look = async () => (await admin.call(offerGet, { params: { id: offer.id } })).answer!
const setAddress = (address: string) =>
  admin.call(offerAccessAddressSet, { params: { id: offer.id }, body: { address } })

/** Runs the program of the documentation once with this key, as a pod would. */
async function runProgram(
  address: string,
  privateKey: Uint8Array,
): Promise<{ code: number | null; out: string; err: string }> {
  const folder = mkdtempSync(path.join(tmpdir(), 'steelyard-key-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(path.join(folder, 'address'), `${address}\n`)
  writeFileSync(path.join(folder, 'private-key'), Buffer.from(privateKey).toString('hex'))
  const env = { STEELYARD_URL: `${url}/`, OFFER_ID: offer.id, KEY_FOLDER: folder }
  const child = spawn(process.execPath, [path.join(docs, 'prove-offer.mjs'), '--once'], { env })
  const code = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { code: await code, out, err }
}

test('the manifest of the documentation makes the offer in use, with the key that is in the cluster', async () => {
  expect(offer).toMatchObject({
    cluster: { id: cluster.id },
    resources: { servers: 1, unknown_servers: 0 },
    in_use: false,
  })
  await setAddress(cluster.chainAddress!)
  const filled = parse(
    manifest.replace('https://steelyard.example.com', url).replace(/0x[0-9a-f]{64}/, offer.id),
  ) as object
  const kubernetes = await backend.domains.clusters.api(cluster.id)
  const { signal } = new AbortController()
  const configMap = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'steelyard-proof' },
    data: { 'prove-offer.mjs': program },
  }
  await kubernetes.apply(
    '/api/v1/namespaces/kube-system/configmaps/steelyard-proof',
    configMap,
    signal,
  )
  await kubernetes.apply(
    '/apis/apps/v1/namespaces/kube-system/deployments/steelyard-proof',
    filled,
    signal,
  )
  expect(await world.until(look, (o) => o.in_use)).toMatchObject({
    access_address: cluster.chainAddress,
    proven_at: expect.any(String) as string,
  })
  await backend.publish()
  const { items } = (
    await admin.call(auditList, { query: { target: offer.id, action: 'offer.proven' } })
  ).answer!
  expect(items).toHaveLength(1)
})

test('the program with another key proves nothing and says why', async () => {
  const other = await makeChainKey()
  await setAddress(other.address)
  const wrong = await makeChainKey()
  // The address is right, but the key belongs to another address.
  expect(await runProgram(other.address, wrong.privateKey)).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringContaining('wrong_key') as string,
  })
  expect(await runProgram(wrong.address, wrong.privateKey)).toMatchObject({
    code: 1,
    out: '',
    err: `The access address of the offer is ${other.address}, but the key in this cluster is that of ${wrong.address}\n`,
  })
  expect(await look()).toMatchObject({ in_use: false })
  expect(await runProgram(other.address, other.privateKey)).toMatchObject({
    code: 0,
    err: '',
    out: expect.stringContaining(`${offer.id} is in use`) as string,
  })
  expect(await look()).toMatchObject({ in_use: true })
})

test('the program explains missing settings', async () => {
  const child = spawn(process.execPath, [path.join(docs, 'prove-offer.mjs')], {
    env: { STEELYARD_URL: url, OFFER_ID: offer.id.slice(0, -1) },
  })
  const code = new Promise<number | null>((resolve) => child.once('exit', resolve))
  expect(await text(child.stderr)).toMatch(
    /^Set STEELYARD_URL .* OFFER_ID to 0x and 64 hexadecimal digits/,
  )
  expect(await code).toBe(2)
})
