import { globSync } from 'node:fs'
import { expect, test } from 'vitest'
import { answersWith } from './operation.ts'
import { allOperations, allWords, variantsOf } from './all.ts'

const modules = await Promise.all(
  globSync('**/*.ts', { cwd: import.meta.dirname, exclude: ['**/*.test.ts'] }).map(
    async (file) =>
      [file, (await import(/* @vite-ignore */ `./${file}`)) as Record<string, unknown>] as const,
  ),
)
const isCall = (value: unknown) =>
  typeof value === 'object' && value !== null && 'method' in value && 'scope' in value

test('a call that reads answers 200, also if its answer names an operation', () => {
  const reading = allOperations.filter(({ method }) => method === 'GET')
  expect(reading.some((o) => answersWith('operation', o.answer))).toBe(true)
  expect(reading.filter(({ status }) => status !== 200).map(({ name }) => name)).toEqual([])
})

test('all.ts has every call of every file, and the words of every file', () => {
  const known = new Set<unknown>([
    ...allOperations,
    ...allOperations.flatMap(variantsOf),
    ...allWords,
  ])
  expect(modules.length).toBeGreaterThan(50)
  expect(
    modules.flatMap(([file, all]) =>
      Object.entries(all)
        .filter(([name, value]) => (isCall(value) || name === 'words') && !known.has(value))
        .map(([name]) => `${name} of ${file}`),
    ),
  ).toEqual([])
})
