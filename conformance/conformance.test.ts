/**
 * Compares our configurations with Talos's committed answers. See `README.md` of this folder. `npm
 * test` compares a sample of the generated cases, and every patch of `known-patches.ts`.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readSecrets } from '#talos/secrets/bundle.ts'
import { modelledMinors } from '#talos/versions.ts'
import { spread } from '../tools/testing/length.ts'
import { answersFile, versions } from './answers.ts'
import { type Answers, difference, keyOf, ourGeneration, ourMerge, patchesFor } from './compare.ts'
import { knownDifferences } from './differences.ts'
import { knownPatches } from './known-patches.ts'
import { allCases } from './make-cases.ts'

test('every Talos minor for which configurations are generated has committed reference outputs', () => {
  expect(versions).toEqual(modelledMinors.map(({ minor }) => `v${minor}`))
})

const cases = allCases()
const configurations = spread(cases.generate, 12)
const known = new Set(knownPatches().map(({ id }) => id))
/** The patches that a Talos version is asked here. */
const asked = (talos: string) => {
  const [ofList, ofModel] = [true, false].map((isKnown) =>
    patchesFor(cases, talos).filter(({ id }) => known.has(id) === isKnown),
  )
  return [...ofList!, ...spread(ofModel!, 400)]
}
const stale = 'Talos was not asked this yet; where Go is, run: npm run conformance'

describe.each(versions)('Talos %s', (version) => {
  const { talos, answers, secrets } = JSON.parse(
    readFileSync(answersFile(version), 'utf8'),
  ) as Answers

  test('every generated configuration equals that of Talos, byte for byte', () => {
    const others = configurations.flatMap((one) => {
      const answer = answers[keyOf(one, cases.bases)]
      if (answer === undefined) return [`${one.id}: ${stale}`]
      return ourGeneration(cases, one, talos) === answer ? [] : [one.id]
    })
    expect(others).toEqual([])
  })

  test('patches are merged and refused as Talos does, except for the known differences', () => {
    const unknown: string[] = []
    let equal = 0
    const patches = asked(talos)
    for (const one of patches) {
      const answer = answers[keyOf(one, cases.bases)]
      if (answer === undefined) {
        unknown.push(`${one.id}: ${stale}`)
        continue
      }
      const ours = ourMerge(cases, one, talos)
      const found = difference(ours, answer)
      if (found === null) equal++
      else if (!knownDifferences.some((d) => d.cases.test(one.id)))
        unknown.push(`${one.id}: ${found}; ours: ${ours}; Talos: ${answer}`)
    }
    expect(unknown).toEqual([])
    process.stdout.write(
      `Talos ${talos}: ${configurations.length} configurations and ${equal} of ${patches.length} patches equal\n`,
    )
  })

  test('a secrets bundle has the same content after Talos has read and written it', () => {
    expect(readSecrets(secrets)).toEqual(readSecrets(cases.secrets))
  })
})

test('every known difference still exists and is explained in talos/README.md', () => {
  const readme = readFileSync(join(import.meta.dirname, '../talos/README.md'), 'utf8')
  const all = versions.map(
    (version) => JSON.parse(readFileSync(answersFile(version), 'utf8')) as Answers,
  )
  const wrong: string[] = []
  for (const { title, cases: which } of knownDifferences) {
    const differs = all.some(({ talos, answers }) =>
      patchesFor(cases, talos).some(
        (one) =>
          which.test(one.id) &&
          difference(ourMerge(cases, one, talos), answers[keyOf(one, cases.bases)]!) !== null,
      ),
    )
    if (!differs) wrong.push(`${title}: no case differs any more; remove the class`)
    if (!readme.includes(`| ${title} |`)) wrong.push(`${title}: missing in talos/README.md`)
  }
  expect(wrong).toEqual([])
})
