import * as fc from 'fast-check'
import { create, toBinary } from '@bufbuild/protobuf'
import { expect, test } from 'vitest'
import { ListResponseSchema } from '#talos/proto/gen/cosi/state_pb.ts'
import { encodeResource } from './encoded.ts'

const text = fc.string({ unit: 'grapheme' })
const timestamp = fc.record({
  seconds: fc.bigInt({ min: 0n, max: 253_402_300_799n }),
  nanos: fc.nat(999_999_999),
})
const metadata = fc.record({
  ...Object.fromEntries(
    ['namespace', 'type', 'id', 'version', 'owner', 'phase'].map((name) => [name, text]),
  ),
  created: timestamp,
  updated: timestamp,
})
const spec = fc.record({ protoSpec: fc.uint8Array({ maxLength: 300 }), yamlSpec: text })

test('the bytes of a resource are those of the library', () => {
  fc.assert(
    fc.property(
      fc.record({ metadata, spec }, { requiredKeys: ['metadata', 'spec'] }),
      (resource) => {
        expect(encodeResource({ resource })).toEqual(
          toBinary(ListResponseSchema, create(ListResponseSchema, { resource })),
        )
      },
    ),
    { numRuns: 300 },
  )
})

test('a resource with other fields is left to the library', () => {
  const spec = { yamlSpec: '{}\n' }
  expect(
    encodeResource({ resource: { metadata: { id: 'a', labels: { key: 'value' } }, spec } }),
  ).toBeUndefined()
  expect(
    encodeResource({ resource: { metadata: { id: 'a', finalizers: ['one'] }, spec } }),
  ).toBeUndefined()
  expect(encodeResource({})).toBeUndefined()
})

test('a resource that cannot be encoded does not change the next response', () => {
  const metadata = { id: 'a', type: 'b' }
  const spec = { yamlSpec: '{}\n' }
  const bytes = encodeResource({ resource: { metadata, spec } })
  expect(() =>
    encodeResource({ resource: { metadata: { ...metadata, created: { nanos: 0.5 } }, spec } }),
  ).toThrow('invalid int32')
  expect(encodeResource({ resource: { metadata, spec } })).toEqual(bytes)
})
