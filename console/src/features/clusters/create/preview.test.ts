import { expect, test } from 'vitest'
import { findingsOf, previewVerdict } from './preview.ts'

const taken = {
  check: 'endpoint',
  ok: false,
  message: '10.0.4.9 is in use by server lucid-lantern-365',
}
const unwise = {
  check: 'warning',
  ok: true,
  message: 'With one control plane, the cluster is down while that server is down.',
}
const fine = { check: 'name', ok: true, message: 'The name is free' }
const servers = [
  {
    node_id: 'a',
    name: 'web-1',
    config: '',
    warnings: ['Talos is installed on /dev/sda already; it is kept'],
  },
]

test('a failed check disables the creation and is shown as the reason; a risky choice causes only a warning', () => {
  expect(findingsOf({ checks: [fine, taken, taken, unwise], servers })).toEqual({
    errors: [taken.message],
    warnings: [unwise.message, 'web-1: Talos is installed on /dev/sda already; it is kept'],
  })
  expect(previewVerdict({ data: { checks: [fine, taken, unwise], servers }, error: null })).toEqual(
    { ok: false, reason: taken.message },
  )
  expect(
    previewVerdict({
      data: { checks: [taken, { ...taken, message: 'Another' }], servers },
      error: null,
    }),
  ).toMatchObject({
    reason: `${taken.message} (and 1 more)`,
  })
  expect(previewVerdict({ data: { checks: [fine, unwise], servers }, error: null })).toEqual({
    ok: true,
  })
})

test("a cluster can't be created before its check has finished", () => {
  expect(previewVerdict({ data: undefined, error: null })).toEqual({
    ok: false,
    reason: 'The cluster is being checked',
  })
  expect(previewVerdict({ data: undefined, error: new Error('no answer') })).toMatchObject({
    ok: false,
    reason: expect.stringContaining('could not be checked'),
  })
})
