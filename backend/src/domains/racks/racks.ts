/**
 * Use cases of racks and of the places in them. Whoever writes a place locks the row of its rack
 * first, so that of two calls for one place the second is refused with the name of the first one's
 * server. The constraints of the table are a second safeguard.
 */
import { Problem } from '#contract/errors.ts'
import { memoryPage } from '#contract/list.ts'
import type { Input } from '#contract/operation.ts'
import type { Page } from '#contract/page.ts'
import { rackExport, rackImport } from '#contract/racks/files.ts'
import { clashOf, fitsRack, type NewPlacement } from '#contract/racks/placing.ts'
import {
  canRemoveRack,
  type NewRack,
  type Rack,
  type RackChange,
  rackCreate,
  rackGet,
  rackLimit,
  rackList,
  rackRemove,
  rackUpdate,
  serverPlace,
  serverUnplace,
} from '#contract/racks/racks.ts'
import type { Server } from '#contract/servers/server.ts'
import { inTransaction, type Tx } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'
import { writeCsv } from '../../csv/csv.ts'
import { largestImport } from '../../csv/table.ts'
import { serve } from '../../http/serve.ts'
import { checkVersion, existing, type Versions } from '../../http/tags.ts'
import type { Domain } from '../../platform.ts'
import { demandRoom } from '../../room.ts'
import type { DatacenterName } from '../datacenters/api.ts'
import type { Standing } from '../servers/api.ts'
import { tableOf } from './file-rows.ts'
import { importing } from './importing.ts'
import { explained, type RackParts } from './parts.ts'
import { audited, hasName, present, readers } from './present.ts'
import * as store from './store.ts'

const targetOf = ({ id, name }: { readonly id: string; readonly name: string }) => ({
  kind: 'rack',
  id,
  name,
})
const noRack = 'There is no such rack'

const nameOf = (server: Pick<Standing, 'name'>) => server.name
const neighbours = (standing: readonly Standing[], but?: string) =>
  standing.flatMap(({ id, name, placement }) =>
    placement === null || id === but ? [] : [{ id, name, ...placement }],
  )

type ExportQuery = Input<typeof rackExport>['query']

/** Which racks, and which servers, each filter leaves in the export. */
const exportFilters: {
  readonly [Filter in keyof ExportQuery]-?: (
    wanted: string,
    sites: readonly DatacenterName[],
  ) => {
    readonly rack: (rack: store.RackRow) => boolean
    readonly server: (server: Standing) => boolean
  }
} = {
  datacenter(wanted, sites) {
    const isThere = (one: { readonly datacenter_id: string | null }) =>
      sites.some(({ id, code }) => id === one.datacenter_id && (id === wanted || code === wanted))
    return { rack: isThere, server: isThere }
  },
  // As in the list, a search finds racks, so servers in none are left out.
  q: (wanted) => ({
    rack: (rack) => hasName(rack, wanted.toLowerCase()),
    server: ({ placement }) => wanted === '' || placement !== null,
  }),
}

export function racks(parts: RackParts): Domain {
  const { db, clock, record, datacenters, servers } = parts
  const now = () => new Date(clock.now())

  const contentsOf = async (): Promise<ReadonlyMap<string, Standing[]>> => {
    const placed = (await servers.standing()).filter(({ placement }) => placement !== null)
    return Map.groupBy(placed, ({ placement }) => placement!.rack.id)
  }
  const writing = async <T>(change: (tx: Tx) => Promise<T>): Promise<T> => {
    try {
      return await inTransaction(db, change)
    } catch (error) {
      throw explained(error)
    }
  }

  const calls = {
    async list(query: Input<typeof rackList>['query']): Promise<Page<Rack>> {
      const [rows, inside] = await Promise.all([store.all(db), contentsOf()])
      const all = rows.map((row) => present(row, inside.get(row.id) ?? []))
      return memoryPage(rackList.list, all, readers, query)
    },

    /** @throws Problem not_found */
    get: async (id: string): Promise<Rack> =>
      present(existing(await store.byId(db, id), 'rack'), (await contentsOf()).get(id) ?? []),

    /** @throws Problem not_found for the datacenter, name_taken, conflict at the most racks */
    create: (caller: Caller, { datacenter_id, name, units }: NewRack): Promise<Rack> =>
      writing(async (tx) => {
        if (!(await datacenters.find(tx, datacenter_id)))
          throw new Problem('not_found', 'There is no such datacenter', {
            datacenter_id: 'There is no such datacenter',
          })
        await demandRoom(tx, 'rack', rackLimit)
        const [id] = await store.insert(tx, [
          { datacenter_id, name, units, created_at: now(), updated_at: now() },
        ])
        const row = existing(await store.byId(tx, id!), 'rack')
        await record(tx, caller, {
          action: 'rack.created',
          target: targetOf(row),
          after: audited(row),
          event: { version: row.version },
        })
        return present(row, [])
      }),

    /** @throws Problem not_found, stale, name_taken; conflict if a server would stand outside */
    update: (caller: Caller, id: string, change: RackChange, ifMatch?: Versions): Promise<Rack> =>
      writing(async (tx) => {
        const before = existing(await store.lock(tx, id), 'rack', ifMatch)
        const inside = await servers.standingIn(tx, id)
        const { name = before.name, units = before.units } = change
        if (name === before.name && units === before.units) return present(before, inside)
        for (const neighbour of neighbours(inside)) {
          const fits = fitsRack({ name, units }, neighbour)
          if (fits.ok) continue
          const { id: server, name: who } = neighbour
          throw new Problem(
            'conflict',
            `${who} stands higher than that. ${fits.reason}`,
            { units: `${who} stands higher than that` },
            undefined,
            { kind: 'server', id: server, name: who },
          )
        }
        await store.update(tx, id, { name, units, updated_at: now() })
        if (name !== before.name)
          await servers.rackRenamed(tx, caller, { id, from: before.name, to: name })
        const after = existing(await store.byId(tx, id), 'rack')
        await record(tx, caller, {
          action: 'rack.updated',
          target: targetOf(after),
          before: audited(before),
          after: audited(after),
          event: { version: after.version },
        })
        return present(after, inside)
      }),

    /** @throws Problem not_found, stale; conflict while servers stand in it */
    remove: (caller: Caller, id: string, ifMatch?: Versions): Promise<void> =>
      writing(async (tx) => {
        const row = existing(await store.lock(tx, id), 'rack', ifMatch)
        const inside = await servers.standingIn(tx, id)
        const verdict = canRemoveRack({ servers: inside.length })
        if (!verdict.ok) throw Problem.of('conflict', verdict)
        await store.remove(tx, id)
        await record(tx, caller, {
          action: 'rack.removed',
          target: targetOf(row),
          before: audited(row),
          event: { version: row.version },
        })
      }),

    /** @throws Problem not_found, stale; conflict if the place is taken or elsewhere */
    async place(
      caller: Caller,
      id: string,
      { rack_id, ...place }: NewPlacement,
      ifMatch?: Versions,
    ): Promise<Server> {
      await writing(async (tx) => {
        const rack = await store.lock(tx, rack_id)
        if (!rack) throw new Problem('not_found', noRack, { rack_id: noRack })
        const server = await locked(tx, id, ifMatch)
        if (server.datacenter_id !== rack.datacenter_id) {
          const code = (await datacenters.names(tx)).find(
            (d) => d.id === server.datacenter_id,
          )?.code
          const sentence = elsewhere(nameOf(server), code, rack)
          throw new Problem('conflict', sentence, { rack_id: sentence })
        }
        const others = neighbours(await servers.standingIn(tx, rack_id), id)
        const fits = fitsRack(rack, place)
        if (!fits.ok) throw new Problem('conflict', fits.reason, { unit: fits.reason })
        const clash = clashOf(rack, place, others)
        if (clash !== null) {
          const { other, field, reason } = clash
          throw new Problem('conflict', reason, { [field]: reason }, undefined, {
            kind: 'server',
            id: other.id,
            name: other.name,
          })
        }
        const { placement } = server
        const isThere =
          placement?.rack.id === rack_id &&
          placement.unit === place.unit &&
          placement.height === place.height &&
          placement.face === place.face &&
          placement.bay === place.bay
        if (!isThere) await servers.place(tx, caller, [{ id, to: { ...place, rack } }])
      })
      return servers.get(id)
    },

    /** @throws Problem not_found, stale */
    unplace: (caller: Caller, id: string, ifMatch?: Versions): Promise<void> =>
      writing(async (tx) => {
        const server = await locked(tx, id, ifMatch)
        if (server.placement !== null) await servers.place(tx, caller, [{ id, to: null }])
      }),
  }

  const exported = async (query: ExportQuery): Promise<string> => {
    const [racks, standing, sites] = [
      await store.all(db),
      await servers.standing(),
      await datacenters.names(),
    ]
    const kept = (Object.keys(exportFilters) as (keyof ExportQuery)[]).flatMap((filter) => {
      const wanted = query[filter]
      return wanted === undefined ? [] : [exportFilters[filter](wanted, sites)]
    })
    return writeCsv(
      tableOf(
        racks.filter((rack) => kept.every((filter) => filter.rack(rack))),
        standing.filter((server) => kept.every((filter) => filter.server(server))),
        sites,
      ),
    )
  }
  const imported = importing(parts)

  const locked = async (tx: Tx, id: string, ifMatch: Versions): Promise<Standing> => {
    const [server] = await servers.lockStanding(tx, [id])
    if (!server) throw new Problem('not_found', `Server ${id} not found`)
    checkVersion(ifMatch, server.version)
    return server
  }

  return {
    name: 'racks',
    routes(app) {
      const on = serve(app)
      on(rackList, ({ query }) => calls.list(query))
      on(rackExport, async ({ query, saveAs }) => {
        const text = await exported(query)
        saveAs('racks.csv')
        return text
      })
      serve(app, { largestBody: largestImport })(rackImport, ({ caller, body }) =>
        imported(caller, body),
      )
      serve(app, { isVolatile: true })(rackGet, ({ params }) => calls.get(params.id))
      on(rackCreate, ({ caller, body }) => calls.create(caller, body))
      on(rackUpdate, ({ caller, params, body, ifMatch }) =>
        calls.update(caller, params.id, body, ifMatch),
      )
      on(rackRemove, ({ caller, params, ifMatch }) =>
        calls.remove(caller, params.id, ifMatch).then(() => undefined),
      )
      on(serverPlace, ({ caller, params, body, ifMatch }) =>
        calls.place(caller, params.id, body, ifMatch),
      )
      on(serverUnplace, ({ caller, params, ifMatch }) =>
        calls.unplace(caller, params.id, ifMatch).then(() => undefined),
      )
    },
  }
}

/** Why a server can't stand in a rack of another datacenter. */
export const elsewhere = (
  server: string,
  code: string | undefined,
  rack: { readonly name: string; readonly datacenter_code: string },
): string =>
  code === undefined
    ? `${server} is in no datacenter, and ${rack.name} is in ${rack.datacenter_code}: assign the server to ${rack.datacenter_code} first`
    : `${server} is in ${code}, and ${rack.name} is in ${rack.datacenter_code}: move the server to ${rack.datacenter_code} first`
