import { zstdDecompressSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { minors } from '../versions.ts'
import { earlyDocuments, earlyText, type EarlyWishes } from './early.ts'

const none: EarlyWishes = {
  trusted_roots: [],
  network: null,
  time_servers: [],
  registry_mirrors: [],
}
const withDocuments = (documents: string): EarlyWishes => ({
  ...none,
  network: { static_addresses: [], name_servers: [], documents },
})
const root = '-----BEGIN CERTIFICATE-----\nTUlJQg==\n-----END CERTIFICATE-----'
const table = Array.from({ length: 40 }, (_, i) => ({
  mac: `00:1a:2b:3c:4d:${i.toString(16).padStart(2, '0')}`,
  address: `10.0.0.${10 + i}/24`,
  gateway: '10.0.0.1',
}))
const bond = `apiVersion: v1alpha1
kind: BondConfig
name: bond0
links: [eno1, eno2]
bondMode: 802.3ad
---
apiVersion: v1alpha1
kind: VLANConfig
name: bond0.40
vlanID: 40
parent: bond0
addresses:
  - address: 10.4.0.7/24
routes:
  - gateway: 10.4.0.1
`
const problems = (wishes: EarlyWishes, version = 'v1.14.1') =>
  earlyDocuments(wishes, version).problems

describe.each(minors.map((m) => m.version))('documents of an image of Talos %s', (version) => {
  test('authorities, addresses, name servers, time servers and registries are valid', () => {
    const all = {
      trusted_roots: [root],
      network: { static_addresses: table, name_servers: ['10.0.0.1'], documents: bond },
      time_servers: ['ntp.site.example'],
      registry_mirrors: [{ registry: 'ghcr.io', endpoints: ['https://registry.site.example'] }],
    }
    const { text, packed, problems: wrong } = earlyDocuments(all, version)
    expect(wrong).toEqual([])
    expect(zstdDecompressSync(Buffer.from(packed, 'base64')).toString()).toBe(text)
    expect(text.match(/^kind: /gm)).toHaveLength(1 + 2 * 40 + 1 + 1 + 1 + 2)
  })
})

test('a machine keeps only the addresses of its own network cards', () => {
  const wishes = { ...none, network: { static_addresses: table, name_servers: [], documents: '' } }
  const own = earlyText(wishes, ['00:1a:2b:3c:4d:03', 'ff:ff:ff:ff:ff:ff'])
  expect(own).toContain('10.0.0.13/24')
  expect(own.match(/kind: LinkConfig/g)).toHaveLength(1)
  expect(earlyText(none)).toBe('')
})

test.each([
  ['machine:\n  type: worker\n', 'The main document', 1],
  ['apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: a\n', 'its name', 1],
  [`${bond}---\napiVersion: v1alpha1\nkind: KubeSpanConfig\nenabled: true\n`, 'KubeSpanConfig', 17],
  ['apiVersion: v1alpha1\nkind: LinkConfig\nname: eno1\nmut: 1500\n', 'mut', 4],
  [
    `apiVersion: v1alpha1\nkind: RegistryTLSConfig\nname: a.example\nclientIdentity:\n  cert: ${JSON.stringify(root)}\n  key: ${JSON.stringify(root.replaceAll('CERTIFICATE', 'PRIVATE KEY'))}\n`,
    'has a secret',
    1,
  ],
  [`${bond}---\n${bond}`, 'is there twice', 17],
  ['a: [', '', 2],
])('documents that an image can’t have are refused with their line: %#', (text, said, line) => {
  const [first, ...more] = problems(withDocuments(text))
  expect(first?.message).toContain(said)
  expect([first?.line, more.length < 20]).toEqual([line, true])
  const after = problems({ ...withDocuments(text), trusted_roots: [root] })[0]
  expect(after?.line).toBe(line)
})

test('a document that this Talos lacks is refused', () => {
  const vrf = 'apiVersion: v1alpha1\nkind: VRFConfig\nname: red\ntable: "100"\nlinks: [eno1]\n'
  expect(problems(withDocuments(vrf), 'v1.12.11')[0]?.message).toContain('only since Talos 1.13')
  expect(problems(withDocuments(vrf), 'v1.13.9')).toEqual([])
})
