/**
 * Use cases of offers. Each change is one transaction with rows, audit entry and event. Locks are
 * taken in one order: cluster, offer.
 */
import { randomBytes } from 'node:crypto'
import { Problem } from '#contract/errors.ts'
import {
  canBecomeOffer,
  canHaveResources,
  canRecompute,
  changedResources,
  type Offer,
  offerAccessAddressSet,
  offerChallenge,
  offerCreate,
  offerDifference,
  offerGet,
  offerList,
  offerProve,
  offerRecompute,
  type OfferTool,
  offerToolGet,
  offerUpdate,
} from '#contract/marketplace/offers.ts'
import type { Price } from '#contract/marketplace/money.ts'
import type { Answer, Input } from '#contract/operation.ts'
import type { Page } from '#contract/page.ts'
import { isChecksummed } from '../../chain-address.ts'
import type { Config } from '../../config.ts'
import { inTransaction, type Tx, violatedConstraint } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'
import { demand } from '../../http/errors.ts'
import { serve } from '../../http/serve.ts'
import { existing, type Versions } from '../../http/tags.ts'
import type { Domain } from '../../platform.ts'
import type { Offers } from './api.ts'
import { detection, wakeDetection } from './detect.ts'
import { detach, inventory, nowOf, type OfferParts, targetOf } from './parts.ts'
import { present } from './present.ts'
import { proofs } from './proof.ts'
import * as store from './store.ts'

/** The commands of the tool, without those parts that differ between clusters. */
function toolOf(
  { name, version = '', updateCommand, addressCommand }: Config['offerTool'],
  own: string,
): OfferTool {
  const shown = version === '' ? own : version
  const filled = (command: string) =>
    command.replaceAll('{tool}', name).replaceAll('{version}', shown)
  return {
    name,
    version: shown,
    update_command: filled(updateCommand),
    address_command: filled(addressCommand),
  }
}

const priceColumns = (price: Price | null) => ({
  price_amount: price?.amount ?? null,
  price_currency: price?.currency ?? null,
  price_basis: price?.basis ?? null,
})

export function offers(parts: OfferParts): Offers & Domain {
  const { db, clusters, record, engine } = parts

  const changed = async (
    tx: Tx,
    caller: Caller,
    before: store.OfferRow,
    change: store.OfferColumns,
    action: 'updated' | 'recomputed' | 'access_address_set',
  ) => {
    const after = await store.update(tx, before.id, change, nowOf(parts))
    await record(tx, caller, {
      action: `offer.${action}`,
      target: targetOf(after),
      before: present(before),
      after: present(after),
      event: { name: 'offer.updated', version: after.version },
    })
    return after
  }

  /**
   * The offer and its cluster, if it has one, both locked. @throws Problem not_found, stale;
   * conflict if the offer has just got or lost its cluster
   */
  const lockWithCluster = async (tx: Tx, id: string, ifMatch: Versions) => {
    const { cluster_id: clusterId } = existing(await store.find(tx, id), 'offer')
    const cluster = clusterId === null ? undefined : await clusters.lock(tx, clusterId)
    const row = existing(await store.lock(tx, id), 'offer', ifMatch)
    if (row.cluster_id !== (cluster?.id ?? null))
      throw new Problem('conflict', 'The cluster of this offer has just changed. Try again')
    return { row, cluster }
  }

  const taken = (error: unknown): unknown => {
    const constraint = violatedConstraint(error)
    if (constraint === 'offer_cluster')
      return new Problem('offer_exists', 'The cluster has an offer already')
    return constraint === 'offer_access_address'
      ? new Problem('conflict', 'Another offer has this access address')
      : error
  }

  engine.register(detection(parts))
  const proving = proofs(parts)

  const calls = {
    async list(query: Input<typeof offerList>['query']): Promise<Page<Offer>> {
      const { rows, total } = await store.page(db, query)
      return { items: rows.map(present), page: query.page, per_page: query.per_page, total }
    },

    /** @throws Problem not_found */
    get: async (id: string): Promise<Offer> => present(existing(await store.find(db, id), 'offer')),

    /** @throws Problem not_found, offer_exists; conflict if the cluster is being deleted */
    async create(
      caller: Caller,
      { cluster_id, price }: Input<typeof offerCreate>['body'],
    ): Promise<Offer> {
      try {
        return await inTransaction(db, async (tx) => {
          const cluster = await clusters.lock(tx, cluster_id)
          if (!cluster) throw new Problem('not_found', 'There is no such cluster')
          if (cluster.leaving) throw new Problem('conflict', `${cluster.name} is being deleted`)
          const other = await store.ofCluster(tx, cluster_id)
          if (other)
            throw new Problem('offer_exists', `${cluster.name} has the offer ${other.id} already`)
          const id = `0x${randomBytes(32).toString('hex')}`
          const at = nowOf(parts)
          const { ids, resources } = await inventory(parts, tx, cluster)
          await store.insert(tx, {
            id,
            cluster_id,
            datacenter_id: cluster.datacenter.id,
            resources: JSON.stringify(resources),
            node_ids: ids,
            computed_at: at,
            ...priceColumns(price),
            created_at: at,
            updated_at: at,
          })
          await store.endSearch(tx, cluster_id, at)
          const made = present((await store.find(tx, id))!)
          await record(tx, caller, {
            action: 'offer.created',
            target: { kind: 'offer', id, name: cluster.name },
            after: made,
            event: { version: made.version },
          })
          await clusters.touch(tx, caller, cluster_id)
          return made
        })
      } catch (error) {
        throw taken(error)
      }
    },

    /** @throws Problem not_found, stale, transition_refused */
    update: (
      caller: Caller,
      id: string,
      { price, status }: Input<typeof offerUpdate>['body'],
      ifMatch?: Versions,
    ): Promise<Offer> =>
      inTransaction(db, async (tx) => {
        const row = existing(await store.lock(tx, id), 'offer', ifMatch)
        const before = present(row)
        const isRepriced =
          price !== undefined && JSON.stringify(price) !== JSON.stringify(before.price)
        const isMoved = status !== undefined && status !== before.status
        if (isMoved)
          demand(
            canBecomeOffer({ ...before, price: price ?? before.price }, status),
            'transition_refused',
          )
        if (!isRepriced && !isMoved) return before
        const change = {
          ...(isRepriced && priceColumns(price)),
          ...(isMoved && { status }),
          ...(status === 'withdrawn' && { proven_at: null }),
        }
        return present(await changed(tx, caller, row, change, 'updated'))
      }),

    /** @throws Problem not_found, transition_refused */
    async difference(id: string): Promise<Answer<typeof offerDifference>> {
      const offer = present(existing(await store.find(db, id), 'offer'))
      demand(canRecompute(offer), 'transition_refused')
      const cluster = await clusters.find(db, offer.cluster!.id)
      if (!cluster) throw new Problem('not_found', 'There is no such cluster')
      return { before: offer.resources, after: (await inventory(parts, db, cluster)).resources }
    },

    /** @throws Problem not_found, stale, transition_refused, conflict */
    recompute: (
      caller: Caller,
      id: string,
      ifMatch?: Versions,
    ): Promise<Answer<typeof offerRecompute>> =>
      inTransaction(db, async (tx) => {
        const { row, cluster } = await lockWithCluster(tx, id, ifMatch)
        const before = present(row)
        demand(canRecompute(before), 'transition_refused')
        const { ids, resources } = await inventory(parts, tx, cluster!)
        demand(canHaveResources(before, resources), 'transition_refused')
        const isSame =
          changedResources(before.resources, resources).length === 0 &&
          ids.toSorted().join() === row.node_ids.toSorted().join()
        const change = {
          resources: JSON.stringify(resources),
          node_ids: ids,
          computed_at: nowOf(parts),
        }
        const offer = isSame
          ? before
          : present(await changed(tx, caller, row, change, 'recomputed'))
        return { offer, before: before.resources, after: resources }
      }),

    /**
     * @throws Problem not_found, stale, invalid for a wrong checksum, conflict if the address is
     * that of another cluster or offer
     */
    async setAccessAddress(
      caller: Caller,
      id: string,
      address: string,
      ifMatch?: Versions,
    ): Promise<Offer> {
      if (!(await isChecksummed(address))) {
        const sentence =
          'The checksum of this address is wrong (EIP-55): a character was mistyped. Copy the address again'
        throw new Problem('invalid', sentence, { address: sentence })
      }
      try {
        return await inTransaction(db, async (tx) => {
          const { row, cluster } = await lockWithCluster(tx, id, ifMatch)
          if (row.access_address === address) return present(row)
          const owner = await store.clusterOfAddress(tx, address)
          if (owner && row.cluster_id !== null && owner.id !== row.cluster_id) {
            const sentence = `This is the address of the cluster ${owner.name}, but the offer sells ${row.cluster_name}`
            throw new Problem('conflict', sentence, { address: sentence }, undefined, {
              kind: 'cluster',
              ...owner,
            })
          }
          const after = await changed(
            tx,
            caller,
            row,
            { access_address: address, proven_at: null },
            'access_address_set',
          )
          // An offer without a cluster may belong to the cluster of this address.
          if (cluster) await clusters.touch(tx, caller, cluster.id)
          else await wakeDetection(engine, tx)
          return present(after)
        })
      } catch (error) {
        throw taken(error)
      }
    },
  }

  return {
    name: 'offers',
    routes(app) {
      const on = serve(app)
      // The time of the last proof changes without the version.
      const onVolatile = serve(app, { isVolatile: true })
      on(offerList, ({ query }) => calls.list(query))
      onVolatile(offerGet, ({ params }) => calls.get(params.id))
      on(offerCreate, ({ caller, body }) => calls.create(caller, body))
      on(offerUpdate, ({ caller, params, body, ifMatch }) =>
        calls.update(caller, params.id, body, ifMatch),
      )
      on(offerDifference, ({ params }) => calls.difference(params.id))
      on(offerRecompute, ({ caller, params, ifMatch }) =>
        calls.recompute(caller, params.id, ifMatch),
      )
      on(offerAccessAddressSet, ({ caller, params, body, ifMatch }) =>
        calls.setAccessAddress(caller, params.id, body.address, ifMatch),
      )
      on(offerChallenge, ({ params, ip }) => proving.challenge(params.id, ip))
      on(offerProve, ({ caller, params, body, ip }) => proving.prove(caller, params.id, body, ip))
      on(offerToolGet, async () => toolOf(parts.config.offerTool, parts.version))
    },
    // Wakes the search, because its wake-up may have been lost.
    start: () => inTransaction(db, (tx) => wakeDetection(engine, tx)),
    removeOld: proving.removeOld,
    async lookFor(tx, clusterId) {
      const since = nowOf(parts)
      await store.openSearch(tx, clusterId, since)
      await wakeDetection(engine, tx)
      return { offerId: null, lookingSince: since, isAddressSet: false }
    },
    async statesOf(on, clusterIds) {
      if (clusterIds.length === 0) return new Map()
      const rows = await store.statesOf(on, clusterIds)
      return new Map(
        rows.map((row) => [
          row.id,
          { offerId: row.offer_id, lookingSince: row.since, isAddressSet: row.is_address_set },
        ]),
      )
    },
    async clusterRemoved(tx, caller, clusterId) {
      await detach(parts, tx, caller, clusterId)
      await wakeDetection(engine, tx)
    },
  }
}
