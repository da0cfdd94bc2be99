import { expect, test } from 'vitest'
import type { UnattendedInstall } from '#talos/client/unattended-install.ts'
import { minute, type Seen, type SeenUnattended } from './acts.ts'
import { hasStarted } from './decide-join.ts'
import { decideServer } from './decide-server.ts'
import { around, now, secured, sent } from './testing.ts'
import { failedSince, follow, type Followed } from './unattended.ts'

type Secured = Extract<Seen, { kind: 'secured' }>

const error = 'task "upgrade" failed: exit code 1'
const status = (
  phase: UnattendedInstall['phase'],
  version = 1,
  attempt: number | null = null,
): UnattendedInstall => ({
  phase,
  error: phase === 'failed' ? error : phase === 'pending' ? 'no disk matched the selector' : null,
  attempt,
  version: String(version),
})
const seen = (unattended: Partial<SeenUnattended>, more: Partial<Secured> = {}): Secured => ({
  ...(secured('booting', {}) as Secured),
  unattended: {
    ...status('installing', 1, 1),
    lastError: null,
    unchangedMs: 0,
    sinceNewsMs: 0,
    ...unattended,
  },
  ...more,
})
const since = (minutes: number) => ({ ...sent, at_since: new Date(now - minutes * minute) })

test('an installation by Talos itself is shown with its attempt and the failure of the last one', () => {
  expect(decideServer(sent, around, seen({}, { last: 'pulling image x: starting...' }))).toEqual({
    act: 'wait',
    at: 'install',
    reason: 'Installing since 14:09 UTC; last message of Talos: pulling image x: starting...',
    sinceNewsMs: 0,
  })
  const trouble = `${error}: failed to zero blockdevice /dev/sda`
  const failed = seen({ ...status('failed', 2, 1), lastError: error }, { trouble })
  expect(decideServer(sent, around, failed)).toMatchObject({
    act: 'wait',
    at: 'install',
    reason: `Attempt 1 of the installation failed: ${trouble}. Talos tries again by itself`,
  })
  const again = seen({ ...status('installing', 3, 2), lastError: error }, { trouble, last: 'x' })
  expect(decideServer(sent, around, again)).toMatchObject({
    reason: `Installing since 14:09 UTC; last message of Talos: x; attempt 2, the last one failed: ${trouble}`,
  })
  const pull = seen({ ...status('installing', 3, 2), lastError: error }, { trouble: 'no route' })
  expect(decideServer(sent, around, pull)).toMatchObject({
    reason: `Installing since 14:09 UTC: no route; attempt 2, the last one failed: ${error}`,
  })
  expect(decideServer(sent, around, seen(status('waiting-for-reboot')))).toMatchObject({
    act: 'wait',
    at: 'boot',
    reason: 'Talos is installed on web-1, which restarts',
  })
})

test('while something new is seen the installation takes its time, and repeated attempts without anything new fail after half an hour', () => {
  const again = (sinceNewsMs: number) =>
    seen({ ...status('installing', 41, 21), lastError: error, sinceNewsMs })
  expect(decideServer(since(50), around, again(29 * minute))).toMatchObject({ act: 'wait' })
  expect(decideServer(since(50), around, again(31 * minute))).toMatchObject({
    act: 'fail',
    at: 'install',
    reason: expect.stringMatching(
      /^Not done after 50 min, and nothing new for 31 min\. Installing since .*; attempt 21, the last one failed: task/,
    ),
  })
  expect(decideServer(since(20), around, again(20 * minute))).toMatchObject({ act: 'wait' })
})

test('an installation that has failed and is not tried again fails, and so does one that finds no disk', () => {
  const failed = (unchangedMs: number) => seen({ ...status('failed', 2, 1), unchangedMs })
  expect(decideServer(since(10), around, failed(100_000))).toMatchObject({ act: 'wait' })
  expect(decideServer(since(10), around, failed(3 * minute))).toEqual({
    act: 'fail',
    at: 'install',
    reason: `The installation failed: ${error}. Talos has not tried again for 3 min`,
  })
  // A user has retried, so that Talos gets its time once more.
  expect(decideServer(since(1), around, failed(3 * minute))).toMatchObject({ act: 'wait' })

  const pending = (unchangedMs: number) => seen({ ...status('pending'), unchangedMs })
  expect(decideServer(since(10), around, pending(minute))).toMatchObject({
    act: 'wait',
    reason: 'Talos waits for the disk to install on: no disk matched the selector',
  })
  expect(decideServer(since(10), around, pending(5 * minute))).toMatchObject({
    act: 'fail',
    reason: expect.stringMatching(/^Talos has not found the disk to install on for 5 min: no disk/),
  })
})

test('a disk that is half installed while the installer works is not reset, and the server has not started', () => {
  const half = { installation: { state: 'half', disk: 'sda' }, isInstallSkipped: true } as const
  const services = (secured('booting') as Secured).services
  for (const phase of ['pending', 'installing', 'failed', 'waiting-for-reboot'] as const) {
    const busy = seen(status(phase), { ...half, services })
    expect(decideServer(sent, around, busy)).toMatchObject({ act: 'wait' })
    expect(hasStarted(sent, busy)).toBe(false)
  }
  const installed = seen(status('installed'), { ...half, services })
  expect(decideServer(sent, around, installed)).toMatchObject({ act: 'mend', how: 'reset' })
  expect(hasStarted(sent, installed)).toBe(true)
})

test('only what was not seen before in this installation counts as new', () => {
  const steps: [UnattendedInstall, (string | null)[]][] = [
    [status('installing', 1, 1), ['pulling']],
    [status('failed', 2, 1), [error]],
    [status('installing', 3, 2), ['pulling']],
    [status('failed', 4, 2), [error]],
    [status('failed', 4, 2), [error]],
    [status('installing', 5, 3), ['downloading']],
  ]
  const all: Followed[] = []
  for (const [i, [one, said]] of steps.entries())
    all.push(follow(all.at(-1), i * 1000, 1, one, said))
  expect(all.map(({ newsAt, since: from, lastError }) => [newsAt, from, lastError])).toEqual([
    [0, 0, null],
    [1000, 1000, error],
    [1000, 2000, error],
    [1000, 3000, error],
    [1000, 3000, error],
    [5000, 5000, error],
  ])
  // Another configuration was sent: another installation.
  expect(follow(all.at(-1), 9000, 2, status('installing', 1, 1), ['pulling'])).toMatchObject({
    newsAt: 9000,
    since: 9000,
    lastError: null,
  })
})

test('a server that goes on in the boot of its installation has not booted from the disk: it is reset once with the cause, then fails with what to do', () => {
  const whole = { installation: { state: 'whole', disk: 'sda' } } as const
  const installing = {
    ...sent,
    was_installed: false,
    install_boot_id: 'boot-1',
    trouble: `${error}: failed to install bootloader`,
  }
  const services = (secured('booting') as Secured).services
  const memory = seen(status('installed'), { ...whole, services, bootId: 'boot-1' })
  expect(hasStarted(installing, memory)).toBe(false)
  expect(decideServer(installing, around, memory)).toEqual({
    act: 'mend',
    at: 'install',
    how: 'reset',
    disk: 'sda',
    reason: `web-1 runs Talos from memory, and has not booted from /dev/sda since Talos was to be installed there: ${error}: failed to install bootloader. It is reset, to be installed again`,
  })
  // A reset that was recorded is repeated until the machine carries it out.
  const ordered = { ...installing, install_resets: 1, unbootable_at: new Date(now) }
  expect(decideServer(ordered, around, memory)).toMatchObject({ act: 'mend', how: 'reset' })
  const again = { ...installing, install_resets: 1 }
  expect(decideServer(again, around, memory)).toMatchObject({
    act: 'fail',
    at: 'install',
    reason: expect.stringMatching(
      /: failed to install bootloader\. The server was reset and installed again, with the same result\. Look at the disk and at how the firmware boots \(UEFI or BIOS\), or replace the server; Retry/,
    ),
  })
  // While Talos installs, and before its first status, nothing is ordered.
  for (const unattended of [
    memory.unattended && { ...memory.unattended, ...status('failed') },
    null,
  ])
    expect(decideServer(installing, around, { ...memory, unattended })).toMatchObject({
      act: 'wait',
    })
  // Another boot, or a disk that had Talos before.
  const booted = { ...memory, bootId: 'boot-2' }
  expect(hasStarted(installing, booted)).toBe(true)
  expect(decideServer(installing, around, booted)).toMatchObject({ act: 'wait', at: 'etcd' })
  expect(hasStarted({ ...installing, was_installed: true }, memory)).toBe(true)
})

test('a restart after a failed installation proves nothing, neither before nor after the reset was ordered', () => {
  const services = (secured('booting') as Secured).services
  const booted = seen(status('installed'), { services, bootId: 'boot-2' })
  const installing = { ...sent, was_installed: false, install_boot_id: 'boot-1' }
  for (const known of [
    { ...installing, install_failed_at: new Date(now) },
    { ...installing, unbootable_at: new Date(now), install_resets: 1 },
  ]) {
    expect(hasStarted(known, booted)).toBe(false)
    expect(decideServer(known, around, booted)).toMatchObject({ act: 'mend', how: 'reset' })
    expect(decideServer(known, around, secured('resetting'))).toMatchObject({
      act: 'wait',
    })
  }
  const failed = new Date(now - 1000)
  expect(failedSince({ ...installing, install_failed_at: failed }, 'failed', now)).toBe(failed)
  expect(failedSince({ ...installing, install_failed_at: failed }, 'installed', now)).toBe(failed)
  expect(failedSince(installing, 'failed', now)).toEqual(new Date(now))
  // Talos tries again, or has installed itself after all.
  for (const phase of ['installing', 'pending', 'waiting-for-reboot'] as const)
    expect(failedSince({ ...installing, install_failed_at: failed }, phase, now)).toBeNull()
})
