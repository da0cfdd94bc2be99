/** Compares our configurations with Talos's committed answers. See `README.md` of this folder. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readSecrets } from '#talos/secrets/bundle.ts'
import { modelledMinors } from '#talos/versions.ts'
import { answersFile, versions } from './answers.ts'
import { type Answers, difference, keyOf, ourGeneration, ourMerge, patchesFor } from './compare.ts'
import { knownDifferences } from './differences.ts'
import { allCases } from './make-cases.ts'

test('every Talos minor for which configurations are generated has committed reference outputs', () => {
  expect(versions).toEqual(modelledMinors.map(({ minor }) => `v${minor}`))
})

const cases = allCases()
const stale = 'Talos was not asked this yet; where Go is, run: npm run conformance'

describe.each(versions)('Talos %s', (version) => {
  const { talos, answers, secrets } = JSON.parse(
    readFileSync(answersFile(version), 'utf8'),
  ) as Answers

  test('every generated configuration equals that of Talos, byte for byte', () => {
    const others = cases.generate.flatMap((one) => {
      const answer = answers[keyOf(one, cases.bases)]
      if (answer === undefined) return [`${one.id}: ${stale}`]
      return ourGeneration(cases, one, talos) === answer ? [] : [one.id]
    })
    expect(others).toEqual([])
  })

  test('patches are merged and refused as Talos does, except for the known differences', () => {
    const unknown: string[] = []
    let equal = 0
    for (const one of patchesFor(cases, talos)) {
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
      `Talos ${talos}: ${cases.generate.length} configurations and ${equal} of ${patchesFor(cases, talos).length} patches equal\n`,
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
