import { expect, test } from 'vitest'
import { lateReason } from './bring-up.ts'

const late = { name: 'web-1', address: '10.0.0.3', secured: false }
const node = { name: 'web-1', ready: true, reason: null, addresses: ['10.0.0.3'] }

test('if a server is not Ready yet, the reason shows what Kubernetes reports about its node', () => {
  expect(lateReason(late, [])).toBeNull()
  expect(lateReason(late, [node])).toBeNull()
  expect(lateReason(late, [{ ...node, ready: false, reason: 'KubeletNotReady: no network' }])).toBe(
    'web-1: KubeletNotReady: no network',
  )
  expect(lateReason(late, [{ ...node, name: 'web-1.example.com' }])).toContain(
    'calls itself web-1.example.com',
  )
  expect(lateReason(late, [{ ...node, addresses: ['10.0.0.9'] }])).toContain(
    'Ready at 10.0.0.9, but is expected at 10.0.0.3',
  )
  expect(lateReason({ ...late, secured: true }, [{ ...node, addresses: ['10.0.0.9'] }])).toBeNull()
})
