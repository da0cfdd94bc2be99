import { expect, test } from 'vitest'
import { etcdBackProblem, etcdJoinProblem, passesOf, takesPart } from './talos.ts'

const offered = ['v1.14.1', 'v1.13.9', 'v1.12.11'].map((talos) => ({ talos, kubernetes: '1.35.8' }))

test.each([
  [['v1.13.9'], 'v1.14.1', ['v1.14.1']],
  [['v1.13.9', 'v1.13.2'], 'v1.13.9', ['v1.13.9']],
  [['v1.12.4'], 'v1.14.1', ['v1.13.9', 'v1.14.1']],
  [['v1.12.4', 'v1.13.9'], 'v1.14.1', ['v1.13.9', 'v1.14.1']],
  // Steelyard doesn't know the configurations of 1.11, so the check of the path refuses it.
  [['v1.11.2'], 'v1.14.1', ['v1.14.1']],
  [['v1.14.1'], 'v1.13.9', ['v1.13.9']],
])('an upgrade from %j to %s goes by %j', (from, to, passes) => {
  expect(passesOf(from, to, offered)).toEqual(passes)
})

test('a server takes part in the passes that it needs', () => {
  expect(takesPart('v1.13.2', 'v1.13.9', false)).toBe(false)
  expect(takesPart('v1.12.4', 'v1.13.9', false)).toBe(true)
  expect(takesPart('v1.13.2', 'v1.13.9', true)).toBe(true)
  expect(takesPart('v1.13.9', 'v1.13.9', true)).toBe(false)
})

const member = (version: string | null, storageVersion: string | null) => ({
  version,
  storageVersion,
})
const [older, newer] = [member('3.6.12', '3.6.0'), member('3.7.1', '3.7.0')]
/** It runs the newer etcd, and another member has not been upgraded. */
const ahead = member('3.7.1', '3.6.0')
const silent = member(null, null)

test('a control plane does not go back to an etcd that is older than the data of the others', () => {
  const back = { name: 'cp-1', from: 'v1.14.1', to: 'v1.13.9' }
  for (const members of [[newer, newer], [newer, silent], [ahead]])
    expect(etcdBackProblem(back, members)).toEqual({
      kind: 'problem',
      sentence:
        'The data of etcd has the version 3.7 already, and Talos v1.13.9 runs etcd 3.6, which does not start with newer data: cp-1 would leave etcd for good. Keep Talos v1.14.1, or replace cp-1',
    })
  expect(etcdBackProblem(back, [ahead, ahead, older])).toBeNull()
  expect(etcdBackProblem(back, [ahead, silent])).toBeNull()
  expect(etcdBackProblem(back, [silent])).toMatchObject({ kind: 'warning' })
  expect(etcdBackProblem({ ...back, from: 'v1.13.9', to: 'v1.12.11' }, [older])).toBeNull()
})

test('a control plane does not join with an etcd that is older than the other members', () => {
  // The third one is dead and leaves, so that the data gets the newer version.
  expect(etcdJoinProblem('v1.13.9', [ahead, ahead])).toBe(
    'The other members run etcd 3.7, and control planes that join get Talos v1.13.9 with etcd 3.6, which does not start with newer data: finish the upgrade of Talos first, after the removal of control planes that are dead',
  )
  expect(etcdJoinProblem('v1.13.9', [ahead, older])).toBeNull()
  expect(etcdJoinProblem('v1.14.1', [newer])).toBeNull()
  expect(etcdJoinProblem('v1.13.9', [])).toBeNull()
})
