/** The changelog is short enough that people read it: a line for each change. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const sections = readFileSync('CHANGELOG.md', 'utf8').split(/^## /m).slice(1)
/** About two lines of a terminal that is wide enough. */
const longestEntry = 240

test('every entry of the changelog has at most two lines, and the open section at most 120', () => {
  const [open] = sections
  expect(open).toMatch(/^\d+\.\d+\.\d+/)
  expect(open!.trimEnd().split('\n').length).toBeLessThanOrEqual(120)
  const long = sections.flatMap((section) =>
    section.split('\n').filter((line) => line.startsWith('- ') && line.length > longestEntry),
  )
  expect(long).toEqual([])
})
