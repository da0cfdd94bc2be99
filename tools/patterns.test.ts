import { expect, test } from 'vitest'
import { regexes } from 'zod/v4/core'
import { isTest, sourceFiles } from './imports.ts'
import { patternsIn, slownessOf } from './patterns.ts'

const rooms = ['contract/', 'talos/', 'backend/src/', 'cli/src/', 'console/src/', 'simulator/src/']
const product = sourceFiles().filter(
  (f) => rooms.some((room) => f.startsWith(room)) && !isTest(f) && !f.includes('/gen/'),
)

test('every regular expression of the product takes linear time', () => {
  const found = patternsIn(product)
  expect(found.length).toBeGreaterThan(200)
  const slow = found.flatMap((one) => {
    const why = slownessOf(one)
    return why === undefined ? [] : [`${one.place} /${one.pattern}/${one.flags}: ${why}`]
  })
  expect(slow).toEqual([])
  // Takes about six seconds of processor time, and longer if the machine is busy.
})

test('the regular expressions of the schema library that the contract uses take linear time as well', () => {
  const used = {
    email: regexes.email,
    uuid: regexes.uuid(),
    datetime: regexes.datetime({ offset: true }),
  }
  for (const { source, flags } of Object.values(used))
    expect(slownessOf({ pattern: source, flags })).toBeUndefined()
})

test.each([
  ['exponential', /^(a+)+$/],
  ['exponential through alternatives', /^(?:a|aa)+$/],
  ['exponential through two ways to read a line', /^(?:\s*(?:#.*)?\n|---\n)*\s*-\s+x/],
  ['quadratic, without an anchor', /\s+$/],
  ['quadratic, two repetitions side by side', /^[ \t]*(?:"x")?[ \t]*(?:,|$)/],
  ['quadratic, behind a word that is repeated', /BEGIN [A-Z0-9 ]*PRIVATE KEY/],
  ['quadratic over all matches', /a*b/g],
  ['cubic', /^\d*\d*\d*x$/],
])('the check finds a slow pattern: %s', (_what, { source, flags }) => {
  expect(slownessOf({ pattern: source, flags })).toMatch(/^\d+ ms for \d+ characters/)
})

test.each([/^[a-z0-9-]+$/, /[^a-z]+/g, /^(?:\d{1,3}\.){3}\d{1,3}$/, /^v(\d+)\.(\d+)$/, /\n/g])(
  'the check for slow patterns accepts %s',
  ({ source, flags }) => {
    expect(slownessOf({ pattern: source, flags })).toBeUndefined()
  },
)

test('the check finds regex literals, regexes built from strings, and regexes with an interpolated part', () => {
  const files: Record<string, string> = {
    'a.ts':
      'const a: RegExp = /a+/u\nexport const b = [/a+/u, new RegExp(`^${a.source}\\\\s*$`, "g")]',
    'b.tsx': 'export const B = () => <p title={"x".replace(/b*/g, "")}>/not one/</p>',
  }
  expect(patternsIn(Object.keys(files), (f) => files[f]!)).toEqual([
    { place: 'a.ts:1', pattern: 'a+', flags: 'u' },
    { place: 'a.ts:2', pattern: '^xyz\\s*$', flags: 'g' },
    { place: 'b.tsx:1', pattern: 'b*', flags: 'g' },
  ])
})
