import { expect, test } from 'vitest'
import { rowsOf, shelfSaid, shelvesOf, toneOf } from './rack-shelves.ts'
import { placed } from './testing/placed.ts'

test('a rack is read from above, with one shelf for each free unit', () => {
  const shelves = shelvesOf(6, [
    placed('low', { unit: 1 }),
    placed('rear', { unit: 4, face: 'rear' }),
    placed('front', { unit: 3, height: 2, face: 'front' }),
  ])
  expect(shelves.map((s) => s.server?.name ?? s.unit)).toEqual([6, 5, 'front', 'rear', 2, 'low'])
  expect(rowsOf(shelves).map((r) => ('bottom' in r ? [r.top, r.bottom] : r.server?.name))).toEqual([
    [6, 5],
    'front',
    'rear',
    [2, 2],
    'low',
  ])
})

test('a shelf is said with its units, its server, its role and what is wrong', () => {
  const cluster = { id: 'c', name: 'poz-shop' }
  const [ill] = shelvesOf(2, [
    placed(
      'calm-otter-1',
      { height: 2 },
      {
        type: 'control_plane',
        cluster,
        finding: { id: 'f', kind: 'server_unreachable', severity: 'down', since: '', reason: '' },
        said: { word: 'Unreachable', severity: 'down', sentence: null },
      },
    ),
  ])
  expect(shelfSaid(ill!)).toMatch(/^Units 1 to 2: calm-otter-1, control plane of poz-shop, \w/)
  expect(toneOf(ill!)).toBe('danger')
  const [free] = shelvesOf(1, [])
  expect(shelfSaid(free!)).toBe('Unit 1: free')
})
