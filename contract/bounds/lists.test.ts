import { expect, test } from 'vitest'
import * as z from 'zod/mini'
import { allOperations } from '../all.ts'
import { history, historyList } from '../history/history.ts'
import { type AnyList, mostListBytes } from '../list.ts'
import type { Operation } from '../operation.ts'
import { mostListedBodyBytes, Patch, patchLimits, serverPatchLimit } from '../patches.ts'
import { codeText } from './fields.ts'
import { type Large, mostLargeBytes, rowsOf } from './rows.ts'

interface Check {
  readonly _zod: {
    readonly def: {
      readonly check: string
      readonly maximum?: number
      readonly fn?: { readonly mostItems?: number }
      readonly tx?: { readonly jsonBytes?: number; readonly mostItems?: number }
    }
  }
}
/** What the walk reads of a schema of Zod, of any type. */
interface Def {
  readonly type: string
  readonly checks?: readonly Check[]
  readonly format?: string
  readonly shape?: Readonly<Record<string, Schema>>
  readonly innerType?: Schema
  readonly element?: Schema
  readonly keyType?: Schema
  readonly valueType?: Schema
  readonly options?: readonly Schema[]
  readonly entries?: Readonly<Record<string, unknown>>
  readonly values?: readonly unknown[]
  readonly out?: Schema
}
interface Schema {
  readonly _zod: { readonly def: unknown }
}
const defOf = (schema: Schema) => schema._zod.def as Def
const bytesOf = (value: unknown) => new TextEncoder().encode(JSON.stringify(value)).length
/** Largest sizes of texts in the formats that have one: quoted UUIDs, and times with milliseconds. */
const formats: Readonly<Record<string, number>> = { uuid: 38, datetime: 38 }

/**
 * Largest bytes of a value of the schema as JSON.
 * @param path of the schema, under which what has no bound is noted in `unbounded`
 */
function largest(schema: Schema, path: string, unbounded: string[]): number {
  const def = defOf(schema)
  const checks = (def.checks ?? []).map((check) => check._zod.def)
  const bytes = checks.flatMap(({ tx }) => tx?.jsonBytes ?? [])
  if (bytes.length > 0) return Math.min(...bytes)
  const items = checks.flatMap(({ check, maximum, fn, tx }) =>
    check === 'max_length' ? [maximum!] : (fn?.mostItems ?? tx?.mostItems ?? []),
  )
  const most = items.length === 0 ? undefined : Math.min(...items)
  const inner = (one: Schema, more = '') => largest(one, path + more, unbounded)
  const without = (size: number) => {
    unbounded.push(path)
    return size
  }
  switch (def.type) {
    case 'object':
      return Object.entries(def.shape!).reduce(
        (sum, [key, value]) => sum + bytesOf(key) + 2 + inner(value, `.${key}`),
        2,
      )
    case 'optional':
    case 'default':
      return inner(def.innerType!)
    case 'nullable':
      return Math.max(4, inner(def.innerType!))
    case 'pipe':
      return inner(def.out!)
    case 'array': {
      const each = inner(def.element!, '[]') + 1
      return most === undefined ? without(2) : 2 + most * each
    }
    case 'record': {
      const each = inner(def.keyType!, '{key}') + inner(def.valueType!, '{value}') + 2
      return most === undefined ? without(2) : 2 + most * each
    }
    case 'string':
      if (def.format !== undefined && formats[def.format] !== undefined) return formats[def.format]!
      return most === undefined ? without(2) : 2 + 6 * most
    case 'union':
      return Math.max(...def.options!.map((option) => inner(option)))
    case 'enum':
      return Math.max(...Object.values(def.entries!).map(bytesOf))
    case 'literal':
      return Math.max(...def.values!.map(bytesOf))
    case 'number':
      return 24
    case 'boolean':
      return 5
    default:
      throw new Error(`${path}: a schema of type ${def.type} has no known size`)
  }
}

/** Largest bytes of a page, and what has no bound in its rows. */
function pageOfList(list: AnyList, rows: Schema): { bytes: number; unbounded: string[] } {
  const { checks, element } = defOf(rows)
  const declared = list.large ?? {}
  const enforced = (checks ?? []).map(({ _zod: { def } }) => (def.tx as { large?: Large }).large)
  expect(enforced, 'the page leaves out what the list declares').toEqual(
    list.large === undefined ? [] : [list.large],
  )
  const unbounded: string[] = []
  const { shape } = defOf(element!)
  const names = Object.keys(declared)
  const row = Object.entries(shape!).reduce(
    (sum, [key, value]) =>
      sum +
      bytesOf(key) +
      2 +
      (key === 'left_out'
        ? bytesOf(names)
        : key in declared
          ? bytesOf(declared[key])
          : largest(value, `.${key}`, unbounded)),
    3,
  )
  const frame = 1024
  return {
    bytes: frame + list.mostPerPage * row + (names.length > 0 ? mostLargeBytes : 0),
    unbounded,
  }
}

type Listing = Operation & { readonly list: AnyList }
const rowsIn = ({ answer }: Pick<Operation, 'answer'>) => defOf(answer).shape!.items!
const lists = allOperations.filter((operation): operation is Listing => 'list' in operation)
/**
 * The specification fixes the list of servers: 1,000 rows with all their hardware. A server's
 * patches come as a whole.
 */
const fixed = new Set(['serverList', 'patchList'])

test.each(lists.filter(({ name }) => !fixed.has(name)).map((one) => [one.name, one] as const))(
  'the largest page of %s has a bound of 8 MiB',
  (_name, one) => {
    const { bytes, unbounded } = pageOfList(one.list, rowsIn(one))
    expect(unbounded).toEqual([])
    expect(bytes).toBeLessThanOrEqual(mostListBytes)
  },
)

test('the largest page of the history has a bound of 8 MiB', () => {
  const { bytes, unbounded } = pageOfList(history, rowsIn(historyList))
  expect(unbounded).toEqual([])
  expect(bytes).toBeLessThanOrEqual(mostListBytes)
})

test('the rows of the patches of a server fit beside their bodies', () => {
  const { labels, body: _body, ...rest } = Patch.shape
  const unbounded: string[] = []
  const row = largest(z.object(rest), '', unbounded)
  const { keyType, valueType } = defOf(labels)
  const each = largest(keyType!, '', unbounded) + largest(valueType!, '', unbounded)
  expect(unbounded).toEqual([])
  const bytes = (serverPatchLimit.most + 2) * (row + patchLimits.labels * (each + 2))
  expect(bytes + mostListedBodyBytes).toBeLessThanOrEqual(mostListBytes)
})

test('what has no bound is found, however deep', () => {
  const unbounded: string[] = []
  const text = z.string()
  largest(
    z.object({ a: z.array(z.nullable(text)), b: z.record(codeText, codeText) }),
    '',
    unbounded,
  )
  expect(unbounded).toEqual(['.a[]', '.a', '.b'])
})

test('large fields beyond the bytes of a page are left out, and each row says so', () => {
  const Row = z.object({
    id: z.int(),
    notes: z.optional(z.string()),
    left_out: z.optional(z.array(codeText)),
  })
  const half = 'é'.repeat(mostLargeBytes / 4 - 100)
  const rows = [half, half, half, 'short'].map((notes, id) => ({ id, notes }))
  const shown = z.parse(rowsOf(Row, { notes: '' }), rows)
  expect(shown.slice(0, 2)).toEqual(rows.slice(0, 2))
  expect(shown.slice(2)).toEqual([{ id: 2, notes: '', left_out: ['notes'] }, rows[3]])
  expect(bytesOf(shown)).toBeLessThan(mostLargeBytes + 200)
})

test('a row that is small again is whole after one that was left out, and a new page begins anew', () => {
  const Row = z.object({ notes: z.string() })
  const rows = rowsOf(Row, { notes: '' })
  const one = [{ notes: 'x'.repeat(mostLargeBytes - 100) }]
  expect([z.parse(rows, one), z.parse(rows, one)]).toEqual([one, one])
})
