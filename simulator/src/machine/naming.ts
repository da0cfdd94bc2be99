/** What a machine is called, and the kernel's command line that takes part in it. */
import { createHash } from 'node:crypto'
import { kernelCommandLine } from '../factory/assets.ts'
import { kernelArgument } from './kernel-line.ts'
import type { Announced, Machine } from './machine.ts'

const METAL = { platform: 'metal', arch: 'amd64' } as const

/**
 * The kernel's command line: of the installed image if the factory has its schematic, otherwise of
 * the boot media.
 */
export const kernelLineOf = (machine: Machine, installed: string | undefined): string => {
  const { world, plan, bootedFromDisk } = machine
  const own = bootedFromDisk ? world.schematic(machine.schematic) : undefined
  const booted =
    bootedFromDisk && machine.schematic !== plan.schematic
      ? undefined
      : plan.boot?.kernelCommandLine
  const image = { ...METAL, secureboot: installed?.includes('-secureboot/') === true }
  const line = own
    ? kernelCommandLine(image, own)
    : (booted ?? kernelCommandLine(image, { extraKernelArgs: [] }))
  return `${line} simulated=1`
}

/**
 * Values of the variables in the machine's configuration URL. A value is empty until it is known.
 */
export const announcedBy = ({
  disk,
  plan,
  kernelCommandLine: line,
  managementLink,
}: Machine): Announced => {
  const { uuid, serial } = disk.identity
  const lies = plan.boot?.announce
  // There is no configuration yet, so only the kernel argument can set a host name.
  return {
    uuid: lies?.uuid ?? uuid,
    serial: lies?.serial ?? serial,
    mac: lies?.mac ?? managementLink.mac,
    hostname: kernelArgument(line, 'talos.hostname') ?? '',
    code: disk.state.meta['0x0b'] ?? '',
  }
}

/**
 * The host name from the configuration, otherwise from the kernel argument, otherwise the stable
 * host name that Talos derives from the machine's identity.
 */
export const hostnameOf = (machine: Machine): string => {
  const { config, disk } = machine
  const configured = config?.loaded.documents.find(({ kind }) => kind === 'HostnameConfig')?.body
    .hostname
  if (config?.node?.hostname) return config.node.hostname
  if (typeof configured === 'string' && configured !== '') return configured
  const booted = kernelArgument(machine.kernelCommandLine, 'talos.hostname')
  if (booted) return booted
  const hash = BigInt(
    `0x${createHash('sha256').update(disk.identity.uuid).digest('hex').slice(0, 16)}`,
  ).toString(36)
  return `talos-${hash.slice(0, 3)}-${hash.slice(3, 6)}`
}
