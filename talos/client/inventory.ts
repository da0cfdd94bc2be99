/**
 * Hardware and status of a machine, read from its resources. The machine isn't trusted: texts are
 * truncated and cleaned, lists are bounded, and an impossible value causes an error that names the
 * field.
 */
import type { DescMessage, MessageShape } from '@bufbuild/protobuf'
import type { NetIPPrefix } from '../proto/gen/common/common_pb.ts'
import type { DiskSpec } from '../proto/gen/definitions/block_pb.ts'
import { NethelpersLinkType } from '../proto/gen/definitions/enums_pb.ts'
import type { LinkStatusSpec } from '../proto/gen/definitions/network_pb.ts'
import type { MachineStatusSpec } from '../proto/gen/definitions/runtime_pb.ts'
import { count, maxItems, type CallOptions } from './calls.ts'
import type { TalosClient } from './client.ts'
import type { Resource } from './state.ts'
import { TalosError } from './errors.ts'
import { stageOf, unmetOf } from './events.ts'
import { type ResourceKind, resources } from './resources.ts'
import { contentsOf } from './disk-content.ts'
import { formerSystemDisk, metaVolume } from './installation.ts'
import { addressText, hardwareAddressText, text } from './text.ts'

export type Identity = Awaited<ReturnType<typeof readIdentity>>
export type Inventory = Awaited<ReturnType<typeof readInventory>>
export type Disk = Inventory['disks'][number]
export type Status = Awaited<ReturnType<typeof readStatus>>
/** `unmet` lists the conditions that must be met before the machine is ready. */
export type MachineStatus = ReturnType<typeof machineStatus>

/**
 * Identity of the machine. The UUID is in lower case, from SMBIOS or from Talos's own override.
 * Throws TalosError, also for an impossible UUID. `without`: the UUID of a machine that has none
 * (boards without SMBIOS have no system information); left out, it throws for those as well.
 */
export async function readIdentity(
  client: TalosClient,
  { without, ...options }: CallOptions & { readonly without?: string } = {},
) {
  const system = (await client.get(resources.systemInformation, 'systeminformation', options))?.spec
  const uuid = text(system?.uuid ?? '').toLowerCase() || (without ?? '')
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(uuid))
    throw new TalosError('invalid_data', 'server sent invalid data (system UUID)')
  return {
    uuid,
    serial: text(system?.serialNumber ?? ''),
    manufacturer: text(system?.manufacturer ?? ''),
    product: text(system?.productName ?? ''),
  }
}

/** Most names of extensions that are kept. */
const mostExtensions = 128
/** Most other names of a link that are kept. */
const mostAltNames = 8

const isPort = ({ spec }: Resource<LinkStatusSpec>): boolean =>
  spec.kind === '' && spec.type === NethelpersLinkType.LINK_ETHER

/** MAC addresses of the machine's ports, `aa:bb:cc:dd:ee:ff`. Throws TalosError. */
export async function readMacs(client: TalosClient, options: CallOptions = {}): Promise<string[]> {
  const { items } = await client.list(resources.link, { ...options, keep: isPort })
  return items.map(({ spec }) => hardwareAddress(spec))
}

/** The machine's hardware and addresses. Throws TalosError. */
export async function readInventory(client: TalosClient) {
  const truncated: string[] = []
  const all = async <Desc extends DescMessage>(
    field: string,
    kind: ResourceKind<Desc>,
    keep?: (resource: Resource<MessageShape<Desc>>) => boolean,
  ): Promise<Resource<MessageShape<Desc>>[]> => {
    const list = await client.list(kind, keep && { keep })
    if (list.truncated) truncated.push(field)
    return list.items
  }
  const [processors, memory, disks, volumes, links, addresses, routes, nodeAddresses] =
    await Promise.all([
      all('processors', resources.processor),
      all('memory', resources.memoryModule),
      all('disks', resources.disk, isDiskOrStack),
      readVolumes(client),
      all('interfaces', resources.link, isPort),
      all('linkAddresses', resources.address),
      all('routes', resources.route),
      readAddresses(client),
    ])
  const linkAddresses: Record<string, string[]> = Object.create(null)
  for (const { spec } of addresses) {
    const address = prefixText(spec.address)
    if (address !== undefined) (linkAddresses[text(spec.linkName)] ??= []).push(address)
  }
  return {
    /** The machine's own addresses at which other machines reach it, without prefix length. */
    node_addresses: nodeAddresses,
    // An empty socket or slot is a resource with an empty specification.
    processors: processors
      .filter(({ spec }) => spec.manufacturer !== '' || spec.coreCount > 0)
      .map(({ id, spec }) => ({
        id,
        socket: text(spec.socket),
        manufacturer: text(spec.manufacturer),
        product_name: text(spec.productName),
        cpu_cores: spec.coreCount === 0 ? spec.coreEnabled : spec.coreCount,
        thread_count: spec.threadCount,
        /** MHz */
        max_speed: spec.maxSpeed,
      })),
    /** Sizes in bytes. */
    memory: memory
      .filter(({ spec }) => spec.size > 0)
      .map(({ id, spec }) => ({
        id,
        size: spec.size * 1024 ** 2,
        manufacturer: text(spec.manufacturer),
        device_locator: text(spec.deviceLocator),
      })),
    disks: disksOf(disks, volumes),
    interfaces: links.map(({ id, spec }) => ({
      id,
      link_state: spec.linkState,
      driver: text(spec.driver),
      product: text(spec.product),
      vendor: text(spec.vendor),
      /**
       * `aa:bb:cc:dd:ee:ff`. The permanent address of the hardware, even if the link uses another
       * address in a bond.
       */
      hardware_addr: hardwareAddress(spec),
    })),
    /** What selectors and aliases of links compare, by the name of the port. */
    ports: new Map(
      links.map(({ id, spec }) => [
        id,
        {
          driver: text(spec.driver),
          /** `0000:81:00.0` */
          bus_path: text(spec.busPath),
          /** Vendor and product: `15B3:101D`. */
          pci_id: text(spec.pciid),
          /** Other names that the kernel knows the link by. */
          alt_names: spec.altNames.slice(0, mostAltNames).map((name) => text(name)),
        },
      ]),
    ),
    /** Addresses in CIDR notation by link name, including those of virtual links. */
    linkAddresses,
    routes: routes
      .filter(({ spec }) => spec.gateway !== undefined && spec.gateway.ip.length > 0)
      .map(({ spec }) => ({
        /** Network in CIDR notation; empty for a default route. */
        destination: prefixText(spec.destination) ?? '',
        gateway: addressText(spec.gateway!.ip) ?? '',
        link: text(spec.outLinkName),
        metric: spec.priority,
      })),
    /** Names of the fields whose lists were truncated. */
    truncated,
  }
}

/** The machine's disks with their current content. Throws TalosError. */
export async function readDisks(client: TalosClient, options: CallOptions = {}) {
  const [disks, volumes] = await Promise.all([
    client.list(resources.disk, { ...options, keep: isDiskOrStack }),
    readVolumes(client, options),
  ])
  return disksOf(disks.items, volumes)
}

/**
 * What Talos found on the block devices. Undefined if the machine doesn't report its block devices,
 * or if the list was truncated.
 */
async function readVolumes(client: TalosClient, options: CallOptions = {}) {
  const found = await tolerated(client.list(resources.discoveredVolume, options))
  if (found === undefined || found.truncated) return undefined
  const items = found.items.map(({ id, spec }) => ({
    id,
    parent: spec.parent,
    kind: text(spec.name),
    label: text(spec.label),
    partitionLabel: text(spec.partitionLabel),
    partition: Number(spec.partitionIndex),
    isPartition: spec.type === 'partition',
  }))
  // Only a disk whose partitions have no table may be one that was wiped.
  const isUnclear = items.some((volume) => volume.isPartition && volume.partition === 0)
  const meta = isUnclear
    ? await tolerated(client.get(resources.volumeStatus, metaVolume, options))
    : undefined
  return { items, formerSystemDisk: formerSystemDisk(meta?.spec) }
}

/**
 * Whether a device is a disk, or consists of disks. A RAID or an LVM volume consists of disks and
 * shows what they are used for.
 */
const isDiskOrStack = (disk: Resource<DiskSpec>): boolean =>
  isHardware(disk) || disk.spec.secondaryDisks.length > 0

const disksOf = (
  disks: readonly Resource<DiskSpec>[],
  volumes: Awaited<ReturnType<typeof readVolumes>>,
) => {
  const contents = contentsOf(
    volumes?.items ?? [],
    disks.map(({ id, spec }) => ({ id, parts: spec.secondaryDisks })),
    volumes?.formerSystemDisk,
  )
  return disks.filter(isHardware).map(({ id, spec }) => ({
    /** The kernel's name: `sda`, `nvme0n1`. */
    id,
    /** Bytes. */
    size: count(spec.size, 'disk size'),
    io_size: count(spec.ioSize, 'disk I/O size'),
    pretty_size: text(spec.prettySize),
    type: diskType(spec),
    model: text(spec.model),
    /** Empty if the disk has none. The same applies to `wwid`. */
    serial: text(spec.serial),
    wwid: text(spec.wwid),
    // The kernel's name: `nvme`, `sata`, `usb`, `mmc`, `iscsi`, …; empty if unknown. The kernel
    // reports `nvme` also for NVMe over a network; only the driver's path shows the difference
    // (`nvme_fabrics` in drivers/nvme/host/fabrics.c).
    transport: spec.busPath.includes('nvme-fabrics') ? 'nvme-of' : text(spec.transport),
    readonly: spec.readonly,
    /** Content in one line; `empty` for an empty disk; '' if the machine doesn't report it. */
    content: contents.get(id) ?? '',
  }))
}

/** The machine's stage, with one call. Throws TalosError. */
export async function readStage(
  client: TalosClient,
  options: CallOptions = {},
): Promise<MachineStatus> {
  const machine = await client.get(resources.machineStatus, 'machine', options)
  if (machine === undefined)
    throw new TalosError('invalid_data', 'server sent invalid data (machine status)')
  return machineStatus(machine.spec)
}

/**
 * Current status of the machine. Fields that its Talos version lacks are empty. `known`: its stage,
 * if it was just read. Throws TalosError.
 */
export async function readStatus(client: TalosClient, known?: MachineStatus) {
  const one = async <Desc extends DescMessage>(kind: ResourceKind<Desc>, id: string) =>
    (await tolerated(client.get(kind, id)))?.spec
  const [machine, version, hostname, systemDisks, extensions] = await Promise.all([
    known ?? readStage(client),
    one(resources.version, 'version'),
    one(resources.hostname, 'hostname'),
    tolerated(client.list(resources.systemDisk)),
    tolerated(client.list(resources.extension)),
  ])
  const schematic = text(
    extensions?.items.find(({ spec }) => spec.metadata?.name === 'schematic')?.spec.metadata
      ?.version ?? '',
  )
  // These tell of the image as a whole.
  const named = extensions?.items
    .map(({ spec }) => text(spec.metadata?.name ?? ''))
    .filter((name) => name !== '' && !['schematic', 'modules.dep'].includes(name))
  return {
    ...machine,
    /** `v1.13.9` */
    version: text(version?.version ?? ''),
    /** Names of the extensions of the running image, such as `iscsi-tools`; left out if unknown. */
    ...(named && !extensions!.truncated && { extensions: named.slice(0, mostExtensions) }),
    /** Image Factory's id of the running image; undefined for Talos's own images. */
    schematic: /^[0-9a-f]{64}$/.test(schematic) ? schematic : undefined,
    hostname: text(hostname?.hostname ?? ''),
    /** The disk with an installed Talos, `/dev/nvme0n1`, or undefined. */
    systemDisk:
      text(systemDisks?.items.find(({ id }) => id === 'system-disk')?.spec.devPath ?? '') ||
      undefined,
  }
}

/** The machine's addresses, without those of pods and services. */
async function readAddresses(client: TalosClient): Promise<string[]> {
  const { items } = await client.list(resources.nodeAddress)
  const found = ['routed-no-k8s', 'routed', 'current'].flatMap(
    (id) => items.find((item) => item.id === id) ?? [],
  )[0]
  return (found?.spec.addresses ?? [])
    .slice(0, maxItems)
    .flatMap((prefix) => addressText(prefix.ip) ?? [])
}

function machineStatus(spec: MachineStatusSpec) {
  return {
    stage: stageOf(spec.stage),
    ready: spec.status?.ready ?? false,
    unmet: unmetOf(spec.status?.unmetConditions ?? []),
  }
}

/**
 * Whether a disk resource is a physical disk: Talos also lists loop, memory, mapped and optical
 * devices as disks.
 */
function isHardware({ id, spec }: Resource<DiskSpec>): boolean {
  return (
    !spec.cdrom &&
    spec.size > 0n &&
    !/^(loop|ram|zram|dm-|md|nbd|rbd|drbd|zd|bcache|sr|fd)\d*/.test(id)
  )
}

/** The type of a disk, derived like in Talos's own StorageService (`internal/app/storaged`). */
function diskType(disk: DiskSpec) {
  if (disk.transport === 'nvme') return 'NVME'
  if (disk.transport === 'mmc') return 'SD'
  if (disk.rotational) return 'HDD'
  return disk.transport === '' ? 'UNKNOWN' : 'SSD'
}

function hardwareAddress(link: LinkStatusSpec): string {
  const permanent = hardwareAddressText(link.permanentAddr)
  return permanent === '' || permanent === '00:00:00:00:00:00'
    ? hardwareAddressText(link.hardwareAddr)
    : permanent
}

function prefixText(prefix: NetIPPrefix | undefined): string | undefined {
  const address = prefix === undefined ? undefined : addressText(prefix.ip)
  if (address === undefined) return undefined
  const bits = prefix!.ip.length * 8
  if (prefix!.prefixLength < 0 || prefix!.prefixLength > bits)
    throw new TalosError('invalid_data', 'server sent invalid data (prefix length)')
  return `${address}/${prefix!.prefixLength}`
}

/**
 * Resolves to undefined if the machine's Talos version lacks the kind of resource: Talos refuses
 * the call instead of returning an empty list.
 */
export async function tolerated<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if (
      error instanceof TalosError &&
      (error.kind === 'permission_denied' || error.kind === 'unimplemented')
    )
      return undefined
    throw error
  }
}
