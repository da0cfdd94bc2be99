/**
 * Services of extensions. A boot waits for each of them, so a service that waits for its
 * configuration or for a device keeps the machine in the stage `booting`, without an unmet
 * condition, until the boot gives up (Talos: controllers/runtime/extension_service.go,
 * v1alpha1_sequencer_tasks.go, StartAllServices). They have no health check.
 */
import { carriedExtensions } from '../factory/catalogue.ts'
import { TAKES } from './durations.ts'
import type { Machine } from './machine.ts'

interface ExtensionService {
  readonly name: string
  /** Waits for an `ExtensionServiceConfig` of its name. */
  readonly isConfigured?: true
  /** A file that only a virtual machine has. Simulated machines are bare metal. */
  readonly path?: string
  /** Services that it waits for. */
  readonly after?: readonly string[]
  /** Ends after its work, which counts as started. */
  readonly ends?: true
}

const configured = (name: string): ExtensionService[] => [{ name, isConfigured: true }]

/** By extension, as the definitions of siderolabs/extensions of 2026-08-20 (`<name>.yaml`) say. */
const SERVICES: Readonly<Record<string, readonly ExtensionService[]>> = {
  bird2: configured('bird2'),
  cloudflared: configured('cloudflared'),
  'hyperv-guest-agent': [
    { name: 'hyperv-kvp', path: '/dev/vmbus/hv_kvp' },
    { name: 'hyperv-vss', path: '/dev/vmbus/hv_vss' },
  ],
  'iscsi-tools': [{ name: 'iscsid', after: ['cri'] }],
  lldpd: configured('lldpd'),
  'multipath-tools': [{ name: 'multipathd', after: ['udevd'] }],
  nebula: configured('nebula'),
  netbird: configured('netbird'),
  newt: configured('newt'),
  'nfs-utils': [
    { name: 'rpcbind', after: ['cri'] },
    { name: 'rpc-statd', after: ['cri', 'ext-rpcbind'] },
  ],
  'nut-client': configured('nut-client'),
  'qemu-guest-agent': [
    { name: 'qemu-guest-agent', path: '/dev/virtio-ports/org.qemu.guest_agent.0' },
  ],
  'soci-snapshotter': [{ name: 'soci-snapshotter', after: ['cri'] }],
  'stargz-snapshotter': [{ name: 'stargz-snapshotter', after: ['cri'] }],
  tailscale: configured('tailscale'),
  'vmtoolsd-guest-agent': [{ name: 'talos-vmtoolsd' }],
  'xen-guest-agent': [{ name: 'xen-guest-agent' }],
  zerotier: configured('zerotier'),
  zfs: [{ name: 'zfs-service', after: ['udevd', 'cri'], ends: true }],
}

const servicesOf = (machine: Machine): ExtensionService[] =>
  carriedExtensions(
    machine.world.schematic(machine.schematic)?.extensions ?? [],
    machine.talosVersion,
  ).flatMap(({ name }) => SERVICES[name] ?? [])

const idOf = ({ name }: ExtensionService): string => `ext-${name}`

/** The ids of the services that a boot of this machine waits for. */
export const extensionServices = (machine: Machine): string[] => servicesOf(machine).map(idOf)

/** Starts the services of the machine's extensions, and restarts those whose settings change. */
export const runExtensionServices = async (machine: Machine, signal: AbortSignal): Promise<void> =>
  void (await Promise.all(servicesOf(machine).map((service) => run(machine, service, signal))))

const run = async (
  machine: Machine,
  service: ExtensionService,
  signal: AbortSignal,
): Promise<void> => {
  const id = idOf(service)
  const settings = (): string | null => settingsOf(machine, service.name)
  for (;;) {
    machine.service(id, 'Starting', 'Starting service')
    const missing = (): string[] => [
      ...(service.after ?? [])
        .filter((other) => !machine.services.isUp(other))
        .map((other) => `service "${other}" to be "up"`),
      ...(service.path === undefined ? [] : [`file "${service.path}" to exist`]),
      ...(service.isConfigured && settings() === null ? ['extension service config'] : []),
    ]
    for (let told = ''; missing().length > 0;) {
      const now = missing().join(', ')
      if (now !== told) machine.service(id, 'Waiting', `Waiting for ${now}`)
      told = now
      await machine.until(() => missing().join(', ') !== told, signal)
    }
    const given = settings()
    machine.service(id, 'Preparing', 'Creating service runner')
    await machine.takes(TAKES.cri, signal)
    machine.service(id, 'Running', `Started task ${id} (PID 2112) for container ${id}`)
    if (service.ends) {
      machine.service(id, 'Finished', 'Service finished successfully')
      return
    }
    await machine.until(() => settings() !== given, signal)
    machine.service(id, 'Stopping', `Sending SIGTERM to task ${id}`)
    machine.service(id, 'Finished', 'Service finished successfully')
  }
}

/** The document that configures the service, as text. Null without one. */
const settingsOf = ({ config }: Machine, service: string): string | null => {
  const found = config?.loaded.documents.find(
    ({ kind, name }) => kind === 'ExtensionServiceConfig' && name === service,
  )
  return found === undefined ? null : JSON.stringify(found.body)
}
