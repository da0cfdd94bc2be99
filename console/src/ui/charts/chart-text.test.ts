import { expect, test } from 'vitest'
import { axisText, summaryOf, timeText, valueText } from './chart-text.ts'

const at = new Date(2026, 10, 27, 14, 20).getTime() / 1000

test('a value has its unit, and a gap says that nothing was measured', () => {
  expect(valueText(0.034, 'share')).toBe('3.4\u00a0%')
  expect(valueText(0.52, 'share')).toBe('52\u00a0%')
  expect(valueText(0, 'share')).toBe('0\u00a0%')
  expect(valueText(1_920_000, 'rate')).toBe('1.92\u00a0MB/s')
  expect(valueText(0.0042, 'seconds')).toBe('4.2\u00a0ms')
  expect(valueText(0.25, 'seconds')).toBe('250\u00a0ms')
  expect(valueText(1.5, 'seconds')).toBe('1.5\u00a0s')
  expect(valueText(24_000_000, 'bytes')).toBe('24\u00a0MB')
  expect(valueText(3, 'count')).toBe('3')
  expect(valueText(null, 'rate')).toBe('not measured')
})

test('the axis names the time of day, at midnight and for long periods the day', () => {
  expect(axisText(at, 3600)).toBe('14:20')
  expect(axisText(at, 86_400)).toBe('27 Nov')
  expect(axisText(new Date(2026, 10, 28).getTime() / 1000, 3600)).toBe('28 Nov')
})

test('the summary has the last value that was measured, and the highest with its time', () => {
  const line = { title: 'Received', mean: [100, 300, 200, null], max: [100, 2_000, 200, null] }
  const timeAt = (index: number) => at + index * 900
  expect(summaryOf([line], 'rate', timeAt)).toBe(
    `Received: now 200\u00a0B/s, highest 2\u00a0kB/s at ${timeText(at + 900)}`,
  )
  const silent = { title: 'Sent', mean: [null], max: [null] }
  expect(summaryOf([silent], 'rate', timeAt)).toBe('Sent: not measured')
})
