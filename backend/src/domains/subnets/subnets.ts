/** What can be done with subnets. Each change is one transaction: rows, audit entry and event together. */
import { formatCidr, parseCidr } from '#contract/network/addresses.ts'
import { Problem } from '#contract/errors.ts'
import type { Answer, Input } from '#contract/operation.ts'
import type { Page } from '#contract/page.ts'
import { subnetProblems } from '#contract/network/subnet-rules.ts'
import {
  canRemoveSubnet,
  type NewSubnet,
  type Subnet,
  type SubnetChange,
  type subnetExport,
  type subnetImport,
  type subnetList,
  type SubnetMap,
} from '#contract/network/subnets.ts'
import { type Db, inTransaction, type Tx, violatedConstraint } from '../../db/db.ts'
import { type Caller, callerName } from '../../http/caller.ts'
import { isVersion, type Versions } from '../../http/tags.ts'
import type { ServerAddress } from '../servers/list/addresses.ts'
import { addressMap, addressRuns } from './address-map.ts'
import { around } from './around.ts'
import { writeCsv } from './csv.ts'
import type { ForPools } from './for-pools.ts'
import { importing } from './importing.ts'
import type { SubnetParts } from './parts.ts'
import { audited, present } from './present.ts'
import { asProblem, containsServer, demand, fixedWhileAssigned, nameTaken, overlaps, scopeOf, shadowedBy, takesUsed } from './rules.ts'
import * as store from './store.ts'
import * as shown from './store-shown.ts'
import { tableOf } from './table.ts'
import { canonical, columnsOf, handsOutSame, isSame, type Wanted } from './wanted.ts'

export interface Subnets extends ForPools {
  list(query: Input<typeof subnetList>['query']): Promise<Page<Subnet>>
  /** @throws Problem not_found */
  get(id: string): Promise<Subnet>
  /** @throws Problem not_found for the datacenter, name_taken, subnet_overlap, conflict (a cluster's networks, a server's address) */
  create(caller: Caller, wanted: NewSubnet): Promise<Subnet>
  /** @throws Problem not_found, stale, invalid, subnet_assigned, subnet_in_use, and as `create` */
  update(caller: Caller, id: string, change: SubnetChange, ifMatch?: Versions): Promise<Subnet>
  /** @throws Problem not_found, stale, subnet_in_use, subnet_assigned */
  remove(caller: Caller, id: string, ifMatch?: Versions): Promise<void>
  /** The address map as JSON text, ready to be sent. @throws Problem not_found */
  addresses(id: string): Promise<string>
  /** The same in parts. @throws Problem not_found */
  map(id: string): Promise<SubnetMap>
  export(query: Input<typeof subnetExport>['query']): Promise<string>
  /** @throws Problem invalid for a text that is too large */
  import(caller: Caller, body: Input<typeof subnetImport>['body']): Promise<Answer<typeof subnetImport>>

  /** The nearest to full first, for the overview: those of clusters that told what they use. */
  fullest(most: number): Promise<Subnet[]>
  countByDatacenter(on: Db | Tx): Promise<ReadonlyMap<string, number>>
  /** What a cluster shows of its subnets, by the cluster's id. */
  namesByCluster(on: Db | Tx, clusterIds: readonly string[]): Promise<ReadonlyMap<string, { id: string; name: string; cidr: string }[]>>
  /** What the networks of a cluster in the datacenter must not shadow. */
  inDatacenter(on: Db | Tx, datacenterId: string): Promise<{ name: string; cidr: string }[]>
  /**
   * First in a transaction that adds networks (subnets, pods, services) and asks whether they collide. The order of locks is this one, the datacenter,
   * the cluster, subnets by id.
   */
  lockNetworks(tx: Tx): Promise<void>
}

const missing = () => new Problem('not_found', 'There is no such subnet')

const heldOf = (addresses: readonly ServerAddress[]): shown.Held => ({
  datacenterIds: addresses.map((a) => a.datacenter_id),
  addresses: addresses.map((a) => a.address),
})

export function subnets(parts: SubnetParts): Subnets {
  const { db, clock, recorder, servers, pools } = parts
  const { record, tell } = recorder
  const now = () => new Date(clock.now())

  const written = (caller: Caller) => ({ updated_at: now(), updated_by: callerName(caller) })

  /** What the database refused, in our sentence. What it collided with has been committed by then. */
  const explained = async (error: unknown, wanted: Wanted, id: string | null): Promise<unknown> => {
    const constraint = violatedConstraint(error)
    if (constraint === 'subnet_name') return asProblem(nameTaken)
    if (constraint === 'subnet_datacenter_id_fkey') return noDatacenter()
    if (constraint !== 'subnet_overlap') return error
    const other = await store.overlapping(db, wanted.cidr, scopeOf(wanted.cidr, wanted.datacenter_id), id)
    return other ? asProblem(overlaps(other)) : new Problem('conflict', 'Another subnet had this space until a moment ago. Please try again.')
  }

  const noDatacenter = () => new Problem('not_found', 'There is no such datacenter', { datacenter_id: 'There is no such datacenter' })

  const demandFree = async (tx: Tx, wanted: Wanted, before: shown.SubnetRow | null, held: readonly ServerAddress[]): Promise<void> => {
    const id = before?.id ?? null
    if (await store.isNameTaken(tx, wanted.name, id)) throw asProblem(nameTaken)
    const other = await store.overlapping(tx, wanted.cidr, scopeOf(wanted.cidr, wanted.datacenter_id), id)
    demand(other && overlaps(other))
    const near = around(held, await store.clusterNetworks(tx, wanted.datacenter_id))
    demand(shadowedBy(wanted, near))
    demand(containsServer(wanted, before, near))
  }

  /** What a map is drawn from, asked for at once. */
  const drawn = async (id: string) => {
    const [row, uses, held] = await Promise.all([store.mapOf(db, id), store.usesInOrder(db, id), servers.addresses()])
    if (!row) throw missing()
    return [row, uses, held] as const
  }

  return {
    async list(query) {
      const { rows, total } = await shown.page(db, query, heldOf(await servers.addresses()))
      return { items: rows.map(present), page: query.page, per_page: query.per_page, total }
    },

    async get(id) {
      const row = await shown.byId(db, id, heldOf(await servers.addresses()))
      if (!row) throw missing()
      return present(row)
    },

    async create(caller, asked) {
      const wanted = canonical(asked)
      const addresses = await servers.addresses()
      try {
        return await inTransaction(db, async (tx) => {
          await store.lockNetworks(tx)
          await demandFree(tx, wanted, null, addresses)
          const [made] = await store.insert(tx, [{ ...columnsOf(wanted), datacenter_id: wanted.datacenter_id, created_at: now(), ...written(caller) }])
          const row = (await shown.byId(tx, made!.id, heldOf(addresses)))!
          await record(tx, caller, {
            action: 'subnet.created',
            target: { kind: 'subnet', id: row.id, name: row.name },
            after: audited(row),
            event: { name: 'subnet.created', version: row.version },
          })
          return present(row)
        })
      } catch (error) {
        throw await explained(error, wanted, null)
      }
    },

    async update(caller, id, change, ifMatch) {
      const addresses = await servers.addresses()
      let wanted: Wanted | undefined
      try {
        return await inTransaction(db, async (tx) => {
          await store.lockNetworks(tx)
          const [before] = await store.locked(tx, [id], heldOf(addresses))
          if (!before) throw missing()
          demandVersion(ifMatch, before)
          const whole = { ...before, ...definedOf(change) }
          const cidr = parseCidr(whole.cidr)
          if (cidr) demand(fixedWhileAssigned(before, { cidr: formatCidr(cidr), purpose: whole.purpose }))
          const { fields } = subnetProblems(whole)
          const [problem] = Object.values(fields)
          if (problem !== undefined) throw new Problem('invalid', problem, { ...fields })
          wanted = canonical(whole)
          if (isSame(before, wanted)) return present(before)
          await demandFree(tx, wanted, before, addresses)
          if (before.clusters.length > 0) demand(takesUsed(wanted, before, before.clusters, await store.uses(tx, id)))
          await store.update(tx, id, { ...columnsOf(wanted), ...written(caller) })
          if (before.clusters.length > 0 && !handsOutSame(before, wanted)) await pools.changed(tx, [id])
          const after = (await shown.byId(tx, id, heldOf(addresses)))!
          await record(tx, caller, {
            action: 'subnet.updated',
            target: { kind: 'subnet', id, name: after.name },
            before: audited(before),
            after: audited(after),
            event: { name: 'subnet.updated', version: after.version },
          })
          return present(after)
        })
      } catch (error) {
        throw wanted ? await explained(error, wanted, id) : error
      }
    },

    remove: (caller, id, ifMatch) =>
      inTransaction(db, async (tx) => {
        const [row] = await store.locked(tx, [id])
        if (!row) throw missing()
        demandVersion(ifMatch, row)
        const subnet = present(row)
        const verdict = canRemoveSubnet(subnet)
        const [cluster] = row.clusters
        if (!verdict.ok)
          throw new Problem(
            subnet.used ? 'subnet_in_use' : 'subnet_assigned',
            verdict.reason,
            undefined,
            undefined,
            cluster && { kind: 'cluster', id: cluster.id, name: cluster.name },
          )
        await store.remove(tx, id)
        await record(tx, caller, {
          action: 'subnet.removed',
          target: { kind: 'subnet', id, name: row.name },
          before: audited(row),
          after: null,
          event: { name: 'subnet.removed', version: row.version },
        })
      }),

    addresses: async (id) => addressRuns(...(await drawn(id))),
    map: async (id) => addressMap(...(await drawn(id))),

    export: async (query) => writeCsv(tableOf(await shown.all(db, query))),

    import: importing({ ...parts, written }),

    fullest: async (most) => (await shown.fullest(db, most, heldOf(await servers.addresses()))).map(present),
    countByDatacenter: async (on) => new Map((await store.countByDatacenter(on)).map((c) => [c.datacenter_id, c.subnets])),
    async namesByCluster(on, clusterIds) {
      const rows = await store.namesByCluster(on, clusterIds)
      const byCluster = Map.groupBy(rows, (r) => r.cluster_id)
      return new Map([...byCluster].map(([clusterId, all]) => [clusterId, all.map(({ id, name, cidr }) => ({ id, name, cidr }))]))
    },
    inDatacenter: store.inDatacenter,
    lockNetworks: async (tx) => void (await store.lockNetworks(tx)),

    lockForAssignment: async (tx, ids) => (await store.locked(tx, ids)).map(present),
    find: async (on, ids) => (await shown.byIds(on, ids)).map(present),
    byCluster: async (on, clusterId) => (await shown.byCluster(on, clusterId)).map(present),
    async tellChanged(tx, caller, ids) {
      for (const { id, version } of await shown.byIds(tx, ids)) await tell(tx, caller, { name: 'subnet.updated', object: { kind: 'subnet', id }, version })
    },
  }
}

function demandVersion(ifMatch: Versions, row: Pick<shown.SubnetRow, 'version' | 'updated_by'>): void {
  if (!isVersion(ifMatch, row.version)) throw new Problem('stale', `Changed by ${row.updated_by} since you opened it. Review the changes`)
}

const definedOf = (change: SubnetChange) =>
  Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined)) as { [K in keyof SubnetChange]-?: Exclude<SubnetChange[K], undefined> }
