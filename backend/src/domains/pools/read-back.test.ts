import { expect, test } from 'vitest'
import { renderPool, usualApi, type PoolSubnet } from './manifest.ts'
import { acceptance, differences, foundInstead, hashOf } from './read-back.ts'

const subnet: PoolSubnet = {
  id: '5f0c1f6e-6a63-4a2f-8f0c-2f3a1b4c5d6e',
  cidr: '203.0.113.64/29',
  gateway: '203.0.113.65',
  vlan_id: null,
  exclude: ['203.0.113.68'],
  first_and_last: false,
  draining: false,
}
const cilium = renderPool(subnet, usualApi.cilium).object
const metallb = renderPool(subnet, usualApi.metallb).object
const total = 4n

test('fields that an API server adds or omits do not count as a difference', () => {
  const live = {
    metadata: { name: cilium.metadata.name, generation: 3, managedFields: [] },
    spec: {
      blocks: [
        { cidr: '', start: '203.0.113.69', stop: '203.0.113.70' },
        { cidr: '', stop: '203.0.113.67', start: '203.0.113.66' },
      ],
      allowFirstLastIPs: 'No',
      serviceSelector: { matchLabels: { team: 'shop' } },
    },
    status: {},
  }
  expect(differences(cilium, live)).toBeNull()
  expect(
    differences(metallb, {
      spec: { addresses: ['203.0.113.69-203.0.113.70', '203.0.113.66-203.0.113.67'] },
    }),
  ).toBeNull()
})

test.each([
  ['is gone', null, ['deleted']],
  ['has no spec', {}, ['allowFirstLastIPs', 'blocks']],
  [
    'contains the whole CIDR',
    { spec: { ...cilium.spec, blocks: [{ cidr: '203.0.113.64/29' }] } },
    ['blocks'],
  ],
  [
    'has one more block',
    {
      spec: {
        ...cilium.spec,
        blocks: [...(cilium.spec['blocks'] as object[]), { start: '203.0.113.65' }],
      },
    },
    ['blocks'],
  ],
  ['is disabled', { spec: { ...cilium.spec, disabled: true } }, ['disabled']],
  ['has an invalid spec', { spec: 'x' }, ['allowFirstLastIPs', 'blocks']],
  ['has invalid blocks', { spec: { ...cilium.spec, blocks: [1, null, ['x']] } }, ['blocks']],
])('the comparison finds a difference in a pool that %s', (_what, live, fields) => {
  expect(differences(cilium, live)).toEqual(fields)
})

test('the hash of an object changes if a field changes', () => {
  const changed = renderPool({ ...subnet, draining: true }, usualApi.cilium).object
  expect(hashOf(cilium)).toBe(hashOf(renderPool({ ...subnet }, usualApi.cilium).object))
  expect(hashOf(changed)).not.toBe(hashOf(cilium))
})

const condition = (type: string, status: string, message: string, observedGeneration = 2) => ({
  type: `cilium.io/${type}`,
  status,
  message,
  observedGeneration,
})
const pool = (...conditions: object[]) => ({ metadata: { generation: 2 }, status: { conditions } })
const calm = condition('PoolConflict', 'False', '')

test.each([
  ['has no status yet', { metadata: { generation: 1 } }, { is: 'waiting' }],
  [
    'was counted for another generation',
    pool(calm, condition('IPsTotal', 'Unknown', '4', 1)),
    { is: 'waiting' },
  ],
  [
    'was counted, but has no condition about conflicts',
    pool(condition('IPsTotal', 'Unknown', '4')),
    { is: 'waiting' },
  ],
  [
    'has the expected count',
    pool(calm, condition('IPsTotal', 'Unknown', '4'), condition('IPsUsed', 'Unknown', '2')),
    { is: 'accepted', used: 2 },
  ],
  [
    'has the expected count, but an invalid count of used addresses',
    pool(calm, condition('IPsTotal', 'Unknown', '4'), condition('IPsUsed', 'Unknown', 'many')),
    { is: 'accepted', used: null },
  ],
  [
    'has another count',
    pool(calm, condition('IPsTotal', 'Unknown', '6')),
    { is: 'refused', reason: 'Cilium counts 6 addresses in the pool instead of 4' },
  ],
  [
    'has an invalid count',
    pool(calm, condition('IPsTotal', 'Unknown', '4'.repeat(200))),
    { is: 'refused' },
  ],
  [
    'conflicts with another',
    pool(
      condition('PoolConflict', 'True', "Pool conflicts since range '203.0.113.64' overlaps\u0007"),
      condition('IPsTotal', 'Unknown', '4'),
    ),
    {
      is: 'refused',
      reason: "Cilium does not use the pool: Pool conflicts since range '203.0.113.64' overlaps�",
    },
  ],
  [
    'has invalid conditions',
    { metadata: { generation: 2 }, status: { conditions: ['x', null, 7] } },
    { is: 'waiting' },
  ],
])('Steelyard recognises the state of a Cilium pool that %s', (_what, live, wanted) => {
  expect(acceptance(cilium, live, total)).toMatchObject(wanted)
})

test.each([
  ['no counts, as in older versions', {}, { is: 'accepted', used: null }],
  [
    'counts that agree',
    { status: { assignedIPv4: 1, availableIPv4: 3 } },
    { is: 'accepted', used: 1 },
  ],
  [
    'counts from before a change',
    { status: { assignedIPv4: 1, availableIPv4: 9 } },
    { is: 'waiting' },
  ],
  [
    'counts of the other family',
    { status: { assignedIPv6: 7, availableIPv6: 9 } },
    { is: 'accepted', used: null },
  ],
  [
    'invalid counts',
    { status: { assignedIPv4: 'x', availableIPv4: -0.5 } },
    { is: 'accepted', used: null },
  ],
])('Steelyard recognises the state of a MetalLB pool with %s', (_what, live, wanted) => {
  expect(acceptance(metallb, live, total)).toMatchObject(wanted)
})

test('any value found in the cluster is recorded in a short, printable form', () => {
  let deep: unknown = 'x'
  for (let i = 0; i < 20_000; i++) deep = [deep]
  expect(foundInstead(['deleted'], null)).toEqual({ pool: 'deleted' })
  const found = foundInstead(['blocks', 'disabled', 'deep'], {
    spec: { blocks: ['\u001b[31m'.repeat(500)], deep },
  })
  expect(
    Object.values(found).every(
      (text) => typeof text === 'string' && text.length <= 256 && /^[\x20-\x7e�]*$/.test(text),
    ),
  ).toBe(true)
})
