import { expect, test } from 'vitest'
import type { Step } from '#contract/operations.ts'
import { clock } from '../../lib/time.ts'
import { logLine, matricesOf, phaseCount, phasesOf, stateOf } from './timeline.ts'

const step = (key: string, status: Step['status'], more: Partial<Step> = {}): Step => ({
  key,
  title: key,
  node_id: key.includes('/') ? key.split('/')[1]! : null,
  status,
  attempt: status === 'todo' ? 0 : 1,
  started_at: status === 'todo' ? null : '2026-11-20T10:00:00.000Z',
  ended_at: status === 'done' ? '2026-11-20T10:00:05.000Z' : null,
  reason: null,
  ...more,
})
const members = [
  { node_id: 'a', name: 'copper-lynx-402', role: 'control_plane' as const },
  { node_id: 'b', name: 'dusty-plover-519', role: 'control_plane' as const },
  { node_id: 'w', name: 'quiet-otter-118', role: 'worker' as const },
]

test('the steps of several servers are one phase, in the order in which they happen', () => {
  const phases = phasesOf(
    [
      step('secrets', 'done'),
      step('install/a', 'done'),
      step('etcd/a', 'todo'),
      step('install/b', 'waiting', { reason: 'still writing the disk, attempt 2 of 5', attempt: 2 }),
      step('etcd/b', 'todo'),
      step('bootstrap', 'todo'),
      step('install/w', 'todo'),
    ],
    members,
  )
  expect(phases.map((p) => p.key)).toEqual(['secrets', 'control_plane/install', 'bootstrap', 'control_plane/etcd', 'worker/install'])
  expect(phases[1]).toMatchObject({
    state: 'waiting',
    held: { name: 'dusty-plover-519' },
    reason: 'still writing the disk, attempt 2 of 5',
    progress: '1 of 2',
    attempt: 2,
    endedAt: null,
  })
  expect(phaseCount(phases)).toEqual({ at: 2, of: 5 })
})

test('what needs somebody wins over what goes on', () => {
  expect(stateOf([step('a', 'done'), step('b', 'running'), step('c', 'failed')])).toBe('failed')
  expect(stateOf([step('a', 'done'), step('b', 'todo')])).toBe('running')
  expect(stateOf([step('a', 'done'), step('b', 'skipped')])).toBe('done')
  expect(stateOf([step('a', 'todo')])).toBe('todo')
})

test('once an operation has ended, nothing of it is under way', () => {
  const steps = [
    step('install/a', 'done'),
    step('install/w', 'failed', { reason: 'no disk' }),
    step('boot/a', 'done'),
    step('boot/b', 'todo'),
    step('nodes', 'waiting', { reason: 'Waiting for quiet-otter-118' }),
  ]
  const states = (isOver: boolean) => phasesOf(steps, members, isOver).map((p) => [p.key, p.state, p.progress])
  expect(states(false)).toEqual([
    ['control_plane/install', 'done', null],
    ['control_plane/boot', 'running', '1 of 2'],
    ['worker/install', 'failed', null],
    ['nodes', 'waiting', null],
  ])
  expect(states(true)).toEqual([
    ['control_plane/install', 'done', null],
    ['control_plane/boot', 'todo', '1 of 2'],
    ['worker/install', 'failed', null],
    ['nodes', 'todo', null],
  ])
  const cell = (isOver: boolean) => matricesOf({ steps: [step('boot/w', 'waiting')] }, members, isOver)[0]!.rows[0]!.cells[0]!.state
  expect([cell(false), cell(true)]).toEqual(['waiting', 'todo'])
})

test('a worker has no cell for etcd', () => {
  const [{ columns, rows } = { columns: [], rows: [] }] = matricesOf(
    { steps: [step('install/a', 'done'), step('etcd/a', 'running'), step('install/w', 'failed', { reason: 'no disk' })] },
    members,
  )
  expect(columns).toEqual(['Install', 'etcd'])
  expect(rows.map((r) => [r.member.name, r.cells.map((c) => c?.state), r.hot])).toEqual([
    ['copper-lynx-402', ['done', 'running'], undefined],
    ['quiet-otter-118', ['failed', undefined], 'failed'],
  ])
})

test('a replacement has a matrix of who leaves and one of who joins, neither wider than six columns', () => {
  const steps = [
    step('reset/b', 'done'),
    step('release/b', 'waiting', { attempt: 2 }),
    ...['config', 'apply', 'install', 'boot', 'etcd', 'join'].map((p) => step(`${p}/a`, 'done')),
  ]
  expect(matricesOf({ steps }, members).map((m) => [m.columns, m.rows.map((r) => [r.member.node_id, r.hot])])).toEqual([
    [['Reset', 'Free'], [['b', 'waiting']]],
    [['Config', 'Apply', 'Install', 'API', 'etcd', 'Ready'], [['a', undefined]]],
  ])
})

test('the time of a phase that a replacement does again for one server is that of this server', () => {
  const again = step('install/b', 'done', { started_at: '2026-11-20T11:00:00.000Z', ended_at: '2026-11-20T11:00:09.000Z' })
  const [install, boot] = phasesOf([step('install/a', 'done'), again, step('boot/a', 'done')], members, true, '2026-11-20T10:59:00.000Z')
  expect([install!.startedAt, install!.endedAt]).toEqual([again.started_at, again.ended_at])
  expect(boot!.startedAt).toBe('2026-11-20T10:00:00.000Z')
})

test('a step that is new to us is shown by its own title', () => {
  expect(phasesOf([step('polish', 'running')], members)[0]).toMatchObject({ key: 'polish', title: 'polish', state: 'running' })
})

test('the steps of subnets stand one by one, and servers have no part in them', () => {
  const steps = [step('apply/s1', 'done'), step('apply/s2', 'running'), step('read-back/s1', 'todo')].map((s) => ({ ...s, node_id: null }))
  expect(phasesOf(steps, members).map((p) => [p.key, p.state])).toEqual([
    ['apply/s1', 'done'],
    ['apply/s2', 'running'],
    ['read-back/s1', 'todo'],
  ])
  expect(matricesOf({ steps }, members)).toEqual([])
})

test('a line of a log begins with its time on the clock, where it begins with a time', () => {
  const at = '2026-11-20T18:07:37.775Z'
  expect(logLine(`${at} service[etcd](Running): Health check successful`)).toBe(`${clock(at)} service[etcd](Running): Health check successful`)
  expect(logLine(`[talos] at ${at} it began`)).toBe(`[talos] at ${at} it began`)
})
