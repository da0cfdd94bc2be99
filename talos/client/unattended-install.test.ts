import { expect, test } from 'vitest'
import { RuntimeUnattendedInstallPhase as Phase } from '../proto/gen/definitions/enums_pb.ts'
import { unattendedInstallOf } from './unattended-install.ts'

const {
  UNATTENDED_INSTALL_PHASE_PENDING: pending,
  UNATTENDED_INSTALL_PHASE_INSTALLING: installing,
  UNATTENDED_INSTALL_PHASE_INSTALLED: installed,
  UNATTENDED_INSTALL_PHASE_FAILED: failed,
} = Phase

const read = (phase: number, version: number | string, error = '') =>
  unattendedInstallOf({ spec: { phase, error }, version: String(version) })

test('the number of an attempt follows from the number of changes, also if Talos first waited for a disk', () => {
  const attempts = (...phases: number[]) => phases.map((phase, i) => read(phase, i + 1)?.attempt)
  expect(attempts(installing, failed, installing, failed, installing)).toEqual([1, 1, 2, 2, 3])
  expect(attempts(pending, installing, failed, installing, failed)).toEqual([null, 1, 1, 2, 2])
  expect(attempts(failed)).toEqual([1])
  expect(read(installed, 4)?.attempt).toBeNull()
  for (const version of ['', 'undefined', '-1', '1.5'])
    expect(read(installing, version)?.attempt).toBeNull()
})

test('an unknown phase says nothing, and an error is cut and without control characters', () => {
  expect(read(9, 1)).toBeNull()
  expect(read(installing, 7)).toEqual({
    phase: 'installing',
    error: null,
    attempt: 4,
    version: '7',
  })
  expect(read(failed, 2, ' failed:\u0007 x ')?.error).toBe('failed:\ufffd x')
  expect(read(failed, 2, 'x'.repeat(5_000))!.error!.length).toBeLessThanOrEqual(1_000)
})
