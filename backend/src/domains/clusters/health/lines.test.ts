import { expect, test } from 'vitest'
import type { ClusterHealth, EtcdMemberHealth } from '#contract/clusters/health.ts'
import { type SnapshotCondition, snapshotTrouble } from '../../snapshots/api.ts'
import type { EtcdReport } from '../../control-planes/ask-etcd.ts'
import { etcdHealth } from '../../control-planes/ask-etcd.ts'
import { linesOf, snapshotSaid } from './lines.ts'
import { kubernetesVersionsOf, talosVersions } from './versions.ts'

const mib = 1024 ** 2
const member = (n: number, more: Partial<EtcdMemberHealth> = {}): EtcdMemberHealth => ({
  id: String(n),
  name: `cp-${n}`,
  node_id: null,
  leader: n === 1,
  learner: false,
  version: '3.6.12',
  size_bytes: 20 * mib,
  in_use_bytes: 18 * mib,
  alarms: [],
  healthy: true,
  reason: null,
  ...more,
})
const idOf = (n: number) => `00000000-0000-4000-8000-00000000000${n}`
const version = { current: '1.36.3', newest: '1.36.3', next: null, after: null, reason: null }
type Found = Parameters<typeof linesOf>[0]
const quiet = {
  saved: { state: 'ok', message: 'x' } as const,
  cordoned: new Set<string>(),
  isChanging: false,
  moved: { done: 0, of: 0 },
  pending: [],
  formerMember: null,
  unsupported: [],
  unready: [],
}
const whole: Found = {
  snapshot: null,
  etcd: { members: [1, 2, 3].map((n) => member(n)), reason: null },
  kubernetes_api: [],
  nodes: [],
  versions: { talos: version, kubernetes: version },
  drift: [],
}
const say = (
  topic: ClusterHealth['lines'][number]['topic'],
  found: Partial<Found>,
  around: Partial<Parameters<typeof linesOf>[1]> = {},
) => {
  const { state, message } = linesOf({ ...whole, ...found }, { ...quiet, ...around }).find(
    (l) => l.topic === topic,
  )!
  return `${state}: ${message}`
}
const etcd = (...members: EtcdMemberHealth[]) => ({ etcd: { members, reason: null } })

test('the line about etcd says how many members may fail', () => {
  expect(say('etcd', etcd(member(1), member(2), member(3)))).toBe(
    'ok: 3 members, all healthy. cp-1 leads. One may fail.',
  )
  const ill = { healthy: false, reason: 'etcd is Failed' }
  expect(say('etcd', etcd(member(1), member(2), member(3, ill)))).toBe(
    'problem: 2 of 3 members are healthy. cp-3 is not healthy: etcd is Failed. etcd stops if one more member fails.',
  )
  expect(say('etcd', etcd(member(1), member(2, ill), member(3, ill)))).toContain(
    'etcd has no majority, so the cluster accepts no change. Bring them back.',
  )
  expect(say('etcd', etcd(...[1, 2, 3, 4].map((n) => member(n)), member(5, ill)))).toMatch(
    /^problem: 4 of 5 members are healthy\. cp-5 is not healthy: etcd is Failed\.$/,
  )
  expect(say('etcd', etcd(member(1)))).toContain('note: The only member is healthy.')
  expect(say('etcd', etcd(member(1), member(2), member(3), member(4, { learner: true })))).toBe(
    'note: cp-4 is a learner, without a vote yet.',
  )
})

test('the line about the database names alarms before unused space', () => {
  expect(say('database', etcd(member(1), member(2, { alarms: ['nospace'] })))).toBe(
    'problem: etcd is full and refuses writes (alarm NOSPACE of cp-2). A defragmentation frees unused space and clears the alarm.',
  )
  expect(
    say('database', etcd(member(1, { size_bytes: 900 * mib, in_use_bytes: 100 * mib }))),
  ).toContain('note: More than half of the database of cp-1 is unused')
  expect(say('database', etcd(member(1, { size_bytes: 90 * mib, in_use_bytes: 1 * mib })))).toBe(
    'ok: No alarm. 90.0 MiB, 1.0 MiB in use.',
  )
  expect(say('database', etcd(member(1, { size_bytes: 1.7 * 1024 * mib })))).toBe(
    'attention: The database of cp-1 has 1.7 GiB. At 2.0 GiB etcd refuses writes, unless its quota-backend-bytes is larger.',
  )
  expect(say('database', etcd(member(1, { alarms: null })))).toBe(
    'unknown: etcd does not report its alarms.',
  )
})

test('a line names the change that settles it: a restore without a majority, a replacement with one, and a removal by force if etcd is full', () => {
  const dead = { healthy: null, reason: 'no answer', node_id: 'n' }
  const snapshot = { id: 's', taken_at: null, verified_at: null, size_bytes: null, store: 'disk' }
  const apiOf = (members: readonly EtcdMemberHealth[]) => [
    { node_id: 'n', name: 'cp-1', ready: members.length === 1, reason: null },
  ]
  const helps = (...members: EtcdMemberHealth[]) =>
    linesOf({ ...whole, snapshot, kubernetes_api: apiOf(members), ...etcd(...members) }, quiet)
      .find((l) => l.topic === 'etcd')!
      .remedies.map((r) => r.change)
  expect(helps(member(1), member(2), member(3, dead))).toEqual(['replace'])
  expect(helps(member(1), member(2, dead), member(3, dead))).toEqual(['restore'])
  // The machine of a single member can't be asked, while its API server is ready.
  expect(helps(member(1, dead))).toEqual([])
  expect(helps(member(1, { alarms: ['nospace'] }), member(2), member(3, dead))).toEqual(['shrink'])
  expect(
    helps(member(1, { alarms: ['nospace'] }), member(2), member(3, { ...dead, healthy: false })),
  ).toEqual([])
  expect(
    say('database', etcd(member(1, { alarms: ['nospace'] }), member(2), member(3, dead))),
  ).toContain(
    'but needs every member: bring cp-3 back, or remove it by force, then defragment etcd.',
  )
})

test('a node that is not Ready is reported before a cordoned one, and both before nodes without a server', () => {
  const node = {
    node_id: 'x',
    name: 'w-1',
    role: 'worker' as const,
    ready: true,
    reason: null,
    schedulable: true,
    kubelet_version: null,
    talos_version: null,
    pods: 1,
  }
  expect(
    say('nodes', {
      nodes: [node, { ...node, name: 'w-2', ready: false, reason: 'KubeletNotReady.' }],
    }),
  ).toBe('problem: w-2 is not Ready: KubeletNotReady.')
  expect(say('nodes', { nodes: [{ ...node, schedulable: false }] })).toBe(
    'note: w-1 is cordoned and gets no new pods.',
  )
  const cordoned = new Set(['w-1'])
  const todo =
    'w-1 stays cordoned after a change that failed. Retry the change, or run kubectl uncordon w-1.'
  expect(say('nodes', { nodes: [{ ...node, schedulable: false }] }, { cordoned })).toBe(
    `note: ${todo}`,
  )
  expect(
    say(
      'nodes',
      { nodes: [{ ...node, schedulable: false, ready: false, reason: 'Down' }] },
      { cordoned },
    ),
  ).toBe(`problem: w-1 is not Ready: Down. ${todo}`)
  expect(
    say('nodes', { nodes: [{ ...node, schedulable: false }] }, { cordoned, isChanging: true }),
  ).toBe('note: w-1 is cordoned by the change that runs.')
  expect(say('nodes', { nodes: [node, { ...node, node_id: null, name: 'old' }] })).toBe(
    'note: Kubernetes has 1 node without a server in this cluster: old.',
  )
  const formerMember = 'old is still a node of Kubernetes'
  expect(say('nodes', { nodes: [node, { ...node, node_id: null }] }, { formerMember })).toBe(
    'problem: old is still a node of Kubernetes.',
  )
  expect(
    say('nodes', { nodes: [{ ...node, ready: null, reason: 'cp-1: connection refused' }] }),
  ).toBe('unknown: The Kubernetes API does not answer: cp-1: connection refused.')
})

const reportOf = (n: number, more: Partial<EtcdReport> = {}): EtcdReport => ({
  server: { node_id: `id-${n}`, name: `cp-${n}` },
  address: `10.0.0.${n}`,
  failed: null,
  ill: null,
  statusMs: 4,
  status: {
    memberId: String(n),
    leaderId: '1',
    version: '3.6.12',
    storageVersion: '3.6.0',
    sizeBytes: 1,
    inUseBytes: 1,
    appliedIndex: '7',
    learner: false,
    errors: [],
  },
  members: [1, 2].map((m) => ({
    id: String(m),
    hostname: m === 2 ? '' : `cp-${m}`,
    peerUrls: [`https://10.0.0.${m}:2380`],
    clientUrls: [],
    learner: m === 2,
  })),
  alarms: [],
  ...more,
})

test('a control plane that etcd does not list is shown as no member, and an unnamed member gets the name of its server', () => {
  const { members } = etcdHealth([
    reportOf(1),
    reportOf(2, { status: null, members: [], failed: 'connection refused' }),
    reportOf(3, { status: null, members: [] }),
  ])
  expect(members.map((m) => [m.id, m.name, m.healthy, m.reason])).toEqual([
    ['1', 'cp-1', true, null],
    ['2', 'cp-2', null, 'connection refused'],
    [null, 'cp-3', false, 'It is no member of etcd'],
  ])
})

test('a dead member with the name and address of a server that has another one is not shown as healthy', () => {
  const listed = (id: string) => ({
    id,
    hostname: 'cp-1',
    peerUrls: ['https://10.0.0.1:2380'],
    clientUrls: [],
    learner: false,
  })
  const report = reportOf(1, { members: [listed('255'), listed('1')] })
  expect(etcdHealth([report]).members.map((m) => [m.id, m.node_id, m.healthy, m.reason])).toEqual([
    ['255', null, null, expect.stringContaining('talosctl etcd remove-member ff')],
    ['1', 'id-1', true, null],
  ])
})

test('the next version is the newest patch release of the same minor, then one minor at a time, as far as the plan of its upgrade allows it', () => {
  const pairs = [
    { talos: 'v1.13.9', kubernetes: '1.36.3' },
    { talos: 'v1.12.11', kubernetes: '1.35.4' },
  ]
  expect(talosVersions('v1.12.4', '1.34.1', pairs, [])).toMatchObject({
    newest: 'v1.13.9',
    next: 'v1.12.11',
  })
  expect(talosVersions('v1.12.11', '1.34.1', pairs, [])).toEqual({
    current: 'v1.12.11',
    newest: 'v1.13.9',
    next: 'v1.13.9',
    after: null,
    reason: null,
  })
  expect(talosVersions('v1.12.11', '1.30.14', pairs, [])).toMatchObject({
    next: null,
    after: 'kubernetes',
    reason: 'Talos 1.13 runs Kubernetes 1.31 to 1.36, not 1.30.14: upgrade Kubernetes first',
  })
  expect(talosVersions('v1.13.9', '1.36.3', pairs, [])).toEqual({
    current: 'v1.13.9',
    newest: 'v1.13.9',
    next: null,
    after: null,
    reason: null,
  })
  const offered = ['1.36.3', '1.35.4', '1.34.9', '1.33.12']
  const nextOf = (current: string, talos: string, some: readonly string[], ahead?: string) =>
    kubernetesVersionsOf(
      { current, apiServers: ahead === undefined ? [] : [{ name: 'cp-1', version: ahead }] },
      talos,
      some,
      pairs,
      [],
    )
  expect(nextOf('1.34.1', 'v1.13.9', offered)).toMatchObject({
    newest: '1.36.3',
    next: '1.34.9',
  })
  expect(nextOf('1.34.9', 'v1.13.9', offered)).toMatchObject({
    newest: '1.36.3',
    next: '1.35.4',
  })
  expect(nextOf('1.35.4', 'v1.12.11', offered.slice(1))).toMatchObject({
    next: null,
    after: 'talos',
    reason: 'Kubernetes 1.36.3 needs a newer Talos than v1.12.11: upgrade Talos first',
  })
  // After an upgrade that has stopped, the API server doesn't go back.
  expect(nextOf('1.34.1', 'v1.13.9', offered, '1.35.4')).toMatchObject({ next: '1.35.4' })
})

test('the line about snapshots says what their finding says, and until then what is missing', () => {
  const now = Date.parse('2026-11-22T12:00:00Z')
  const at = (text: string) => new Date(`2026-11-${text}:00Z`)
  const first = at('01T00:00')
  const schedule = { every_hours: 6, paused: false, created_at: first, updated_at: first }
  const said = (given: Partial<SnapshotCondition>, readyAt: Date | null = at('01T00:00')) => {
    const condition = { newest_at: null, schedule: null, failure: null, ...given }
    const trouble = readyAt === null ? null : snapshotTrouble(condition, readyAt, now)
    return say('snapshot', {}, { saved: snapshotSaid(condition, trouble) })
  }
  const nothing =
    'No snapshot can be restored. No schedule takes snapshots. A cluster that loses all its control planes is lost.'
  expect(said({})).toBe(`attention: ${nothing}`)
  for (const readyAt of [at('22T10:00'), null]) expect(said({}, readyAt)).toBe(`note: ${nothing}`)
  expect(said({ newest_at: at('20T02:00') })).toBe(
    'note: The newest is of 2026-11-20 02:00 UTC. No schedule takes snapshots.',
  )
  expect(said({ newest_at: at('22T08:00'), schedule })).toBe(
    'ok: The newest is of 2026-11-22 08:00 UTC.',
  )
  expect(said({ newest_at: at('21T20:00'), schedule })).toBe(
    'attention: The newest is of 2026-11-21 20:00 UTC. The schedule should have taken newer ones.',
  )
  const failure = { reason: 'the bucket is gone.', at: at('22T11:00') }
  for (const times of [schedule, null])
    expect(said({ schedule: times, failure })).toBe(
      'attention: The last snapshot failed: the bucket is gone. No snapshot can be restored.',
    )
  expect(said({ schedule: { ...schedule, updated_at: at('22T11:00') } })).toBe(
    'ok: The schedule has not taken the first snapshot yet.',
  )
  expect(said({ newest_at: at('22T08:00'), schedule: { ...schedule, paused: true } })).toBe(
    'note: The newest is of 2026-11-22 08:00 UTC. The schedule is paused.',
  )
})

test('a newer version is a note, and one out of support needs attention', () => {
  const talos = { ...version, current: 'v1.12.11', newest: 'v1.13.9', next: 'v1.13.9' }
  const versions = { talos, kubernetes: version }
  expect(say('talos', { versions })).toBe('note: v1.12.11; v1.13.9 is offered.')
  const old = { ...talos, reason: 'Talos 1.12 is out of support' }
  expect(say('talos', { versions: { ...versions, talos: old } }, { unsupported: ['talos'] })).toBe(
    'attention: v1.12.11; v1.13.9 is offered. Talos 1.12 is out of support.',
  )
  expect(say('kubernetes', { versions }, { unsupported: ['talos'] })).toMatch(/^ok: /)
})

test('a dead API server is told with its reason, and each server can be replaced by name', () => {
  const members = [1, 2, 3, 4, 5].map((n) => member(n, { node_id: idOf(n) }))
  const of = (n: number, reason: string | null) => ({
    node_id: idOf(n),
    name: `cp-${n}`,
    ready: reason === null,
    reason,
  })
  const line = linesOf(
    {
      ...whole,
      etcd: { members, reason: null },
      kubernetes_api: [
        of(1, 'kube-apiserver of cp-1 is not ready: CrashLoopBackOff'),
        of(2, 'connection refused'),
        of(3, null),
      ],
    },
    quiet,
  ).find((l) => l.topic === 'kubernetes_api')
  expect(line).toMatchObject({
    state: 'problem',
    message:
      'The API server of cp-1 and cp-2 is not ready: kube-apiserver of cp-1 is not ready: CrashLoopBackOff.',
    remedies: [1, 2].map((n) => ({ change: 'replace', node_id: idOf(n), name: `cp-${n}` })),
  })
})

test('a dead scheduler is a problem of the Kubernetes API, whose servers answer', () => {
  const up = { node_id: idOf(1), name: 'cp-1', ready: true, reason: null }
  const scheduler = {
    node: 'cp-1',
    component: 'kube-scheduler',
    why: 'kube-scheduler of cp-1 is not ready: CrashLoopBackOff: back-off',
    isDead: true,
    sinceMs: null,
  } as const
  expect(say('kubernetes_api', { kubernetes_api: [up] }, { unready: [scheduler] })).toBe(
    'problem: kube-scheduler of cp-1 is not ready: CrashLoopBackOff: back-off.',
  )
})

test('patches that wait for another control plane are said, unless a drift needs a decision first', () => {
  const pending = [{ name: 'cp-1', reason: 'cp-1 is changed later. cp-2 is not Ready.' }]
  expect(say('configuration', {}, { pending })).toBe(
    'attention: The patches of cp-1 are not sent yet: cp-1 is changed later. cp-2 is not Ready.',
  )
  const drift = [{ node_id: idOf(2), name: 'cp-2', since: '2026-11-27T08:00:00.000Z' }]
  expect(say('configuration', { drift }, { pending })).toContain('changed outside of Steelyard')
})
