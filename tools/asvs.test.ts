import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

/** The requirements of levels 1 and 2 of OWASP ASVS 5.0.0, by section. */
const wanted =
  '1.1.1-2 1.2.1-9 1.3.1-11 1.4.1-3 1.5.1-2 2.1.1-3 2.2.1-3 2.3.1-4 2.4.1 3.2.1-2 3.3.1-4 3.4.1-6 3.5.1-5 3.7.1-2 4.1.1-3 4.2.1 4.3.1-2 4.4.1-4 5.1.1 ' +
  '5.2.1-3 5.3.1-2 5.4.1-3 6.1.1-3 6.2.1-12 6.3.1-4 6.4.1-4 6.5.1-5 6.6.1-3 6.8.1-4 7.1.1-3 7.2.1-4 7.3.1-2 7.4.1-5 7.5.1-2 7.6.1-2 8.1.1-2 8.2.1-3 8.3.1 ' +
  '8.4.1 9.1.1-3 9.2.1-4 10.1.1-2 10.2.1-2 10.3.1-4 10.4.1-11 10.5.1-5 10.6.1-2 10.7.1-3 11.1.1-2 11.2.1-3 11.3.1-3 11.4.1-4 11.5.1 11.6.1 12.1.1-3 ' +
  '12.2.1-2 12.3.1-4 13.1.1 13.2.1-5 13.3.1-2 13.4.1-5 14.1.1-2 14.2.1-4 14.3.1-3 15.1.1-3 15.2.1-3 15.3.1-7 16.1.1 16.2.1-5 16.3.1-4 16.4.1-3 16.5.1-3 ' +
  '17.1.1 17.2.1-4 17.3.1-2'

/** `1.2.3-5` is 1.2.3, 1.2.4 and 1.2.5. */
const spread = (range: string): string[] => {
  const [, section, from, to] = /^(\d+\.\d+)\.(\d+)(?:-(\d+))?$/.exec(range)!
  return Array.from(
    { length: Number(to ?? from) - Number(from) + 1 },
    (_, i) => `${section!}.${Number(from) + i}`,
  )
}

const rows = Array.from(
  readFileSync('docs/asvs.md', 'utf8').matchAll(/^\| (\d.*?) +\| (.*?) +\| (.*?) +\|$/gm),
  ([, requirement, state, evidence]) => ({
    requirement: requirement!,
    state: state!,
    evidence: evidence!,
  }),
)

test('docs/asvs.md has every requirement of ASVS 5.0.0, levels 1 and 2, once', () => {
  const listed = rows.flatMap(({ requirement }) =>
    [...requirement.matchAll(/(\d+\.\d+\.\d+)(?:–\d+\.\d+\.(\d+))?/g)].flatMap(([, from, to]) =>
      spread(to ? `${from!}-${to}` : from!),
    ),
  )
  expect(listed.toSorted()).toEqual(wanted.split(' ').flatMap(spread).toSorted())
  expect(new Set(rows.map(({ state }) => state))).toEqual(
    new Set(['met', 'partly', 'not met', 'n/a']),
  )
})

test('every test that docs/asvs.md names exists', () => {
  const missing: string[] = []
  let named = 0
  for (const { evidence } of rows) {
    let text = ''
    for (const [, file, title] of evidence.matchAll(
      /`([\w/.-]+\.(?:test|e2e)\.tsx?)`|“([^”]+)”/g,
    )) {
      if (file) text = readFileSync(file, 'utf8').replaceAll("\\'", "'")
      else if (++named && !text.includes(title!)) missing.push(title!)
    }
  }
  expect(missing).toEqual([])
  expect(named).toBeGreaterThan(100)
})
