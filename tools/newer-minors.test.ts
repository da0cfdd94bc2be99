import { expect, test } from 'vitest'
import { minors, supportedPairs } from '#talos/versions.ts'
import { newerMinors } from './newer-minors.ts'

const { talos, kubernetes } = supportedPairs[0]!
const next = (version: string): string =>
  version.replace(/1\.(\d+)\.\d+/, (_, minor: string) => `1.${Number(minor) + 1}.0`)

test('a newer minor of Talos or Kubernetes is named, with the recipe', () => {
  expect(newerMinors(JSON.stringify([talos, next(talos)]), `v${next(kubernetes)}\n`)).toEqual([
    expect.stringContaining(`Talos ${next(talos).slice(1, -2)} is published`),
    expect.stringContaining(`Kubernetes ${next(kubernetes).slice(0, -2)} is published`),
  ])
})

test('known minors and prereleases are no news', () => {
  const known = minors.map((m) => m.version)
  expect(
    newerMinors(JSON.stringify([...known, `${next(talos)}-beta.0`]), `v${kubernetes}`),
  ).toEqual([])
})

test('answers that can not be read are named, because a newer minor may hide behind them', () => {
  for (const [list, stable] of [
    ['', ''],
    ['<html>', '<html>'],
    ['{}', 'v2'],
    ['["beta"]', ''],
  ])
    expect(newerMinors(list!, stable!)).toEqual([
      expect.stringContaining("factory.talos.dev/versions can't be read"),
      expect.stringContaining("stable.txt can't be read"),
    ])
})
