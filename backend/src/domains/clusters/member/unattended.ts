/**
 * The installation that Talos carries out by itself while it boots, since 1.14. Talos tries again
 * after each failure, for good, so only what was seen over several queries tells whether it still
 * gets anywhere.
 */
import type { UnattendedInstall } from '#talos/client/unattended-install.ts'
import { elapsedMs } from '../../../clock.ts'
import { atTime, lasting } from '../../../sentences.ts'
import type { MemberRow } from '../store.ts'
import {
  type Around,
  fail,
  minute,
  type Seen,
  type SeenUnattended,
  type ServerAct,
} from './acts.ts'

type Secured = Extract<Seen, { kind: 'secured' }>

/**
 * A failed installation that Talos doesn't begin again within this time, in ms, has ended: its
 * pauses are at most 90 s (cosi-project/runtime `run.go`: the default of `ExponentialBackOff`, 60 s
 * and half as much by chance). It ends if Talos doesn't know which installer to run.
 */
const triesAgainMs = 3 * minute
/** Disks are found within seconds; a slow controller takes minutes. */
const findsDiskMs = 5 * minute
/** Maximum number of remembered messages of an installation. */
const mostSaid = 500

/** Whether Talos has still to install itself, or to restart from its disk after that. */
export const isInstallingItself = ({ unattended }: Pick<Secured, 'unattended'>): boolean =>
  unattended !== null && unattended.phase !== 'installed'

/** What is stored of an installation. */
export type Installing = Pick<
  MemberRow,
  'was_installed' | 'install_boot_id' | 'install_failed_at' | 'trouble'
>

/**
 * Whether the server still runs the boot in which it got its configuration, so it hasn't booted from
 * the disk that Talos was to be installed on. A new kernel has a new boot id, also after kexec. If
 * the installer of Talos 1.14 fails after it has made the partition META, the controller is started
 * again, counts as installed, and goes on from memory without a restart
 * (`controllers/runtime/unattended_install.go`, `installedPhase`; `v1alpha1_state.go`, `Installed`).
 */
export const isInInstallBoot = (
  server: Pick<MemberRow, 'was_installed' | 'install_boot_id'>,
  { bootId }: Pick<Secured, 'bootId'>,
): boolean => server.was_installed === false && bootId !== null && bootId === server.install_boot_id

/**
 * Whether Talos goes on without having been installed: in the boot of the installation, or in another
 * one after the last thing that was seen of the installation was its failure.
 */
export const runsFromMemory = (
  server: Installing,
  seen: Pick<Secured, 'bootId' | 'stage'> & {
    readonly unattended: Pick<UnattendedInstall, 'phase'> | null
  },
): boolean =>
  (seen.stage === 'running' || seen.unattended?.phase === 'installed') &&
  (isInInstallBoot(server, seen) || server.install_failed_at !== null)

/** When the installation was seen to fail, until it goes on. */
export const failedSince = (
  { install_failed_at: since }: Installing,
  phase: UnattendedInstall['phase'],
  now: number,
): Date | null =>
  phase === 'failed' ? (since ?? new Date(now)) : phase === 'installed' ? since : null

/** The queries of one installation so far. In memory only. */
export interface Followed {
  readonly sends: number
  readonly version: string
  readonly since: number
  readonly lastError: string | null
  readonly said: ReadonlySet<string>
  readonly newsAt: number
}

/** Adds a query. `said`: what Talos and the installer say now. */
export function follow(
  before: Followed | undefined,
  now: number,
  sends: number,
  { version, error, phase }: UnattendedInstall,
  said: readonly (string | null)[],
): Followed {
  const last = before?.sends === sends ? before : undefined
  const told = [error, ...said].filter((one) => one !== null)
  const isNew = told.some((one) => last?.said.has(one) !== true)
  return {
    sends,
    version,
    since: last?.version === version ? last.since : now,
    lastError: phase === 'failed' ? error : (last?.lastError ?? null),
    said: new Set([...(last?.said ?? []), ...told].slice(-mostSaid)),
    newsAt: last === undefined || isNew ? now : last.newsAt,
  }
}

/** Waits for the installation while Talos goes on with it, and fails once Talos has given up. */
export function installsItself(
  server: MemberRow,
  around: Around,
  { trouble, last }: Pick<Secured, 'trouble' | 'last'>,
  { phase, error, attempt, lastError, unchangedMs, sinceNewsMs }: SeenUnattended,
): ServerAct {
  const goesOn = (reason: string): ServerAct => ({
    act: 'wait',
    at: 'install',
    reason,
    sinceNewsMs,
  })
  // The log has the words of the installer, of which Talos's error has only the exit code.
  const inFull = (short: string | null): string =>
    short !== null && trouble?.startsWith(short) === true
      ? trouble
      : (short ?? 'no reason was reported')
  // After a retry, Talos gets its time once more.
  const restsMs = Math.min(unchangedMs, elapsedMs(around, server.at_since))
  const numbered = attempt === null ? 'An attempt' : `Attempt ${attempt}`
  switch (phase) {
    case 'pending':
      return restsMs < findsDiskMs
        ? goesOn(`Talos waits for the disk to install on: ${inFull(error)}`)
        : fail(
            'install',
            `Talos has not found the disk to install on for ${lasting(restsMs)}: ${inFull(error)}. Look whether the disk that was chosen, ${server.install_disk}, is still in ${server.name}`,
          )
    case 'failed':
      return restsMs < triesAgainMs
        ? goesOn(
            `${numbered} of the installation failed: ${inFull(error)}. Talos tries again by itself`,
          )
        : fail(
            'install',
            `The installation failed: ${inFull(error)}. Talos has not tried again for ${lasting(restsMs)}`,
          )
    case 'waiting-for-reboot':
      return {
        act: 'wait',
        at: 'boot',
        reason: `Talos is installed on ${server.name}, which restarts`,
      }
    default: {
      const isOfThisAttempt =
        trouble !== null && (lastError === null || !trouble.startsWith(lastError))
      const says = isOfThisAttempt
        ? `: ${trouble}`
        : last === null
          ? ''
          : `; last message of Talos: ${last}`
      const before = lastError === null ? '' : `, the last one failed: ${inFull(lastError)}`
      const which = attempt === null || attempt < 2 ? '' : `; attempt ${attempt}${before}`
      const since = server.at === 'install' ? server.at_since : around.now
      return goesOn(`Installing since ${atTime(since)}${says}${which}`)
    }
  }
}
