import { expect, test } from 'vitest'
import { isPhysicalLink } from './usage.ts'

test.each(
  'eno1 eno1np0 ens1f0 enp5s0 enp129s0f0np0 enP2p33s0f0np0 enX0 enx0050b6a1b2c3 end0 eth0 ib0 ibp65s0'.split(
    ' ',
  ),
)('%s is a physical link', (name) => expect(isPhysicalLink(name)).toBe(true))

test.each(
  'lo bond0 br0 enp5s0.100 enP2p33s0.7 cilium_host lxc1234 veth0 flannel.1 dummy0'.split(' '),
)('%s carries what physical links carry', (name) => expect(isPhysicalLink(name)).toBe(false))
