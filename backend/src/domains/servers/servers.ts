/**
 * Use cases of servers. Each change is one transaction with rows, audit entry and event. Machines
 * are contacted outside of transactions.
 */
import { randomUUID } from 'node:crypto'
import { Problem } from '#contract/errors.ts'
import type { Input } from '#contract/operation.ts'
import type { Operation } from '#contract/operations.ts'
import type { MachineCommand } from '#contract/servers/machine-commands.ts'
import {
  canControlServer,
  type Server,
  type serverAdd,
  type serverList,
} from '#contract/servers/servers.ts'
import { counted } from '#contract/words.ts'
import { talosconfig } from '#talos/access/access.ts'
import { inTransaction, type Tx } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'
import type { Platform } from '../../platform.ts'
import type { Watched } from '../../talos-fleet/contact.ts'
import type { Fleet } from '../../talos-fleet/fleet.ts'
import type { Audit } from '../audit/api.ts'
import type { Datacenters } from '../datacenters/datacenters.ts'
import type { Operations } from '../operations/operations.ts'
import { changing, datacenterOf, demand, shown } from './changing.ts'
import { commanding, commandQueue, commandSteps } from './contact/commanding.ts'
import { observer, rosters } from './contact/observe.ts'
import { questions } from './contact/questions.ts'
import type { ClusterAccess, ForClusters } from './for-clusters.ts'
import { forCommitments } from './for-commitments.ts'
import { addressesOf } from './list/addresses.ts'
import { catalogue } from './list/catalogue.ts'
import type { ServerPage } from './list/kept.ts'
import { summarize } from './list/summary.ts'
import { present } from './present.ts'
import { adding, addingQueue, stepOf } from './register/adding.ts'
import { registering } from './register/register.ts'
import * as store from './store.ts'

export interface ServerParts extends Platform {
  readonly operations: Operations
  readonly datacenters: Pick<Datacenters, 'find'>
  readonly audit: Pick<Audit, 'events'>
  readonly fleet: Fleet
  readonly clusterUse: ForClusters
  /** Called in the transaction that removes a server. */
  readonly onRemoved: (tx: Tx, id: string) => Promise<void>
  /** From the clusters domain. */
  readonly access: ClusterAccess
}

export type Servers = ReturnType<typeof servers>

const talosconfigLifetimeMs = 24 * 3_600_000

export function servers(parts: ServerParts) {
  const { db, clock, record, tell, engine, operations, datacenters, fleet, access, clusterUse } =
    parts
  const listed = catalogue(parts)
  const rosterOf = rosters()
  const registration = registering(parts)
  engine.register({
    queue: addingQueue,
    reconcile: adding({
      ...parts,
      registration,
      atAddress: (address) => listed.atAddress(address),
    }),
    concurrency: 2,
  })
  engine.register({ queue: commandQueue, reconcile: commanding(parts), concurrency: 8 })

  return {
    ...clusterUse,
    ...registration,
    ...changing(parts),
    ...questions(parts),
    ...forCommitments(parts),

    /** A page as JSON text. Each server is serialised once per change. */
    list: (query: Input<typeof serverList>['query']): Promise<ServerPage> => listed.page(query),

    /** @throws Problem not_found */
    async get(id: string): Promise<Server> {
      const server = await listed.one(id)
      if (!server) throw store.missing(id)
      return server
    },

    async add(
      caller: Caller,
      { addresses, cidr, datacenter_id = null }: Input<typeof serverAdd>['body'],
    ): Promise<{ operation: Operation }> {
      const wanted = fleet.policy.read({ addresses, cidr })
      return inTransaction(db, async (tx) => {
        const code =
          datacenter_id === null ? null : await datacenterOf(datacenters, tx, datacenter_id)
        const name =
          cidr ??
          (wanted.length === 1 ? wanted[0]! : counted(wanted.length, 'address', 'addresses'))
        const operation = await operations.create(tx, caller, {
          kind: 'serverAdd',
          target: { id: datacenter_id, name: code ? `${name} to ${code}` : name },
          arguments: { datacenter_id, scan: cidr !== undefined },
          steps: wanted.map(stepOf),
          queue: addingQueue,
          queueKey: randomUUID(),
          audit: { after: { addresses: addresses ?? cidr, datacenter: code } },
        })
        return { operation }
      })
    },

    command: (
      caller: Caller,
      id: string,
      kind: MachineCommand,
    ): Promise<{ operation: Operation }> =>
      inTransaction(db, async (tx) => {
        const row = store.existing(await store.lockOne(tx, id), id)
        demand(canControlServer(await shown(tx, row)), 'server_not_in_cluster')
        if (row.operation_id)
          throw new Problem('operation_running', `An operation on ${row.name} has not ended`)
        const operation = await operations.create(tx, caller, {
          kind,
          target: row,
          steps: commandSteps(kind, row),
          queue: commandQueue,
        })
        await clusterUse.hold(tx, id, operation.id)
        return { operation }
      }),

    /**
     * A talosconfig for the server, issued for one download by one user. @throws Problem not_found,
     * server_not_in_cluster
     */
    async talosconfig(caller: Caller, id: string): Promise<{ name: string; yaml: string }> {
      const row = store.existing(await store.byId(db, id), id)
      demand(canControlServer(present(row, null)), 'server_not_in_cluster')
      const role =
        caller.kind === 'user' && caller.scopes.includes('users:manage')
          ? 'os:admin'
          : 'os:operator'
      const keys = await access.talosCredentials(row.cluster_id!, {
        role,
        lifetimeMs: talosconfigLifetimeMs,
      })
      if (!keys)
        throw new Problem('server_not_in_cluster', `The cluster ${row.cluster_name} is gone`)
      const endpoints = await access.controlPlaneAddresses(row.cluster_id!)
      const after = { cluster: row.cluster_name, hours: talosconfigLifetimeMs / 3_600_000 }
      await inTransaction(db, (tx) =>
        record(tx, caller, {
          action: 'server.talosconfig_minted',
          target: { kind: 'server', id, name: row.name },
          after,
        }),
      )
      return {
        name: `talosconfig-${row.name}.yaml`,
        yaml: talosconfig({ context: row.cluster_name!, endpoints, nodes: [row.address], ...keys }),
      }
    },

    /** For the overview and the datacenters. */
    summary: async () => summarize(await listed.entries(), clock.now()),
    /** All known addresses of servers. */
    addresses: async () => addressesOf(await listed.entries()),

    /** For the patches domain: records the number of patches and the links they configure. */
    async patched(
      tx: Tx,
      caller: Caller,
      id: string,
      { count, links }: { count: number; links: readonly string[] },
    ): Promise<void> {
      const { version } = await store.update(
        tx,
        id,
        { patch_count: count, patch_links: [...links] },
        new Date(clock.now()),
      )
      await tell(tx, caller, { name: 'server.updated', object: { kind: 'server', id }, version })
    },

    /**
     * Locks the row of a server until the transaction ends. @throws Problem not_found, also if
     * removed
     */
    locked: async (tx: Tx, id: string): Promise<store.ServerRow> =>
      store.live(await store.lockOne(tx, id), id),

    /** Servers for the contact loop of a process. */
    async roster(shards: ReadonlySet<number>): Promise<Watched[]> {
      return rosterOf(await listed.entries(), listed.revision(), shards)
    },
    observe: observer({ ...parts, known: listed.known }),
  }
}
