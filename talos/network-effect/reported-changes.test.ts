/** Changes of running servers in public reports and guides, beside the cases. */
import { expect, test } from 'vitest'
import type { NetworkFacts } from './facts.ts'
import {
  after,
  block,
  dhcp,
  documents,
  facts,
  gateway,
  link,
  main,
  oldForm,
  rule,
  said,
  still,
  stillDocument,
} from './testing/server.ts'

/** Reached on a link that the configuration makes. */
const reachedOn = (name: string): Partial<NetworkFacts> => ({
  links: [
    ...facts.links.map((one) => ({ ...one, addresses: [] })),
    { name, up: true, physical: false, hardware_addr: null, addresses: ['10.0.0.45/24'] },
  ],
  routes: [{ destination: '', gateway: '10.0.0.1', link: name, metric: 1024 }],
})

const bondOld = oldForm(
  `- interface: bond0\n  bond: {mode: 802.3ad, interfaces: [${link}, enp129s0f1np1]}\n  ${still}`,
)
const bond = documents(
  `kind: BondConfig\nname: bond0\nlinks: [${link}, enp129s0f1np1]\nbondMode: 802.3ad\n${stillDocument}`,
)
const vlanOfBridge = documents(
  `kind: BridgeConfig\nname: br0\nlinks: [${link}]\nvlan: {filtering: false}`,
  `kind: VLANConfig\nname: br0.100\nparent: br0\nvlanID: 100\n${stillDocument}`,
)
const vlanOld = oldForm(
  `- interface: eno1\n  vlans: [{vlanId: 25, addresses: [10.0.0.45/24], ${gateway}}]`,
)
const fixed = oldForm(`- interface: ${link}\n  ${still}`)
const walled = documents(block, rule('50000', '0.0.0.0/0'))
const onBond = reachedOn('bond0')

const rows: readonly (readonly [
  string,
  string,
  string,
  string,
  string?,
  Partial<NetworkFacts>?,
])[] = [
  ['talos#13257: a bond from the old form to its document', bondOld, bond, 'keeps', '', onBond],
  [
    'talos#9117: a bridge under the VLAN begins to filter VLANs',
    vlanOfBridge,
    vlanOfBridge.replace('false', 'true'),
    'loses',
    'br0 filters VLANs',
    reachedOn('br0.100'),
  ],
  [
    'a bridge under the VLAN that filters VLANs already, where pods set them',
    vlanOfBridge.replace('false', 'true'),
    `${vlanOfBridge.replace('false', 'true')}---\napiVersion: v1alpha1\nkind: DHCPv4Config\nname: eno1\n`,
    'keeps',
    '',
    reachedOn('br0.100'),
  ],
  [
    'a bond with another name',
    bond,
    bond.replace('name: bond0', 'name: bond1'),
    'keeps',
    '',
    onBond,
  ],
  [
    'a bond with another mode',
    bond,
    bond.replace('802.3ad', 'active-backup'),
    'unknown',
    'without the bond bond0',
    onBond,
  ],
  [
    'a bond without the member that has a cable',
    bond,
    bond.replace(`${link}, `, ''),
    'loses',
    'no member of bond0',
    onBond,
  ],
  [
    'a bond with another member',
    bond,
    bond.replace('enp129s0f1np1', 'eno1'),
    'unknown',
    'as a bond',
    onBond,
  ],
  [
    'the address from a bond back to its port',
    bond,
    documents(`kind: LinkConfig\nname: ${link}\n${stillDocument}`),
    'unknown',
    'without the bond bond0',
    onBond,
  ],
  [
    'a VLAN from the old form to its document, with a shorter name',
    vlanOld,
    documents(
      'kind: LinkConfig\nname: eno1',
      `kind: VLANConfig\nname: vlan25\nparent: eno1\nvlanID: 25\n${stillDocument}`,
    ),
    'keeps',
    '',
    reachedOn('eno1.25'),
  ],
  [
    'another VLAN',
    vlanOld,
    vlanOld.replace('vlanId: 25', 'vlanId: 26'),
    'unknown',
    'carries VLAN 26',
    reachedOn('eno1.25'),
  ],
  ['another address of its network', fixed, fixed.replace('10.0.0.45', '10.0.0.77'), 'moves'],
  ['a second address', fixed, fixed.replace('10.0.0.45/24', '10.0.0.45/24, 10.0.0.77/24'), 'keeps'],
  [
    'a static address without its gateway',
    fixed,
    fixed.replace(gateway, 'mtu: 1500'),
    'loses',
    'no route leads',
  ],
  [
    'a static address to DHCP',
    fixed,
    oldForm(`- interface: ${link}\n  dhcp: true`),
    'unknown',
    'by DHCP is not known',
  ],
  ['the patch with DHCP on the link is removed', documents(dhcp), main, 'keeps'],
  [
    'a rule more in a firewall',
    walled,
    documents(block, rule('50000', '0.0.0.0/0'), rule('10250', '10.0.0.0/8')),
    'keeps',
  ],
  ['the rule for Steelyard is removed', walled, documents(block), 'loses', 'port 50000'],
]

const tests = rows.map(([input, before, config, kind, why = '', more = {}]) => ({
  input,
  before,
  config,
  kind,
  why,
  more,
}))
test.each(tests)('$input', ({ before, config, kind, why, more }) => {
  const effect = after(config, more, before)
  expect([effect.kind, said(effect)]).toEqual([kind, expect.stringContaining(why)])
})
