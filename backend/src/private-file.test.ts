import { expect, test } from 'vitest'
import { closing, isOpenToOthers } from './private-file.ts'

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

test('a file of root is closed so that the process can still read it', () => {
  const process = { uid: own, gid: 65_533 }
  expect(closing('/etc/steelyard/key', { uid: root }, process)).toBe(
    'chgrp 65533 /etc/steelyard/key && chmod 0640 /etc/steelyard/key',
  )
  expect(closing('/data/key', { uid: own }, process)).toBe('chmod 0600 /data/key')
  expect(closing('/data/key', { uid: root }, { uid: root, gid: 0 })).toBe('chmod 0600 /data/key')
})
