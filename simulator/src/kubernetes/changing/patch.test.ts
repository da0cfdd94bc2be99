import { expect, test } from 'vitest'
import { Refusal } from '../refusal.ts'
import { patched } from './patch.ts'
import { processorMs } from '../../../../tools/testing/processor-time.ts'

const STRATEGIC = 'application/strategic-merge-patch+json'
const JSON_PATCH = 'application/json-patch+json'

test('a strategic merge patch merges lists by key and obeys directives', () => {
  const pod = {
    metadata: { finalizers: ['a'] },
    spec: {
      containers: [{ name: 'x', image: '1', env: [{ name: 'e', value: 'f' }] }, { name: 'y' }],
      dnsPolicy: 'Default',
    },
  }
  const apply = (patch: object): unknown => patched(pod, STRATEGIC, patch, false)
  expect(
    apply({
      spec: { $setElementOrder: [], containers: [{ name: 'x', image: '2' }, { name: 'z' }] },
    }),
  ).toMatchObject({
    spec: {
      containers: [
        { name: 'x', image: '2', env: [{ name: 'e', value: 'f' }] },
        { name: 'y' },
        { name: 'z' },
      ],
    },
  })
  expect(apply({ spec: { containers: [{ name: 'y', $patch: 'delete' }] } })).toMatchObject({
    spec: { containers: [{ name: 'x' }] },
  })
  expect(apply({ spec: { containers: [{ $patch: 'replace' }, { name: 'n' }] } })).toMatchObject({
    spec: { containers: [{ name: 'n' }] },
  })
  expect(apply({ spec: { $retainKeys: ['containers'] } })).toEqual({
    ...pod,
    spec: { containers: pod.spec.containers },
  })
  expect(apply({ spec: { $patch: 'replace', hostname: 'h' } })).toEqual({
    ...pod,
    spec: { hostname: 'h' },
  })
  expect(apply({ metadata: { finalizers: ['b'] } })).toMatchObject({
    metadata: { finalizers: ['a', 'b'] },
  })
  expect(apply({ metadata: { '$deleteFromPrimitiveList/finalizers': ['a'] } })).toMatchObject({
    metadata: { finalizers: [] },
  })
  expect(() => patched(pod, STRATEGIC, {}, true)).toThrow(Refusal)
})

test('a JSON patch applies completely or not at all', () => {
  const body = { list: [1, 2], map: { a: { b: 1 } } }
  const before = structuredClone(body)
  const apply = (...operations: object[]): unknown => patched(body, JSON_PATCH, operations, true)
  expect(
    apply({ op: 'add', path: '/list/1', value: 9 }, { op: 'add', path: '/list/-', value: 8 }),
  ).toMatchObject({ list: [1, 9, 2, 8] })
  expect(
    apply(
      { op: 'move', from: '/map/a', path: '/map/c' },
      { op: 'copy', from: '/map/c', path: '/d' },
    ),
  ).toEqual({
    list: [1, 2],
    map: { c: { b: 1 } },
    d: { b: 1 },
  })
  expect(
    apply({ op: 'replace', path: '/list/0', value: 7 }, { op: 'remove', path: '/list/1' }),
  ).toMatchObject({ list: [7] })
  for (const wrong of [
    { op: 'replace', path: '/nothing', value: 1 },
    { op: 'remove', path: '/list/2' },
    { op: 'add', path: '/list/5', value: 1 },
    { op: 'add', path: '/x/y', value: 1 },
    { op: 'test', path: '/map/a/b', value: 2 },
    { op: 'jump', path: '/map' },
    { op: 'add', path: 'map', value: 1 },
  ])
    expect(() => apply(wrong)).toThrow(Refusal)
  expect(body).toEqual(before)
  expect(
    patched({}, JSON_PATCH, [{ op: 'add', path: '/__proto__', value: { polluted: true } }], true),
  ).not.toHaveProperty('polluted')
})

test('patches that would grow an object without bounds are refused', async () => {
  const doubling = Array.from({ length: 100 }, (_, i) => ({ op: 'copy', from: '', path: `/c${i}` }))
  expect(() => patched({ a: 'x'.repeat(100) }, JSON_PATCH, doubling, true)).toThrow('too large')
  const many = Array.from({ length: 10_001 }, () => ({ op: 'add', path: '/a', value: 1 }))
  expect(() => patched({}, JSON_PATCH, many, true)).toThrow('10000')
  const items = Array.from({ length: 20_000 }, (_, i) => ({ name: `c${i}`, image: 'x' }))
  let grown: unknown
  const usedMs = await processorMs(() => {
    grown = patched(
      { spec: { containers: items } },
      STRATEGIC,
      { spec: { containers: items } },
      false,
    )
  })
  expect(grown).toEqual({ spec: { containers: items } })
  expect(usedMs).toBeLessThan(5_000)
})
