import { expect, test } from 'vitest'
import type { MemberRow } from '../../clusters/store.ts'
import { checkSpace } from './checks.ts'

const server = (version: string, freeGib: number | null) => {
  const freeBytes = freeGib === null ? null : freeGib * 1024 ** 3
  return {
    m: { name: 'cp-1' } as MemberRow,
    seen: { version, schematic: '', stage: 'running', bootId: '', unmet: '', freeBytes },
    silent: '',
  }
}

test('only a machine that pulls its installer to /var needs space there', () => {
  expect(checkSpace([server('v1.13.8', 1.5)]).message).toBe(
    'cp-1 has only 1.5 GiB free on /var: an installer needs 2.0 GiB',
  )
  for (const fine of [[server('v1.13.8', 3)], [server('v1.13.8', null)], [server('v1.12.11', 1.5)]])
    expect(checkSpace(fine).ok).toBe(true)
  expect(checkSpace([server('v1.13.8', 1.5)], true).ok).toBe(true)
})
