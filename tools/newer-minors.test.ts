import { expect, test } from 'vitest'
import { minors, supportedPairs } from '#talos/versions.ts'
import { newerMinors } from './newer-minors.ts'

const { talos, kubernetes } = supportedPairs[0]!
const next = (version: string): string =>
  version.replace(/1\.(\d+)\.\d+/, (_, minor: string) => `1.${Number(minor) + 1}.0`)

test('a newer minor of Talos or Kubernetes is named, with the recipe', () => {
  expect(newerMinors([talos, next(talos)], `v${next(kubernetes)}\n`)).toEqual([
    expect.stringContaining(`Talos ${next(talos).slice(1, -2)} is published`),
    expect.stringContaining(`Kubernetes ${next(kubernetes).slice(0, -2)} is published`),
  ])
})

test('known minors, prereleases and lists that can not be read are no news', () => {
  expect(
    newerMinors(
      minors.map((m) => m.version),
      `v${kubernetes}`,
    ),
  ).toEqual([])
  expect(newerMinors([`${next(talos)}-beta.0`], null)).toEqual([])
  expect(newerMinors(null, '<html>')).toEqual([])
})
