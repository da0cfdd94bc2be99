/** What is known of a server, in the form that Talos's rules take. */
import { isIP } from 'node:net'
import { capacityOf } from '#contract/capacity.ts'
import { devicePath } from '#contract/disks/disks.ts'
import type { Inventory } from '#talos/runtime-rules/known.ts'
import { emptySchematicId } from '#talos/schematic/schematic.ts'
import type { Db, Tx } from '../../../db/db.ts'
import type { ServerFacts } from '../../servers/api.ts'
import type { Beside, LayerStore } from '../api.ts'
import type { RenderContext } from './layers.ts'

/** The server's links with the drivers of their hardware. */
export function withDrivers({ links, hardware }: Pick<ServerFacts, 'links' | 'hardware'>) {
  const drivers = new Map(hardware?.interfaces.map((one) => [one.id, one.driver]))
  return links.map((link) => ({ ...link, driver: link.driver ?? drivers.get(link.name) ?? null }))
}

/** All names of the server's links; null if they are unknown. */
export const linkNames = (server: Pick<ServerFacts, 'links' | 'hardware'>): string[] | null =>
  server.hardware && server.links.flatMap(({ name, alt_names = [] }) => [name, ...alt_names])

/** What is known of other servers. */
export interface Others {
  /** Addresses without prefix that other servers have. */
  takenBy(
    on: Db | Tx,
    server: Pick<ServerFacts, 'id' | 'datacenter_id' | 'cluster'>,
  ): Promise<Inventory['taken']>
  /** The other servers of its cluster. */
  peersOf(
    on: Db | Tx,
    server: Pick<ServerFacts, 'id' | 'cluster'>,
  ): Promise<NonNullable<Inventory['peers']>>
}

/** Whether a patch may give a server an address. The addresses of others are read only then. */
const mayAddress = (body: string): boolean => /vip|address|cidr|privatekey/i.test(body)
/** Addresses and keys in a text, as words. */
function* wordsOf(body: string): Generator<string> {
  for (const word of body.split(/[^0-9A-Za-z.:+/=]+/))
    for (const one of [word, word.split('/', 1)[0]!])
      if (isIP(one) !== 0 || /^[A-Za-z0-9+/]{43}=$/.test(one)) yield one
}
/** Most words that are looked for in patches of other servers. */
const mostWords = 256

/** Whether a patch may keep others out. They are read only then. */
const mayKeepOut = (body: string): boolean => body.includes('NetworkRuleConfig')

/** Whether an installer has the schematic that the server runs now. */
const isImageOf = ({ schematic }: ServerFacts, installImage: string): boolean =>
  installImage.includes(schematic ?? emptySchematicId)

/**
 * The extensions of the image that the server runs and keeps. Another image that it is to get may
 * have others.
 */
function extensionsOf(server: ServerFacts, installImage: string): readonly string[] | null {
  if (!isImageOf(server, installImage)) return null
  return server.schematic === emptySchematicId ? [] : (server.hardware?.extensions ?? null)
}

/**
 * The inventory for patches with these bodies.
 * @param beside patches that other servers get by the same request
 */
export const inventoryFor = async (
  {
    db,
    servers,
    layers,
  }: {
    readonly db: Db | Tx
    readonly servers: Others
    readonly layers: Pick<LayerStore, 'beside'>
  },
  server: ServerFacts,
  context: Pick<RenderContext, 'installDisk' | 'installImage'>,
  bodies: readonly string[],
  beside: readonly Beside[] = [],
): Promise<Inventory> => {
  const addressing = bodies.filter(mayAddress)
  const words = new Set(addressing.flatMap((body) => [...wordsOf(body)]).slice(0, mostWords))
  const stored = words.size === 0 ? [] : await layers.beside(db, server, words)
  return inventoryOf(server, context, {
    taken: addressing.length > 0 ? await servers.takenBy(db, server) : [],
    peers: bodies.some(mayKeepOut) ? await servers.peersOf(db, server) : [],
    beside: [...beside, ...stored],
  })
}

/** @param others addresses without prefix that others have, and the members of its cluster */
const inventoryOf = (
  server: ServerFacts,
  { installDisk, installImage }: Pick<RenderContext, 'installDisk' | 'installImage'>,
  others: Required<Pick<Inventory, 'taken' | 'peers' | 'beside'>>,
): Inventory => ({
  server: server.name,
  links: server.hardware && withDrivers(server),
  disks:
    server.hardware &&
    server.disks.map((disk) => ({
      path: disk.device,
      size: disk.size,
      model: disk.model ?? null,
      serial: disk.serial ?? null,
      wwid: disk.wwid,
      transport: disk.transport ?? null,
      rotational: disk.type === null ? null : disk.type === 'HDD',
      readonly: disk.readonly ?? null,
    })),
  systemDisk: server.system_disk ?? devicePath(installDisk),
  isMember: server.cluster !== null && server.system_disk !== null,
  gateways: (server.hardware?.routes ?? [])
    .map((route) => route.gateway)
    .filter((one) => one !== ''),
  addresses: server.hardware && server.addresses.map((address) => address.split('/', 1)[0]!),
  memory: server.memory_bytes,
  threads: (server.hardware && capacityOf(server.hardware).threads) || null,
  extensions: extensionsOf(server, installImage),
  secureBoot: server.secure_boot,
  ...others,
})
