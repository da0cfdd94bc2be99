import { expect, test } from 'vitest'
import { longTest } from '../../../tools/testing/long-test.ts'
import { celSelects } from '../cel.ts'

const facts = { model: 'Samsung PM983', symlinks: ['/dev/disk/by-id/a', '/dev/disk/by-id/b'] }
const selects = (expression: string): boolean | null => celSelects(expression, 'disk', facts)
const thirty = `[${Array.from({ length: 30 }, (_, i) => i).join(', ')}]`

/** `all` in `all`, `depth` times, each over 30 numbers. */
const nested = (depth: number, macro = 'all', inner = 'true'): string =>
  depth === 0 ? inner : `${thirty}.${macro}(x${depth}, ${nested(depth - 1, macro, inner)})`
/** A list that is joined with itself, so that it has `4 * 2 ** times` elements. */
const joined = (times: number): string =>
  times === 0 ? '[[1, 2, 3, 4]]' : `${joined(times - 1)}.map(x${times}, x${times} + x${times})`

/** Processor time of an action, in ms: elapsed time grows if others have the processor. */
function processorMs(act: () => void): number {
  const began = process.threadCpuUsage()
  act()
  const { user, system } = process.threadCpuUsage(began)
  return (user + system) / 1000
}

test('an expression within the limit of steps is evaluated as before', () => {
  expect(selects('disk.symlinks.exists(s, s.endsWith("/b"))')).toBe(true)
  expect(selects('disk.symlinks.all(s, s == "/dev/disk/by-id/a")')).toBe(false)
  expect(selects('disk.symlinks.filter(s, s.endsWith("a")).map(s, s + "!")[0].endsWith("!")')).toBe(
    true,
  )
  expect(selects(nested(2))).toBe(true)
  expect(selects('!disk.model.startsWith("WDC") && -1 < 0 && has(disk.model)')).toBe(true)
  expect(selects('disk.model.matches("^Samsung PM[0-9]+$")')).toBe(true)
  expect(selects('disk.model.matches("(?i)samsung pm9a3")')).toBe(false)
  expect(selects('disk.model.matches("[")')).toBeNull()
})

test('an expression that takes too many steps is given up, whatever it repeats', () => {
  const expressions = {
    'nested comprehensions': nested(6),
    'an error that a comprehension keeps': nested(6, 'exists', '1 / 0 == 1'),
    'a side that decides alone': `${nested(6)} && false`,
    'lists that grow': `size(${joined(25)}) > 0`,
    'a comparison of long lists': `${joined(12)}.all(l, l.all(x, x in l))`,
    'a pattern that takes exponential time': `${thirty}.exists(x, "${'a'.repeat(5_000)}!".matches("^(a+)+$"))`,
    'a search in long texts': `${thirty}.exists(x, "${'a'.repeat(9_000)}".contains("${'a'.repeat(4_000)}b"))`,
  }
  for (const [what, expression] of Object.entries(expressions)) {
    let answer: boolean | null | undefined
    const took = processorMs(() => (answer = selects(expression)))
    expect([what, answer, took < 5_000]).toEqual([what, null, true])
  }
})

test('a pattern that backtracking would never finish is matched', () => {
  expect(selects(`"${'a'.repeat(60)}!".matches("^(a+)+$")`)).toBe(false)
})

test('many expressions of one piece of work share a limit, and the next work has its own', async () => {
  const one = nested(2, 'all', 'disk.model != ""')
  const answers = Array.from({ length: 1_000 }, () => selects(one))
  expect(answers[0]).toBe(true)
  expect(answers.at(-1)).toBeNull()
  await Promise.resolve()
  expect(selects(one)).toBe(true)
})

longTest('the time of an evaluation does not grow with the depth of its comprehensions', () => {
  for (let depth = 5; depth <= 20; depth++)
    expect(processorMs(() => expect(selects(nested(depth))).toBeNull())).toBeLessThan(5_000)
})
