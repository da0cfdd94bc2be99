import { expect, test } from 'vitest'
import { auditSentence } from './audit.ts'

test.each([
  ['cluster.created', { name: 'web' }, 'Created'],
  [
    'cluster.server_replaced',
    { replaced: 'calm-heron-204', by: 'dusty-otter-311' },
    'A server was replaced: calm-heron-204 by dusty-otter-311',
  ],
  [
    'cluster.server_released',
    { name: 'calm-heron-204', was_reset: true },
    'A server left: calm-heron-204, wiped',
  ],
  [
    'cluster.server_released',
    { name: 'calm-heron-204', was_reset: false },
    'A server left: calm-heron-204, not wiped',
  ],
  ['cluster.subnets_assigned', { subnets: ['a'] }, 'Its subnets were changed: 1 subnet'],
  ['cluster.subnets_assigned', { subnets: ['a', 'b'] }, 'Its subnets were changed: 2 subnets'],
  ['cluster.kubeconfig_downloaded', null, 'A kubeconfig was downloaded'],
  ['server.renamed', { name: 'calm-heron-204' }, 'Renamed to calm-heron-204'],
  ['server.renamed', null, 'Renamed'],
  [
    'server.added',
    { join_token: 'rack-12' },
    'Registered: announced itself with the join token rack-12',
  ],
  [
    'server.install_failed',
    { attempt: 2, of: 5, reason: 'no disk' },
    'Talos was not installed, attempt 2 of 5: no disk',
  ],
  [
    'server.install_failed',
    { reason: 'it {name} [broke]' },
    'Talos was not installed: it {name} [broke]',
  ],
  ['server.reboot_requested', {}, 'A reboot was requested'],
  ['cluster.something_newer', {}, 'cluster.something_newer'],
])('an audit entry is shown as a sentence: %s %j', (action, after, message) => {
  expect(auditSentence(action, after)).toBe(message)
})
