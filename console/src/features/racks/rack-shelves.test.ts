import { expect, test } from 'vitest'
import type { ListedServer } from '#contract/servers/servers.ts'
import { rowsOf, shelfSaid, shelvesOf, toneOf } from './rack-shelves.ts'

const server = (
  name: string,
  place: Partial<NonNullable<ListedServer['placement']>>,
  more: Partial<ListedServer> = {},
): ListedServer =>
  ({
    id: name,
    name,
    type: 'worker',
    cluster: null,
    finding: null,
    placement: {
      rack: { id: 'r', name: 'A-1' },
      unit: 1,
      height: 1,
      face: 'both',
      bay: null,
      ...place,
    },
    ...more,
  }) as ListedServer

test('a rack is read from above, with one shelf for each free unit', () => {
  const shelves = shelvesOf(6, [
    server('low', { unit: 1 }),
    server('rear', { unit: 4, face: 'rear' }),
    server('front', { unit: 3, height: 2, face: 'front' }),
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
    server(
      'calm-otter-1',
      { height: 2 },
      {
        type: 'control_plane',
        cluster,
        finding: { id: 'f', kind: 'server_unreachable', severity: 'down', since: '', reason: '' },
      },
    ),
  ])
  expect(shelfSaid(ill!)).toMatch(/^Units 1 to 2: calm-otter-1, control plane of poz-shop, \w/)
  expect(toneOf(ill!)).toBe('danger')
  const [free] = shelvesOf(1, [])
  expect(shelfSaid(free!)).toBe('Unit 1: free')
})
