/** What is known of a server, in the form that Talos's rules take. */
import { devicePath } from '#contract/disks/disks.ts'
import type { Inventory } from '#talos/runtime-rules/known.ts'
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

/** Addresses without prefix that other servers have. */
export interface TakenBy {
  takenBy(
    on: Db | Tx,
    server: Pick<ServerFacts, 'id' | 'datacenter_id' | 'cluster'>,
  ): Promise<Inventory['taken']>
}

/** Whether a patch may give a server an address. The addresses of others are read only then. */
const mayAddress = (body: string): boolean => /vip|address|cidr/i.test(body)

/** The inventory for patches with these bodies. */
export const inventoryFor = async (
  { db, servers }: { readonly db: Db | Tx; readonly servers: TakenBy },
  server: ServerFacts,
  context: Pick<RenderContext, 'installDisk'>,
  bodies: readonly string[],
): Promise<Inventory> =>
  inventoryOf(server, context, bodies.some(mayAddress) ? await servers.takenBy(db, server) : [])

/** @param taken addresses without prefix that others have */
const inventoryOf = (
  server: ServerFacts,
  { installDisk }: Pick<RenderContext, 'installDisk'>,
  taken: Inventory['taken'],
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
  taken,
})
