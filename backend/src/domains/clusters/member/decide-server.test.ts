import { expect, test } from 'vitest'
import type { Installation } from '#talos/client/installation.ts'
import type { MemberRow } from '../store.ts'
import { buildMember } from '../testing/rows.ts'
import {
  type Around,
  decideBlind,
  decideServer,
  mostResets,
  mostSends,
  patienceMs,
  resetAgainMs,
  type Seen,
  settleMs,
} from './decide-server.ts'

const now = Date.UTC(2026, 0, 15, 14, 10)
const fresh = buildMember({
  at_since: new Date(now - 1000),
  seen_at: new Date(now - 240_000),
  stage: 'maintenance',
})
const around: Around = {
  now,
  steadySince: 0,
  upMs: Infinity,
  secrets: true,
  controlPlaneAt: null,
  bootstrap: null,
  waitTurn: null,
  othersStay: false,
  clusterStays: false,
}
const dark: Seen = { kind: 'dark', reason: 'connection refused' }
const maintenance: Seen = {
  kind: 'maintenance',
  stage: 'maintenance',
  installation: { state: 'none', disk: null },
}
const healthy = { state: 'Running', healthy: true, message: '' }
const preparing = { state: 'Preparing', healthy: false, message: 'Running pre state' }
const secured = (
  stage: string,
  services: Record<string, typeof healthy> = { etcd: preparing },
): Seen => ({
  kind: 'secured',
  stage,
  services,
  installation: null,
  unmet: [],
  askedTrouble: false,
  isInstallSkipped: false,
  last: null,
  restart: null,
  isTroubleOver: false,
  trouble: null,
  log: [],
})
const sent: MemberRow = {
  ...fresh,
  at: 'install',
  send_intent_at: new Date(now - 5000),
  sent_at: new Date(now - 5000),
}

test('a server is not contacted before the cluster has its secrets and the server has a configuration', () => {
  expect(decideBlind(fresh, { ...around, secrets: false }, false)).toMatchObject({
    act: 'wait',
    at: 'config',
  })
  expect(decideBlind(fresh, around, false)).toEqual({ act: 'render', at: 'config' })
  expect(decideBlind(fresh, around, true)).toBeNull()
})

test('a worker gets its configuration only after trustd answers', () => {
  const worker: MemberRow = { ...fresh, role: 'worker' }
  expect(decideBlind(worker, around, true)).toMatchObject({
    act: 'wait',
    at: 'apply',
    reason: expect.stringContaining('trustd'),
  })
  expect(decideBlind(worker, { ...around, controlPlaneAt: new Date(now) }, true)).toBeNull()
  expect(
    decideServer(worker, { ...around, controlPlaneAt: new Date(now) }, maintenance),
  ).toMatchObject({ act: 'apply' })
})

test('a server in maintenance gets its configuration', () => {
  expect(decideServer(fresh, around, maintenance)).toEqual({
    act: 'apply',
    at: 'apply',
    reason: null,
  })
})

test('after a crash before the response, the same configuration is sent again at once', () => {
  expect(decideServer({ ...sent, sent_at: null }, around, maintenance)).toMatchObject({
    act: 'apply',
  })
})

test('an accepted configuration is not sent again until the server has had time to apply it', () => {
  expect(decideServer(sent, around, maintenance)).toMatchObject({ act: 'wait', at: 'install' })
  expect(
    decideServer({ ...sent, sent_at: new Date(now - settleMs) }, around, maintenance),
  ).toMatchObject({ act: 'apply' })
})

test('a server that returns in maintenance has failed to install, and receives its configuration again a limited number of times', () => {
  expect(
    decideServer({ ...sent, left_at: new Date(now), sends: 1 }, around, maintenance),
  ).toMatchObject({ act: 'apply' })
  expect(
    decideServer({ ...sent, left_at: new Date(now), sends: mostSends }, around, maintenance),
  ).toMatchObject({ act: 'fail', at: 'install' })
  expect(
    decideServer(
      { ...sent, left_at: new Date(now), sends: mostSends, trouble: 'i/o error' },
      around,
      maintenance,
    ),
  ).toMatchObject({
    reason: 'web-1 came back in maintenance after 5 installations: i/o error',
  })
})

test.each(['foreign', 'stranger'] as const)(
  'nothing is sent to a machine whose identity is %s',
  (kind) => {
    expect(decideServer(fresh, around, { kind, reason: 'not it' })).toMatchObject({
      act: 'fail',
      at: 'apply',
    })
  },
)

test('a server that answers with a foreign certificate does not count as installed', () => {
  const foreign: Seen = { kind: 'foreign', reason: 'not signed by the expected authority' }
  expect(decideServer(sent, around, foreign)).toMatchObject({ act: 'wait', at: 'install' })
  expect(decideServer({ ...sent, at: 'boot' }, around, foreign)).toMatchObject({
    act: 'wait',
    at: 'boot',
  })
})

test('a server that is silent during its installation shows when it was last seen', () => {
  expect(decideServer(sent, around, dark)).toEqual({
    act: 'wait',
    at: 'install',
    reason: 'Installing, last seen 14:06 UTC',
  })
  expect(decideServer({ ...sent, stage: 'rebooting' }, around, dark)).toEqual({
    act: 'wait',
    at: 'boot',
    reason: 'Restarting, last seen 14:06 UTC',
  })
})

test('a control plane waits for its etcd, then for Kubernetes to report it Ready', () => {
  expect(decideServer(sent, around, secured('booting'))).toMatchObject({
    act: 'wait',
    at: 'etcd',
    reason: expect.stringContaining('first control plane that answers'),
  })
  const begun = { ...around, bootstrap: { name: 'web-2', confirmedAt: null } }
  expect(decideServer(sent, begun, secured('booting'))).toMatchObject({
    at: 'etcd',
    reason: 'Waiting for etcd to be started on web-2',
  })
  expect(decideServer(sent, around, secured('booting', { etcd: healthy }))).toEqual({
    act: 'wait',
    at: 'join',
    reason: 'Waiting to be Ready in Kubernetes',
  })
})

test('problems of a machine are reported with the message of Talos', () => {
  const unmet = [
    { name: 'time', reason: 'time is not synced' },
    { name: 'services', reason: 'kubelet not running' },
    { name: 'nodeReady', reason: 'node "web-1" is not ready' },
  ]
  const worker: MemberRow = { ...sent, role: 'worker', secured_at: new Date(now) }
  expect(decideServer(worker, around, { ...secured('running', {}), unmet } as Seen)).toMatchObject({
    at: 'join',
    reason: 'Waiting to be Ready in Kubernetes: time is not synced and kubelet not running',
  })
  expect(
    decideServer(sent, { ...around, bootstrap: { name: 'web-1', confirmedAt: null } }, {
      ...secured('booting'),
      unmet,
    } as Seen),
  ).toMatchObject({
    at: 'etcd',
    reason: 'Waiting for etcd to be started on web-1: time is not synced',
  })
})

test('a server whose clock is wrong counts as answering', () => {
  const clock: Seen = {
    kind: 'dark',
    reason: 'by its certificate its clock is at least 61 minutes ahead of ours',
    answers: true,
  }
  expect(decideServer(sent, around, clock)).toEqual({
    act: 'wait',
    at: 'boot',
    reason: `web-1 answers, but ${clock.reason}`,
  })
  expect(decideServer({ ...sent, wanted: 'released' }, around, clock)).toMatchObject({
    act: 'wait',
    at: 'reset',
    reason: expect.stringContaining(`web-1 answers, but ${clock.reason}; `),
  })
})

test('a server whose secured API answers before a restart was seen still counts as installing', () => {
  expect(decideServer(sent, around, secured('booting', {}))).toMatchObject({
    act: 'wait',
    at: 'install',
  })
  // After a restart was seen, Talos is installed, so a brief answer belongs to the boot and not to
  // the installation.
  expect(decideServer({ ...sent, at: 'boot' }, around, secured('booting', {}))).toMatchObject({
    act: 'wait',
    at: 'boot',
  })
})

test('a server that reports the stage installing or rebooting over the secured API does not count as started', () => {
  expect(decideServer(sent, around, secured('installing'))).toMatchObject({
    act: 'wait',
    at: 'install',
  })
  expect(decideServer(sent, around, secured('rebooting'))).toMatchObject({
    act: 'wait',
    at: 'boot',
  })
})

test('a server that lost its configuration receives a new one only after a user decides so', () => {
  expect(
    decideServer({ ...sent, at: 'etcd', secured_at: new Date(now - 9000) }, around, maintenance),
  ).toMatchObject({
    act: 'fail',
    reason: expect.stringContaining('lost its configuration'),
  })
})

test('the time in which Steelyard did not run does not count towards the time limits', () => {
  const installing = { ...sent, at_since: new Date(now - 86_400_000) }
  expect(decideServer(installing, { ...around, upMs: 60_000 }, dark)).toMatchObject({
    act: 'wait',
    at: 'install',
  })
  expect(decideServer(installing, { ...around, upMs: patienceMs.install! }, dark)).toMatchObject({
    act: 'fail',
    at: 'install',
  })
})

test('nothing is sent to a server that waits for its turn in a change, and it is released at once if the change is cancelled', () => {
  const waits = buildMember({ waits: true })
  expect(decideBlind(waits, around, true)).toMatchObject({ act: 'rest' })
  expect(decideBlind({ ...waits, wanted: 'released' }, around, true)).toMatchObject({
    act: 'release',
  })
})

test('a clock that jumps a day ahead or back does not change the time limits', () => {
  const installing = { ...sent, at_since: new Date(now - 60_000) }
  const ahead = { ...around, now: now + 86_400_000, steadySince: now + 86_400_000 - 5_000 }
  expect(decideServer(installing, ahead, dark)).toMatchObject({ act: 'wait', at: 'install' })
  const back = { ...around, now: now - 86_400_000, steadySince: now - 86_400_000 - 5_000 }
  expect(decideServer(installing, back, dark)).toMatchObject({ act: 'wait', at: 'install' })
  const longAfter = { ...back, now: back.now + patienceMs.install! }
  expect(decideServer(installing, longAfter, dark)).toMatchObject({
    act: 'fail',
    at: 'install',
    reason: expect.stringContaining('Not done after 30 min') as string,
  })
})

test('a wait that exceeds its limit fails with its reason, but waiting for other servers has no limit', () => {
  const late = { ...sent, at_since: new Date(now - patienceMs.install!) }
  expect(decideServer(late, around, dark)).toEqual({
    act: 'fail',
    at: 'install',
    reason: 'Not done after 30 min. Installing, last seen 14:06 UTC',
  })
  const waiting: MemberRow = {
    ...sent,
    at: 'etcd',
    secured_at: new Date(now - 9000),
    at_since: new Date(now - 10 * patienceMs.etcd!),
  }
  expect(decideServer(waiting, around, secured('booting'))).toMatchObject({
    act: 'wait',
    at: 'etcd',
  })
  // The server's own time limit starts when the other servers are done.
  const begun = { ...around, bootstrap: { name: 'web-2', confirmedAt: new Date(now - 60_000) } }
  expect(decideServer(waiting, begun, secured('booting'))).toMatchObject({
    act: 'wait',
    at: 'etcd',
  })
  expect(
    decideServer(waiting, { ...begun, now: now + patienceMs.etcd! }, secured('booting')),
  ).toMatchObject({ act: 'fail', at: 'etcd' })
  const joining: MemberRow = { ...waiting, role: 'worker', at: 'join' }
  expect(decideServer(joining, around, secured('running'))).toMatchObject({
    act: 'wait',
    at: 'join',
  })
  expect(
    decideServer(
      joining,
      { ...around, controlPlaneAt: new Date(now - 60_000) },
      secured('running'),
    ),
  ).toMatchObject({ act: 'wait', at: 'join' })
  expect(
    decideServer(
      joining,
      { ...around, controlPlaneAt: new Date(now - patienceMs.join!) },
      secured('running'),
    ),
  ).toEqual({
    act: 'fail',
    at: 'join',
    reason: 'Not done after 30 min. Waiting to be Ready in Kubernetes',
  })
})

test('a server that never received a configuration is released without being contacted', () => {
  expect(decideBlind({ ...fresh, wanted: 'released' }, around, true)).toEqual({
    act: 'release',
    at: 'release',
  })
})

test('a server that received a configuration is reset before its release, and the reset is repeated only after a pause', () => {
  const leaving: MemberRow = { ...sent, wanted: 'released', at: 'reset' }
  expect(decideServer(leaving, around, secured('running'))).toEqual({
    act: 'reset',
    at: 'reset',
    graceful: false,
  })
  expect(
    decideServer(
      {
        ...leaving,
        reset_intent_at: new Date(now - 1000),
        reset_sent_at: new Date(now - 1000),
        resets: 1,
      },
      around,
      secured('running'),
    ),
  ).toMatchObject({
    act: 'wait',
    at: 'release',
  })
  expect(
    decideServer(
      {
        ...leaving,
        reset_intent_at: new Date(now - resetAgainMs),
        reset_sent_at: new Date(now - resetAgainMs),
        resets: 1,
      },
      around,
      secured('running'),
    ),
  ).toMatchObject({ act: 'reset' })
  expect(
    decideServer(
      { ...leaving, reset_intent_at: new Date(now - 1000), resets: 1 },
      around,
      maintenance,
    ),
  ).toEqual({ act: 'release', at: 'release' })
  // The reset was sent before a crash, and its result is unknown.
  expect(
    decideServer({ ...leaving, reset_intent_at: new Date(now - 1000) }, around, secured('running')),
  ).toMatchObject({ act: 'reset' })
})

test('a server that has just received a configuration is released only after it shows whether it applies the configuration', () => {
  const leaving: MemberRow = { ...sent, wanted: 'released', at: 'reset' }
  expect(decideServer(leaving, around, maintenance)).toMatchObject({ act: 'wait', at: 'reset' })
  expect(
    decideServer({ ...leaving, send_intent_at: new Date(now - settleMs) }, around, maintenance),
  ).toEqual({ act: 'release', at: 'release' })
})

test('waiting for the reset of a replaced server has no time limit, because a user could not retry that reset', () => {
  const replaced: MemberRow = {
    ...sent,
    wanted: 'released',
    at: 'reset',
    at_since: new Date(now - 86_400_000),
  }
  const stays = { ...around, clusterStays: true }
  const foreign: Seen = { kind: 'foreign', reason: 'unknown authority' }
  for (const seen of [dark, foreign, { kind: 'stranger', reason: 'Other hardware' } as const]) {
    expect(decideServer(replaced, stays, seen)).toMatchObject({ act: 'wait', at: 'reset' })
    expect(decideServer(replaced, around, seen)).toMatchObject({ act: 'fail' })
    expect(decideServer({ ...replaced, operation_id: 'reset' }, stays, seen)).toMatchObject({
      act: 'fail',
    })
  }
  expect(decideBlind({ ...replaced, failed_at: new Date(now) }, stays, true)).toBeNull()
  expect(decideBlind({ ...replaced, failed_at: new Date(now) }, around, true)).toEqual({
    act: 'rest',
    at: 'reset',
  })
})

test('a control plane leaves etcd gracefully while others stay; the last control plane does not', () => {
  const leaving: MemberRow = { ...sent, wanted: 'released', at: 'reset' }
  const running = secured('running', { etcd: healthy })
  expect(decideServer(leaving, { ...around, othersStay: true }, running)).toMatchObject({
    act: 'reset',
    graceful: true,
  })
  expect(decideServer(leaving, around, running)).toMatchObject({ act: 'reset', graceful: false })
  expect(
    decideServer(
      { ...leaving, resets: 1, reset_intent_at: new Date(now - resetAgainMs) },
      { ...around, othersStay: true },
      running,
    ),
  ).toMatchObject({
    act: 'reset',
    graceful: false,
  })
  expect(decideBlind(leaving, { ...around, waitTurn: 'Workers first: web-4' }, true)).toEqual({
    act: 'wait',
    at: 'reset',
    reason: 'Workers first: web-4',
  })
})

test('a server that leaves a running cluster is reset gracefully, and removed from etcd and Kubernetes after its wipe', () => {
  const leaving: MemberRow = { ...sent, wanted: 'released', operation_id: 'reset', at: 'reset' }
  const running = secured('running', { etcd: healthy })
  expect(decideServer(leaving, around, running)).toEqual({
    act: 'reset',
    at: 'reset',
    graceful: true,
  })
  expect(decideServer({ ...leaving, resets: mostResets - 1 }, around, running)).toMatchObject({
    act: 'reset',
    graceful: true,
  })
  expect(decideServer({ ...leaving, resets: mostResets }, around, running)).toMatchObject({
    act: 'fail',
  })
  // The server's etcd doesn't run, so the server can't leave gracefully, and the others remove it.
  expect(decideServer(leaving, around, secured('running', { etcd: preparing }))).toMatchObject({
    act: 'reset',
    graceful: false,
  })
  expect(
    decideServer({ ...leaving, role: 'worker' }, around, secured('running', {})),
  ).toMatchObject({ act: 'reset', graceful: true })
  const told = {
    ...leaving,
    send_intent_at: new Date(now - 86_400_000),
    reset_intent_at: new Date(now - 9_000),
    reset_sent_at: new Date(now - 9_000),
    resets: 1,
  }
  expect(decideServer(told, around, maintenance)).toEqual({ act: 'note-wiped', at: 'release' })
  expect(decideBlind({ ...told, wiped_at: new Date(now) }, around, true)).toEqual({
    act: 'forget',
    at: 'forget-member',
  })
  expect(decideBlind({ ...told, role: 'worker', wiped_at: new Date(now) }, around, true)).toEqual({
    act: 'forget',
    at: 'forget-node',
  })
})

const half: Seen = {
  kind: 'maintenance',
  stage: 'maintenance',
  installation: { state: 'half', disk: 'sda' },
}
const whole: Seen = {
  kind: 'maintenance',
  stage: 'maintenance',
  installation: { state: 'whole', disk: 'sda' },
}

test('after an installation that failed halfway the disk is wiped before the next attempt', () => {
  const failed = {
    ...sent,
    left_at: new Date(now),
    sends: 1,
    was_installed: false,
    trouble: 'task "upgrade" failed: exit code 1',
  }
  for (const seen of [half, whole])
    expect(decideServer(failed, around, seen)).toEqual({
      act: 'mend',
      at: 'apply',
      how: 'wipe',
      disk: 'sda',
      reason:
        'web-1 is half installed: task "upgrade" failed: exit code 1. The disk is wiped before the next attempt',
    })
  // A disk that somebody else left half installed is wiped too. Nothing is wiped while the
  // installation may still run, or after the last attempt.
  expect(decideServer(fresh, around, half)).toMatchObject({ act: 'mend', how: 'wipe' })
  expect(decideServer({ ...failed, left_at: null }, around, half)).toMatchObject({
    act: 'wait',
    at: 'install',
  })
  expect(decideServer({ ...failed, sends: mostSends }, around, half)).toMatchObject({
    act: 'fail',
    reason: expect.stringContaining('after 5 installations'),
  })
})

test('Talos is not wiped if it was on the disk before the installation or has started from that disk', () => {
  expect(decideServer(fresh, around, whole)).toMatchObject({ act: 'apply' })
  expect(
    decideServer({ ...sent, left_at: new Date(now), sends: 2, was_installed: true }, around, whole),
  ).toMatchObject({ act: 'apply' })
  expect(
    decideServer(
      { ...sent, sends: 1, was_installed: false, at: 'etcd', secured_at: new Date(now - 9000) },
      around,
      half,
    ),
  ).toMatchObject({ act: 'fail' })
})

test('a server that runs Talos from memory does not count as installed', () => {
  const running = secured('booting') as Extract<Seen, { kind: 'secured' }>
  const from = (state: Installation['state']): Seen => ({
    ...running,
    installation: { state, disk: state === 'none' ? null : 'sda' },
  })
  expect(decideServer(sent, around, from('half'))).toMatchObject({
    act: 'mend',
    at: 'install',
    how: 'reset',
    disk: 'sda',
  })
  expect(decideServer(sent, around, from('whole'))).toMatchObject({ act: 'wait', at: 'etcd' })
  // Without services, the machine may still be about to install. It is reset only if it reports
  // that it skipped the installation.
  const early = { ...from('half'), services: {} } as Extract<Seen, { kind: 'secured' }>
  expect(decideServer(sent, around, early)).toMatchObject({ act: 'wait', at: 'install' })
  expect(decideServer(sent, around, { ...early, isInstallSkipped: true })).toMatchObject({
    act: 'mend',
    how: 'reset',
  })
  // A machine of Talos 1.14 skips the sequence and installs later, so a disk without Talos is no
  // reason for a restart.
  expect(
    decideServer(sent, around, {
      ...early,
      installation: { state: 'none', disk: null },
      isInstallSkipped: true,
    }),
  ).toMatchObject({ act: 'wait' })
})

test('a server whose disk was wiped is restarted by force, and its failure stays the first part of the reason', () => {
  const wiped = { ...secured('booting', {}), installation: { state: 'wiped', disk: 'sda' } } as Seen
  expect(
    decideServer({ ...sent, sends: 2, trouble: 'failed to install grub' }, around, wiped),
  ).toEqual({
    act: 'mend',
    at: 'install',
    how: 'restart',
    disk: 'sda',
    reason:
      'The installation failed: failed to install grub. The disk of web-1 was wiped, but Talos notices that only after a restart. It is restarted by force, because any other restart would wait for the wiped disk',
  })
  // In maintenance the server gets its configuration, because it can't be restarted there.
  const there: Seen = {
    kind: 'maintenance',
    stage: 'maintenance',
    installation: { state: 'wiped', disk: 'sda' },
  }
  expect(
    decideServer(
      { ...sent, sends: 1, was_installed: false, left_at: new Date(now) },
      around,
      there,
    ),
  ).toMatchObject({ act: 'apply' })
  expect(
    decideServer({ ...sent, at: 'etcd', secured_at: new Date(now - 9000) }, around, wiped),
  ).not.toMatchObject({ act: 'mend' })
})

test('a restart that stays at one phase for two minutes is forced, but never that of a member of the cluster', () => {
  const restarting = (ms: number) =>
    ({ ...secured('rebooting', {}), restart: { phase: 'volumeFinalize (7/10)', ms } }) as Seen
  expect(decideServer(sent, around, restarting(119_000))).toMatchObject({ act: 'wait' })
  expect(decideServer(sent, around, restarting(120_000))).toMatchObject({
    act: 'mend',
    how: 'restart',
    reason:
      'web-1 has been at the phase volumeFinalize (7/10) of its restart for 2 min. It is restarted by force',
  })
  const member = { ...sent, at: 'etcd', secured_at: new Date(now - 9000) } as const
  expect(decideServer(member, around, restarting(3_600_000))).toMatchObject({ act: 'wait' })
})

test('a failed installation is reported while the server restarts, while it is silent, and during the next attempt', () => {
  const trouble = 'failed to pull image "x": not found'
  const failing = { ...secured('rebooting'), trouble } as Seen
  expect(decideServer(sent, around, failing)).toEqual({
    act: 'wait',
    at: 'install',
    reason: `The installation failed: ${trouble}. web-1 restarts and the installation is tried again`,
  })
  expect(decideServer({ ...sent, stage: 'rebooting', trouble }, around, dark)).toEqual({
    act: 'wait',
    at: 'install',
    reason: `The installation failed: ${trouble}. Restarting, last seen 14:06 UTC`,
  })
  expect(
    decideServer({ ...sent, left_at: new Date(now), sends: 1, trouble }, around, maintenance),
  ).toEqual({
    act: 'apply',
    at: 'apply',
    reason: `The server came back in maintenance: ${trouble}. Attempt 2 of 5`,
  })
  expect(decideServer({ ...sent, sends: 2, trouble }, around, secured('installing'))).toMatchObject(
    {
      reason: expect.stringMatching(
        /^Installing since .*; attempt 2 of 5, the last one failed: failed to pull image/,
      ),
    },
  )
})

test('if the kubelet has stopped, the reason includes its last message', () => {
  const worker: MemberRow = { ...sent, role: 'worker', secured_at: new Date(now) }
  const kubelet = {
    state: 'Failed',
    healthy: false,
    message: 'Failed to run pre stage: failed to pull image "k:v9": not found',
  }
  expect(
    decideServer(worker, around, {
      ...secured('booting', { kubelet }),
      unmet: [{ name: 'services', reason: 'kubelet not running' }],
    } as Seen),
  ).toMatchObject({
    at: 'join',
    reason:
      'Waiting to be Ready in Kubernetes: kubelet not running; kubelet: Failed to run pre stage: failed to pull image "k:v9": not found',
  })
})
