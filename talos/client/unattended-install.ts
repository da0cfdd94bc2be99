import { RuntimeUnattendedInstallPhase as Phase } from '../proto/gen/definitions/enums_pb.ts'
import type { CallOptions } from './calls.ts'
import type { TalosClient } from './client.ts'
import { TalosError } from './errors.ts'
import { resources } from './resources.ts'
import type { Resource } from './state.ts'
import { isBootId } from './lifecycle.ts'
import { messageText } from './text.ts'

const phases = {
  [Phase.UNATTENDED_INSTALL_PHASE_PENDING]: 'pending',
  [Phase.UNATTENDED_INSTALL_PHASE_INSTALLING]: 'installing',
  [Phase.UNATTENDED_INSTALL_PHASE_INSTALLED]: 'installed',
  [Phase.UNATTENDED_INSTALL_PHASE_WAITING_FOR_REBOOT]: 'waiting-for-reboot',
  [Phase.UNATTENDED_INSTALL_PHASE_FAILED]: 'failed',
} as const

/**
 * The installation that Talos carries out by itself while it boots, since 1.14 and if the
 * configuration has an `UnattendedInstallConfig` (`controllers/runtime/unattended_install.go`).
 * After a failed installer, Talos tries again after a pause, for good.
 */
export interface UnattendedInstall {
  /**
   * `pending`: no disk matches the selector, and Talos waits for one. `failed`: the last attempt
   * has failed. `waiting-for-reboot`: the installation is complete.
   */
  readonly phase: (typeof phases)[keyof typeof phases]
  /** Why Talos waits for a disk, or why the last attempt failed; null in the other phases. */
  readonly error: string | null
  /** Number of the attempt in this boot; null before the first one, and if it isn't known. */
  readonly attempt: number | null
  /** Another one after each change of phase or error. */
  readonly version: string
}

/** Null if the machine has no such installation, or an older Talos. @throws TalosError */
export async function readUnattendedInstall(
  client: TalosClient,
  options: CallOptions = {},
): Promise<UnattendedInstall | null> {
  try {
    const found = await client.get(resources.unattendedInstall, 'unattended-install', options)
    return found === undefined ? null : unattendedInstallOf(found)
  } catch (error) {
    // A type that Talos doesn't register (`internal/app/resources/access.go`).
    if (error instanceof TalosError && error.kind === 'permission_denied') return null
    throw error
  }
}

/**
 * The id of the machine's current boot, which can be read before the machine is configured; null
 * before Talos 1.14 (`controllers/runtime/boot_id.go`). @throws TalosError
 */
export async function readBootId(
  client: TalosClient,
  options: CallOptions = {},
): Promise<string | null> {
  try {
    const id = (await client.get(resources.bootId, 'boot-id', options))?.spec.bootId ?? ''
    return isBootId(id) ? id : null
  } catch (error) {
    // A type that Talos doesn't register (`internal/app/resources/access.go`).
    if (error instanceof TalosError && error.kind === 'permission_denied') return null
    throw error
  }
}

export function unattendedInstallOf({
  spec,
  version,
}: Pick<Resource<{ phase: number; error: string }>, 'spec' | 'version'>): UnattendedInstall | null {
  const phase = phases[spec.phase as keyof typeof phases] as UnattendedInstall['phase'] | undefined
  if (phase === undefined) return null
  const error = messageText(spec.error, 1_000).trim()
  return {
    phase,
    error: error === '' ? null : error,
    attempt: attemptOf(phase, Number(version)),
    version,
  }
}

/**
 * The resource doesn't number the attempts, but its version is increased by each change: installing
 * (1), failed (2), installing (3), failed (4), all one higher if Talos first waited for a disk.
 */
function attemptOf(phase: UnattendedInstall['phase'], changes: number): number | null {
  if (!Number.isSafeInteger(changes) || changes < 1) return null
  if (phase === 'installing') return Math.ceil(changes / 2)
  return phase === 'failed' ? Math.max(1, Math.floor(changes / 2)) : null
}
