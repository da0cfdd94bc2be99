import { expect, test } from 'vitest'
import type { OfferedTalos } from '#contract/versions.ts'
import { upgradePath } from './versions.ts'

const support = { ends: null, ended: false }
const talos = (minor: number, [first, last]: [number, number]): OfferedTalos => {
  const versions = Array.from({ length: last - first + 1 }, (_, i) => `1.${last - i}.${9 - i}`)
  return {
    talos_version: `v1.${minor}.5`,
    prerelease: false,
    support,
    kubernetes_versions: versions,
    kubernetes: versions.map((version) => ({ version, support })),
    kubernetes_minors: [`1.${first}`, `1.${last}`],
  }
}
const offered = [talos(14, [34, 37]), talos(13, [32, 36]), talos(12, [30, 35])]
const path = (now: [string, string], wanted: [(string | undefined)?, (string | undefined)?]) => {
  const found = upgradePath(
    { talos: now[0], kubernetes: now[1] },
    {
      ...(wanted[0] !== undefined && { talos: wanted[0] }),
      ...(wanted[1] !== undefined && { kubernetes: wanted[1] }),
    },
    offered,
  )
  return 'refused' in found
    ? found.refused
    : found.upgrades.map((u) => `${u.kind === 'upgradeTalos' ? 'T' : 'K'} ${u.version}`)
}

test.each<[string, [string, string], [(string | undefined)?, (string | undefined)?], string[]]>([
  ['nothing', ['v1.13.0', 'v1.36.3'], ['1.13.0', '1.36.3'], []],
  ['versions that the file leaves out', ['v1.13.0', 'v1.36.3'], [], []],
  ['a patch of Talos', ['v1.13.0', '1.36.3'], ['v1.13.5', undefined], ['T v1.13.5']],
  [
    'Kubernetes before Talos',
    ['v1.12.0', '1.33.1'],
    ['v1.13.5', '1.34.2'],
    ['K 1.34.2', 'T v1.13.5'],
  ],
  [
    'Talos in between, because the present one does not run the wanted Kubernetes',
    ['v1.12.0', '1.34.1'],
    ['v1.13.5', '1.36.9'],
    ['K 1.35.9', 'T v1.13.5', 'K 1.36.9'],
  ],
  [
    'Kubernetes in between, because the wanted Talos does not run the present one',
    ['v1.12.0', '1.31.0'],
    ['v1.14.5', '1.36.9'],
    ['K 1.32.6', 'K 1.33.7', 'K 1.34.8', 'K 1.35.9', 'T v1.14.5', 'K 1.36.9'],
  ],
])('the path of %s', (_, now, wanted, expected) => {
  expect(path(now, wanted)).toEqual(expected)
})

test('a path ends at exactly the wanted versions', () => {
  expect(path(['v1.12.0', '1.34.1'], ['v1.13.2', '1.36.1'])).toMatchObject({
    1: 'T v1.13.2',
    2: 'K 1.36.1',
  })
})

test.each<[[string, string], [(string | undefined)?, (string | undefined)?], string]>([
  [['v1.13.0', '1.36.3'], [undefined, '1.35.9'], "can't go back to 1.35.9"],
  [['v1.13.0', '1.36.3'], [undefined, '1.37.0'], 'Talos 1.13.0 does not run Kubernetes 1.37.0'],
  [
    ['v1.12.0', '1.30.0'],
    ['v1.14.5', undefined],
    'no offered Talos up to 1.14.5 runs Kubernetes 1.30.0',
  ],
])('%j cannot become %j', (now, wanted, reason) => {
  expect(path(now, wanted)).toContain(reason)
})
