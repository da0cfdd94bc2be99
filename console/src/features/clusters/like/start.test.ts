import * as z from 'zod/mini'
import { expect, test } from 'vitest'
import { NewTemplate, type NewTemplateInput } from '#contract/templates/templates.ts'
import type { OfferedTalos } from '#contract/versions.ts'
import { blank } from '../create/draft.ts'
import { filledFrom, type Start, versionsOf } from './start.ts'

const support = { ends: null, ended: false }
const offer = (talos_version: string, minors: [string, string], kubernetes: string[]) =>
  ({
    talos_version,
    prerelease: false,
    support,
    kubernetes_versions: kubernetes,
    kubernetes: kubernetes.map((version) => ({ version, support })),
    kubernetes_minors: minors,
  }) satisfies OfferedTalos
const offered = [
  offer('v1.14.1', ['1.33', '1.37'], ['1.37.2', '1.36.3']),
  offer('v1.13.9', ['1.31', '1.36'], ['1.36.3', '1.35.7']),
  offer('v1.13.8', ['1.31', '1.36'], ['1.36.3', '1.35.7']),
]
const start = (template: Partial<NewTemplateInput>, more: Partial<Start> = {}): Start => ({
  id: 't1',
  of: 'template',
  name: 'shop',
  template: z.parse(NewTemplate, { name: 'shop', ...template }),
  leftOut: [],
  datacenterId: null,
  ...more,
})

test('versions and networks are taken over; name, endpoint and servers stay open', () => {
  const filled = filledFrom(
    start({
      talos_version: '1.13.8',
      kubernetes_version: 'v1.35.7',
      vlan_id: 7,
      virtual_ip: true,
      pod_cidr: '10.8.0.0/16',
      service_cidr: '10.9.0.0/16',
    }),
    offered,
    [{ id: 'd1' }, { id: 'd2' }],
  )
  expect({ ...blank, ...filled }).toEqual({
    ...blank,
    from: 't1',
    talos: 'v1.13.8',
    kubernetes: '1.35.7',
    vlan: '7',
    endpointKind: 'virtual',
    podCidr: '10.8.0.0/16',
    serviceCidr: '10.9.0.0/16',
  })
})

test('the datacenter is that of the cluster, or the only one', () => {
  const two = [{ id: 'd1' }, { id: 'd2' }]
  expect(filledFrom(start({}), offered, two).datacenterId).toBe('')
  expect(filledFrom(start({}), offered, [{ id: 'd1' }]).datacenterId).toBe('d1')
  expect(filledFrom(start({}, { datacenterId: 'd2' }), offered, two).datacenterId).toBe('d2')
})

test.each([
  [{}, '', '', []],
  [{ kubernetes_version: '1.31.4' }, 'v1.13.9', '1.31.4', []],
  [
    { talos_version: 'v1.12.4' },
    'v1.13.9',
    '',
    [
      'Talos v1.12.4 is no longer offered. The nearest, v1.13.9, is chosen: you can choose another version below.',
    ],
  ],
  [
    { talos_version: 'v1.14.1', kubernetes_version: '1.31.4' },
    'v1.14.1',
    '1.36.3',
    [
      'Talos v1.14.1 does not run Kubernetes v1.31.4. The nearest, v1.36.3, is chosen: you can choose another version below.',
    ],
  ],
])('versions of a template: %j', (template, talos, kubernetes, gone) => {
  expect(versionsOf(template, offered)).toEqual({ talos, kubernetes, gone })
})
