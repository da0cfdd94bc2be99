/** Use cases of datacenters. Each change is one transaction with rows, audit entry and event. */
import {
  canRemoveDatacenter,
  type Datacenter,
  type DatacenterChange,
  datacenterCreate,
  datacenterGet,
  type DatacenterInput,
  datacenterLimit,
  datacenterList,
  datacenterRemove,
  datacenterUpdate,
  lastIndex,
} from '#contract/datacenters.ts'
import { Problem } from '#contract/errors.ts'
import { type MemoryReaders, memoryPage } from '#contract/list.ts'
import type { Input } from '#contract/operation.ts'
import type { Page } from '#contract/page.ts'
import { counted } from '#contract/words.ts'
import { type Db, inTransaction, type Tx, violatedConstraint } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'
import { serve } from '../../http/serve.ts'
import { existing, type Versions } from '../../http/tags.ts'
import type { Domain, Platform } from '../../platform.ts'
import { demandRoom } from '../../room.ts'
import type { Datacenters } from './api.ts'
import * as store from './store.ts'

/** The contents of a datacenter. Each domain counts its own objects. */
interface Content {
  readonly servers: number
  readonly clusters: number
  readonly subnets: number
  readonly compute_units: { readonly total: number; readonly free: number }
}
const nothing: Content = {
  servers: 0,
  clusters: 0,
  subnets: 0,
  compute_units: { total: 0, free: 0 },
}

/** What is in each datacenter, by its id. */
async function contentsOf({
  db,
  servers,
  clusters,
  subnets,
}: CallParts): Promise<ReadonlyMap<string, Content>> {
  const { capacity } = await servers.summary()
  const contents = new Map<string, Content>()
  const add = (id: string, content: Partial<Content>) =>
    contents.set(id, { ...(contents.get(id) ?? nothing), ...content })
  for (const [id, count] of await clusters.countByDatacenter(db)) add(id, { clusters: count })
  for (const [id, count] of await subnets.countByDatacenter(db)) add(id, { subnets: count })
  for (const { datacenter_id: id, servers: count, compute_units } of capacity)
    if (id !== null) add(id, { servers: count, compute_units })
  return contents
}

/** Converts a row to the contract's datacenter. */
const present = ({ index: _index, ...row }: store.DatacenterRow, content: Content): Datacenter => ({
  ...row,
  tier: row.tier as Datacenter['tier'],
  ...content,
  compute_units: { total: content.compute_units.total, free: content.compute_units.free },
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})

const byCode = (d: Datacenter) =>
  `${d.country_code}-${d.city_code}-${String(d.code.split('-').at(-1)).padStart(3, '0')}`
const readers: MemoryReaders<typeof datacenterList.list, Datacenter> = {
  sort: {
    code: byCode,
    city_name: (d) => d.city_name.toLowerCase(),
    tier: (d) => d.tier ?? 0,
    servers: (d) => d.servers,
    free: (d) => d.compute_units.free,
  },
  filters: {},
  search: (d, wanted) =>
    d.code.toLowerCase().includes(wanted) || d.city_name.toLowerCase().includes(wanted),
  ties: [byCode],
}
const targetOf = ({ id, code }: { readonly id: string; readonly code: string }) => ({
  kind: 'datacenter',
  id,
  name: code,
})
const codeOf = (
  city: { readonly country_code: string; readonly city_code: string },
  index: number,
): string => `${city.country_code}-${city.city_code}-${index}`
/** Converts empty texts to null. */
const blankAsNull = <T extends DatacenterChange>(input: T): T => ({
  ...input,
  ...(input.facility === '' && { facility: null }),
  ...(input.address === '' && { address: null }),
  ...(input.notes === '' && { notes: null }),
})
const sentence = 'Enter both latitude and longitude, or neither'

export const datacenters = ({ db }: Pick<Platform, 'db'>): Datacenters => ({
  find: async (on, id) => (await store.hold(on, id)) ?? null,
  names: (on = db) => store.all(on),
})

/** Numbers of objects by the id of their datacenter. */
interface Counting {
  readonly countByDatacenter: (on: Db) => Promise<ReadonlyMap<string, number>>
}

/** The calls show what is in each datacenter. Other domains count it. */
interface CallParts extends Platform {
  readonly servers: {
    readonly summary: () => Promise<{
      readonly capacity: readonly (Pick<Content, 'servers' | 'compute_units'> & {
        readonly datacenter_id: string | null
      })[]
    }>
  }
  readonly clusters: Counting
  readonly subnets: Counting
}

/** The calls on datacenters, which show what is in each. */
export function datacenterCalls(parts: CallParts): Domain {
  const { db, clock, record } = parts
  const now = () => new Date(clock.now())
  const taken = (error: unknown, code: string): unknown =>
    violatedConstraint(error) === 'datacenter_code'
      ? new Problem('conflict', `${code} already exists`, { index: `${code} already exists` })
      : error

  /** @throws Problem conflict if the city's highest index is already assigned */
  const indexOf = async (
    tx: Tx,
    city: { readonly country_code: string; readonly city_code: string },
    wanted: number | undefined,
  ): Promise<number> => {
    const index = await store.nextIndex(tx, city, wanted)
    if (index <= lastIndex) return index
    const sentence = `${codeOf(city, lastIndex)} was used already, and there is no higher index: enter an index that is free`
    throw new Problem('conflict', sentence, { index: sentence })
  }

  /** @throws Problem datacenter_in_use. The row is locked. */
  const demandEmpty = async (tx: Tx, id: string) => {
    const found = await store.referring(tx, id, now())
    const verdict = canRemoveDatacenter(found)
    if (!verdict.ok) throw Problem.of('datacenter_in_use', verdict)
    if (found.additions > 0)
      throw new Problem(
        'datacenter_in_use',
        'Servers are being added to this datacenter. Wait until the operation has ended, or cancel it',
      )
    return found
  }

  const calls = {
    async list(query: Input<typeof datacenterList>['query']): Promise<Page<Datacenter>> {
      const [rows, inside] = await Promise.all([store.all(db), contentsOf(parts)])
      const all = rows.map((r) => present(r, inside.get(r.id) ?? nothing))
      return memoryPage(datacenterList.list, all, readers, query)
    },

    /** @throws Problem not_found */
    get: async (id: string): Promise<Datacenter> =>
      present(
        existing(await store.get(db, id), 'datacenter'),
        (await contentsOf(parts)).get(id) ?? nothing,
      ),

    /** @throws Problem conflict if the code is taken */
    async create(
      caller: Caller,
      { index: wanted, ...input }: DatacenterInput,
    ): Promise<Datacenter> {
      let code = ''
      try {
        return await inTransaction(db, async (tx) => {
          await demandRoom(tx, 'datacenter', datacenterLimit)
          const index = await indexOf(tx, input, wanted)
          code = codeOf(input, index)
          const made = present(
            await store.insert(tx, { ...blankAsNull(input), index }, now()),
            nothing,
          )
          await record(tx, caller, {
            action: 'datacenter.created',
            target: targetOf(made),
            after: made,
            event: { version: made.version },
          })
          return made
        })
      } catch (error) {
        throw taken(error, code)
      }
    },

    /**
     * @throws Problem not_found, stale, invalid, conflict; datacenter_in_use if the code of a
     * datacenter with objects would change
     */
    async update(
      caller: Caller,
      id: string,
      change: DatacenterChange,
      ifMatch?: Versions,
    ): Promise<Datacenter> {
      const inside = (await contentsOf(parts)).get(id) ?? nothing
      let code = ''
      try {
        return await inTransaction(db, async (tx) => {
          const row = existing(await store.lock(tx, id), 'datacenter', ifMatch)
          const next = {
            country_code: change.country_code ?? row.country_code,
            city_code: change.city_code ?? row.city_code,
            latitude: change.latitude === undefined ? row.latitude : change.latitude,
            longitude: change.longitude === undefined ? row.longitude : change.longitude,
          }
          if ((next.latitude === null) !== (next.longitude === null))
            throw new Problem('invalid', sentence, { longitude: sentence })
          const isOtherCity =
            next.country_code !== row.country_code || next.city_code !== row.city_code
          const isMoved = isOtherCity || (change.index !== undefined && change.index !== row.index)
          if (isMoved) await demandEmpty(tx, id)
          const index = isMoved ? await indexOf(tx, next, change.index) : row.index
          code = codeOf(next, index)
          const after = present(
            await store.update(tx, id, { ...blankAsNull(change), index }, now()),
            inside,
          )
          if (isMoved) await store.touchRemovedIn(tx, id)
          const before = present(row, inside)
          await record(tx, caller, {
            action: 'datacenter.updated',
            target: targetOf(after),
            before,
            after,
            event: { version: after.version },
          })
          return after
        })
      } catch (error) {
        throw taken(error, code)
      }
    },

    /** @throws Problem not_found, stale, datacenter_in_use */
    async remove(caller: Caller, id: string, ifMatch?: Versions): Promise<void> {
      await inTransaction(db, async (tx) => {
        const row = existing(await store.lock(tx, id), 'datacenter', ifMatch)
        const { join_tokens: tokens } = await demandEmpty(tx, id)
        if (tokens > 0)
          throw new Problem(
            'datacenter_in_use',
            `${counted(tokens, 'join token')} put${tokens === 1 ? 's' : ''} servers in this datacenter. Revoke ${tokens === 1 ? 'it' : 'them'} first`,
          )
        await store.forgetIn(tx, id)
        await store.remove(tx, id)
        const before = present(row, nothing)
        await record(tx, caller, {
          action: 'datacenter.removed',
          target: targetOf(row),
          before,
          event: { version: row.version },
        })
      })
    },
  }

  return {
    name: 'datacenters',
    routes(app) {
      const on = serve(app)
      on(datacenterList, ({ query }) => calls.list(query))
      on(datacenterGet, ({ params }) => calls.get(params.id))
      on(datacenterCreate, ({ caller, body }) => calls.create(caller, body))
      on(datacenterUpdate, ({ caller, params, body, ifMatch }) =>
        calls.update(caller, params.id, body, ifMatch),
      )
      on(datacenterRemove, ({ caller, params, ifMatch }) =>
        calls.remove(caller, params.id, ifMatch).then(() => undefined),
      )
    },
  }
}
