import { expect, test } from 'vitest'
import { passesOf, takesPart } from './path.ts'

const offered = ['v1.14.1', 'v1.13.9', 'v1.12.11'].map((talos) => ({ talos, kubernetes: '1.35.8' }))

test.each([
  [['v1.13.9'], 'v1.14.1', ['v1.14.1']],
  [['v1.13.9', 'v1.13.2'], 'v1.13.9', ['v1.13.9']],
  [['v1.12.4'], 'v1.14.1', ['v1.13.9', 'v1.14.1']],
  [['v1.12.4', 'v1.13.9'], 'v1.14.1', ['v1.13.9', 'v1.14.1']],
  // Steelyard doesn't know the configurations of 1.11, so the check of the path refuses it.
  [['v1.11.2'], 'v1.14.1', ['v1.14.1']],
  [['v1.14.1'], 'v1.13.9', ['v1.13.9']],
])('an upgrade from %j to %s goes by %j', (from, to, passes) => {
  expect(passesOf(from, to, offered)).toEqual(passes)
})

test('a server takes part in the passes that it needs', () => {
  expect(takesPart('v1.13.2', 'v1.13.9', false)).toBe(false)
  expect(takesPart('v1.12.4', 'v1.13.9', false)).toBe(true)
  expect(takesPart('v1.13.2', 'v1.13.9', true)).toBe(true)
  expect(takesPart('v1.13.9', 'v1.13.9', true)).toBe(false)
})
