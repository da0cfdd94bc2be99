import { expect, test } from 'vitest'
import { readBackSaid } from './read-back.ts'

test('a file that was read back is called intact only if it is', () => {
  expect(readBackSaid('snapshot', { status: 'ready', reason: null })).toEqual({
    ok: true,
    text: 'The snapshot was read back and is intact',
  })
  expect(
    readBackSaid('snapshot', { status: 'failed', reason: 'The file is not in the store' }),
  ).toEqual({ ok: false, text: 'The snapshot is damaged: The file is not in the store' })
  expect(readBackSaid('backup', { status: 'removing', reason: null })).toEqual({
    ok: false,
    text: 'The backup is being removed',
  })
})
