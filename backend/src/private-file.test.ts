import { expect, test } from 'vitest'
import { isOpenToOthers } from './private-file.ts'

const root = 0
const own = 65_532

test.each([
  [0o600, own, false],
  [0o400, own, false],
  [0o640, own, true],
  [0o604, own, true],
  [0o400, root, false],
  [0o440, root, false],
  [0o640, root, false],
  [0o660, root, true],
  [0o450, root, true],
  [0o444, root, true],
])('a file with mode %o of the user %i is open to others: %s', (mode, uid, isOpen) => {
  expect(isOpenToOthers({ mode, uid }, own)).toBe(isOpen)
})

test('a process of root accepts no file that a group can read', () => {
  expect(isOpenToOthers({ mode: 0o440, uid: root }, root)).toBe(true)
})
