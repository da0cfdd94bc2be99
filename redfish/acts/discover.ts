/** Finds the one system of a BMC, with its manager and chassis, and what identifies it. */
import { RedfishError } from '../errors.ts'
import type { RedfishClient, Sweep } from '../client/client.ts'
import type { Read } from '../readers/readers.ts'
import { type Facts, factsOf } from '../vendors/vendors.ts'

export interface Found {
  readonly systemPath: string
  readonly system: Read<'system'>
  readonly systemEtag: string | null
  readonly managerPath: string | null
  readonly manager: Read<'manager'> | null
  readonly chassisPath: string | null
  readonly facts: Facts
}

/** @throws RedfishError `unsupported` if the BMC has no system, or several */
export async function discover(
  client: RedfishClient,
  signal: AbortSignal,
  sweep: Sweep,
): Promise<Found> {
  const root = await client.root(signal)
  if (root.Systems === null) throw new RedfishError('unsupported', 'This BMC shows no system')
  const systems = await client.members(root.Systems, signal, sweep)
  if (systems.length !== 1)
    throw new RedfishError(
      'unsupported',
      systems.length === 0
        ? 'This BMC shows no system'
        : `This BMC shows ${systems.length} systems`,
    )
  const systemPath = systems[0]!
  const { document: system, etag } = await client.get('system', systemPath, signal, sweep)
  const managed = system.Links.ManagedBy[0] ?? null
  const managers =
    managed !== null
      ? [managed]
      : root.Managers === null
        ? []
        : await client.members(root.Managers, signal, sweep)
  const managerPath = managers[0] ?? null
  // A manager that can't be read tells only its firmware.
  const manager =
    managerPath === null ? null : await optional(client.get('manager', managerPath, signal, sweep))
  return {
    systemPath,
    system,
    systemEtag: etag,
    managerPath,
    manager: manager?.document ?? null,
    chassisPath: system.Links.Chassis[0] ?? null,
    facts: factsOf({ root, system, manager: manager?.document ?? null }),
  }
}

/** Null for a document that this BMC lacks or that can't be read. @throws RedfishError else */
export async function optional<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked
  } catch (error) {
    const isLacking =
      error instanceof RedfishError &&
      ['not_found', 'unreadable', 'refused', 'forbidden'].includes(error.kind)
    // A BMC that fails at one of its own links (sushy-tools: 500 for Storage) still has the others.
    if (isLacking || (error instanceof RedfishError && (error.status ?? 0) >= 500)) return null
    throw error
  }
}

/** MAC addresses of the system's ports, lower case with colons. */
export async function readMacs(
  client: RedfishClient,
  system: Pick<Read<'system'>, 'EthernetInterfaces'>,
  signal: AbortSignal,
  sweep: Sweep,
): Promise<string[]> {
  if (system.EthernetInterfaces === null) return []
  const paths = await optional(client.members(system.EthernetInterfaces, signal, sweep))
  const macs: string[] = []
  for (const path of (paths ?? []).slice(0, 64)) {
    const port = (await optional(client.get('networkPort', path, signal, sweep)))?.document
    for (const text of [port?.PermanentMACAddress, port?.MACAddress]) {
      const digits = (text ?? '').replaceAll(/[:\-.]/g, '').toLowerCase()
      if (/^[0-9a-f]{12}$/.test(digits) && !/^(?:0{12}|f{12})$/.test(digits))
        macs.push(digits.match(/../g)!.join(':'))
    }
  }
  return [...new Set(macs)]
}
