import { expect, test } from 'vitest'
import type { ServerFacts } from '../../servers/api.ts'
import { knownOf, leftoverProblem, unnamedWarning } from './known.ts'
import type { SurveyedMachine } from './survey.ts'

const port = (mac: string) => ({ interfaces: [{ id: 'eth0', hardware_addr: mac }] })
const machine = (uuid: string, serial: string, mac: string, address = '10.0.0.9') =>
  ({
    address,
    told: { identity: { uuid, serial }, reading: { inventory: port(mac) } },
  }) as unknown as SurveyedMachine
const node = (name: string, hostname: string, mac: string) => {
  const { told } = machine('00000000-0000-0000-0000-000000000000', '', mac)
  const reading = { ...told!.reading, status: { hostname } }
  return { name, address: '10.0.0.9', told: { ...told!, reading } } as SurveyedMachine
}
const server = (uuid: string, serial: string, mac: string) =>
  ({ name: 'calm-oak-001', address: '10.0.0.5', uuid, serial, hardware: port(mac) }) as ServerFacts
const [first, second] = ['aa:00:00:00:00:01', 'aa:00:00:00:00:02']

test.each([
  ['00000000-0000-0000-0000-000000000000', ''],
  ['03000200-0400-0500-0006-000700080009', 'To Be Filled By O.E.M.'],
  ['12345678-0000-4000-8000-000000000001', 'S1'],
])(
  'case 27: at a takeover, boards with the UUID %s and the serial number %j are told apart by MAC addresses',
  (uuid, serial) => {
    const facts = [server(uuid, serial, first)]
    expect(knownOf(machine(uuid, serial, first), facts)).toBe(facts[0])
    expect(knownOf(machine(uuid, serial, second), facts)).toBeUndefined()
  },
)

test('at a takeover, a machine with a registered UUID and another serial number is another one', () => {
  const uuid = '12345678-0000-4000-8000-000000000001'
  const facts = [server(uuid, 'S1', first)]
  expect(knownOf(machine(uuid, 'S2', first), facts)).toBeUndefined()
  // A replaced card, at the same address.
  expect(knownOf(machine(uuid, 'S1', second, '10.0.0.5'), facts)).toBe(facts[0])
})

test('at a takeover, of two nodes of one machine the one with its former name is left over', () => {
  const nodes = [
    node('talos-abc-def', 'worker-1', first),
    node('worker-1', 'worker-1', first),
    node('worker-2.example.com', 'worker-2', second),
  ]
  expect(nodes.map((one) => leftoverProblem(one, nodes))).toEqual([
    'Kubernetes has two nodes for one machine, talos-abc-def and worker-1; the machine calls itself worker-1: delete the node that is left over (kubectl delete node talos-abc-def)',
    null,
    null,
  ])
  // The node's name may be another one than the host's.
  expect(leftoverProblem(nodes[0]!, [nodes[0]!, nodes[2]!])).toBeNull()
})

test('at a takeover, machines are told that the network names', () => {
  const named = (name: string, namesHost: boolean) => {
    const one = node(name, name, first)
    return { ...one, told: { ...one.told!, namesHost } } as SurveyedMachine
  }
  const [web1, web2] = [named('web-1', false), named('web-2', false)]
  expect(unnamedWarning([web1, named('db-1', true), web2])).toEqual([
    'web-1 and web-2 have their names from the network (DHCP) or the kernel’s arguments, not from their configurations: if they get another name at a restart, Kubernetes gets another node, and Steelyard waits for this one. Put the name into the configuration first: talosctl patch machineconfig, with HostnameConfig',
  ])
  expect(unnamedWarning([web1])[0]).toMatch(/^web-1 has its name .* its configuration: if it gets/)
  expect(unnamedWarning([named('talos-6px-8kh', false), { ...web1, told: null }])).toEqual([])
})
