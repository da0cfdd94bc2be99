import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { FindingKind } from '#contract/findings/kinds.ts'
import { findingKinds } from '#contract/findings/kinds.ts'
import type { OpenPart } from '../findings/api.ts'
import { joining, type Joined, type Known } from './joining.ts'

const start = Date.parse('2026-11-27T03:00:00Z')
const at = (seconds: number) => new Date(start + seconds * 1000)
const part = (kind: FindingKind, more: Partial<OpenPart> = {}): OpenPart => ({
  id: randomUUID(),
  kind,
  object: { kind: findingKinds[kind].object, id: randomUUID(), name: 'thing' },
  cluster: null,
  datacenter: null,
  reason: 'Because.',
  since: at(0),
  operationId: null,
  isControlPlane: false,
  servers: 1,
  causes: [],
  cause: null,
  isAnew: false,
  incidentId: null,
  ...more,
})
/** The incident as it is stored after the judgement that joined these findings. */
const stored = ({ key, root }: Joined, id: string, ended: Date | null = null): Known => ({
  id,
  key,
  since: root.since,
  ended_at: ended,
})
const kindsOf = (all: readonly Joined[]) => all.map(({ parts }) => parts.map(({ kind }) => kind))

test('what a silent server causes is part of its incident, which takes what its worst part takes', async () => {
  const silent = part('server_unreachable', { isControlPlane: true })
  const quorum = part('cluster_quorum_lost', { causes: [silent.id], since: at(10) })
  const disk = part('server_disk_missing', { object: silent.object, since: at(5) })
  const other = part('cluster_etcd_full', { since: at(-60) })
  const { joined, over } = await joining([quorum, other, disk, silent], [], [])
  expect(kindsOf(joined)).toEqual([
    ['cluster_etcd_full'],
    ['server_unreachable', 'server_disk_missing', 'cluster_quorum_lost'],
  ])
  expect(joined.map(({ effect }) => effect)).toEqual(['writes_refused', 'nobody_served'])
  expect(joined[1]).toMatchObject({ root: silent, worst: quorum, incidentId: null })
  expect(over).toEqual([])
})

test('forty servers behind one patch are one incident, and those behind another are a second', async () => {
  const behind = (cause: string) => part('server_shared_patches_behind', { cause })
  const all = [...Array.from({ length: 40 }, () => behind('vlan-40')), behind('sysctl')]
  const { joined } = await joining(all, [], [])
  expect(joined.map(({ parts }) => parts.length).toSorted((a, b) => a - b)).toEqual([1, 40])
})

test('an incident keeps its id while its parts come and go', async () => {
  const silent = part('server_unreachable')
  const [first] = (await joining([silent], [], [])).joined
  const id = randomUUID()
  // The server answers, and its node is not Ready for a while: the same incident.
  const notReady = part('server_not_ready', { object: silent.object, since: at(60) })
  const second = await joining([notReady], [{ incidentId: id, intoId: null }], [stored(first!, id)])
  expect(second).toMatchObject({ joined: [{ incidentId: id, root: notReady }], over: [] })
  // Without a finding it has ended, and what begins there within the hour continues it.
  const third = await joining([], [{ incidentId: id, intoId: null }], [stored(first!, id)])
  expect(third).toEqual({ joined: [], over: [{ id, into: null }] })
  const again = await joining(
    [part('server_unreachable', { object: silent.object })],
    [],
    [stored(first!, id, at(120))],
  )
  expect(again.joined).toMatchObject([{ incidentId: id }])
})

test('an incident that turns out to be part of another ends in it', async () => {
  const cluster = part('cluster_nodes_not_ready', { since: at(-30) })
  const [alone] = (await joining([cluster], [], [])).joined
  const known = stored(alone!, randomUUID())
  const silent = part('server_unreachable')
  // The first to be known is continued, with the cause that was found later.
  const caused = { ...cluster, causes: [silent.id], incidentId: known.id }
  expect((await joining([caused, silent], [], [known])).joined).toMatchObject([
    { incidentId: known.id, root: silent },
  ])
  // Servers whose incidents were open fall silent with their datacenter.
  const [before] = (await joining([silent], [], [])).joined
  const ofServer = stored(before!, randomUUID())
  const place = part('datacenter_silent', { servers: 40 })
  const vanished = await joining(
    [place],
    [{ incidentId: ofServer.id, intoId: place.id }],
    [ofServer],
  )
  expect(vanished.over).toMatchObject([{ id: ofServer.id, into: { root: place } }])
  expect(vanished.joined).toMatchObject([{ incidentId: null }])
})

test('a finding that has another cause than before moves, and the former incident ends', async () => {
  const [a, b] = [part('server_unreachable'), part('server_unreachable', { since: at(60) })]
  const nodes = part('cluster_nodes_not_ready', { causes: [a.id], since: at(5) })
  const first = await joining([a, b, nodes], [], [])
  const ids = [randomUUID(), randomUUID()]
  const known = first.joined.map((one, i) => stored(one, ids[i]!))
  const next = await joining(
    [
      { ...b, incidentId: ids[1]! },
      { ...nodes, causes: [b.id], incidentId: ids[0]! },
    ],
    [{ incidentId: ids[0]!, intoId: null }],
    known,
  )
  expect(next.joined).toMatchObject([{ incidentId: ids[1], root: { id: b.id } }])
  expect(next.over).toMatchObject([{ id: ids[0] }])
})
