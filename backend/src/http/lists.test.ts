/**
 * Reads every list of the contract by each of its sort keys and filters. New keys are included
 * automatically.
 */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import * as z from 'zod/mini'
import { allOperations } from '#contract/all.ts'
import { type AnyList, choicesOf, filtersOf, type ListFilter, sortKeys } from '#contract/list.ts'
import type { Operation } from '#contract/operation.ts'
import { startBackend } from '../testing/backend.ts'

const backend = await startBackend()
const { accessToken } = await backend.signIn({ role: 'admin' })

const lists = (allOperations as readonly (Operation & { readonly list?: AnyList })[]).flatMap(
  ({ name, path, list }) =>
    // Extensions (from the image factory) and patches (of a server) have their own tests.
    list === undefined || path.includes('{') || name === 'extensionList'
      ? []
      : [{ name, path, list }],
)
const samples = [randomUUID(), new Date().toISOString()]
/** Every choice of the filter, ranges, or a text that its schema accepts. */
const valuesOf = (filter: ListFilter): string[] =>
  choicesOf(filter)?.map(([value]) => value) ??
  (filter.range
    ? ['1..2.5', '1..', '..2', '3']
    : samples
        .filter((text) => filter.schema === undefined || z.safeParse(filter.schema, text).success)
        .slice(0, 1))

test('the contract declares lists', () => {
  expect(lists.map((l) => l.name)).toEqual(
    expect.arrayContaining([
      'serverList',
      'clusterList',
      'subnetList',
      'operationList',
      'auditList',
    ]),
  )
})

test.each(lists.map((l) => [l.name, l] as const))(
  '%s accepts each sort key and each filter',
  async (_name, { path, list }) => {
    const queries = [
      'q=a%25b',
      ...sortKeys(list).flatMap((key: string) => [`sort=${key}`, `sort=-${key}`]),
      ...filtersOf(list).flatMap(([key, filter]: [string, ListFilter]) =>
        valuesOf(filter).map((value) => `${key}=${value}`),
      ),
    ]
    for (const query of queries) {
      const response = await backend.app.inject({
        method: 'GET',
        url: `${path}?${query}`,
        headers: { authorization: `Bearer ${accessToken}` },
      })
      expect({ query, status: response.statusCode, ...response.json<object>() }).toMatchObject({
        query,
        status: 200,
        items: expect.any(Array) as unknown[],
        page: 1,
        per_page: list.perPage,
      })
    }
  },
)
