/**
 * Every call of the contract, with inputs generated from its own schemas and then corrupted, must
 * get a response that the contract declares, and never an internal error. The seed is printed;
 * `FUZZ_SEED` repeats a run, `FUZZ_RUNS` makes it longer.
 */
import { randomInt } from 'node:crypto'
import { env } from 'node:process'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { allOperations } from '#contract/all.ts'
import { type Operation, takesBody } from '#contract/operation.ts'
import { longTests } from '../../../tools/testing/length.ts'
import { buildServer } from '../domains/servers/testing.ts'
import { type Fields, silent } from '../log.ts'
import { startBackend } from '../testing/backend.ts'
import { checkAnswer, checkProblem } from '../testing/contract-check.ts'
import { type Json, valuesOf } from '../testing/outage/call-inputs.ts'

const seed = Number(env['FUZZ_SEED'] ?? randomInt(2 ** 31 - 1))
const runs = Number(env['FUZZ_RUNS'] ?? (longTests ? 25 : 3))
process.stderr.write(`fuzz: FUZZ_SEED=${seed}\n`)

const failures: string[] = []
const note = (_event: string, { error }: Fields = {}) =>
  void (error instanceof Error && failures.push(error.stack ?? error.message))
const backend = await startBackend({
  log: { ...silent, error: note },
  environment: { STEELYARD_DIAL_NETWORKS: '10.99.0.0/16' },
})
const admin = await backend.signIn()
const server = await buildServer(backend)

const hostile = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    false,
    0,
    -1,
    1.5,
    1e308,
    -0,
    Number.MAX_SAFE_INTEGER,
    2 ** 53,
    '',
    ' ',
    '\u0000',
    'a\u0000b',
    '\u202e\u200b',
    '\ud800',
    '🦔'.repeat(40),
    [],
    {},
    [[]],
    [null],
  ),
  fc.constantFrom(
    "' OR 1=1 --",
    '%',
    '_',
    '\\',
    '../../etc/passwd',
    '${7*7}',
    '__proto__',
    'constructor',
    '=cmd()',
    '\r\nX: y',
    '999999999999999999999999',
    '0x10',
    '1e3',
    'NaN',
  ),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom('x'.repeat(3_000), 'x'.repeat(300_000)),
  fc.jsonValue({ maxDepth: 3 }),
)

type Spoil = {
  kind: 'none' | 'drop' | 'add' | 'swap' | 'whole'
  at: number
  key: string
  by: unknown
}
const spoil: fc.Arbitrary<Spoil> = fc.record({
  kind: fc.constantFrom('none', 'drop', 'add', 'swap', 'swap', 'whole'),
  at: fc.nat(50),
  key: fc.constantFrom(
    'extra',
    'id',
    'version',
    'status',
    '__proto__',
    'constructor',
    'toString',
    'na\u0000me',
    '',
  ),
  by: hostile,
})

/** Every object and list inside a value, the value itself first. */
function holders(value: unknown): (Json | unknown[])[] {
  if (typeof value !== 'object' || value === null) return []
  return [value as Json, ...Object.values(value).flatMap(holders)]
}

/** Corrupts a value. `added`: a key was added to the outermost object. */
function apply(value: unknown, { kind, at, key, by }: Spoil): { value: unknown; added: boolean } {
  if (kind === 'none') return { value, added: false }
  if (kind === 'whole') return { value: by, added: false }
  const copy = structuredClone(value)
  const all = holders(copy)
  const holder = all[at % Math.max(1, all.length)]
  if (holder === undefined) return { value: by, added: false }
  const keys = Object.keys(holder)
  const chosen = keys[at % Math.max(1, keys.length)]
  if (kind === 'add' && !Array.isArray(holder)) {
    const added = holder === copy && !(key in holder)
    Object.defineProperty(holder, key, {
      value: by,
      enumerable: true,
      configurable: true,
      writable: true,
    })
    return { value: copy, added }
  }
  if (chosen === undefined) return { value: copy, added: false }
  if (kind === 'swap') (holder as Json)[chosen] = by
  else if (Array.isArray(holder)) holder.splice(Number(chosen), 1)
  else delete holder[chosen]
  return { value: copy, added: false }
}

const inputs = (operation: Operation) =>
  fc.record({
    params: valuesOf(operation.params, server),
    query: valuesOf(operation.query, server),
    body: takesBody(operation)
      ? valuesOf(operation.body, server)
      : fc.option(fc.jsonValue({ maxDepth: 1 }), { nil: undefined }),
    spoilParams: spoil,
    spoilQuery: spoil,
    spoilBody: spoil,
    header: fc.constantFrom<Record<string, string>>(
      {},
      {},
      { 'if-match': '"1"' },
      { 'if-match': 'x' },
      { 'idempotency-key': 'a' },
      { 'idempotency-key': 'ż' },
      { 'last-event-id': '-1' },
      { 'content-type': 'text/plain' },
    ),
  })

const textOf = (value: unknown): string =>
  typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value)
/** A lone surrogate can't be part of a URL. */
const encoded = (value: unknown): string => encodeURIComponent(textOf(value).toWellFormed())
/**
 * URL parsers remove the path segments `.` and `..`, also if percent-encoded (WHATWG URL,
 * "single-dot URL path segment"), so another path would be called.
 */
const segment = (value: unknown): string => encoded(value).replace(/^\.\.?$/, '$&-')
/** Throttled calls come last, because each try advances the clock, which ends sessions. */
const timed = new Set(['authorize', 'waitlistJoin'])
const ended: string[] = []

/** The endless stream has its own tests. */
const operations = allOperations
  .filter((o) => o.media !== 'text/event-stream')
  .toSorted((a, b) => Number(timed.has(a.name)) - Number(timed.has(b.name)))

test.each(operations.map((o) => [o.name, o] as const))(
  'fuzzed requests to %s get a response that the contract declares',
  async (_name, operation) => {
    const outcome = await fc.check(
      fc.asyncProperty(
        inputs(operation),
        async ({ params, query, body, spoilParams, spoilQuery, spoilBody, header }) => {
          if (timed.has(operation.name)) backend.clock.advance(3_600_000)
          const inPath = params as Json
          const path = operation.path.replaceAll(/\{(\w+)\}/g, (_all, name: string) =>
            segment(
              spoilParams.kind === 'swap' &&
                name === ['id', 'patchId', 'node_id'][spoilParams.at % 3]
                ? spoilParams.by
                : inPath[name],
            ),
          )
          const asked = apply(
            query,
            spoilQuery.kind === 'whole' ? { ...spoilQuery, kind: 'add' } : spoilQuery,
          )
          const search = Object.entries((asked.value ?? {}) as Json)
            .map(([name, value]) => `${encodeURIComponent(name)}=${encoded(value)}`)
            .join('&')
          const sent = apply(body, spoilBody)
          const payload = sent.value === undefined ? undefined : JSON.stringify(sent.value)
          const response = await backend.app.inject({
            method: operation.method,
            url: search === '' ? path : `${path}?${search}`,
            headers: {
              authorization: `Bearer ${admin.accessToken}`,
              ...(payload !== undefined && { 'content-type': 'application/json' }),
              ...header,
            },
            ...(payload !== undefined && { payload }),
          })
          if (response.statusCode === 503 || response.statusCode < 500)
            checkAnswer(operation, response)
          else throw new Error(`${response.statusCode} ${response.body}\n${failures.at(-1) ?? ''}`)
          ended.push(`${response.statusCode}`)
          if (asked.added && response.statusCode < 400)
            throw new Error(`An unknown query parameter was accepted: ${search}`)
          if (sent.added && takesBody(operation) && response.statusCode < 400)
            throw new Error(`An unknown field was accepted: ${payload}`)
        },
      ),
      { seed, numRuns: runs },
    )
    expect(await fc.asyncDefaultReportMessage(outcome)).toBeUndefined()
  },
)

test('enough of the fuzzed requests reached a handler', () => {
  const count = Object.fromEntries(
    [...Map.groupBy(ended, (s) => s)].map(([status, all]) => [status, all.length]),
  )
  process.stderr.write(`fuzz: ${JSON.stringify(count)}\n`)
  expect(count['200']).toBeGreaterThan(20)
  expect(count['400']).toBeGreaterThan(20)
  expect(count['422']).toBeGreaterThan(20)
  expect(Object.prototype).not.toHaveProperty('extra')
})

const paths = [...new Set(operations.map((o) => o.path))]
test.each(paths)(
  '%s returns 405 for an unsupported method, with the supported ones',
  async (path) => {
    const url = path.replaceAll(/\{\w+\}/g, server)
    const has = new Set(allOperations.filter((o) => o.path === path).map((o) => o.method as string))
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const) {
      if (has.has(method)) continue
      const response = await backend.app.inject({
        method,
        url,
        headers: { authorization: `Bearer ${admin.accessToken}` },
      })
      expect(response.statusCode, `${method} ${url}`).toBe(405)
      expect(checkProblem(response).code).toBe('method_not_allowed')
      expect(
        String(response.headers['allow'])
          .split(', ')
          .filter((one) => one !== 'HEAD'),
      ).toEqual([...has].toSorted())
    }
  },
)
