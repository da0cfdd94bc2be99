/** A server, and configurations for it, for tests of the effect. */
import { networkEffect } from '../effect.ts'
import type { NetworkEffect, NetworkFacts } from '../facts.ts'

/** A server of two ports, reached on the first from another network. */
export const facts: NetworkFacts = {
  address: '10.0.0.45',
  links: [
    {
      name: 'enp129s0f0np0',
      up: true,
      physical: true,
      hardware_addr: 'b8:ce:f6:b2:db:c4',
      driver: 'mlx5_core',
      addresses: ['10.0.0.45/24'],
    },
    {
      name: 'enp129s0f1np1',
      up: false,
      physical: true,
      hardware_addr: 'b8:ce:f6:b2:db:c5',
      driver: 'mlx5_core',
      addresses: [],
    },
    {
      name: 'eno1',
      up: true,
      physical: true,
      hardware_addr: '0c:42:a1:00:00:01',
      driver: 'ixgbe',
      addresses: [],
    },
  ],
  routes: [{ destination: '', gateway: '10.0.0.1', link: 'enp129s0f0np0', metric: 1024 }],
  from: '192.168.7.9',
  dialled: ['10.0.0.0/8'],
  isControlPlane: null,
  peers: [],
}
export const main = 'machine: {type: worker}\n'
export const oldForm = (interfaces: string): string =>
  `machine:\n  type: worker\n  network:\n    interfaces:\n${interfaces.replaceAll(/^/gm, '      ')}\n`
export const documents = (...texts: readonly string[]): string =>
  [main, ...texts.map((text) => `apiVersion: v1alpha1\n${text}\n`)].join('---\n')

export const after = (
  config: string,
  more: Partial<NetworkFacts> = {},
  before: string | null = null,
) => networkEffect(before, config, { ...facts, ...more })
export const said = (effect: NetworkEffect): string =>
  effect.kind === 'keeps' ? '' : effect.reasons.join('; ')

export const link = 'enp129s0f0np0'
export const gateway = 'routes: [{network: 0.0.0.0/0, gateway: 10.0.0.1}]'
export const gatewayDocument = 'routes: [{gateway: 10.0.0.1}]'
/** The present address with its gateway, of a link in the old form and of a `LinkConfig`. */
export const still = `addresses: [10.0.0.45/24]\n  ${gateway}`
export const stillDocument = `addresses: [{address: 10.0.0.45/24}]\n${gatewayDocument}`
export const dhcp = `kind: DHCPv4Config\nname: ${link}`
export const block = 'kind: NetworkDefaultActionConfig\ningress: block'
export const rule = (ports: string, subnet: string, more = '') =>
  `kind: NetworkRuleConfig\nname: r${ports.replaceAll(/\W/g, '')}\nportSelector: {ports: [${ports}], protocol: tcp}\ningress: [{subnet: ${subnet}${more}}]`
