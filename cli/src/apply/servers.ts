/** Finds the servers that documents describe, and the order in which they can be renamed. */
import type { ServerDocument } from '#contract/apply/documents.ts'
import type { Server } from '#contract/servers/servers.ts'
import type { Placed } from './files.ts'
import { documentsOf, type Planning } from './plan.ts'

type Matched =
  | { readonly server: Server }
  | { readonly waiting: string }
  | { readonly problem: string; readonly field: 'uuid' | 'serial' }

/**
 * Finds the server with the UUID and the serial number of a document. The servers are indexed once,
 * because there may be thousands of documents.
 */
export function matcher(
  servers: readonly Server[],
): (document: Pick<ServerDocument, 'uuid' | 'serial'>) => Matched {
  // Boards without a UUID of their own share one.
  const byUuid = new Map<string, Server[]>()
  const bySerial = new Map<string | null, Server[]>()
  const add = <K>(to: Map<K, Server[]>, key: K, server: Server) => {
    const some = to.get(key)
    if (some) some.push(server)
    else to.set(key, [server])
  }
  for (const server of servers) {
    const { uuid, serial } = server.identity
    if (uuid !== null) add(byUuid, uuid.toLowerCase(), server)
    add(bySerial, serial, server)
  }
  return ({ uuid, serial }) => {
    if (uuid !== undefined) {
      const alike = byUuid.get(uuid.toLowerCase()) ?? []
      if (!alike[0]) return { waiting: `no server with the system UUID ${uuid} is registered yet` }
      const found =
        serial === undefined ? alike : alike.filter(({ identity }) => identity.serial === serial)
      if (found.length > 1)
        return {
          problem:
            serial === undefined
              ? `${found.length} servers have this system UUID: give the serial number too, or change a server without one in the console`
              : `${found.length} servers have this system UUID and serial number, so no file tells them apart: change them in the console`,
          field: serial === undefined ? 'uuid' : 'serial',
        }
      if (found[0]) return { server: found[0] }
      return alike.length === 1
        ? {
            problem: `The server with this system UUID has the serial number ${alike[0].identity.serial ?? 'unknown'}, not ${serial}`,
            field: 'serial',
          }
        : {
            waiting: `no server with the system UUID ${uuid} and the serial number ${serial} is registered yet`,
          }
    }
    const found = bySerial.get(serial ?? null) ?? []
    if (found.length > 1)
      return {
        problem: `${found.length} servers have this serial number: give the system UUID too`,
        field: 'serial',
      }
    return found[0]
      ? { server: found[0] }
      : { waiting: `no server with the serial number ${serial} is registered yet` }
  }
}

/**
 * Whether the run removes the server's cluster first: rules about a server in a cluster don't apply
 * then.
 */
export const isFreed = ({ prune }: Planning, { cluster }: Server): boolean =>
  cluster !== null && (prune?.clusters.includes(cluster.name) ?? false)

/** `datacenter`: its code after the run. */
export type FoundServer =
  | { readonly server: Server; readonly datacenter: string | null }
  | { readonly waiting: string }
  | null

/**
 * Finds servers by the name that they will have after the run: by a document that gives them this
 * name, or else by their present name. The result is null if neither exists, and `waiting` if a
 * document gives the name to a server that isn't registered yet.
 */
export async function serverFinder(planning: Planning): Promise<(name: string) => FoundServer> {
  const servers = await planning.world.servers()
  const match = matcher(servers)
  const present = (server: Server) => server.datacenter?.code ?? null
  const byName = new Map<string, FoundServer>(
    servers.map((server) => [server.name, { server, datacenter: present(server) }]),
  )
  type Described = { readonly name: string; readonly found: NonNullable<FoundServer> }
  const described = documentsOf<ServerDocument>(planning, 'server').flatMap(
    ({ document: { name, datacenter, ...identity } }): Described[] => {
      const found = match(identity)
      if ('problem' in found) return []
      if ('waiting' in found) return name === undefined ? [] : [{ name, found }]
      const { server } = found
      return [
        {
          name: name ?? server.name,
          found: { server, datacenter: datacenter === undefined ? present(server) : datacenter },
        },
      ]
    },
  )
  for (const { found } of described) if ('server' in found) byName.delete(found.server.name)
  for (const { name, found } of described) byName.set(name, found)
  return (name) => byName.get(name) ?? null
}

export interface Rename {
  readonly id: string
  readonly from: string
  readonly to: string
}

/**
 * Orders renames so that each new name is free when its turn comes. Servers that exchange names
 * have no such order: one of them gets a temporary name first.
 * @param temporary makes a name that no server has
 */
export function orderRenames(
  renames: readonly Rename[],
  temporary: (rename: Rename) => string,
): Rename[] {
  const holder = new Map(renames.map((rename) => [rename.from, rename]))
  const ordered: Rename[] = []
  const state = new Map<string, 'open' | 'done'>()
  for (const first of renames) {
    // Follows the chain of names without recursion, because a chain may be as long as the list.
    const chain: Rename[] = []
    let at: Rename | undefined = first
    while (at && !state.has(at.id)) {
      state.set(at.id, 'open')
      chain.push(at)
      at = holder.get(at.to)
    }
    const last = chain.at(-1)
    if (last && at && state.get(at.id) === 'open') {
      // The chain ends where it began, so its first server makes room.
      const name = temporary(at)
      ordered.push({ ...at, to: name })
      const from = chain.indexOf(at)
      chain[from] = { ...at, from: name }
    }
    for (const rename of chain.toReversed()) {
      ordered.push(rename)
      state.set(rename.id, 'done')
    }
  }
  return ordered
}

/** Server documents that describe the same server, with the first document that does. */
export function twins(
  placed: readonly Placed<ServerDocument>[],
  match: ReturnType<typeof matcher>,
): Map<Placed<ServerDocument>, Placed<ServerDocument>> {
  const first = new Map<string, Placed<ServerDocument>>()
  const repeated = new Map<Placed<ServerDocument>, Placed<ServerDocument>>()
  for (const one of placed) {
    const found = match(one.document)
    if (!('server' in found)) continue
    const { id } = found.server
    const earlier = first.get(id)
    if (earlier) repeated.set(one, earlier)
    else first.set(id, one)
  }
  return repeated
}
