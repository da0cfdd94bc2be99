import { expect, test } from 'vitest'
import { members, step } from '../../lib/testing/steps.ts'
import { clock } from '../../lib/time/clock.ts'
import { logLine, matricesOf } from './matrices.ts'

test('a worker has no cell for etcd', () => {
  const [{ columns, rows } = { columns: [], rows: [] }] = matricesOf(
    {
      steps: [
        step('install/a', 'done'),
        step('etcd/a', 'running'),
        step('install/w', 'failed', { reason: 'no disk' }),
      ],
    },
    members,
  )
  expect(columns).toEqual(['Install', 'etcd'])
  expect(rows.map((r) => [r.member.name, r.cells.map((c) => c?.state), r.hot])).toEqual([
    ['copper-lynx-402', ['done', 'running'], undefined],
    ['quiet-otter-118', ['failed', undefined], 'failed'],
  ])
})

test('an operation that has ended shows no cell as running or waiting', () => {
  const cell = (isOver: boolean) =>
    matricesOf({ steps: [step('boot/w', 'waiting')] }, members, isOver)[0]!.rows[0]!.cells[0]!.state
  expect([cell(false), cell(true)]).toEqual(['waiting', 'todo'])
})

test('steps of subnets are not in the matrix of servers', () => {
  const steps = [step('apply/s1', 'done'), step('read-back/s1', 'todo')].map((s) => ({
    ...s,
    node_id: null,
  }))
  expect(matricesOf({ steps }, members)).toEqual([])
})

test('a replacement has one matrix for the leaving server and one for the joining server, each of at most six columns', () => {
  const steps = [
    step('reset/b', 'done'),
    step('release/b', 'waiting', { attempt: 2 }),
    ...['config', 'apply', 'install', 'boot', 'etcd', 'join'].map((p) => step(`${p}/a`, 'done')),
  ]
  expect(
    matricesOf({ steps }, members).map((m) => [
      m.columns,
      m.rows.map((r) => [r.member.node_id, r.hot]),
    ]),
  ).toEqual([
    [['Reset', 'Free'], [['b', 'waiting']]],
    [['Config', 'Apply', 'Install', 'API', 'etcd', 'Ready'], [['a', undefined]]],
  ])
})

test('a log line that begins with a timestamp shows it as a time of day', () => {
  const at = '2026-11-20T18:07:37.775Z'
  expect(logLine(`${at} service[etcd](Running): Health check successful`)).toBe(
    `${clock(at)} service[etcd](Running): Health check successful`,
  )
  expect(logLine(`user: warning: [${at}]: [talos] task install (1/1): failed`)).toBe(
    `${clock(at)} task install (1/1): failed`,
  )
  expect(logLine(`kern:  notice: [${at}]: Linux version 6.12`)).toBe(
    `${clock(at)} Linux version 6.12`,
  )
  expect(logLine(`[talos] at ${at} it began`)).toBe(`[talos] at ${at} it began`)
})
