import { expect, test } from 'vitest'
import { failureAnswer, troubleOf } from './failure-log.ts'
import type { MemberRow } from '../store.ts'

const now = Date.parse('2026-11-20T10:00:00Z')
const at = (ms: number) => new Date(now + ms)
const nothing = {
  trouble: null,
  log: [],
  isInstallSkipped: false,
  isTroubleOver: false,
  installation: null,
}
const lines = ['[talos] task install (1/1): failed: input/output error']

test('the log of a failing boot is stored as soon as it shows a problem, and again for each later attempt', () => {
  const first = { trouble: null, failure_log_at: null, sends: 1 }
  expect(troubleOf(first, { ...nothing, trouble: null, log: lines }, now)).toEqual({})
  expect(troubleOf(first, { ...nothing, trouble: 'input/output error', log: lines }, now)).toEqual({
    trouble: 'input/output error',
    failure_log: lines[0],
    failure_log_at: at(0),
  })
  // The log is read several times a second, but written less often.
  const known = { trouble: 'input/output error', failure_log_at: at(-500), sends: 2 }
  expect(troubleOf(known, { ...nothing, trouble: 'input/output error', log: lines }, now)).toEqual(
    {},
  )
  expect(
    troubleOf(
      { ...known, failure_log_at: at(-2_000) },
      { ...nothing, trouble: null, log: ['starting', ...lines] },
      now,
    ),
  ).toEqual({
    failure_log: `starting\n${lines[0]}`,
    failure_log_at: at(0),
  })
  expect(troubleOf(known, { ...nothing, trouble: 'no space left', log: lines }, now)).toMatchObject(
    { trouble: 'no space left', failure_log_at: at(0) },
  )
  // The next attempt fails too and has no reason yet.
  const told = {
    trouble: 'task "upgrade" failed: exit code 1: no space left',
    failure_log_at: at(-500),
    sends: 2,
  }
  expect(
    troubleOf(told, { ...nothing, trouble: 'task "upgrade" failed: exit code 1', log: lines }, now),
  ).toEqual({})
})

test('the cause of a failed installation is replaced neither by the boot without an installation that follows, nor by a restart', () => {
  const known = {
    trouble: 'failed to install grub: exit status 1',
    failure_log_at: at(-9_000),
    sends: 2,
  }
  const skipped = {
    ...nothing,
    trouble: 'kubelet: context canceled',
    log: lines,
    isInstallSkipped: true,
  }
  for (const installation of [null, { state: 'wiped', disk: 'sda' } as const])
    expect(troubleOf(known, { ...skipped, installation }, now)).toEqual({})
  // Talos 1.14 skips the sequence also while it installs itself, so its pull that goes on counts.
  const pulls = {
    ...skipped,
    installation: null,
    unattended: {},
    trouble: null,
    isTroubleOver: true,
  }
  expect(troubleOf(known, pulls, now)).toEqual({ trouble: null })
  // A boot from the disk skips the installation too, and then fails for another reason.
  expect(
    troubleOf(known, { ...skipped, installation: { state: 'whole', disk: 'sda' } }, now),
  ).toMatchObject({ trouble: 'kubelet: context canceled' })
})

test('a failure that is over is forgotten', () => {
  const known = {
    trouble: 'failed to pull image "x": not found',
    failure_log_at: at(-9_000),
    sends: 1,
  }
  expect(troubleOf(known, { ...nothing, log: lines, isTroubleOver: true }, now)).toEqual({
    trouble: null,
  })
  expect(troubleOf({ ...known, trouble: null }, { ...nothing, isTroubleOver: true }, now)).toEqual(
    {},
  )
})

test('the stored log has whole lines, is short and contains no join token', () => {
  const long = Array.from({ length: 200 }, (_, i) => `${i} ${'x'.repeat(290)}`)
  const { failure_log } = troubleOf(
    { trouble: null, failure_log_at: null, sends: 2 },
    { ...nothing, trouble: null, log: [...long, 'url=/join/sy-join-abcdefghijklmnopqrstuv'] },
    now,
  )
  expect(failure_log!.length).toBeLessThanOrEqual(32_000)
  const [first, ...rest] = failure_log!.split('\n')
  expect(long).toContain(first)
  expect(rest.length).toBeGreaterThan(100)
  expect(failure_log).toMatch(/join\/…$/)
  expect(
    failureAnswer({
      failure: null,
      trouble: null,
      failure_log: null,
      failure_log_at: null,
    } as MemberRow),
  ).toEqual({ reason: null, log: null })
})
