/** Shared by the tests of join tokens and announcements. */
import { randomUUID } from 'node:crypto'
import { joinTokenArrivals, joinTokenCreate, joinTokenGet } from '#contract/join-tokens.ts'
import { type Server, serverGet, serverList } from '#contract/servers/servers.ts'
import { auditList, type AuditRow } from '#contract/audit.ts'
import type { Simulator } from '#simulator/src/start.ts'
import type { Log } from '../../log.ts'
import { type Backend, type Call, type SignedIn, startBackend } from '../../testing/backend.ts'

/** Calls of a user who signs in again, because tests move the clock past the life of a token. */
export function callAgain(backend: Backend, first: SignedIn): Call {
  let signedIn = first
  return async (...asked) => {
    const answer = await signedIn.call(...asked)
    if (answer.problem?.code !== 'session_expired') return answer
    signedIn = await backend.signIn()
    return signedIn.call(...asked)
  }
}

/** Creates a join token. */
export const makeToken = async (call: Call, name: string, more: object = {}) =>
  (await call(joinTokenCreate, { body: { name, ...more } })).answer!

export const simulated = {
  STEELYARD_SIMULATE: '1',
  STEELYARD_DIAL_NETWORKS: '127.20.0.0/16,fd12::/64',
}
export const uuid = () => randomUUID()
/** What a machine says of itself in an announcement. */
export const query = (id: string, more: Record<string, string> = {}) =>
  new URLSearchParams({ mac: '02:00:00:00:00:01', serial: 'S1', uuid: id, ...more }).toString()
export const hostNameOf = (document: string) => /^hostname: (sy-[0-9a-f]{20})$/m.exec(document)?.[1]

/** A backend to which machines announce themselves that it never reaches. */
export async function announcing(log?: Log) {
  const backend = await startBackend({ environment: simulated, ...(log && { log }) })
  const call = callAgain(backend, await backend.signIn())
  const ask = async (
    url: string,
    from = '127.20.9.1',
    { app }: Pick<Backend, 'app'> = backend,
    more: object = {},
  ) => app.inject({ method: 'GET', url, remoteAddress: from, ...more })
  return {
    backend,
    call,
    ask,
    make: (name: string, more: object = {}) => makeToken(call, name, more),
    announce: (token: string, id: string, from?: string) =>
      ask(`/join/${token}?${query(id)}`, from),
    arrivals: async (id: string) =>
      (await call(joinTokenArrivals, { params: { id }, query: { sort: 'at' } })).answer!.items,
    token: async (id: string) => (await call(joinTokenGet, { params: { id } })).answer!,
    audited: async () => {
      await backend.publish()
      return (await everyEntry(call)).filter((e) => e.action.startsWith('join.'))
    },
    /** Ends the minute in which refusals are grouped. */
    nextMinute: () => backend.clock.advance(60_000),
  }
}

/** The entries of the audit log on all pages, newest first. */
async function everyEntry(call: Call, query: { action?: string } = {}): Promise<AuditRow[]> {
  const all: AuditRow[] = []
  for (let page = 1; ; page++) {
    const { items, total } = (await call(auditList, { query: { ...query, page, per_page: 200 } }))
      .answer!
    all.push(...items)
    if (items.length === 0 || all.length >= total) return all
  }
}

type Machine = Simulator['servers'][number]
/** Cuts a machine's power and switches it on again. */
export const again = async (machine: Machine) => {
  await machine.lifecycle.powerOff()
  machine.lifecycle.powerOn()
}
export const identityOf = ({ disk: { identity } }: Machine) => ({
  uuid: identity.uuid,
  serial: identity.serial,
})

export type Announcement = [
  token: string,
  from: string,
  said: { uuid: string; serial: string; mac?: string },
]
/** Sends an announcement in the name of a machine, from any address. */
export const announceTo = ({ app }: Pick<Backend, 'app'>, ...[token, from, said]: Announcement) =>
  app.inject({
    url: `/join/${token}?${new URLSearchParams(said).toString()}`,
    remoteAddress: from,
  })

/** What a user finds of servers, tokens and the audit log. */
export function lookups(backend: Pick<Backend, 'publish'>, call: Call) {
  const servers = async (query: object = {}) =>
    (await call(serverList, { query: { per_page: 1000, ...query } })).answer!.items
  return {
    arrivals: async (id: string) =>
      (await call(joinTokenArrivals, { params: { id }, query: { per_page: 1000 } })).answer!.items,
    servers,
    serverOf: async (machine: Machine): Promise<Server | undefined> =>
      (await servers()).find((s) => s.identity.uuid === machine.disk.identity.uuid),
    get: async (id: string) => (await call(serverGet, { params: { id } })).answer!,
    uses: async (id: string) => (await call(joinTokenGet, { params: { id } })).answer!.uses,
    audited: async (action: string) => {
      await backend.publish()
      return everyEntry(call, { action })
    },
  }
}
