import { expect, test } from 'vitest'
import { Refusal } from '../refusal.ts'
import { readProtobuf } from './protobuf.ts'

// Builds request bodies like those of kubectl 1.36 for `kubectl create configmap c
// --from-literal=a=b` and `kubectl auth can-i create pods`.
const field = (number: number, value: Buffer | string): Buffer => {
  const bytes = Buffer.from(value)
  return Buffer.concat([
    Buffer.from([
      ...(number < 16 ? [(number << 3) | 2] : [(((number << 3) | 2) & 0x7f) | 0x80, number >> 4]),
      bytes.length,
    ]),
    bytes,
  ])
}
const number = (at: number, value: number): Buffer => Buffer.from([at << 3, value])
const body = (apiVersion: string, kind: string, ...fields: Buffer[]): Buffer =>
  Buffer.concat([
    Buffer.from('k8s\0'),
    field(1, Buffer.concat([field(1, apiVersion), field(2, kind)])),
    field(2, Buffer.concat(fields)),
    field(3, ''),
    field(4, ''),
  ])

test('an object in protobuf is parsed to the same value as its JSON', () => {
  const metadata = field(
    1,
    Buffer.concat([
      field(1, 'c'),
      field(2, ''),
      field(8, ''),
      field(11, Buffer.concat([field(1, 'k'), field(2, 'v')])),
    ]),
  )
  expect(
    readProtobuf(
      body('v1', 'ConfigMap', metadata, field(2, Buffer.concat([field(1, 'a'), field(2, 'b')]))),
    ),
  ).toEqual({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'c', labels: { k: 'v' } },
    data: { a: 'b' },
  })
  expect(
    readProtobuf(
      body(
        'v1',
        'Secret',
        metadata,
        field(2, Buffer.concat([field(1, 'a'), field(2, 'b')])),
        field(3, 'Opaque'),
      ),
    ),
  ).toMatchObject({
    type: 'Opaque',
    data: { a: Buffer.from('b').toString('base64') },
  })
  const ports = [
    [number(1, 0), number(2, 80), field(3, '')],
    [number(1, 1), number(2, 0), field(3, 'http')],
  ].map((target) =>
    field(
      1,
      Buffer.concat([field(1, 'p'), number(3, 80), field(4, Buffer.concat(target)), number(5, 0)]),
    ),
  )
  expect(
    readProtobuf(body('v1', 'Service', field(2, Buffer.concat([...ports, field(18, '10.0.0.1')])))),
  ).toMatchObject({
    spec: {
      ports: [{ name: 'p', port: 80, targetPort: 80 }, { targetPort: 'http' }],
      clusterIPs: ['10.0.0.1'],
    },
  })
  expect(readProtobuf(body('apps/v1', 'Deployment', field(2, number(1, 0))))).toMatchObject({
    spec: { replicas: 0 },
  })
})

test('unsupported fields and broken bytes are refused', () => {
  expect(() => readProtobuf(body('v1', 'Pod', field(1, 'x')))).toThrow(
    "doesn't read objects of kind Pod",
  )
  expect(() => readProtobuf(body('v1', 'Namespace', field(9, 'x')))).toThrow('field 9 of Namespace')
  const whole = body('v1', 'ConfigMap', field(1, field(1, 'name')))
  for (let end = 0; end < whole.length - 4; end++)
    expect(() => readProtobuf(whole.subarray(0, end))).toThrow(Refusal)
  expect(() => readProtobuf(Buffer.concat([Buffer.from('k8s\0'), Buffer.alloc(50, 0xff)]))).toThrow(
    Refusal,
  )
})
