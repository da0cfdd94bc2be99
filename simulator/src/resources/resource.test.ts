import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { yamlOf } from './resource.ts'

const leaf = fc.oneof(
  fc.string(),
  fc.integer(),
  fc.boolean(),
  fc.constantFrom(
    '',
    'on',
    '0x02',
    '1e3',
    '- a',
    'a: b',
    'a:',
    '#',
    '12:30',
    'aa:bb:cc:dd:ee:ff',
    '~',
    'null',
    'Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz',
  ),
)
const tree = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    leaf,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(
      fc.string({ minLength: 1 }).filter((key) => key !== '__proto__'),
      tie('value'),
      { maxKeys: 4 },
    ),
  ),
})).value

test('parsing the written YAML returns the same values', () => {
  fc.assert(
    fc.property(tree, (value) => {
      expect(parse(yamlOf(value))).toEqual(JSON.parse(JSON.stringify(value)))
    }),
    { numRuns: 500 },
  )
})

test('maps and lists are written as blocks', () => {
  expect(
    yamlOf({
      stage: 'running',
      status: { ready: true, unmetConditions: [{ name: 'services', reason: 'etcd not running' }] },
    }),
  ).toBe(
    'stage: running\nstatus:\n  ready: true\n  unmetConditions:\n    - name: services\n      reason: etcd not running\n',
  )
})
