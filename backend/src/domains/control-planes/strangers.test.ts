/** Members of etcd that no server has, without machines. */
import { expect, test } from 'vitest'
import type { EtcdMember } from '#talos/client/client.ts'
import { strangersAmong, strangersProblem, whyNotRestart } from './strangers.ts'

const member = (n: number, hostname = `cp-${n}`, more: Partial<EtcdMember> = {}): EtcdMember => ({
  id: String(n),
  hostname,
  peerUrls: [`https://10.0.0.${n}:2380`],
  clientUrls: [],
  learner: false,
  ...more,
})
const three = [1, 2, 3].map((n) => member(n))
const known = {
  ids: new Set(['1', '2']),
  names: new Set(['cp-1', 'cp-2', 'cp-3']),
  addresses: new Set(['10.0.0.1', '10.0.0.2', '10.0.0.3', 'fd00::4']),
}

test('a member is known by its id, its name or its address', () => {
  const joined = member(7, '', { peerUrls: ['https://[fd00::4]:2380'] })
  const old = member(10, 'old', { id: '255' })
  expect(strangersAmong([...three, joined, old], known)).toEqual([old])
})

test('a second member with the name and address of a server that has told another one is a stranger', () => {
  const twin = member(3, 'cp-3', { id: '255' })
  // cp-3 has told its member; cp-2 doesn't answer.
  const told = { ids: new Set(['1', '3']), names: new Set(['cp-2']), addresses: new Set([]) }
  expect(strangersAmong([...three, twin], told)).toEqual([twin])
  expect(strangersProblem([...three, twin], [twin])).toMatch(
    /^etcd has the member cp-3 \(ff\), .* Remove it first: talosctl etcd remove-member ff$/,
  )
})

test('a dead stranger forbids a restart only if etcd would lose its majority', () => {
  const old = member(10, 'old', { id: '255' })
  const five = [1, 2, 3, 4, 5].map((n) => member(n))
  expect(strangersProblem([...three, old], [old])).toBe(
    'etcd has the member old, which no server of the cluster has and which does not run: etcd would lose its majority while a control plane restarts. Remove it first: talosctl etcd remove-member ff',
  )
  expect(strangersProblem([...five, old], [old])).toBeNull()
  const second = member(11, '', { id: '256' })
  expect(strangersProblem([...three, old, second], [old, second])).toMatch(
    /^etcd has the members old and https:\/\/10\.0\.0\.11:2380, .* do not run: .* Remove them first: .* ff, .* 100$/,
  )
  expect(strangersProblem([...three, old], [])).toBeNull()
  expect(
    strangersProblem([...three, { ...old, learner: true }], [{ ...old, learner: true }]),
  ).toBeNull()
})

test('a dead stranger forbids the restart of a member that votes, not of one that is down', () => {
  const strangers = 'etcd has the member old'
  const of = (problem: string | null, alarm: string | null = null, answers = true) => [
    { node_id: '1', answers: true, problem: null, alarm: null, strangers },
    { node_id: '2', answers, problem, alarm, strangers },
  ]
  expect(whyNotRestart(of(null), '2')).toBe('etcd has the member old')
  expect(whyNotRestart(of('alarm NOSPACE', 'NOSPACE'), '2')).toBe('etcd has the member old')
  expect(whyNotRestart(of('etcd does not run'), '2')).toBeNull()
  expect(whyNotRestart(of('it does not answer', null, false), '2')).toBe(strangers)
  expect(whyNotRestart(of(null), 'a worker')).toBeNull()
})
