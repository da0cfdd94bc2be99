import * as z from 'zod/mini'
import { expect, test } from 'vitest'
import { choicesOf, comparing, list, listOperation, memoryPage, orderOf, sortKeys } from './list.ts'
import { inRange } from './marketplace/range.ts'

interface Car {
  name: string
  doors: number | null
  colour: 'red' | 'blue'
}
const cars = list<Car>()({
  nouns: ['car', 'cars'],
  columns: {
    name: { label: 'Name', sort: true, value: (c: Car) => c.name },
    doors: { label: 'Doors', kind: 'number', sort: true, value: (c: Car) => c.doors },
    colour: { label: 'Colour' },
  },
  filters: {
    colour: { label: 'Colour', help: 'Only of this colour', choices: ['red', 'blue'] },
    many: {
      label: 'Doors',
      help: 'Only with many doors, or with few',
      choices: { true: 'Many', false: 'Few' },
    },
    owner: { label: 'Owner', help: 'Only of this owner' },
    between: { label: 'Doors', help: 'Only with so many doors', range: inRange('') },
  },
  order: '-name',
})
const carList = listOperation(cars, z.object({}), {
  name: 'carList',
  summary: 'Cars.',
  path: '/v1/cars',
  scope: 'signed_in',
})
const readers = {
  sort: { name: (c: Car) => c.name, doors: (c: Car) => c.doors },
  filters: {
    colour: (c: Car, wanted: string) => c.colour === wanted,
    many: (c: Car, wanted: string) => String((c.doors ?? 0) > 3) === wanted,
    owner: () => true,
    between: (c: Car) => c.doors,
  },
  search: (c: Car, wanted: string) => c.name.includes(wanted),
  ties: [(c: Car) => c.name],
}
const all: Car[] = [
  { name: 'b', doors: 5, colour: 'red' },
  { name: 'a', doors: 3, colour: 'blue' },
  { name: 'd', doors: null, colour: 'red' },
  { name: 'c', doors: 3, colour: 'red' },
]
const ask = (query: object) => memoryPage(cars, all, readers, z.parse(carList.query, query))
const names = (query: object) =>
  ask(query)
    .items.map((c) => c.name)
    .join('')

test('the query accepts only the declared sort keys and filters', () => {
  const { query } = carList
  expect(z.parse(query, {})).toEqual({ page: 1, per_page: 50 })
  expect(
    z.parse(query, {
      q: ' x ',
      sort: '-doors',
      colour: 'red',
      many: 'true',
      owner: 'Ada',
      page: '2',
      per_page: '10',
    }),
  ).toEqual({
    q: 'x',
    sort: '-doors',
    colour: 'red',
    many: 'true',
    owner: 'Ada',
    page: 2,
    per_page: 10,
  })
  for (const wrong of [
    { sort: 'colour' },
    { colour: 'green' },
    { many: 'yes' },
    { owner: 'x'.repeat(41) },
    { page: '0' },
    { per_page: '1001' },
    { weight: '1' },
  ])
    expect(z.safeParse(query, wrong).success).toBe(false)
})

test('a list has the requested order, or else its default order', () => {
  expect([orderOf(cars, undefined), orderOf(cars, 'doors'), orderOf(cars, '-doors')]).toEqual([
    { key: 'name', direction: 'desc' },
    { key: 'doors', direction: 'asc' },
    { key: 'doors', direction: 'desc' },
  ])
  expect(sortKeys(cars)).toEqual(['name', 'doors'])
})

test('rows without a value come last in both directions, and rows with equal values are ordered by the tie-breakers', () => {
  expect([names({}), names({ sort: 'doors' }), names({ sort: '-doors' })]).toEqual([
    'dcba',
    'acbd',
    'bacd',
  ])
  expect(comparing<typeof cars, Car>(cars, readers.sort, 'name', [])(all[0]!, all[0]!)).toBe(0)
})

test('search and filters are applied to a list in memory before it is paged', () => {
  expect([
    names({ colour: 'red' }),
    names({ colour: 'red', many: 'true' }),
    names({ q: 'B' }),
  ]).toEqual(['dcb', 'b', 'b'])
  expect(ask({ colour: 'red', per_page: '2', page: '2' })).toMatchObject({
    items: [{ name: 'b' }],
    page: 2,
    per_page: 2,
    total: 3,
  })
})

test('a choice of a filter is shown with its label, or with its value if it has no label', () => {
  expect([
    choicesOf(cars.filters.colour),
    choicesOf(cars.filters.many),
    choicesOf(cars.filters.owner),
  ]).toEqual([
    [
      ['red', undefined],
      ['blue', undefined],
    ],
    [
      ['true', 'Many'],
      ['false', 'Few'],
    ],
    undefined,
  ])
})

test('a filter by a range keeps the rows whose number is in it, and none without a number', () => {
  expect(['3', '4..', '..5', '6..'].map((between) => names({ between, sort: 'name' }))).toEqual([
    'ac',
    'b',
    'abc',
    '',
  ])
})
