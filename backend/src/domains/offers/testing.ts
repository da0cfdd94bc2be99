/** Shared by the tests of offers: servers and clusters as rows, and keys that sign. */
import { randomUUID } from 'node:crypto'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { sql } from 'kysely'
import type { Price } from '#contract/marketplace/money.ts'
import {
  type Offer,
  offerAccessAddressSet,
  offerChallenge,
  offerCreate,
  offerGet,
  offerProve,
} from '#contract/marketplace/offers.ts'
import { inTransaction } from '../../db/db.ts'
import { system } from '../../http/caller.ts'
import type { Backend, SignedIn } from '../../testing/backend.ts'
import { type ChainKey, makeChainKey } from '../clusters/create/chain-key.ts'
import { addDatacenter } from '../subnets/testing.ts'

export const gib = 1024 ** 3
export const eur = (amount: string, basis: Price['basis'] = 'compute_unit'): Price => ({
  amount,
  currency: 'EUR',
  basis,
})

/**
 * A server with 32 cores, 128 GiB and a disk of 1 TB; `hardware: null` if nothing is known about
 * it.
 */
export async function addServer(
  backend: Backend,
  datacenterId: string,
  memoryGib: number | null = 128,
): Promise<string> {
  const id = randomUUID()
  const hardware = memoryGib === null ? null : hardwareOf(memoryGib)
  await sql`insert into server (id, name, datacenter_id, address, identity_state, identity_since, hardware, created_at, updated_at)
    values (${id}, ${`s-${id.slice(0, 8)}`}, ${datacenterId}, '10.0.0.1', 'confirmed', now(), ${hardware}, now(), now())`.execute(
    backend.platform.db,
  )
  return id
}

const hardwareOf = (memoryGib: number): string =>
  JSON.stringify({
    addresses: [],
    links: [],
    routes: [],
    interfaces: [],
    processors: [{ id: 'CPU-0', cpu_cores: 32 }],
    memory: [{ id: 'DIMM-0', size: memoryGib * gib }],
    disks: [{ id: 'sda', size: 1e12 }],
  })

/** Changes the memory of a server, or makes its hardware unknown. */
export const setMemory = (backend: Backend, id: string, memoryGib: number | null) =>
  sql`update server set hardware = ${memoryGib === null ? null : hardwareOf(memoryGib)} where id = ${id}`.execute(
    backend.platform.db,
  )

export interface TestCluster {
  readonly id: string
  readonly name: string
  readonly key: ChainKey
}

export interface OfferWorld {
  readonly backend: Backend
  readonly datacenter: { readonly id: string; readonly code: string }
  /**
   * A ready cluster of these servers, or of one new server. Steelyard looks for its offer, as after
   * its creation.
   */
  cluster(
    servers?: readonly string[],
    more?: { status?: string; ready?: boolean },
  ): Promise<TestCluster>
  server(memoryGib?: number | null): Promise<string>
  /** Removes the cluster, as the last step of its deletion does. */
  remove(cluster: TestCluster): Promise<void>
  /** An offer of a new cluster, whose access address is that of the cluster unless `bare`. */
  offer(
    by: SignedIn,
    more?: { bare?: boolean; price?: Price | null; cluster?: TestCluster },
  ): Promise<{ offer: Offer; cluster: TestCluster }>
  look(by: SignedIn, id: string): Promise<Offer>
}

export async function offerWorld(backend: Backend): Promise<OfferWorld> {
  const { db } = backend.platform
  const datacenter = await addDatacenter(await backend.signIn(), 'POZ')
  let made = 0
  const server: OfferWorld['server'] = (memoryGib) => addServer(backend, datacenter.id, memoryGib)
  const cluster: OfferWorld['cluster'] = async (
    servers,
    { status = 'ready', ready = true } = {},
  ) => {
    const id = randomUUID()
    const name = `cluster-${++made}`
    const key = await makeChainKey()
    const at = new Date(backend.clock.now())
    await sql`insert into cluster (id, name, datacenter_id, talos_version, contract, kubernetes_version, endpoint, virtual_ip, pod_cidr, service_cidr, chain_address, status, ready_at, created_at, updated_at)
      values (${id}, ${name}, ${datacenter.id}, 'v1.13.9', '1.13', '1.36.3', 'https://10.9.9.9:6443', false, '10.244.0.0/16', '10.96.0.0/12', ${key.address}, ${status}, ${ready ? at : null}, ${at}, ${at})`.execute(
      db,
    )
    for (const [position, node] of (servers ?? [await server()]).entries())
      await sql`insert into cluster_server (cluster_id, node_id, role, position, name, install_disk, install_image, at_since)
        values (${id}, ${node}, 'worker', ${position}, ${`node-${position}`}, '/dev/sda', '', ${at})`.execute(
        db,
      )
    await inTransaction(db, (tx) => backend.domains.offers.lookFor(tx, id))
    return { id, name, key }
  }
  return {
    backend,
    datacenter,
    server,
    cluster,
    async remove({ id }) {
      await inTransaction(db, async (tx) => {
        await backend.domains.offers.clusterRemoved(tx, system, id)
        await sql`update cluster set deleted_at = now(), wanted = 'removed' where id = ${id}`.execute(
          tx,
        )
        await sql`update cluster_server set released_at = now(), wanted = 'released' where cluster_id = ${id}`.execute(
          tx,
        )
      })
    },
    async offer(by, { bare = false, price = null, cluster: given } = {}) {
      const of = given ?? (await cluster())
      const created = await by.call(offerCreate, { body: { cluster_id: of.id, price } })
      if (!created.answer) throw new Error(created.text)
      if (bare) return { offer: created.answer, cluster: of }
      const set = await by.call(offerAccessAddressSet, {
        params: { id: created.answer.id },
        body: { address: of.key.address },
      })
      if (!set.answer) throw new Error(set.text)
      return { offer: set.answer, cluster: of }
    },
    look: async (by, id) => (await by.call(offerGet, { params: { id } })).answer!,
  }
}

const hex = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString('hex')}`

/** Signs a text as Node.js signs it with ES256K, 64 bytes. */
export const signature64 = (text: string, { privateKey }: Pick<ChainKey, 'privateKey'>): string =>
  hex(secp256k1.sign(new TextEncoder().encode(text), privateKey, { lowS: false }))

/** Signs a text as an Ethereum wallet does, 65 bytes. */
export function signature65(text: string, { privateKey }: Pick<ChainKey, 'privateKey'>): string {
  const digest = keccak_256(
    new TextEncoder().encode(`\u0019Ethereum Signed Message:\n${Buffer.byteLength(text)}${text}`),
  )
  const [recovery, ...rest] = secp256k1.sign(digest, privateKey, {
    prehash: false,
    format: 'recovered',
  })
  return hex(Uint8Array.from([...rest, 27 + recovery!]))
}

/** Requests a challenge and answers it, without a session. */
export async function prove(
  backend: Backend,
  offerId: string,
  key: Pick<ChainKey, 'privateKey'>,
  sign = signature64,
) {
  const { answer, text } = await backend.call(offerChallenge, { params: { id: offerId } })
  if (!answer) throw new Error(text)
  const body = { nonce: answer.nonce, signature: sign(answer.message, key) }
  return { body, called: await backend.call(offerProve, { params: { id: offerId }, body }) }
}
