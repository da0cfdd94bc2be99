import { expect, test } from 'vitest'
import { type ClusterEntry, clusterEvent } from './cluster-events.ts'

const entry = (action: string, after: ClusterEntry['after'] = null, result = 'ok'): ClusterEntry => ({
  seq: 7,
  at: '2026-11-20T15:00:00.000Z',
  action,
  actor: 'admin@example.com',
  result,
  after,
})

test.each([
  [entry('cluster.created', { name: 'web' }), 'Created'],
  [entry('cluster.server_replaced', { replaced: 'calm-heron-204', by: 'dusty-otter-311' }), 'A server was replaced: calm-heron-204 by dusty-otter-311'],
  [entry('cluster.server_released', { name: 'calm-heron-204', was_reset: true }), 'A server left: calm-heron-204, wiped'],
  [entry('cluster.subnets_assigned', { subnets: ['a'] }), 'Its subnets were changed: 1 subnet'],
  [entry('cluster.kubeconfig_downloaded', null, 'denied'), 'A kubeconfig was downloaded: refused (denied)'],
  [entry('cluster.something_newer'), 'cluster.something_newer'],
])('an entry of the audit log is told as a sentence: %#', (given, message) => {
  expect(clusterEvent(given)).toEqual({ id: 'audit-7', at: given.at, type: given.action, message, by: 'admin@example.com' })
})
