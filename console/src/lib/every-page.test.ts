import { expect, test } from 'vitest'
import { everyPage } from './every-page.ts'

const pagesOf = (numbers: readonly number[], size: number, total = numbers.length) => {
  const asked: number[] = []
  const read = async (page: number) => {
    asked.push(page)
    return { items: numbers.slice((page - 1) * size, page * size), total }
  }
  return { asked, read }
}

test('a list of several pages is read up to its last page', async () => {
  const numbers = Array.from({ length: 2_001 }, (_, n) => n)
  const { asked, read } = pagesOf(numbers, 1_000)
  expect(await everyPage(read)).toEqual(numbers)
  expect(asked).toEqual([1, 2, 3])
  const full = pagesOf(numbers.slice(0, 1_000), 1_000)
  expect(await everyPage(full.read)).toHaveLength(1_000)
  expect(full.asked).toEqual([1])
})

test('an empty list is read with one request, and reading ends even if the list shrinks meanwhile', async () => {
  const none = pagesOf([], 1_000)
  expect(await everyPage(none.read)).toEqual([])
  expect(none.asked).toEqual([1])
  const fewer = pagesOf([1, 2, 3], 2, 5)
  expect(await everyPage(fewer.read)).toEqual([1, 2, 3])
  expect(fewer.asked).toEqual([1, 2, 3])
})
