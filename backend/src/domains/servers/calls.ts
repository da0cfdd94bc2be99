/** The calls on servers, and this process's contact loop. */
import { randomUUID } from 'node:crypto'
import { serverExport } from '#contract/csv/list-exports.ts'
import { Problem } from '#contract/errors.ts'
import type { Input } from '#contract/operation.ts'
import type { Operation } from '#contract/operations.ts'
import { type MachineCommand, machineCommandKinds } from '#contract/servers/machine-commands.ts'
import { serverGroups } from '#contract/servers/groups.ts'
import {
  canControlServer,
  serverAdd,
  serverCommands,
  serverConfirm,
  serverEvents,
  serverGet,
  serverList,
  serverLogs,
  serverRemove,
  serverServices,
  serverTalosconfig,
  serverUpdate,
} from '#contract/servers/servers.ts'
import { counted } from '#contract/words.ts'
import { talosconfig } from '#talos/access/access.ts'
import type { Credentials } from '#talos/pki/certificates.ts'
import { isDatabaseAway } from '../../causes/causes.ts'
import { inTransaction } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'
import { serve, Serialised, serveStream } from '../../http/serve.ts'
import type { Domain, Platform } from '../../platform.ts'
import { contacts } from '../../talos-fleet/contact.ts'
import { leases } from '../../talos-fleet/leases.ts'
import type { Also, ServerActs } from './api.ts'
import { changing, datacenterOf, demand, shown } from './changing.ts'
import { commanding, commandQueue, commandSteps } from './contact/commanding.ts'
import { eventKeeper } from './contact/machine-events.ts'
import { pack } from './contact/observe.ts'
import { questions } from './contact/questions.ts'
import { exported } from './list/csv.ts'
import { figuresOf } from './list/figures.ts'
import { grouped } from './list/groups.ts'
import { pageOfPast, serverOfPast } from './list/past.ts'
import type { CallParts } from './parts.ts'
import { present } from './present.ts'
import { adding, addingQueue, stepOf } from './register/adding.ts'
import * as store from './store.ts'

const talosconfigLifetimeMs = 24 * 3_600_000
/**
 * Lifetime of the certificates for contacts, in ms. Certificates are renewed well before they
 * expire.
 */
const credentialsLifetimeMs = 3_600_000
const credentialsKeptMs = credentialsLifetimeMs / 2

export function serverCalls(parts: CallParts): Domain & { readonly acts: ServerActs } {
  const { db, clock, random, log, owner, record, engine } = parts
  const { operations, datacenters, fleet, clusters, servers, measurements } = parts
  const { listed } = servers
  engine.register({
    queue: addingQueue,
    reconcile: adding({
      ...parts,
      registration: servers,
      atAddress: (address) => listed.atAddress(address),
    }),
    concurrency: 2,
  })
  engine.register({ queue: commandQueue, reconcile: commanding(parts), concurrency: 8 })

  const calls = {
    ...changing(parts),
    ...questions(parts),

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
      also?: Also,
    ): Promise<{ operation: Operation }> =>
      inTransaction(db, async (tx) => {
        const row = store.existing(await store.lockOne(tx, id), id)
        demand(canControlServer(await shown(tx, row)), 'server_not_in_cluster')
        if (row.operation_id)
          throw new Problem('operation_running', `An operation on ${row.name} has not ended`)
        const operation = await operations.create(tx, caller, {
          kind,
          target: row,
          arguments: { waits: also !== undefined, sent_in_boot: null },
          steps: commandSteps(kind, row),
          queue: commandQueue,
        })
        await servers.hold(tx, id, operation.id)
        await also?.(tx, operation)
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
      const keys = await clusters.talosCredentials(row.cluster_id!, {
        role,
        lifetimeMs: talosconfigLifetimeMs,
      })
      if (!keys)
        throw new Problem('server_not_in_cluster', `The cluster ${row.cluster_name} is gone`)
      const endpoints = await clusters.controlPlaneAddresses(row.cluster_id!)
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
  }

  const stop = new AbortController()
  let running: Promise<unknown> | undefined
  // A lost database is logged once elsewhere, not again for each contact that couldn't be written.
  const onError = (error: unknown) =>
    log[isDatabaseAway(error) ? 'debug' : 'error']('contact.failed', { error })
  const lease = leases({ db, clock, owner, onError })
  const kept = keptCredentials(clusters, clock)
  const events = eventKeeper(parts)
  const contact = contacts({
    fleet,
    clock,
    random,
    roster: () => servers.contact.roster(lease.shards()),
    credentials: kept.of,
    onRefused: kept.forget,
    pack,
    async sink(observations, isLast) {
      for (const one of observations)
        measurements.note(one.serverId, one.at, {
          answered: one.kind === 'seen',
          usage: one.kind === 'seen' ? one.usage : null,
        })
      // What isn't stored leaves a gap in a chart, and must not hold up what the contacts say.
      await measurements.flush(isLast).catch(onError)
      await events.flush().catch(onError)
      return servers.contact.observe(observations, isLast)
    },
    onEvent: events.take,
    onError,
  })
  return {
    name: 'servers',
    acts: {
      command: (...given) => calls.command(...given),
      remove: (...given) => calls.remove(...given),
    },
    figures: async () => figuresOf(await listed.entries(), clock.now()),
    routes(app) {
      const on = serve(app)
      on(serverList, ({ query }) =>
        query.at === undefined
          ? listed.page(query).then(({ bytes, etag }) => new Serialised(bytes, etag))
          : pageOfPast(parts, query, query.at),
      )
      on(serverExport, async ({ query, saveAs }) => {
        const text = await exported(listed, query)
        saveAs('servers.csv')
        return text
      })
      on(serverGroups, ({ query }) => grouped(listed, query))
      on(serverGet, ({ params, query: { at } }) =>
        at === undefined ? servers.get(params.id) : serverOfPast(parts, params.id, at),
      )
      on(serverAdd, ({ caller, body }) => calls.add(caller, body))
      on(serverUpdate, ({ caller, params, body, ifMatch }) =>
        calls.update(caller, params.id, body, ifMatch),
      )
      on(serverConfirm, ({ caller, params, body, ifMatch }) =>
        calls.confirm(caller, params.id, body, ifMatch),
      )
      on(serverRemove, ({ caller, params, query, ifMatch, signal }) =>
        calls.remove(caller, params.id, { force: query.force === 'true', ifMatch, signal }),
      )
      for (const kind of machineCommandKinds)
        on(serverCommands[kind], ({ caller, params }) => calls.command(caller, params.id, kind))
      on(serverServices, ({ params }) => calls.services(params.id))
      on(serverEvents, ({ params }) => calls.events(params.id))
      on(serverTalosconfig, async ({ caller, params, saveAs }) => {
        const { name, yaml } = await calls.talosconfig(caller, params.id)
        saveAs(name)
        return yaml
      })
      serveStream(app)(serverLogs, ({ params, query, signal }) =>
        calls.logs(params.id, query, signal),
      )
    },
    removeOld: events.removeOld,
    start: async () => {
      running = Promise.all([lease.run(stop.signal), contact.run(stop.signal)])
    },
    stop: async () => {
      stop.abort(new Error('Steelyard is stopping'))
      await running
    },
  }
}

function keptCredentials(clusters: CallParts['clusters'], clock: Platform['clock']) {
  const kept = new Map<string, { until: number; credentials: Promise<Credentials | null> }>()
  const of = (clusterId: string): Promise<Credentials | null> => {
    const now = clock.now()
    const known = kept.get(clusterId)
    if (known && known.until > now) return known.credentials
    const credentials = clusters.talosCredentials(clusterId, {
      role: 'os:reader',
      lifetimeMs: credentialsLifetimeMs,
    })
    kept.set(clusterId, { until: now + credentialsKeptMs, credentials })
    const forget = () => {
      if (kept.get(clusterId)?.credentials === credentials) kept.delete(clusterId)
    }
    // Missing credentials are not cached.
    credentials.then((c) => c ?? forget(), forget)
    return credentials
  }
  return { of, forget: (clusterId: string) => void kept.delete(clusterId) }
}
