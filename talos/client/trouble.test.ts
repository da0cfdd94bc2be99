import { expect, test } from 'vitest'
import { troubleIn } from './trouble.ts'

test('the last thing that failed is told, without time and prefix', () => {
  const log = [
    '2026/11/20 14:06:01 [talos] phase install (2/8): 1 tasks(s)',
    '2026/11/20 14:06:01 [talos] task install (1/1): starting',
    '2026/11/20 14:06:09 [talos] retrying error: failed to pull image "x:v1": connection refused',
    '2026/11/20 14:06:14 [talos] retrying error: failed to pull image "x:v1": i/o timeout',
    '2026/11/20 14:06:15 [talos] phase install (2/8): failed',
    '',
  ]
  expect(troubleIn(log.join('\n')).reason).toBe('failed to pull image "x:v1": i/o timeout')
  expect(troubleIn([...log, '[talos] task install (1/1): failed: no disks matched the expression: x\u001b[2J'].join('\n')).reason).toBe(
    'no disks matched the expression: x\ufffd[2J',
  )
  expect(troubleIn(log.slice(0, 2).join('\n')).reason).toBeNull()
  expect(troubleIn([...log, 'said\u001b[2J \r'].join('\n')).lines).toEqual([...log.slice(0, 5), 'said\ufffd[2J'])
})
