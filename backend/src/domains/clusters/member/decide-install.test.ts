import { expect, test } from 'vitest'
import type { Installation } from '#talos/client/installation.ts'
import { decideServer } from './decide-server.ts'
import { mostSends, type Seen } from './acts.ts'
import { sent, now, around, fresh, secured, dark, maintenance } from './testing.ts'

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

test('after a retry, which counts the attempts anew, a disk that an earlier installation has left half installed is wiped as well', () => {
  const retried = {
    ...fresh,
    send_intent_at: new Date(now - 60_000),
    was_installed: false,
    sends: 0,
  }
  expect(decideServer(retried, around, whole)).toMatchObject({ act: 'mend', how: 'wipe' })
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
