import { stageSaid } from '#contract/servers/server.ts'
import { elapsedMs } from '../../../clock.ts'
import type { Installation } from '#talos/client/installation.ts'
import { pullText } from '../whole/etcd-order.ts'
import { atTime, lasting, listed } from '../../../sentences.ts'
import type { MemberRow } from '../store.ts'
import { hasGivenUp } from '../../control-planes/api.ts'
import { decideEtcd } from './decide-etcd.ts'
import {
  installsItself,
  isInInstallBoot,
  type Installing,
  isInstallingItself,
  runsFromMemory,
} from './unattended.ts'
import {
  minute,
  type Around,
  type Seen,
  type ServerAct,
  fail,
  wait,
  lastSeen,
  mostResets,
  mostSends,
  settleMs,
  type SeenService,
} from './acts.ts'

/**
 * A phase of a restart takes seconds. A server that is no member of a cluster yet, answers, and
 * stays at the same phase for this time, in ms, is restarted by force.
 */
const stuckMs = 2 * minute

export function join(server: MemberRow, around: Around, seen: Seen): ServerAct {
  const sent = server.send_intent_at !== null
  switch (seen.kind) {
    case 'dark':
      return joinInTheDark(server, seen)
    case 'stranger':
      return fail(sent ? server.at : 'apply', seen.reason)
    case 'foreign':
      // Right after accepting the configuration the server may still show the maintenance
      // certificate, and nothing is installed yet.
      return sent
        ? wait(
            server.at === 'boot' || server.secured_at !== null ? 'boot' : 'install',
            `${server.name} answers with a certificate that this cluster did not sign: ${seen.reason}`,
          )
        : fail(
            'apply',
            `${server.name} already has a configuration from elsewhere: ${seen.reason}. Reset the server first`,
          )
    case 'maintenance':
      return joinFromMaintenance(server, around, seen)
    default:
      return joinSecured(server, around, seen)
  }
}

function joinInTheDark(
  server: MemberRow,
  { reason, answers = false }: Extract<Seen, { kind: 'dark' }>,
): ServerAct {
  if (answers)
    return wait(
      server.send_intent_at === null ? 'apply' : server.secured_at === null ? 'boot' : server.at,
      `${server.name} answers, but ${reason}`,
    )
  const silent = `${server.name} does not answer: ${reason}; ${lastSeen(server)}`
  if (server.send_intent_at === null) return wait('apply', silent)
  if (server.secured_at !== null)
    return wait(server.role === 'worker' || server.at === 'join' ? 'join' : 'etcd', silent)
  if (server.unbootable_at !== null) return resetting(server)
  if (server.stage === 'rebooting' && server.at === 'install' && server.trouble !== null)
    return wait(
      'install',
      `The installation failed: ${server.trouble}. Restarting, ${lastSeen(server)}`,
    )
  if (server.stage === 'rebooting' || server.at === 'boot')
    return wait('boot', `Restarting, ${lastSeen(server)}: ${reason}`)
  return wait('install', `Installing, ${lastSeen(server)}${attempt(server, null)}: ${reason}`)
}

/** The number of this attempt and the result of the last attempt; '' for the first attempt. */
function attempt(server: MemberRow, trouble: string | null): string {
  if (server.sends < 2) return ''
  return `; attempt ${server.sends} of ${mostSends}${trouble === null && server.trouble !== null ? `, the last one failed: ${server.trouble}` : ''}`
}

/**
 * Whether a server's disk is half installed: the disk has nothing to boot from, or it has META from
 * this installation but no configuration. A complete installation would have stored the
 * configuration. Talos counts a half-installed disk as installed and doesn't install again
 * (`v1alpha1_sequencer.go`, Install).
 */
const isHalfInstalled = (server: MemberRow, { state }: Installation): boolean =>
  state === 'half' ||
  (state === 'whole' && server.was_installed === false && server.secured_at === null)

function joinFromMaintenance(
  server: MemberRow,
  around: Around,
  { stage, installation }: Extract<Seen, { kind: 'maintenance' }>,
): ServerAct {
  const isSettled =
    server.send_intent_at === null ||
    server.sent_at === null ||
    server.left_at !== null ||
    elapsedMs(around, server.sent_at) >= settleMs
  const isTooOften = server.sends >= mostSends && server.sent_at !== null
  if (
    stage === 'maintenance' &&
    server.secured_at === null &&
    isSettled &&
    !isTooOften &&
    isHalfInstalled(server, installation)
  )
    return {
      act: 'mend',
      at: 'apply',
      how: 'wipe',
      disk: installation.disk,
      reason: `${server.name} is half installed: ${server.trouble ?? 'its disk has Talos, but no boot loader'}. The disk is wiped before the next attempt`,
    }
  if (server.send_intent_at === null) return { act: 'apply', at: 'apply', reason: null }
  if (server.secured_at !== null)
    return fail(
      server.at,
      `A machine in maintenance mode answers as ${server.name}: ${server.name} has lost its configuration, or another machine has its address. Look which machine it is; Retry sends the configuration to it`,
    )
  if (stage !== 'maintenance') return wait('install', `Applying its configuration: ${stage}`)
  // Unknown whether the server accepted the configuration (`sent_at` is null): send the same bytes
  // again.
  if (server.sent_at === null) return { act: 'apply', at: 'apply', reason: null }
  if (isSettled) {
    if (server.sends < mostSends)
      return {
        act: 'apply',
        at: 'apply',
        reason: `The server came back in maintenance: ${server.trouble ?? 'no reason was reported'}. Attempt ${server.sends + 1} of ${mostSends}`,
      }
    return fail(
      'install',
      `${server.name} came back in maintenance after ${server.sends} installations: ${server.trouble ?? 'its console shows the reason'}`,
    )
  }
  return wait('install', 'The configuration was accepted; waiting for the installation to begin')
}

/**
 * Whether a configured server has booted from its disk. Its API also answers briefly before and
 * during the installation. The services of a cluster member are listed only after the final boot.
 */
export const hasStarted = (
  server: Pick<MemberRow, 'role' | 'unbootable_at'> & Installing,
  seen: Extract<Seen, { kind: 'secured' }>,
): boolean =>
  hasServices(server, seen) &&
  !isInInstallBoot(server, seen) &&
  server.install_failed_at === null &&
  server.unbootable_at === null

/** Whether Talos has started the services of a member, from the disk or from memory. */
const hasServices = (
  { role }: Pick<MemberRow, 'role'>,
  seen: Extract<Seen, { kind: 'secured' }>,
): boolean =>
  !isInstallingItself(seen) &&
  (seen.stage === 'running' ||
    (seen.stage === 'booting' && (role === 'control_plane' ? 'etcd' : 'kubelet') in seen.services))

/**
 * The failure as text. If the installer hangs, there is no failure, so the text is the last message
 * of Talos or of the installer.
 */
const installing = ({ trouble, last }: Extract<Seen, { kind: 'secured' }>): string =>
  trouble !== null ? `: ${trouble}` : last !== null ? `; last message of Talos: ${last}` : ''

/** The failure of the last attempt as a sentence with a space, or ''. */
const failedBefore = ({ trouble }: MemberRow): string =>
  trouble === null ? '' : `The installation failed: ${trouble}. `

function joinSecured(
  server: MemberRow,
  around: Around,
  seen: Extract<Seen, { kind: 'secured' }>,
): ServerAct {
  if (seen.stage === 'installing')
    return wait(
      'install',
      `Installing since ${atTime(server.at === 'install' ? server.at_since : around.now)}${installing(seen)}${attempt(server, seen.trouble)}`,
    )
  // Talos waits for its volumes, and one that has failed is never closed
  // (`v1alpha1_sequencer_tasks.go`, TeardownVolumeLifecycle).
  if (
    seen.stage === 'rebooting' &&
    server.secured_at === null &&
    seen.restart !== null &&
    seen.restart.ms >= stuckMs
  )
    return {
      act: 'mend',
      at: server.at,
      how: 'restart',
      disk: null,
      reason: `${failedBefore(server)}${server.name} has been at the phase ${seen.restart.phase} of its restart for ${lasting(seen.restart.ms)}. It is restarted by force`,
    }
  // The installation failed, and Talos restarts by itself.
  if (
    seen.stage === 'rebooting' &&
    seen.trouble !== null &&
    server.secured_at === null &&
    server.at !== 'boot'
  )
    return wait(
      'install',
      `The installation failed: ${seen.trouble}. ${server.name} restarts and the installation is tried again`,
    )
  if (server.secured_at === null && (server.unbootable_at !== null || runsFromMemory(server, seen)))
    return withoutBoot(server, seen)
  const isStarted = hasServices(server, seen)
  // The disk was wiped, but Talos counts as installed until it restarts, so it skips the
  // installation and runs from memory.
  if (server.secured_at === null && seen.installation?.state === 'wiped')
    return {
      act: 'mend',
      at: 'install',
      how: 'restart',
      disk: seen.installation.disk,
      reason: `${failedBefore(server)}The disk of ${server.name} was wiped, but Talos notices that only after a restart. It is restarted by force, because any other restart would wait for the wiped disk`,
    }
  // Talos that runs from memory starts no services. In Talos 1.13 and earlier it skips the
  // installation only if it has found META at boot. Since Talos 1.14 the disk is half installed
  // while the installer works.
  if (
    server.secured_at === null &&
    !isInstallingItself(seen) &&
    seen.installation?.state === 'half' &&
    (isStarted || seen.isInstallSkipped)
  )
    return {
      act: 'mend',
      at: 'install',
      how: 'reset',
      disk: seen.installation.disk,
      reason: `${server.name} runs Talos from memory: ${server.trouble ?? 'its disk has no boot loader'}. It is reset, to be installed`,
    }
  if (server.secured_at === null && seen.unattended !== null && isInstallingItself(seen))
    return installsItself(server, around, seen, seen.unattended)
  if (!isStarted) {
    // The server boots twice: before the installation and, after a restart, from its disk.
    const at =
      server.secured_at === null && seen.stage === 'booting' && server.at !== 'boot'
        ? 'install'
        : 'boot'
    return {
      act: 'wait',
      at,
      reason: `${server.name} is ${stageSaid(seen.stage)}${seen.trouble === null ? '' : `: ${seen.trouble}`}`,
    }
  }
  const etcd = seen.services['etcd']
  if (server.role === 'control_plane' && etcd !== undefined) {
    const stuck = decideEtcd(server, around, etcd)
    if (stuck !== null) return stuck
  }
  if (server.role === 'worker' || (etcd?.state === 'Running' && etcd.healthy)) {
    const kubelet = seen.services['kubelet']
    if (kubelet && hasGivenUp(kubelet.state, kubelet.message))
      return {
        act: 'start-kubelet',
        at: 'join',
        reason: `kubelet is Failed: ${kubelet.message.replace(/\.$/, '')}. It is started again`,
      }
    return wait(
      'join',
      `Waiting to be Ready in Kubernetes${lacking(seen, (name) => name !== 'nodeReady')}`,
    )
  }
  // Problems of the machine itself (time, network) are part of the reason.
  return wait(
    'etcd',
    `${etcdReason(etcd, around)}${lacking(seen, (name) => name === 'time' || name === 'network')}`,
  )
}

/**
 * A server whose disk doesn't boot, as far as it shows: it is reset and installed again, once.
 * `unbootable_at` is set with the reset, and until the next configuration, so a restart meanwhile
 * changes nothing.
 */
function withoutBoot(
  server: MemberRow,
  { stage, installation, trouble }: Extract<Seen, { kind: 'secured' }>,
): ServerAct {
  const cause = server.trouble ?? trouble ?? 'no reason was reported'
  if (stage !== 'booting' && stage !== 'running') return resetting(server)
  const runs = `${server.name} runs Talos from memory, and has not booted from ${server.install_disk} since Talos was to be installed there: ${cause}`
  if (server.unbootable_at === null && server.install_resets >= mostResets)
    return fail(
      'install',
      `${runs}. The server was reset and installed again, with the same result. Look at the disk and at how the firmware boots (UEFI or BIOS), or replace the server; Retry resets it and installs once more`,
    )
  return {
    act: 'mend',
    at: 'install',
    how: 'reset',
    disk: installation?.disk ?? null,
    reason: `${runs}. It is reset, to be installed again`,
  }
}

/** The wait for the end of a reset that was ordered because the server's disk doesn't boot. */
const resetting = (server: MemberRow): ServerAct =>
  wait(
    'install',
    `${server.name} is being reset, to be installed again, ${lastSeen(server)}: ${server.trouble ?? 'no reason was reported'}`,
  )

function lacking(
  { unmet, services }: Extract<Seen, { kind: 'secured' }>,
  counts: (name: string) => boolean,
): string {
  // Talos's reason says only that a service isn't running; the service's last message says why.
  const why = (name: string): string =>
    Object.entries(services)
      .filter(
        ([id, s]) =>
          name === 'services' && !s.healthy && /\bfail/i.test(s.message) && id !== 'etcd',
      )
      .map(([id, s]) => `; ${id}: ${s.message}`)
      .concat(
        Object.entries(services).flatMap(([id, s]) =>
          name === 'services' && s.pull && id !== 'etcd' ? `; ${pullText(id, s.pull)}` : [],
        ),
      )
      .join('')
  const reasons = unmet.filter((u) => counts(u.name)).map((u) => `${u.reason}${why(u.name)}`)
  return reasons.length > 0 ? `: ${listed(reasons)}` : ''
}

function etcdReason(etcd: SeenService | undefined, around: Around): string {
  if (etcd?.pull) return pullText('etcd', etcd.pull)
  if (around.bootstrap === null)
    return 'Waiting for etcd to be started on the first control plane that answers'
  if (around.bootstrap.confirmedAt === null)
    return `Waiting for etcd to be started on ${around.bootstrap.name}`
  return etcd
    ? `etcd is ${etcd.state.toLowerCase()}${etcd.message ? `: ${etcd.message}` : ''}`
    : 'etcd has not begun yet'
}
