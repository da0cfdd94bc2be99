import { expect, test } from 'vitest'
import { compareFingerprint, lastFingerprint } from './fingerprint.ts'
import { processorMs } from '../../tools/testing/processor-time.ts'

const [first, second, third] = ['A', 'b', '9'].map((c) => `${c.repeat(42)}+=`) as [
  string,
  string,
  string,
]
const line = (fingerprint: string) =>
  `[talos] server certificate issued {"component": "controller-runtime", "fingerprint": "${fingerprint}"}`

test('of several fingerprints in a log, the last one counts', () => {
  expect(lastFingerprint([first, second, third].map(line).join('\n'))).toBe(third)
  expect(lastFingerprint(`  ${first}\n`)).toBe(first)
  expect(lastFingerprint(`x${first} ${first}= ${first.slice(1)}`)).toBeNull()
  expect(lastFingerprint('')).toBeNull()
})

test('the result of comparing fingerprints is shown as a sentence', () => {
  const boot = [first, second].map(line).join('\n')
  expect(compareFingerprint(boot, second)).toMatchObject({ verdict: 'same' })
  expect(compareFingerprint(boot, first)).toMatchObject({
    verdict: 'other',
    text: expect.stringContaining(`newer fingerprint, ${second}`) as string,
  })
  expect(compareFingerprint(boot, third)).toMatchObject({
    verdict: 'other',
    text: expect.stringContaining('belongs to another machine') as string,
  })
  expect(compareFingerprint('nothing', third)).toMatchObject({ verdict: 'none' })
  expect(compareFingerprint(first, null)).toMatchObject({ verdict: 'none' })
})

test('parsing a pasted log takes linear time', async () => {
  const log = 'A'.repeat(5_000_000)
  expect(await processorMs(() => lastFingerprint(log))).toBeLessThan(2_000)
})
