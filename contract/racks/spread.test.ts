import { expect, test } from 'vitest'
import { sharedRackWarnings, spreadOverRacks } from './spread.ts'

const at = (name: string, rack: string | null, bay: string | null = null, unit = 1) => ({
  name,
  placement:
    rack === null
      ? null
      : { rack: { id: rack, name: rack }, unit, height: 2, face: 'both' as const, bay },
})

test('control planes in one rack are named, with what is lost with it', () => {
  expect(sharedRackWarnings([at('a', 'R1'), at('b', 'R2'), at('c', null)])).toEqual([])
  expect(sharedRackWarnings([at('c', 'R1'), at('b', 'R2'), at('a', 'R1')])).toEqual([
    'The control planes a and c are in rack R1: without this rack etcd loses its majority, and the cluster is down.',
  ])
  expect(
    sharedRackWarnings(['a', 'b', 'c', 'd', 'e'].map((name) => at(name, name < 'c' ? 'R1' : name))),
  ).toEqual(['The control planes a and b are in rack R1: they are lost with it.'])
})

test('servers are taken in their order from as many racks as possible', () => {
  const servers = [at('a', 'R1'), at('b', 'R1'), at('c', 'R2'), at('d', null), at('e', 'R1')]
  const names = (count: number, chosen: Parameters<typeof spreadOverRacks>[2] = []) =>
    spreadOverRacks(servers, count, chosen).map(({ name }) => name)
  expect(names(3)).toEqual(['a', 'c', 'd'])
  expect(names(4)).toEqual(['a', 'c', 'd', 'b'])
  expect(names(9)).toEqual(['a', 'c', 'd', 'b', 'e'])
  expect(names(1, [at('x', 'R1')])).toEqual(['c'])
})

test('of a rack, servers of different chassis are taken first, and a shared chassis is named', () => {
  const servers = [at('a', 'R1', '1'), at('b', 'R1', '2'), at('c', 'R1', '1', 9), at('d', 'R1')]
  expect(spreadOverRacks(servers, 4).map(({ name }) => name)).toEqual(['a', 'c', 'd', 'b'])
  expect(sharedRackWarnings([...servers.slice(0, 3), at('e', 'R2', '1')])).toEqual([
    'The control planes a, b and c are in rack R1: without this rack etcd loses its majority, and the cluster is down.',
    'The control planes a and b are in one chassis (R1, units 1 to 2): they share its power supplies.',
  ])
})
