/** What a BMC tells of itself and of its server, as columns. */
import type { Hardware } from '../../../db/columns.ts'
import { discover, optional, readMacs } from '#redfish/acts/discover.ts'
import { isLit, lightOf, powerStateOf } from '#redfish/acts/power.ts'
import type { RedfishClient, Sweep } from '#redfish/client/client.ts'
import { uuidsOf } from '#redfish/identity.ts'
import type { Read } from '#redfish/readers/readers.ts'
import type { PowerState } from '#contract/bmcs/state.ts'

/** Documents that one look may read. */
export const mostDocuments = 400

export interface Learned {
  readonly uuid: string | null
  readonly serial: string | null
  readonly macs: string[]
  readonly vendor: string | null
  readonly model: string | null
  readonly firmware: string | null
  readonly systemPath: string
  readonly power: PowerState
  readonly lit: boolean | null
  readonly led: boolean
  readonly media: boolean
  readonly sensors: boolean
  readonly httpBoot: boolean
  readonly pxe: boolean
  readonly manufacturer: string | null
  readonly product: string | null
  readonly hardware: Hardware
}

const gib = 1024 ** 3
/** Fields without those that are unknown, as `Resources` has them. */
const known = <T extends object>(fields: T) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as {
    [K in keyof T]?: NonNullable<T[K]>
  }

async function each<K extends 'processor' | 'memory' | 'storage' | 'drive'>(
  client: RedfishClient,
  kind: K,
  paths: readonly string[],
  signal: AbortSignal,
  sweep: Sweep,
): Promise<Read<K>[]> {
  const found: Read<K>[] = []
  for (const path of paths) {
    const read = await optional(client.get(kind, path, signal, sweep))
    if (read) found.push(read.document)
  }
  return found
}

const isThere = (one: { readonly Status: { readonly State: string | null } }): boolean =>
  one.Status.State === null || !/absent/i.test(one.Status.State)

/** Reads all that Steelyard keeps of a BMC and its server. @throws RedfishError */
export async function learn(client: RedfishClient, signal: AbortSignal): Promise<Learned> {
  const sweep: Sweep = { left: mostDocuments }
  const found = await discover(client, signal, sweep)
  const { system, manager, facts } = found
  const macs = await readMacs(client, system, signal, sweep)
  const list = async (path: string | null): Promise<string[]> =>
    path === null ? [] : ((await optional(client.members(path, signal, sweep))) ?? [])
  const processors = await each(client, 'processor', await list(system.Processors), signal, sweep)
  const memory = await each(client, 'memory', await list(system.Memory), signal, sweep)
  const stores = await each(
    client,
    'storage',
    await list(system.Storage ?? system.SimpleStorage),
    signal,
    sweep,
  )
  const drives = await each(
    client,
    'drive',
    stores.flatMap((one) => one.Drives),
    signal,
    sweep,
  )
  const targets = system.Boot['BootSourceOverrideTarget@Redfish.AllowableValues'] ?? []
  return {
    // The order in which Talos reads it is not known yet, so both are compared.
    uuid: uuidsOf(system.UUID)[0] ?? null,
    serial: system.SerialNumber,
    macs: macs.slice(0, 32),
    vendor: facts.vendor ?? system.Manufacturer,
    model: manager?.Model ?? null,
    firmware: manager?.FirmwareVersion ?? null,
    systemPath: found.systemPath,
    power: powerStateOf(system.PowerState, facts),
    lit: isLit(system),
    led: lightOf(system) !== null,
    media: (system.VirtualMedia ?? manager?.VirtualMedia ?? null) !== null,
    sensors: found.chassisPath !== null,
    httpBoot: targets.includes('UefiHttp'),
    pxe: targets.includes('Pxe'),
    manufacturer: system.Manufacturer,
    product: system.Model,
    hardware: {
      addresses: [],
      links: [],
      routes: [],
      processors: processors.filter(isThere).map((one, i) => ({
        id: one.Id ?? String(i),
        ...known({
          socket: one.Socket,
          manufacturer: one.Manufacturer,
          product_name: one.Model,
          cpu_cores: one.TotalCores,
          thread_count: one.TotalThreads,
          max_speed: one.MaxSpeedMHz,
        }),
      })),
      memory: memory.filter(isThere).map((one, i) => ({
        id: one.Id ?? String(i),
        ...known({
          size: one.CapacityMiB === null ? null : one.CapacityMiB * 1024 ** 2,
          manufacturer: one.Manufacturer,
          device_locator: one.DeviceLocator,
        }),
      })),
      disks: [
        ...drives.filter(isThere).map((one, i) => ({
          id: one.Id ?? one.Name ?? String(i),
          ...known({
            size: one.CapacityBytes,
            type: one.Protocol === 'NVMe' ? 'NVME' : one.MediaType,
            model: one.Model,
            serial: one.SerialNumber,
          }),
        })),
        ...stores
          .flatMap((one) => one.Devices)
          .map((one, i) => ({
            id: one.Name ?? String(i),
            ...known({ size: one.CapacityBytes, model: one.Model }),
          })),
      ],
      interfaces: macs.map((mac, i) => ({ id: `port${i + 1}`, hardware_addr: mac })),
      // Boards that list no module may tell the sum.
      ...(memory.length === 0 &&
        system.MemorySummary.TotalSystemMemoryGiB !== null && {
          memory: [{ id: 'all', size: system.MemorySummary.TotalSystemMemoryGiB * gib }],
        }),
    },
  }
}
