/** Changes of a network that cut a server off. */
import type { Reader } from '../../../../reading/reader.ts'

const document = (text: string) => `apiVersion: v1alpha1\n${text}\n`
const documents = (...texts: string[]) => texts.map(document).join('---\n')
const interfaces = (text: string) =>
  `machine:\n  network:\n    interfaces:\n${text.replaceAll(/^/gm, '      ')}\n`
const dhcp = (name: string) => document(`kind: DHCPv4Config\nname: ${name}`)

/**
 * `cut`: cuts the server off, which is reached on this link. `mend`: a patch of a higher weight with
 * which the server is reached nevertheless.
 */
export interface Cut {
  readonly cut: (link: string) => string
  readonly mend: (link: string) => string
}

export const cuts: Readonly<Record<string, Cut>> = {
  'a VLAN in the old form': {
    cut: (link) =>
      interfaces(`- interface: ${link}\n  vlans:\n    - vlanId: 100\n      dhcp: true`),
    mend: (link) => interfaces(`- interface: ${link}\n  dhcp: true`),
  },
  'a bond over the link': {
    cut: (link) => documents(`kind: BondConfig\nname: bond0\nlinks: [${link}]\nbondMode: 802.3ad`),
    mend: () => dhcp('bond0'),
  },
  'a link that is ignored': {
    cut: (link) => interfaces(`- interface: ${link}\n  ignore: true`),
    mend: (link) => interfaces(`- interface: ${link}\n  ignore: false\n  dhcp: true`),
  },
  'a link that is set down': {
    cut: (link) => documents(`kind: LinkConfig\nname: ${link}\nup: false`),
    mend: (link) =>
      documents(`kind: LinkConfig\nname: ${link}\nup: true`, `kind: DHCPv4Config\nname: ${link}`),
  },
  'a static address in the old form': {
    cut: (link) => interfaces(`- interface: ${link}\n  addresses: [10.9.9.9/24]`),
    mend: (link) => interfaces(`- interface: ${link}\n  dhcp: true`),
  },
  'a firewall without a rule': {
    cut: () => documents('kind: NetworkDefaultActionConfig\ningress: block'),
    // `accept` is the zero value, which a merge does not write.
    mend: (link) =>
      documents(
        'kind: NetworkDefaultActionConfig\n$patch: delete',
        `kind: DHCPv4Config\nname: ${link}`,
      ),
  },
  'a VLAN in a document': {
    cut: (link) => documents(`kind: VLANConfig\nname: ${link}.7\nvlanID: 7\nparent: ${link}`),
    mend: dhcp,
  },
  'a static address in a document': {
    cut: (link) =>
      documents(`kind: LinkConfig\nname: ${link}\naddresses: [{address: 10.9.9.9/24}]`),
    mend: dhcp,
  },
  'a bridge over the link': {
    cut: (link) => documents(`kind: BridgeConfig\nname: br0\nlinks: [${link}]`),
    mend: () => dhcp('br0'),
  },
  'a VRF with the link': {
    cut: (link) => documents(`kind: VRFConfig\nname: vrf0\nlinks: [${link}]\ntable: "123"`),
    mend: (link) =>
      documents('kind: VRFConfig\nname: vrf0\n$patch: delete', `kind: DHCPv4Config\nname: ${link}`),
  },
  'DHCP on another link': {
    cut: () => documents('kind: DHCPv4Config\nname: eth99'),
    mend: dhcp,
  },
  'a rule of the firewall for others': {
    cut: () =>
      documents(
        'kind: NetworkRuleConfig\nname: api\nportSelector: {ports: [50000], protocol: tcp}\ningress: [{subnet: 10.9.0.0/16}]',
      ),
    mend: () =>
      documents(
        'kind: NetworkRuleConfig\nname: api\nportSelector: {protocol: tcp}\ningress: [{subnet: 127.0.0.0/8}]',
      ),
  },
}

/**
 * While `isBlind`, Steelyard computes for every change that the server stays where it is, as if a
 * switch or a cable made the computation wrong: only a trial saves the server.
 */
export const blindToNetworks =
  (isBlind: () => boolean) =>
  (read: Reader): Reader =>
  async (who, name, ...given) =>
    name === 'effect' && isBlind()
      ? ({ kind: 'keeps' } as Awaited<ReturnType<typeof read<typeof name>>>)
      : read(who, name, ...given)
