import { expect, test } from 'vitest'
import { jsonpath } from './jsonpath.ts'

const page = {
  total: 3,
  items: [
    {
      name: 'a',
      status: 'ready',
      cores: 32,
      disks: [{ size: 1 }, { size: 2 }],
      labels: { 'x.io/y': 'z' },
    },
    { name: 'b', status: 'failed', cores: 64, disks: [], reason: 'no answer', labels: {} },
    { name: 'c c', status: 'ready', cores: 8, disks: [{ size: 3 }], labels: {} },
  ],
}

/** Templates in the forms of kubectl's page about JSONPath, and what they print. */
const cases: [template: string, printed: string][] = [
  ['{.items[*].name}', 'a b c c'],
  ['.items[0].name', 'a'],
  ['{$.total}', '3'],
  ['{.items[-1].name}', 'c c'],
  ['{.items[0:2].name}', 'a b'],
  ['{.items[::2].name}', 'a c c'],
  ["{.items[0]['name','status']}", 'a ready'],
  ['{.items[0,2].cores}', '32 8'],
  ['{..size}', '1 2 3'],
  ['{.items[0].disks}', '[{"size":1},{"size":2}]'],
  ["{.items[0].labels['x.io/y']}", 'z'],
  ['{.items[0].labels.x\\.io/y}', 'z'],
  ['{.items[?(@.status=="ready")].name}', 'a c c'],
  ['{.items[?(@.cores>=32)].name}', 'a b'],
  ["{.items[?(@.status != 'ready')].name}", 'b'],
  ['{.items[?(@.reason)].name}', 'b'],
  ['{range .items[*]}{.name}{"\\t"}{.status}{"\\n"}{end}', 'a\tready\nb\tfailed\nc c\tready\n'],
  ['{range .items[*]}{.name}:{range .disks[*]} {.size}{end};{end}', 'a: 1 2;b:;c c: 3;'],
  ['names: {.items[*].name}, of {.total}', 'names: a b c c, of 3'],
  ['{.items[0].missing.field}', ''],
  ['{.items[9].name}', ''],
  ['{.items.name}', ''],
]
test.each(cases)('the template %s prints what kubectl would print', (template, printed) => {
  expect(jsonpath(template)(page)).toBe(printed)
})

const wrong: [template: string, why: string][] = [
  ['{.items[*].name', '} is missing'],
  ['{range .items[*]}{.name}', '{range} has no {end}'],
  ['{.name}{end}', '{end} has no {range}'],
  ['{.items[x]}', 'an index is a number'],
  ['{.items[?(@.a==b)]}', 'a filter compares with'],
  ['{name}', 'a path begins with a dot'],
  ['{"\\n}', 'a quote has no end'],
  ['{.a b}', '} is missing'],
]
test.each(wrong)('the template %s is refused with the reason', (template, why) => {
  expect(() => jsonpath(template)).toThrow(why)
})

test('a path never reaches what an object inherits', () => {
  expect(jsonpath('{.constructor}{.__proto__}{..constructor}')({ a: 1 })).toBe('')
})
