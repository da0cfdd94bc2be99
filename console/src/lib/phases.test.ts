import { expect, test } from 'vitest'
import { nowOf, phaseCount, phasesOf, stateOf } from './phases.ts'
import { members, step } from './testing/steps.ts'

test('steps of several servers form one phase, in order', () => {
  const phases = phasesOf(
    [
      step('secrets', 'done'),
      step('install/a', 'done'),
      step('etcd/a', 'todo'),
      step('install/b', 'waiting', {
        reason: 'still writing the disk, attempt 2 of 5',
        attempt: 2,
      }),
      step('etcd/b', 'todo'),
      step('bootstrap', 'todo'),
      step('install/w', 'todo'),
    ],
    members,
  )
  expect(phases.map((p) => p.key)).toEqual([
    'secrets',
    'control_plane/install',
    'bootstrap',
    'control_plane/etcd',
    'worker/install',
  ])
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

test('the current step is the one that holds the operation up, also while servers that are ahead have passed later steps', () => {
  const steps = [
    step('secrets', 'done'),
    step('install/a', 'done'),
    step('install/b', 'waiting', { reason: 'connection refused' }),
    step('boot/a', 'done'),
    step('boot/b', 'todo'),
    step('bootstrap', 'done'),
    step('etcd/a', 'done'),
    step('etcd/b', 'todo'),
    step('key', 'done'),
    step('access', 'done'),
  ]
  expect(phaseCount(phasesOf(steps))).toEqual({ at: 2, of: 7 })
  const all = steps.map(({ key }) => step(key, 'done'))
  expect(phaseCount(phasesOf(all))).toEqual({ at: 7, of: 7 })
})

test('a phase with a failed step is shown as failed, even if another step is running', () => {
  expect(stateOf([step('a', 'done'), step('b', 'running'), step('c', 'failed')])).toBe('failed')
  expect(stateOf([step('a', 'done'), step('b', 'todo')])).toBe('running')
  expect(stateOf([step('a', 'done'), step('b', 'skipped')])).toBe('done')
  expect(stateOf([step('a', 'todo')])).toBe('todo')
})

test('no phase of an ended operation is running', () => {
  const steps = [
    step('install/a', 'done'),
    step('install/w', 'failed', { reason: 'no disk' }),
    step('boot/a', 'done'),
    step('boot/b', 'todo'),
    step('etcd/a', 'todo'),
    step('etcd/b', 'todo'),
    step('nodes', 'waiting', { reason: 'Waiting for quiet-otter-118' }),
  ]
  const states = (isOver: boolean) =>
    phasesOf(steps, members, isOver).map((p) => [p.key, p.state, p.progress])
  expect(states(false)).toEqual([
    ['control_plane/install', 'done', null],
    ['control_plane/boot', 'running', '1 of 2'],
    ['control_plane/etcd', 'todo', null],
    ['worker/install', 'failed', null],
    ['nodes', 'waiting', null],
  ])
  expect(states(true)).toEqual([
    ['control_plane/install', 'done', null],
    ['control_plane/boot', 'todo', '1 of 2'],
    ['control_plane/etcd', 'todo', null],
    ['worker/install', 'failed', null],
    ['nodes', 'todo', null],
  ])
})

test('a phase that was repeated for one server has the times of that server', () => {
  const again = step('install/b', 'done', {
    started_at: '2026-11-20T11:00:00.000Z',
    ended_at: '2026-11-20T11:00:09.000Z',
  })
  const [install, boot] = phasesOf(
    [step('install/a', 'done'), again, step('boot/a', 'done')],
    members,
    true,
    '2026-11-20T10:59:00.000Z',
  )
  expect([install!.startedAt, install!.endedAt]).toEqual([again.started_at, again.ended_at])
  expect(boot!.startedAt).toBe('2026-11-20T10:00:00.000Z')
})

test('an unknown step is shown with its own title', () => {
  expect(phasesOf([step('polish', 'running')], members)[0]).toMatchObject({
    key: 'polish',
    title: 'polish',
    state: 'running',
  })
})

test('each step of a subnet is a phase of its own, without servers', () => {
  const steps = [
    step('apply/s1', 'done'),
    step('apply/s2', 'running'),
    step('read-back/s1', 'todo'),
  ].map((s) => ({ ...s, node_id: null }))
  expect(phasesOf(steps, members).map((p) => [p.key, p.state])).toEqual([
    ['apply/s1', 'done'],
    ['apply/s2', 'running'],
    ['read-back/s1', 'todo'],
  ])
})

test('without the list of servers, the progress is the same, because servers with etcd steps count as control planes', () => {
  const steps = [
    step('secrets', 'done'),
    ...['config', 'apply', 'install', 'boot', 'etcd', 'join'].flatMap((p) =>
      ['a', 'b'].map((id) => step(`${p}/${id}`, p === 'config' ? 'done' : 'todo')),
    ),
    ...['config', 'apply', 'install', 'boot', 'join'].map((p) => step(`${p}/w`, 'todo')),
  ]
  expect(phaseCount(phasesOf(steps))).toEqual(phaseCount(phasesOf(steps, members)))
  expect(phaseCount(phasesOf(steps))).toEqual({ at: 3, of: 12 })
})

test('a held operation shows why it is held instead of what its step waited for', () => {
  const steps = [
    step('secrets', 'done'),
    step('boot/a', 'waiting', { reason: 'Waiting for its API' }),
  ]
  expect(nowOf({ steps, status: 'running', reason: null })).toBe('boot/a. Waiting for its API')
  expect(
    nowOf({ steps, status: 'waiting', reason: 'Restored from a backup: check it, then resume it' }),
  ).toBe('Restored from a backup: check it, then resume it')
  expect(nowOf({ steps: [], status: 'pending', reason: null })).toBe('Pending')
})
