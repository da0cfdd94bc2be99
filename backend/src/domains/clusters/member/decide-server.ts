/**
 * Decides the next action for a server of a cluster: a pure function of the wanted state, the
 * stored facts and the server's observed state. Never assumes that a command was carried out.
 */
import { elapsedMs } from '../../../clock.ts'
import type { ClusterRole } from '#contract/clusters/clusters.ts'
import type { Pull } from '#talos/client/pulls.ts'
import type { Installation } from '#talos/client/installation.ts'
import { pullText } from '../create/etcd-order.ts'
import { atTime, lasting, listed } from '../sentences.ts'
import type { Place } from '../../../db/columns.ts'
import type { Job } from '../../../engine/engine.ts'
import { afterWipe } from '../plan.ts'
import type { MemberRow, State } from '../store.ts'
import { waitTurn } from '../whole/decide-cluster.ts'

export interface SeenService {
  readonly state: string
  readonly healthy: boolean
  readonly message: string
  /** What the service pulls before it runs; null if nothing is known of a pull. */
  readonly pull?: Pull | null
}

/** The observed state of a server. */
export type Seen =
  /**
   * The server's state is unknown. `answers`: the server is up, and `reason` says why its state
   * can't be read.
   */
  | { readonly kind: 'dark'; readonly reason: string; readonly answers?: boolean }
  /** A secured API with a certificate of another cluster. */
  | { readonly kind: 'foreign'; readonly reason: string }
  /** Other hardware answered at the server's address; nothing was sent to it. */
  | { readonly kind: 'stranger'; readonly reason: string }
  | { readonly kind: 'maintenance'; readonly stage: string; readonly installation: Installation }
  | {
      readonly kind: 'secured'
      readonly stage: string
      /** Services of a booting or running server, else empty. */
      readonly services: Readonly<Record<string, SeenService>>
      /** What is installed on the server's disk; null if not queried. */
      readonly installation: Installation | null
      /** Conditions that Talos reports as unmet. */
      readonly unmet: readonly { readonly name: string; readonly reason: string }[]
      /**
       * Whether `trouble` was queried just now. If not, it may be the result of an earlier query.
       */
      readonly askedTrouble: boolean
      /** The failure that the server's log shows, if queried. */
      readonly trouble: string | null
      /** Whether Talos skipped the installation at boot; false if not queried. */
      readonly isInstallSkipped: boolean
      /** Last message of a running installation, if queried. */
      readonly last: string | null
      /**
       * Phase of a restart that is running or has failed, and for how long it has been seen; null
       * if no restart was seen.
       */
      readonly restart: { readonly phase: string; readonly ms: number } | null
      /**
       * Whether the failure that was found earlier in this attempt is over, such as that of an
       * image that is being pulled now.
       */
      readonly isTroubleOver: boolean
      /** Last lines of the server's log, if queried, else empty. */
      readonly log: readonly string[]
    }

export type Around = ReturnType<typeof aroundOf>

/** Facts of a server's cluster. */
export function aroundOf(
  { row, members, bootstrap, hasBundle }: State,
  m: MemberRow,
  job: Pick<Job, 'now' | 'steadySince' | 'upMs'>,
) {
  const chosen = bootstrap && members.find((other) => other.node_id === bootstrap.node_id)
  return {
    now: job.now(),
    /** The time since which the clock has run without a jump. */
    steadySince: job.steadySince(),
    /** How long Steelyard has been running, in ms. */
    upMs: job.upMs(),
    secrets: hasBundle && row.escrowed_at !== null,
    /** The time at which the control plane became healthy, or null. */
    controlPlaneAt: row.control_plane_at,
    /**
     * The server chosen for the bootstrap, and the time at which its etcd was confirmed (null
     * before).
     */
    bootstrap: bootstrap
      ? { name: chosen?.name ?? 'a control plane', confirmedAt: bootstrap.confirmed_at }
      : null,
    /** Why a leaving server has to wait, or null. */
    waitTurn: waitTurn(m, { row, members, bootstrap }),
    /**
     * Whether other control planes stay for now, so that a leaving server must leave etcd
     * gracefully.
     */
    othersStay: members.some(
      (other) =>
        other.role === 'control_plane' &&
        other.node_id !== m.node_id &&
        other.released_at === null &&
        other.etcd_at !== null,
    ),
    /**
     * Whether the cluster itself stays. If so, a leaving server has its own operation or was
     * replaced.
     */
    clusterStays: row.wanted === 'ready',
  }
}

export type ServerAct =
  | { readonly act: 'render'; readonly at: Place }
  | { readonly act: 'apply'; readonly at: Place; readonly reason: string | null }
  /**
   * The disk is half installed, so Talos would not install again. In maintenance the disk is wiped,
   * and a server that runs from memory is reset. If the disk was wiped, or if a restart doesn't
   * end, the server is restarted by force.
   */
  | {
      readonly act: 'mend'
      readonly at: Place
      readonly how: 'wipe' | 'restart' | 'reset'
      readonly disk: string | null
      readonly reason: string
    }
  | { readonly act: 'reset'; readonly at: Place; readonly graceful: boolean }
  | { readonly act: 'release'; readonly at: Place }
  /**
   * A single leaving server was wiped: record the wipe, remove the server from etcd and Kubernetes,
   * then release it.
   */
  | { readonly act: 'note-wiped'; readonly at: Place }
  | { readonly act: 'forget'; readonly at: Place }
  | { readonly act: 'wait'; readonly at: Place; readonly reason: string }
  | { readonly act: 'fail'; readonly at: Place; readonly reason: string }
  /** Nothing to do: the server was released, has failed, or waits for its turn in a change. */
  | { readonly act: 'rest'; readonly at: Place }

const wait = (at: Place, reason: string): ServerAct => ({ act: 'wait', at, reason })
const fail = (at: Place, reason: string): ServerAct => ({ act: 'fail', at, reason })

const minute = 60_000
/**
 * How long a server may stay at a step before it fails, in ms. Waiting for other servers doesn't
 * count.
 */
export const patienceMs: Partial<Record<Place, number>> = {
  apply: 30 * minute,
  install: 30 * minute,
  boot: 20 * minute,
  etcd: 30 * minute,
  join: 30 * minute,
  reset: 30 * minute,
  release: 30 * minute,
  'forget-member': 30 * minute,
  'forget-node': 30 * minute,
}
/**
 * Pause in ms before a configuration is sent again. The evidence is the stage: Talos leaves
 * `maintenance` within a second after it has accepted a configuration (`machine_status.go`), so a
 * server that is there after the pause doesn't carry it out, or has come back.
 */
export const settleMs = 10_000
/**
 * After this many configurations, a server that is in maintenance again fails: Talos can't be
 * installed on it.
 */
export const mostSends = 5
/**
 * Pause in ms before a reset is sent again. The evidence is the stage: Talos shows `resetting` as
 * soon as the reset begins (`machine_status.go`), and keeps it if the reset hangs. A server that
 * runs after the pause hasn't begun the reset, or has restarted after it failed.
 */
export const resetAgainMs = 90_000
/**
 * A phase of a restart takes seconds. A server that is no member of a cluster yet, answers, and
 * stays at the same phase for this time, in ms, is restarted by force.
 */
const stuckMs = 2 * minute
/** Number of graceful resets of a leaving server before it fails. */
export const mostResets = 3

/**
 * Whether the server was replaced during the creation. Its reset has no time limit: nothing waits
 * for the server, and a user can't retry the reset.
 */
const isReplaced = (server: MemberRow, around: Around): boolean =>
  server.wanted === 'released' && server.operation_id === null && around.clusterStays

/**
 * The next action if it can be decided without querying the server, else null. `isRendered`: the
 * server has a rendered configuration.
 */
export function decideBlind(
  server: MemberRow,
  around: Around,
  isRendered: boolean,
): ServerAct | null {
  if (server.at === 'done') return { act: 'rest', at: 'done' }
  if (server.wanted === 'released') {
    if (server.send_intent_at === null) return { act: 'release', at: 'release' }
    if (server.failed_at !== null && !isReplaced(server, around))
      return { act: 'rest', at: server.at }
    if (server.operation_id !== null && server.wiped_at !== null)
      return { act: 'forget', at: afterWipe(server.role) }
    return around.waitTurn === null ? null : wait('reset', around.waitTurn)
  }
  if (server.failed_at !== null || server.waits) return { act: 'rest', at: server.at }
  if (!around.secrets) return wait('config', "Waiting for the cluster's certificates and keys")
  if (!isRendered) return { act: 'render', at: 'config' }
  if (server.role === 'worker' && server.send_intent_at === null && around.controlPlaneAt === null)
    return wait(
      'apply',
      'Waiting for a healthy control plane: the worker gets its certificate from trustd on a control plane',
    )
  return null
}

export function decideServer(server: MemberRow, around: Around, seen: Seen): ServerAct {
  return patiently(
    server,
    around,
    server.wanted === 'released' ? leave(server, around, seen) : join(server, around, seen),
  )
}

/**
 * Turns a wait that takes too long into a failure, except for a replaced server, which keeps
 * waiting.
 */
export function patiently(server: MemberRow, around: Around, act: ServerAct): ServerAct {
  if (isReplaced(server, around)) return act.act === 'fail' ? wait(act.at, act.reason) : act
  if (act.act !== 'wait' || act.at !== server.at) return act
  const patience = patienceMs[act.at]
  const others = othersDoneAt(server, around, act.at)
  if (patience === undefined || others === null) return act
  const waited = Math.min(
    elapsedMs(around, server.at_since),
    elapsedMs(around, others),
    around.upMs,
  )
  return waited < patience ? act : fail(act.at, `Not done after ${lasting(waited)}. ${act.reason}`)
}

/**
 * The time at which this server stopped waiting for other servers, from which its own time limit
 * counts; null while it waits for them.
 */
function othersDoneAt(server: MemberRow, around: Around, at: Place): Date | null {
  if (server.wanted === 'joined' && at === 'etcd') return around.bootstrap?.confirmedAt ?? null
  return server.wanted === 'joined' && at === 'join' ? around.controlPlaneAt : new Date(0)
}

const lastSeen = (server: MemberRow) =>
  server.seen_at === null ? 'not seen yet' : `last seen ${atTime(server.seen_at)}`

function join(server: MemberRow, around: Around, seen: Seen): ServerAct {
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
  if (server.stage === 'rebooting' && server.at === 'install' && server.trouble !== null)
    return wait(
      'install',
      `The installation failed: ${server.trouble}. Restarting, ${lastSeen(server)}`,
    )
  if (server.stage === 'rebooting' || server.at === 'boot')
    return wait('boot', `Restarting, ${lastSeen(server)}`)
  return wait('install', `Installing, ${lastSeen(server)}${attempt(server, null)}`)
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
  (state === 'whole' &&
    server.sends > 0 &&
    server.was_installed === false &&
    server.secured_at === null)

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
      `${server.name} came back in maintenance: it has lost its configuration. Retry sends it again`,
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
export const hasStarted = (role: ClusterRole, seen: Extract<Seen, { kind: 'secured' }>): boolean =>
  seen.stage === 'running' ||
  (seen.stage === 'booting' && (role === 'control_plane' ? 'etcd' : 'kubelet') in seen.services)

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
  const isStarted = hasStarted(server.role, seen)
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
  // installation only if it has found META at boot.
  if (
    server.secured_at === null &&
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
  if (!isStarted) {
    // The server boots twice: before the installation and, after a restart, from its disk.
    const at =
      server.secured_at === null && seen.stage === 'booting' && server.at !== 'boot'
        ? 'install'
        : 'boot'
    return {
      act: 'wait',
      at,
      reason: `${server.name} is ${seen.stage.replaceAll('_', ' ')}${seen.trouble === null ? '' : `: ${seen.trouble}`}`,
    }
  }
  const etcd = seen.services['etcd']
  if (server.role === 'worker' || (etcd?.state === 'Running' && etcd.healthy))
    return wait(
      'join',
      `Waiting to be Ready in Kubernetes${lacking(seen, (name) => name !== 'nodeReady')}`,
    )
  // Problems of the machine itself (time, network) are part of the reason.
  return wait(
    'etcd',
    `${etcdReason(etcd, around)}${lacking(seen, (name) => name === 'time' || name === 'network')}`,
  )
}

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

function leave(server: MemberRow, around: Around, seen: Seen): ServerAct {
  const told = server.reset_intent_at !== null
  switch (seen.kind) {
    case 'dark':
      return told
        ? wait('release', `Wiping and restarting, ${lastSeen(server)}`)
        : wait(
            'reset',
            `${server.name} ${seen.answers ? 'answers, but' : 'does not answer:'} ${seen.reason}; ${lastSeen(server)}. It has a configuration, so it is reset before it is released`,
          )
    case 'stranger':
      return fail(told ? 'release' : 'reset', seen.reason)
    case 'foreign':
      return fail(
        'reset',
        `${server.name} answers with a certificate that this cluster did not sign: ${seen.reason}`,
      )
    case 'maintenance':
      // The server may be applying a configuration that was just sent.
      if (
        !told &&
        (seen.stage !== 'maintenance' || elapsedMs(around, server.send_intent_at!) < settleMs)
      )
        return wait(
          'reset',
          'Waiting to see whether the server applies the configuration that it was sent',
        )
      return server.operation_id !== null
        ? { act: 'note-wiped', at: 'release' }
        : { act: 'release', at: 'release' }
    default:
      return leaveSecured(server, around, seen)
  }
}

function leaveSecured(
  server: MemberRow,
  around: Around,
  seen: Extract<Seen, { kind: 'secured' }>,
): ServerAct {
  if (seen.stage === 'resetting' || (server.reset_intent_at !== null && seen.stage === 'rebooting'))
    return wait('release', `${server.name} is ${seen.stage}`)
  if (seen.stage !== 'booting' && seen.stage !== 'running')
    return wait(
      'reset',
      `${server.name} is ${seen.stage.replaceAll('_', ' ')}: a reset is possible after it has started`,
    )
  // If the server had received the reset, it would be resetting by now, so send the reset again.
  if (server.reset_sent_at !== null && elapsedMs(around, server.reset_sent_at) < resetAgainMs)
    return wait('release', 'The reset was requested; waiting for it to begin')
  const member = server.role === 'control_plane' && seen.services['etcd']?.healthy === true
  if (server.operation_id !== null) {
    // A graceful reset drains the node, and a healthy member leaves etcd itself instead of just
    // disappearing.
    if (server.resets < mostResets)
      return { act: 'reset', at: 'reset', graceful: member || server.role === 'worker' }
    return fail(
      'reset',
      `${server.name} was ordered ${mostResets} times to reset and still runs: see its log for the reason`,
    )
  }
  // A member that can't leave gracefully (etcd has no majority) is wiped anyway at the second
  // attempt.
  return { act: 'reset', at: 'reset', graceful: member && around.othersStay && server.resets === 0 }
}
