import { expect, test } from 'vitest'
import { standings } from './standings.ts'

test('a source that waited for a refusal at an account counts as returning there, until it failed five times', () => {
  const standing = standings()
  const lane = () => standing.laneOf('192.0.2.1', 'ada@example.com', false)
  standing.mistaken('192.0.2.1', 'ada@example.com')
  expect(lane()).toBe('stranger')
  standing.answered('192.0.2.1', 'ada@example.com')
  for (let n = 2; n < 5; n++) {
    expect(lane()).toBe('returning')
    standing.mistaken('192.0.2.1', 'ada@example.com')
  }
  standing.mistaken('192.0.2.1', 'ada@example.com')
  expect(lane()).toBe('slowed')
  expect(standing.laneOf('192.0.2.1', 'grace@example.com', false)).toBe('stranger')
  expect(standing.laneOf('192.0.2.2', 'ada@example.com', false)).toBe('stranger')
  standing.forget('192.0.2.1', 'ada@example.com')
  expect(lane()).toBe('returning')
})

test('a known device is known until it failed five times', () => {
  const standing = standings()
  for (let n = 0; n < 5; n++) {
    expect(standing.laneOf('device', 'ada@example.com', true)).toBe('known')
    standing.mistaken('device', 'ada@example.com')
  }
  expect(standing.laneOf('device', 'ada@example.com', true)).toBe('slowed')
})

test('the mistake of a user is remembered while ten thousand fresh addresses guess', () => {
  const standing = standings()
  standing.answered('192.0.2.1', 'ada@example.com')
  for (let n = 0; n < 10_000; n++) standing.answered(`10.0.0.${n}`, 'ada@example.com')
  expect(standing.laneOf('192.0.2.1', 'ada@example.com', false)).toBe('returning')
})
