/** Use-cases of servers. Each change is one transaction with rows, audit entry and event. Machines are contacted outside of it. */
import { randomUUID } from 'node:crypto'
import type { AuditAction } from '#contract/audit.ts'
import { Problem } from '#contract/errors.ts'
import { nameSentences } from '#contract/names.ts'
import type { Answer, Input } from '#contract/operation.ts'
import type { Operation } from '#contract/operations.ts'
import type { Verdict } from '#contract/rule.ts'
import type { MachineCommand } from '#contract/servers/machine-commands.ts'
import {
  canConfirmServer,
  canControlServer,
  canMoveServer,
  canRemoveServer,
  canRenameServer,
  type Server,
  type serverAdd,
  type serverConfirm,
  type serverEvents,
  type serverList,
  type serverLogs,
  type serverServices,
  type serverUpdate,
} from '#contract/servers/servers.ts'
import { counted } from '#contract/words.ts'
import type { Clock } from '../../clock.ts'
import { type Db, inTransaction, type Tx, violatedConstraint } from '../../db/db.ts'
import type { Engine } from '../../engine/engine.ts'
import type { Caller } from '../../http/caller.ts'
import { checkVersion, type Versions } from '../../http/tags.ts'
import type { Recorder } from '../../record.ts'
import type { Fleet } from '../../talos-fleet/fleet.ts'
import type { Audit } from '../audit/audit.ts'
import type { Datacenters } from '../datacenters/datacenters.ts'
import type { Operations } from '../operations/operations.ts'
import { adding, addingQueue, stepOf } from './register/adding.ts'
import { addressesOf, type ServerAddress } from './list/addresses.ts'
import { catalogue } from './list/catalogue.ts'
import { commanding, commandQueue, commandSteps } from './contact/commanding.ts'
import type { ClusterAccess, ForClusters } from './for-clusters.ts'
import { forJoining, type ForJoining } from './register/for-joining.ts'
import { observer } from './contact/observe.ts'
import { audited, present } from './present.ts'
import { questions } from './contact/questions.ts'
import { registering } from './register/register.ts'
import { rosterOf } from './contact/roster.ts'
import { serverFiles, type ServerFiles } from './contact/server-files.ts'
import { summarize, type Summary } from './list/summary.ts'
import * as store from './store.ts'
import type { Observation, Watched } from '../../talos-fleet/contact.ts'

export interface Servers extends ForClusters, ForJoining, ServerFiles {
  /** A page as JSON text. Each server is serialised once per change. */
  list(query: Input<typeof serverList>['query']): Promise<Buffer>
  get(id: string): Promise<Server>
  add(caller: Caller, body: Input<typeof serverAdd>['body']): Promise<{ operation: Operation }>
  confirm(caller: Caller, id: string, body: Input<typeof serverConfirm>['body'], ifMatch?: Versions): Promise<Server>
  update(caller: Caller, id: string, body: Input<typeof serverUpdate>['body'], ifMatch?: Versions): Promise<Server>
  /** `force`: also removes a silent server of a cluster, which forgets it. */
  remove(caller: Caller, id: string, options?: { force?: boolean; ifMatch?: Versions; signal?: AbortSignal }): Promise<{ operation: Operation }>
  command(caller: Caller, id: string, kind: MachineCommand): Promise<{ operation: Operation }>
  services(id: string): Promise<Answer<typeof serverServices>>
  logs(id: string, query: Input<typeof serverLogs>['query'], signal: AbortSignal): AsyncIterable<Uint8Array>
  events(id: string): Promise<Answer<typeof serverEvents>>
  /** Summary for the overview and the datacenters. */
  summary(): Promise<Summary>
  /** Every known address of servers. */
  addresses(): Promise<ServerAddress[]>

  /** For the patches domain: records the number of patches and the links they configure. */
  patched(tx: Tx, caller: Caller, id: string, patches: { count: number; links: readonly string[] }): Promise<void>
  /** Locks the row of a server until the transaction ends. @throws Problem not_found, also if removed */
  locked(tx: Tx, id: string): Promise<store.ServerRow>

  /** Names by id, including removed servers. Unknown ids are omitted. */
  namesOf(on: Db | Tx, ids: readonly string[]): Promise<Map<string, string>>

  /** Servers for the contact loop. */
  roster(): Promise<Watched[]>
  observe(batch: readonly Observation[]): Promise<void>
}

export interface ServerParts {
  readonly db: Db
  readonly clock: Clock
  readonly random: () => number
  readonly recorder: Recorder
  readonly engine: Engine
  readonly operations: Operations
  readonly datacenters: Pick<Datacenters, 'find'>
  readonly audit: Pick<Audit, 'events'>
  readonly fleet: Fleet
  readonly clusterUse: ForClusters
  /** From the clusters domain. */
  readonly access: ClusterAccess
}

const missing = (id: string) => new Problem('not_found', `Server ${id} not found`)

export function servers(parts: ServerParts): Servers {
  const { db, clock, recorder, engine, operations, datacenters, audit, fleet, access, clusterUse } = parts
  const { record, tell } = recorder
  const shelf = catalogue({ db, clock })
  const asking = questions({ fleet, access })
  const observing = observer({ db, clock, tell, catalogue: shelf })
  const register = registering(parts)
  engine.register({
    queue: addingQueue,
    reconcile: adding({ db, fleet, operations, datacenters, register, atAddress: (address) => shelf.atAddress(address) }),
    concurrency: 2,
  })
  engine.register({ queue: commandQueue, reconcile: commanding({ db, operations, access, clusterUse }), concurrency: 8 })
  const now = () => new Date(clock.now())

  const known = async (id: string): Promise<store.ServerRow> => {
    const row = await store.byId(db, id)
    if (!row) throw missing(id)
    return row
  }

  const shown = async (on: Db | Tx, row: store.ServerRow): Promise<Server> => present(row, (await store.contactsOf(on, [row.id])).get(row.id) ?? null)

  /** A change by a user: locks the row, checks the rule, writes row, audit entry and event. */
  const change = (
    caller: Caller,
    id: string,
    action: AuditAction,
    decide: (tx: Tx, row: store.ServerRow, server: Server) => Promise<store.ServerChange>,
    event: 'server.updated' | 'server.removed' = 'server.updated',
  ): Promise<Server> =>
    inTransaction(db, async (tx) => {
      const row = await store.lockOne(tx, id)
      if (!row) throw missing(id)
      const wanted = await decide(tx, row, await shown(tx, row))
      if (Object.keys(wanted).length === 0) return shown(tx, row)
      const after = await store.update(tx, id, wanted, now())
      await record(tx, caller, {
        action,
        target: { kind: 'server', id, name: after.name },
        before: audited(row),
        after: audited(after),
        event: { name: event, version: after.version },
      })
      return shown(tx, after)
    })

  const datacenterOf = async (tx: Tx, id: string): Promise<string> => {
    const found = await datacenters.find(tx, id)
    if (!found) throw new Problem('not_found', `Datacenter ${id} not found`, { datacenter_id: 'There is no such datacenter' })
    return found.code
  }

  return {
    ...clusterUse,
    ...forJoining({ db, fleet, register }),
    ...serverFiles({ db, recorder, access }),
    list: (query) => shelf.page(query),

    async get(id) {
      const server = await shelf.one(id)
      if (!server) throw missing(id)
      return server
    },

    async add(caller, { addresses, cidr, datacenter_id = null }) {
      const wanted = fleet.policy.read({ addresses, cidr })
      return inTransaction(db, async (tx) => {
        const code = datacenter_id === null ? null : await datacenterOf(tx, datacenter_id)
        const name = cidr ?? (wanted.length === 1 ? wanted[0]! : counted(wanted.length, 'address', 'addresses'))
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

    confirm: (caller, id, said, ifMatch) =>
      change(caller, id, 'server.confirmed', async (tx, row, server) => {
        checkVersion(ifMatch, row.version)
        demand(canConfirmServer(server), 'conflict')
        const [uuid, serial] = [said.uuid.toLowerCase(), said.serial]
        const trusted = { identity_state: 'confirmed', identity_since: now(), identity_note: null, seen_uuid: null, seen_serial: null } as const
        fleet.forget(id)
        if (uuid === row.uuid && serial === (row.serial ?? ''))
          return { ...trusted, ...(row.identity_state !== 'changed' && { identity_note: row.identity_note }) }
        const isSeen = row.identity_state === 'changed' && uuid === row.seen_uuid && serial === (row.seen_serial ?? '')
        if (!isSeen)
          throw new Problem(
            'identity_changed',
            `The hardware of ${row.name} is UUID ${row.uuid}, serial ${row.serial || 'unknown'}: it has changed since you looked`,
          )
        if (row.cluster_id)
          throw new Problem(
            'conflict',
            `${row.name} is in the cluster ${row.cluster_name}: other hardware can't take its place there. Replace the server in the cluster`,
          )
        const other = await store.liveByUuid(tx, uuid)
        if (other && other.id !== id) throw new Problem('conflict', `That hardware is ${other.name} already`)
        // A different machine from here on, so readings of the old one are cleared.
        return {
          ...trusted,
          uuid,
          serial,
          hardware: null,
          hardware_at: null,
          talos_version: null,
          schematic: null,
          secure_boot: null,
          system_disk: null,
          fingerprint: null,
          reachable: null,
          unreachable_since: null,
          reason: null,
        }
      }).catch(async (error: unknown) => {
        // A concurrent call has registered it.
        if (violatedConstraint(error) !== 'server_uuid') throw error
        const other = await store.liveByUuid(db, said.uuid.toLowerCase())
        throw new Problem('conflict', `That hardware is ${other?.name ?? 'another server'} already`)
      }),

    async update(caller, id, body, ifMatch) {
      try {
        return await change(caller, id, body.name === undefined ? 'server.moved_to_datacenter' : 'server.renamed', async (tx, row, server) => {
          checkVersion(ifMatch, row.version)
          const wanted: { name?: string; datacenter_id?: string | null } = {}
          if (body.name !== undefined && body.name !== row.name) {
            demand(canRenameServer(server), 'name_fixed')
            wanted.name = body.name
          }
          if (body.datacenter_id !== undefined && body.datacenter_id !== row.datacenter_id) {
            demand(canMoveServer(server), 'server_in_cluster')
            if (body.datacenter_id !== null) await datacenterOf(tx, body.datacenter_id)
            wanted.datacenter_id = body.datacenter_id
          }
          return wanted
        })
      } catch (error) {
        // The unique index decides between concurrent renames.
        if (violatedConstraint(error) !== 'server_name') throw error
        const { taken } = nameSentences('Server')
        throw new Problem('name_taken', taken, { name: taken })
      }
    },

    async remove(caller, id, { force = false, ifMatch, signal } = {}) {
      const forgotten = force ? await access.forgetServer(caller, id, { ifMatch, signal }) : null
      if (forgotten) return { operation: forgotten }
      let operation: Operation | undefined
      await change(
        caller,
        id,
        'server.removed',
        async (tx, row, server) => {
          checkVersion(ifMatch, row.version)
          demand(canRemoveServer(server), row.operation_id && !row.cluster_id ? 'operation_running' : 'server_in_cluster')
          fleet.forget(id)
          operation = await operations.done(tx, caller, 'serverRemove', row)
          return { status: 'deleted', removed_at: now(), type: 'unknown' }
        },
        'server.removed',
      )
      return { operation: operation! }
    },

    command: (caller, id, kind) =>
      inTransaction(db, async (tx) => {
        const row = await store.lockOne(tx, id)
        if (!row) throw missing(id)
        demand(canControlServer(await shown(tx, row)), 'server_not_in_cluster')
        if (row.operation_id) throw new Problem('operation_running', `An operation on ${row.name} has not ended`)
        const operation = await operations.create(tx, caller, { kind, target: row, steps: commandSteps(kind, row), queue: commandQueue })
        await clusterUse.hold(tx, id, operation.id)
        return { operation }
      }),

    services: async (id) => asking.services(await known(id)),
    async *logs(id, query, signal) {
      yield* asking.logs(await known(id), query, signal)
    },
    async events(id) {
      const row = await known(id)
      const [ours, talos] = await Promise.all([
        audit.events({ kind: 'server', id }, 100),
        row.status === 'deleted' ? { items: [], ok: false, reason: 'The server was removed' } : asking.events(row),
      ])
      const items = [...ours.map((e) => ({ ...e, source: 'steelyard' as const })), ...talos.items].toSorted((a, b) => (b.at ?? '').localeCompare(a.at ?? ''))
      return { items, talos: { ok: talos.ok, reason: talos.reason } }
    },

    summary: async () => summarize(await shelf.entries(), clock.now()),
    addresses: async () => addressesOf(await shelf.entries()),

    async patched(tx, caller, id, { count, links }) {
      const { version } = await store.update(tx, id, { patch_count: count, patch_links: [...links] }, now())
      await tell(tx, caller, { name: 'server.updated', object: { kind: 'server', id }, version })
    },

    async locked(tx, id) {
      const row = await store.lockOne(tx, id)
      if (!row || row.status === 'deleted') throw missing(id)
      return row
    },

    namesOf: async (on, ids) => new Map((await store.byIds(on, [...new Set(ids)])).map((s) => [s.id, s.name])),

    roster: async () => rosterOf(await shelf.entries()),
    observe: (batch) => observing.observe(batch),
  }
}

function demand(verdict: Verdict, code: ConstructorParameters<typeof Problem>[0]): void {
  if (!verdict.ok) throw new Problem(code, verdict.reason)
}
