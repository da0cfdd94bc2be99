import { expect, test } from 'vitest'
import { parseCidr } from '#contract/network/addresses.ts'
import { readService, usesIn } from './look.ts'

const readServices = (items: readonly unknown[]) => items.flatMap((item) => readService(item) ?? [])

const service = (name: string, ips: readonly unknown[], more: object = {}) => ({
  metadata: { name, namespace: 'web' },
  spec: { type: 'LoadBalancer' },
  status: { loadBalancer: { ingress: ips.map((ip) => ({ ip })) } },
  ...more,
})

test('addresses of LoadBalancer Services in a subnet count as used by those Services', () => {
  const services = readServices([
    service('shop', ['203.0.113.66', '2a01:db8:0::5']),
    service('mail', ['203.0.113.200']),
    service('internal', ['203.0.113.67'], { spec: { type: 'ClusterIP' } }),
    service('waiting', [], { status: {} }),
  ])
  expect(services.map((s) => s.name)).toEqual(['web/shop', 'web/mail', 'web/waiting'])
  expect(usesIn(services, parseCidr('203.0.113.64/26')!)).toEqual([
    { address: '203.0.113.66', by: 'web/shop' },
  ])
  expect(usesIn(services, parseCidr('2a01:db8::/64')!)).toEqual([
    { address: '2a01:db8::5', by: 'web/shop' },
  ])
})

test('an address shared by several Services counts once, with all their names', () => {
  const shared = [service('b', ['203.0.113.66', '203.0.113.66']), service('a', ['203.0.113.66'])]
  expect(usesIn(readServices(shared), parseCidr('203.0.113.64/26')!)).toEqual([
    { address: '203.0.113.66', by: 'web/a, web/b' },
  ])
})

test('only valid names and addresses of a hostile cluster’s response are used, in a limited number', () => {
  const many = readServices([
    null,
    'x',
    { metadata: {}, spec: { type: 'LoadBalancer' } },
    service('<script>', ['203.0.113.66']),
    service('x'.repeat(300), ['203.0.113.66']),
    service('odd', [
      '203.0.113.066',
      '::ffff:203.0.113.66',
      5,
      null,
      '203.0.113.66/24',
      'localhost',
    ]),
    service(
      'wide',
      Array.from({ length: 5_000 }, (_, i) => `203.0.113.${64 + (i % 60)}`),
    ),
    ...Array.from({ length: 100 }, (_, i) => service(`s-${i}`, ['203.0.113.66'])),
  ])
  expect(many.find((s) => s.name === 'web/odd')!.addresses).toEqual([])
  expect(many.find((s) => s.name === 'web/wide')!.addresses.length).toBeLessThanOrEqual(16)
  expect(many.some((s) => s.name.includes('script') || s.name.length > 300)).toBe(false)
  expect(
    usesIn(many, parseCidr('203.0.113.64/26')!).find((u) => u.address === '203.0.113.66')!.by
      .length,
  ).toBeLessThanOrEqual(400)
})
