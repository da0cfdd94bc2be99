/** Resolves names to ids. Each function takes either. */
import * as z from 'zod/mini'
import { type Cluster, clusterList } from '#contract/clusters/clusters.ts'
import { datacenterList } from '#contract/datacenters.ts'
import { joinTokenList } from '#contract/join-tokens.ts'
import { patchList } from '#contract/patches.ts'
import { serverList } from '#contract/servers/servers.ts'
import { subnetList } from '#contract/network/subnets.ts'
import { type Person, userList } from '#contract/users.ts'
import type { Api } from './api/client.ts'
import { CliError } from './exit.ts'
import { oneLine } from './text.ts'

const isId = (text: string) => z.safeParse(z.uuid(), text).success
const longestQuery = 200

function found<T>(what: string, text: string, items: readonly T[], nameOf: (item: T) => string): T {
  const item = items.find((i) => nameOf(i) === text.trim())
  if (!item) throw new CliError('not_found', `There is no ${what} ${oneLine(text)}`)
  return item
}

export async function serverId(api: Api, text: string): Promise<string> {
  if (isId(text)) return text
  const page = await api.call(serverList, { query: { q: text.slice(0, longestQuery), per_page: 1000, fields: 'summary' } })
  return found('server', text, page.items, (s) => s.name).id
}

export async function clusterId(api: Api, text: string): Promise<string> {
  if (isId(text)) return text
  const page = await api.call(clusterList, { query: { q: text.slice(0, longestQuery), per_page: 1000 } })
  return found('cluster', text, page.items, (c) => c.name).id
}

/** A server of the cluster. Includes one that has left it, whose name another server may have by now. */
export function memberId({ name, servers, former_servers }: Cluster, text: string): string {
  if (isId(text)) return text
  return found(`server of ${oneLine(name)}`, text, [...servers, ...former_servers], (s) => s.name).node_id
}

export async function datacenterId(api: Api, text: string): Promise<string> {
  if (isId(text)) return text
  const page = await api.call(datacenterList, { query: { q: text.slice(0, longestQuery), per_page: 1000 } })
  return found('datacenter', text.toUpperCase(), page.items, (d) => d.code).id
}

export async function subnetId(api: Api, text: string): Promise<string> {
  if (isId(text)) return text
  const page = await api.call(subnetList, { query: { q: text.slice(0, longestQuery), per_page: 1000 } })
  return found('subnet', text, page.items, (s) => s.name).id
}

/** By email or id. */
export async function userOf(api: Api, text: string): Promise<Person> {
  const query = isId(text) ? { per_page: 1000 } : { q: text.trim().toLowerCase().slice(0, longestQuery), per_page: 1000 }
  const { items } = await api.call(userList, { query })
  return isId(text) ? found('user', text, items, (u) => u.id) : found('user', text.toLowerCase(), items, (u) => u.email)
}

/** The name of a revoked token may have been used again. A usable token takes precedence. */
export async function joinTokenId(api: Api, text: string): Promise<string> {
  if (isId(text)) return text
  const { items } = await api.call(joinTokenList, { query: { q: text.slice(0, longestQuery), per_page: 1000 } })
  return found(
    'join token',
    text,
    items.toSorted((a, b) => Number(b.status === 'usable') - Number(a.status === 'usable')),
    (t) => t.name,
  ).id
}

/** For objects without a name: accepts only an id. */
export function idOf(what: 'operation' | 'image' | 'session', text: string): string {
  if (!isId(text))
    throw new CliError('usage', `${oneLine(text)} is not the id of ${what === 'session' ? 'a' : 'an'} ${what}`, { hint: `steelyard ${what} list shows them` })
  return text
}

/** A patch of a server by name or id. The ids of the two system layers are words. */
export async function patchOf(api: Api, server: string, text: string) {
  const { items } = await api.call(patchList, { params: { id: server } })
  const patch = items.find((p) => p.patch_id === text || p.name === text)
  if (!patch) throw new CliError('not_found', `The server has no patch ${oneLine(text)}`)
  return patch
}
