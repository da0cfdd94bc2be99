import { expect, test } from 'vitest'
import { canHavePatchBytes, mostServerPatchBytes } from '../patches.ts'
import { count } from '../words.ts'
import { canHaveSharedBytes, sharedPatchLimits } from '../shared-patches/shared-patches.ts'

test.each([
  ['a server', canHavePatchBytes, mostServerPatchBytes],
  ['the fleet', canHaveSharedBytes, sharedPatchLimits.bytes],
] as const)('the patches of %s have a bound in bytes together', (_of, rule, most) => {
  expect(rule(most, 0).ok).toBe(true)
  expect(rule(most + 1, most)).toMatchObject({
    ok: false,
    reason: expect.stringContaining(count(most)) as string,
  })
  // What is above stays, and may be made smaller.
  expect(rule(most + 10, most + 10).ok).toBe(true)
  expect(rule(most + 10, most + 20).ok).toBe(true)
  expect(rule(most + 21, most + 20).ok).toBe(false)
})
