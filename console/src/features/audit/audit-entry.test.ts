import { expect, test } from 'vitest'
import { auditActions } from '#contract/audit.ts'
import { objectPage, objectSaid, operationOf, resultSaid } from './audit-entry.ts'

const of = (kind: string, id: string | null = 'x', name: string | null = 'n') =>
  objectPage({ target: { kind, id, name } })

test('an entry links to the page of its object, if there is one', () => {
  expect([of('server'), of('cluster'), of('operation'), of('subnet')]).toEqual([
    '/infra/servers/x',
    '/infra/clusters/x',
    '/operations/x',
    '/infra/network?q=n&open=x',
  ])
  expect(of('datacenter', 'x', 'PL-POZ-1')).toBe('/infra/datacenters?q=PL-POZ-1')
  expect([of('cc'), of('store', 'x', 'disk'), of('user', 'x', 'a@b.c')]).toEqual([
    '/marketplace/ccs/x',
    '/admin/stores?q=disk',
    '/admin/users?q=a%40b.c',
  ])
  expect([
    of('installation'),
    of('constructor'),
    of('server', null),
    objectPage({ target: null }),
  ]).toEqual([null, null, null, null])
})

test('a recorded failure is shown as failed, not as done', () => {
  for (const action of auditActions) {
    const { tone, word } = resultSaid({ action, result: 'ok' })
    expect([action, tone, word]).toEqual(
      /(?:^|[._])failed$/.test(action) ? [action, 'danger', 'Failed'] : [action, 'ok', 'Done'],
    )
  }
  expect(resultSaid({ action: 'operation.failed', result: 'ok' }).word).toBe('Failed')
})

test('a refusal is shown by its code in words, with the meaning of the code', () => {
  const action = 'server.updated'
  expect(resultSaid({ action, result: 'forbidden' })).toEqual({
    tone: 'warn',
    word: 'Forbidden',
    why: 'The caller lacks the scope.',
  })
  expect(resultSaid({ action, result: 'from_a_newer_version' })).toEqual({
    tone: 'warn',
    word: 'From a newer version',
    why: null,
  })
})

test('the operation that an action started is read from the entry', () => {
  expect([
    operationOf({ after: { operation: 'o' } }),
    operationOf({ after: { operation: 1 } }),
    operationOf({ after: null }),
  ]).toEqual(['o', null, null])
})

test('an operation is named by its title, other objects by their name or id', () => {
  const said = (kind: string, name: string | null) =>
    objectSaid({ target: { kind, id: 'x', name } })
  expect(said('operation', 'clusterSubnetsAssign poz-ready-01')).toBe(
    'Change subnets of poz-ready-01',
  )
  expect([
    said('operation', 'laterKind web'),
    said('server', 'serverReset a'),
    said('server', null),
    objectSaid({ target: null }),
  ]).toEqual(['laterKind web', 'serverReset a', 'x', null])
})
