/** Use cases of subnets. Each change is one transaction with rows, audit entry and event. */
import { formatCidr, parseAddress, parseCidr } from '#contract/network/addresses.ts'
import { inRange } from '#contract/network/address-ranges.ts'
import { Problem } from '#contract/errors.ts'
import type { Input } from '#contract/operation.ts'
import type { Page } from '#contract/page.ts'
import { piecesOf, subnetProblems } from '#contract/network/subnet-rules.ts'
import {
  canRemoveSubnet,
  type NewSubnet,
  type Subnet,
  subnetAddresses,
  type SubnetChange,
  subnetCreate,
  subnetExport,
  subnetGet,
  subnetImport,
  subnetLimit,
  subnetList,
  type SubnetMap,
  subnetMap,
  subnetRemove,
  subnetUpdate,
} from '#contract/network/subnets.ts'
import { inTransaction, type Tx, violatedConstraint } from '../../db/db.ts'
import { type Caller, callerName } from '../../http/caller.ts'
import { serve, Serialised } from '../../http/serve.ts'
import { isVersion, type Versions } from '../../http/tags.ts'
import type { Domain, Platform } from '../../platform.ts'
import { demandRoom } from '../../room.ts'
import type { ServerAddress } from '../servers/api.ts'
import { addressMap, addressRuns } from './address-map.ts'
import type { Subnets } from './api.ts'
import { writeCsv } from '../../csv/csv.ts'
import { largestImport } from '../../csv/table.ts'
import { importing, type SubnetParts } from './importing.ts'
import { neighbours } from './neighbours.ts'
import {
  audited,
  canonical,
  columnsOf,
  handsOutSame,
  isSame,
  present,
  type Wanted,
} from './present.ts'
import {
  asProblem,
  containsEndpoint,
  containsServer,
  demand,
  fixedWhileAssigned,
  nameTaken,
  overlaps,
  scopeOf,
  shadowedBy,
  takesUsed,
} from './rules.ts'
import * as store from './store.ts'
import * as shown from './store-read.ts'
import { tableOf } from './csv-rows.ts'

const targetOf = ({ id, name }: { readonly id: string; readonly name: string }) => ({
  kind: 'subnet',
  id,
  name,
})

/** Most subnets that `/metrics` shows, the fullest ones. */
const mostCounted = 1_000

export function subnets(parts: Platform & SubnetParts): Subnets & Domain {
  const { db, clock, record, tell, servers, pools } = parts
  const now = () => new Date(clock.now())

  const written = (caller: Caller) => ({ updated_at: now(), updated_by: callerName(caller) })

  /** Explains a violated constraint by the conflicting row, which has already been committed. */
  const explained = async (error: unknown, wanted: Wanted, id: string | null): Promise<unknown> => {
    const constraint = violatedConstraint(error)
    if (constraint === 'subnet_name') return asProblem(nameTaken)
    if (constraint === 'subnet_datacenter_id_fkey')
      return new Problem('not_found', 'There is no such datacenter', {
        datacenter_id: 'There is no such datacenter',
      })
    if (constraint !== 'subnet_overlap') return error
    const other = await store.overlapping(
      db,
      wanted.cidr,
      scopeOf(wanted.cidr, wanted.datacenter_id),
      id,
    )
    return other
      ? asProblem(overlaps(other))
      : new Problem(
          'conflict',
          'Another subnet had this range until a moment ago. Please try again.',
        )
  }

  const demandFree = async (
    tx: Tx,
    wanted: Wanted,
    before: shown.SubnetRow | null,
    held: readonly ServerAddress[],
  ): Promise<void> => {
    const id = before?.id ?? null
    if (await store.isNameTaken(tx, wanted.name, id)) throw asProblem(nameTaken)
    const other = await store.overlapping(
      tx,
      wanted.cidr,
      scopeOf(wanted.cidr, wanted.datacenter_id),
      id,
    )
    demand(other && overlaps(other))
    const near = neighbours(held, await store.clusterNetworks(tx, wanted.datacenter_id))
    demand(shadowedBy(wanted, near))
    demand(containsServer(wanted, before, near))
    demand(containsEndpoint(wanted, before, near))
  }

  /** Reads everything that an address map needs, concurrently. */
  const drawn = async (id: string) => {
    const [row, uses, held] = await Promise.all([
      store.mapOf(db, id),
      store.usesInOrder(db, id),
      servers.addresses(),
    ])
    return [existing(row), uses, held] as const
  }

  const calls = {
    async list(query: Input<typeof subnetList>['query']): Promise<Page<Subnet>> {
      const { rows, total } = await shown.page(db, query, await servers.addresses())
      return { items: rows.map(present), page: query.page, per_page: query.per_page, total }
    },

    /** @throws Problem not_found */
    get: async (id: string): Promise<Subnet> =>
      present(existing(await shown.byId(db, id, await servers.addresses()))),

    /**
     * @throws Problem not_found for the datacenter, name_taken, subnet_overlap, conflict (a
     * cluster's networks, a server's address, the most subnets)
     */
    async create(caller: Caller, asked: NewSubnet): Promise<Subnet> {
      const wanted = canonical(asked)
      const addresses = await servers.addresses()
      try {
        return await inTransaction(db, async (tx) => {
          await store.lockNetworks(tx)
          await demandFree(tx, wanted, null, addresses)
          await demandRoom(tx, 'subnet', subnetLimit)
          await store.demandExclusions(tx, wanted.exclude.length)
          const [made] = await store.insert(tx, [
            {
              ...columnsOf(wanted),
              datacenter_id: wanted.datacenter_id,
              created_at: now(),
              ...written(caller),
            },
          ])
          const row = existing(await shown.byId(tx, made!.id, addresses))
          await record(tx, caller, {
            action: 'subnet.created',
            target: targetOf(row),
            after: audited(row),
            event: { version: row.version },
          })
          return present(row)
        })
      } catch (error) {
        throw await explained(error, wanted, null)
      }
    },

    /**
     * @throws Problem not_found, stale, invalid, subnet_assigned, subnet_in_use, and as `create`
     */
    async update(
      caller: Caller,
      id: string,
      change: SubnetChange,
      ifMatch?: Versions,
    ): Promise<Subnet> {
      const addresses = await servers.addresses()
      let wanted: Wanted | undefined
      try {
        return await inTransaction(db, async (tx) => {
          await store.lockNetworks(tx)
          const before = current((await store.locked(tx, [id], addresses))[0], ifMatch)
          const whole = { ...before, ...definedOf(change) }
          const cidr = parseCidr(whole.cidr)
          if (cidr)
            demand(fixedWhileAssigned(before, { cidr: formatCidr(cidr), purpose: whole.purpose }))
          const { fields } = subnetProblems(whole)
          const [problem] = Object.values(fields)
          if (problem !== undefined) throw new Problem('invalid', problem, { ...fields })
          wanted = canonical(whole)
          if (isSame(before, wanted)) return present(before)
          await demandFree(tx, wanted, before, addresses)
          await store.demandExclusions(tx, wanted.exclude.length - before.exclude.length)
          if (before.clusters.length > 0)
            demand(takesUsed(wanted, before, before.clusters, await store.uses(tx, id)))
          await store.update(tx, id, { ...columnsOf(wanted), ...written(caller) })
          if (before.clusters.length > 0 && !handsOutSame(before, wanted))
            await pools.changed(tx, caller, [id])
          const after = existing(await shown.byId(tx, id, addresses))
          await record(tx, caller, {
            action: 'subnet.updated',
            target: targetOf(after),
            before: audited(before),
            after: audited(after),
            event: { version: after.version },
          })
          return present(after)
        })
      } catch (error) {
        throw wanted ? await explained(error, wanted, id) : error
      }
    },

    /** @throws Problem not_found, stale, subnet_in_use, subnet_assigned */
    remove: (caller: Caller, id: string, ifMatch?: Versions): Promise<void> =>
      inTransaction(db, async (tx) => {
        const row = current((await store.locked(tx, [id]))[0], ifMatch)
        const subnet = present(row)
        const verdict = canRemoveSubnet(subnet)
        const [cluster] = row.clusters
        if (!verdict.ok)
          throw new Problem(
            subnet.used ? 'subnet_in_use' : 'subnet_assigned',
            verdict.reason,
            undefined,
            undefined,
            cluster && { kind: 'cluster', ...cluster },
          )
        await store.remove(tx, id)
        await record(tx, caller, {
          action: 'subnet.removed',
          target: targetOf(row),
          before: audited(row),
          event: { version: row.version },
        })
      }),

    /** The address map as JSON text. @throws Problem not_found */
    addresses: async (id: string): Promise<string> => addressRuns(...(await drawn(id))),
    /** The address map as an object. @throws Problem not_found */
    map: async (id: string): Promise<SubnetMap> => addressMap(...(await drawn(id))),

    export: async (query: Input<typeof subnetExport>['query']): Promise<string> =>
      writeCsv(tableOf(await shown.all(db, query))),

    /** @throws Problem invalid if the text is too large */
    import: importing({ ...parts, written }),
  }

  return {
    name: 'subnets',
    async figures() {
      const all = (await shown.fullest(db, mostCounted, await servers.addresses())).map(present)
      return {
        steelyard_subnet_addresses: all.flatMap(({ name: subnet, cidr, used, total }) =>
          used === null || total === null
            ? []
            : [
                { subnet, cidr, state: 'used', value: used },
                { subnet, cidr, state: 'free', value: total - used },
              ],
        ),
      }
    },
    routes(app) {
      const on = serve(app)
      on(subnetList, ({ query }) => calls.list(query))
      serve(app, { isVolatile: true })(subnetGet, ({ params }) => calls.get(params.id))
      on(subnetCreate, ({ caller, body }) => calls.create(caller, body))
      on(subnetUpdate, ({ caller, params, body, ifMatch }) =>
        calls.update(caller, params.id, body, ifMatch),
      )
      on(subnetRemove, ({ caller, params, ifMatch }) =>
        calls.remove(caller, params.id, ifMatch).then(() => undefined),
      )
      on(subnetAddresses, async ({ params }) => new Serialised(await calls.addresses(params.id)))
      on(subnetMap, ({ params }) => calls.map(params.id))
      on(subnetExport, async ({ query, saveAs }) => {
        const text = await calls.export(query)
        saveAs('subnets.csv')
        return text
      })
      serve(app, { largestBody: largestImport })(subnetImport, ({ caller, body }) =>
        calls.import(caller, body),
      )
    },
    lockNetworks: async (tx) => void (await store.lockNetworks(tx)),
    inDatacenter: store.inDatacenter,
    async assigning(on, datacenterId, text) {
      const address = parseAddress(text)
      if (address === null) return null
      const subnets = await store.workloadIn(on, datacenterId)
      return (
        subnets.find((subnet) => piecesOf(subnet).some((piece) => inRange(piece, address)))?.name ??
        null
      )
    },
    async namesByCluster(on, clusterIds) {
      const rows = await store.namesByCluster(on, clusterIds)
      const byCluster = Map.groupBy(rows, (r) => r.cluster_id)
      return new Map(
        [...byCluster].map(([clusterId, all]) => [
          clusterId,
          all.map(({ id, name, cidr }) => ({ id, name, cidr })),
        ]),
      )
    },
    countByDatacenter: async (on) =>
      new Map((await store.countByDatacenter(on)).map((c) => [c.datacenter_id, c.subnets])),
    fullest: async (most) =>
      (await shown.fullest(db, most, await servers.addresses())).map(present),
    exhausted: async (on) =>
      new Map(
        [...Map.groupBy(await shown.exhausted(on), (s) => s.cluster_id)].filter(([, all]) =>
          all.every(({ full }) => full),
        ),
      ),
    free: async (datacenter) =>
      (await shown.all(db, { datacenter, purpose: 'workload' }))
        .map(present)
        .filter(({ clusters }) => clusters.length === 0),
    find: async (on, ids) => (await shown.byIds(on, ids)).map(present),
    lockForAssignment: async (tx, ids) => (await store.locked(tx, ids)).map(present),
    byCluster: async (on, clusterId) =>
      (await shown.byCluster(on, clusterId, await servers.addresses())).map(present),
    async heldBy(on, subnet, addresses) {
      const wanted = { ...subnet, datacenter_id: subnet.datacenter.id }
      const near = neighbours(addresses, await store.clusterNetworks(on, wanted.datacenter_id))
      return containsServer(wanted, null, near) ?? containsEndpoint(wanted, null, near) ?? null
    },
    async tellChanged(tx, caller, ids) {
      for (const { id, version } of await shown.byIds(tx, ids))
        await tell(tx, caller, { name: 'subnet.updated', object: { kind: 'subnet', id }, version })
    },
  }
}

/** @throws Problem not_found */
function existing<Row extends object>(row: Row | undefined): Row {
  if (!row) throw new Problem('not_found', 'There is no such subnet')
  return row
}
/**
 * The row that a user wants to change. @throws Problem not_found; stale, which names the user who
 * changed the row
 */
function current(row: shown.SubnetRow | undefined, ifMatch: Versions): shown.SubnetRow {
  const found = existing(row)
  if (!isVersion(ifMatch, found.version))
    throw new Problem(
      'stale',
      `Changed by ${found.updated_by} since you opened it. Review the changes`,
    )
  return found
}

const definedOf = (change: SubnetChange) =>
  Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined)) as {
    [K in keyof SubnetChange]-?: Exclude<SubnetChange[K], undefined>
  }
