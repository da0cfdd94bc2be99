/** What is known of a server, in the form that Talos's rules take. */
import { capacityOf } from '#contract/capacity.ts'
import { devicePath } from '#contract/disks/disks.ts'
import type { Inventory } from '#talos/runtime-rules/known.ts'
import { emptySchematicId } from '#talos/schematic/schematic.ts'
import type { Db, Tx } from '../../../db/db.ts'
import type { ServerFacts } from '../../servers/api.ts'
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
const mayAddress = (body: string): boolean => /vip|address|cidr/i.test(body)
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

/** The inventory for patches with these bodies. */
export const inventoryFor = async (
  { db, servers }: { readonly db: Db | Tx; readonly servers: Others },
  server: ServerFacts,
  context: Pick<RenderContext, 'installDisk' | 'installImage'>,
  bodies: readonly string[],
): Promise<Inventory> =>
  inventoryOf(server, context, {
    taken: bodies.some(mayAddress) ? await servers.takenBy(db, server) : [],
    peers: bodies.some(mayKeepOut) ? await servers.peersOf(db, server) : [],
  })

/** @param others addresses without prefix that others have, and the members of its cluster */
const inventoryOf = (
  server: ServerFacts,
  { installDisk, installImage }: Pick<RenderContext, 'installDisk' | 'installImage'>,
  others: Required<Pick<Inventory, 'taken' | 'peers'>>,
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
