/** The eligibility checks of a server, each with advice for the case that it fails. */
import { leastMemoryBytes } from '#contract/clusters/rules.ts'
import { leastDiskBytes, noDefaultDisk } from '#contract/disks/choice.ts'
import { quarantineText } from '#contract/servers/quarantine.ts'
import type { Verdict } from '#contract/rule.ts'
import {
  canKeepInstalled,
  canRunTalos,
  type Eligibility,
  eligibilityChecks,
  installedElse,
  stageSaid,
} from '#contract/servers/servers.ts'
import { minors, supportedMinor } from '#talos/versions.ts'
import type { Wanted } from './api.ts'
import type { ServerFacts } from './facts.ts'

const gib = (bytes: number): string => `${(bytes / 1024 ** 3).toFixed(1)} GiB`

/**
 * All checks, in contract order. Without `wanted`: whether the server may join any cluster with a
 * supported version, at least as a worker.
 */
export function eligibility(server: ServerFacts, wanted?: Wanted): Eligibility[] {
  /** Why each check fails; null if it passes. */
  const reasons: Readonly<Record<Eligibility['check'], string | null>> = {
    free: free(server),
    quarantine: server.quarantine ? quarantineText(server.quarantine) : null,
    reachable: reachable(server),
    identity: identity(server),
    talos_version: talosVersion(server, wanted),
    installed_version: installedVersion(server, wanted),
    disks: disks(server, wanted),
    memory: memory(server, wanted),
    link: link(server, wanted),
    management_address: managementAddress(server),
    // The database keeps names unique, and invalid names can't be set, so only a missing name
    // fails.
    name: server.name === '' ? 'The server has no name' : null,
  }
  return eligibilityChecks.map((check) => ({
    check,
    ok: reasons[check] === null,
    reason: reasons[check],
  }))
}

function free({ cluster, operation_id, status }: ServerFacts): string | null {
  if (status === 'deleted') return 'The server was removed'
  if (cluster) return `The server is in the cluster ${cluster.name}`
  return operation_id ? 'An operation on the server has not ended' : null
}

function reachable({ reachable, reason, stage }: ServerFacts): string | null {
  if (stage === 'not_booted') return 'The server has not booted yet: boot a prepared image on it'
  if (reachable === null) return 'The server has not been contacted yet'
  if (!reachable) return `The server does not answer${reason ? `: ${reason}` : ''}`
  return stage === 'maintenance' || stage === 'unknown'
    ? null
    : `The server is ${stageSaid(stage)}, not in maintenance mode`
}

function identity({ identity }: ServerFacts): string | null {
  if (identity === 'confirmed') return null
  return identity === 'changed'
    ? 'The hardware that answered is not the hardware recorded for this server: check it and confirm'
    : 'Its hardware is not confirmed: confirm on its page, or by steelyard server confirm, that it is this machine'
}

function talosVersion({ talos_version }: ServerFacts, wanted?: Wanted): string | null {
  if (!talos_version) return 'The version of Talos is not known yet'
  if (wanted) return reasonOf(canRunTalos(talos_version, wanted.talosVersion))
  const oldest = minors[0]!
  return canRunTalos(talos_version, oldest.version).ok
    ? null
    : `Talos ${talos_version} runs here, which is older than the oldest supported ${oldest.minor}: boot a newer image`
}

const reasonOf = (verdict: Verdict): string | null => (verdict.ok ? null : verdict.reason)

function installedVersion(
  { installed_version, system_disk }: ServerFacts,
  wanted?: Wanted,
): string | null {
  if (!installed_version || !system_disk) return null
  if (!wanted) return supportedMinor(installed_version) ? null : installedElse(installed_version)
  return reasonOf(
    canKeepInstalled(
      { version: installed_version, disk: system_disk },
      wanted.talosVersion,
      wanted.installDisk,
    ),
  )
}

function disks({ disks, hardware, system_disk }: ServerFacts, wanted?: Wanted): string | null {
  if (!hardware) return 'The hardware is not known yet'
  const device = wanted?.installDisk ?? system_disk
  if (!device) return noDefaultDisk(disks)
  const chosen = disks.find((d) => d.device === device)
  if (!chosen) return `The server has no disk ${device}`
  if (chosen.readonly) return `${chosen.device} is read-only`
  return (chosen.size ?? 0) >= leastDiskBytes
    ? null
    : `${chosen.device} is smaller than the ${gib(leastDiskBytes)} that Talos needs`
}

function memory({ memory_bytes, hardware }: ServerFacts, wanted?: Wanted): string | null {
  // Some boards don't report their memory. Talos checks the memory at installation, so unknown
  // memory is allowed.
  if (!hardware || memory_bytes === null) return hardware ? null : 'The hardware is not known yet'
  const least = leastMemoryBytes[wanted?.role ?? 'worker']
  return memory_bytes >= least
    ? null
    : `${gib(memory_bytes)} of memory is too little: ${wanted?.role === 'control_plane' ? 'a control plane' : 'Talos'} needs ${gib(least)}`
}

function link({ links, hardware }: ServerFacts, wanted?: Wanted): string | null {
  if (!hardware) return 'The hardware is not known yet'
  const chosen = wanted?.interface
  if (chosen) {
    const found = links.find((l) => l.name === chosen)
    if (!found) return `The server has no interface ${chosen}`
    return found.up ? null : `The interface ${chosen} has no link`
  }
  return links.some((l) => l.physical && l.up) ? null : 'No interface has a link: check the cabling'
}

function managementAddress({ link, links, address, hardware }: ServerFacts): string | null {
  if (!hardware) return 'The hardware is not known yet'
  if (!link)
    return links.length === 0
      ? `The server did not report which interface has ${address}`
      : `No interface of the server has ${address}, the address that it is reached on`
  return null
}
