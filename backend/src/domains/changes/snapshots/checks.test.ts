import { expect, test } from 'vitest'
import { buildMember } from '../../clusters/testing/rows.ts'
import { type EtcdPlace, placeChecks } from './checks.ts'

const place = (name: string, state: EtcdPlace['state']): EtcdPlace => ({
  m: { ...buildMember(), node_id: name, name },
  state,
  runs: false,
  reason: `${name}: connection refused`,
})
const said = (places: readonly EtcdPlace[], reset: readonly string[]) =>
  placeChecks(places, reset, 'web').checks.map(({ ok, message }) => [ok, message])

test('a silent control plane that is to be wiped is left out of the restore and replaced after it', () => {
  const [a, b, c] = [place('a', 'has-data'), place('b', 'silent'), place('c', 'silent')]
  expect(said([a, b], ['a', 'b'])[0]).toEqual([
    false,
    "b can't be wiped: b: connection refused. Leave it out, and replace it after the restore",
  ])
  expect(said([a, b, c], ['a', 'b', 'c'])[0]![1]).toMatch(
    /^b and c can't be wiped: .*\. Leave them out, and replace them after the restore$/,
  )
  expect(said([a, b, c], ['a'])).toEqual([
    [true, 'Every control plane with data of etcd is named'],
    [true, 'a can take the snapshot'],
  ])
})
