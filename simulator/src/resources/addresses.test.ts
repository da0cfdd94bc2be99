import { expect, test } from 'vitest'
import { readInventory } from '#talos/client/inventory.ts'
import { fleet, openMaintenance, rack } from '../testing/fleet.ts'

test('a machine with a second network has two addresses, of which one answers, and link-local ones', async () => {
  const simulator = await fleet({ scenario: rack(1, { 1: { second_network: true } }) })
  const machine = simulator.servers[0]!
  const { address } = machine.plan
  const second = address.replace('127.', '172.')
  const { node_addresses: found, linkAddresses } = await readInventory(
    await openMaintenance(machine),
  )
  expect(found).toEqual([address, second])
  const [one, other] = machine.hardware.links
  expect(linkAddresses[one!.name]).toEqual([
    `${address}/16`,
    expect.stringMatching(/^fe80::.*\/64$/),
  ])
  expect(linkAddresses[other!.name]).toEqual([
    `${second}/16`,
    expect.stringMatching(/^fe80::.*\/64$/),
  ])
})
