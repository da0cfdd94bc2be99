import { expect, test } from 'vitest'
import type { Finding } from '#contract/findings/findings.ts'
import { findingKinds, kindsOfFindings } from '#contract/findings/kinds.ts'
import { remedyCommands } from './finding-remedies.ts'
import { everyCommand } from './testing/cli.ts'

const id = '0198c0de-0000-7000-8000-000000000001'
const about = (kind: Finding['kind']): Finding => ({
  id,
  kind,
  severity: findingKinds[kind].severity,
  object: { kind: findingKinds[kind].object, id, name: 'thing' },
  cluster: { id, name: 'web' },
  datacenter: null,
  since: '2026-11-27T21:38:00.000Z',
  reason: 'Because.',
  remedies: findingKinds[kind].remedies.map((r) => ({
    ...r,
    call: r.call.replace('{operation}', id),
  })),
  acknowledged: null,
  affected: null,
  caused_by: null,
  ended_at: null,
  count: 1,
})

test('every finding names commands that exist', () => {
  const names = new Set(everyCommand().map((one) => one.name))
  for (const kind of kindsOfFindings) {
    const commands = remedyCommands(about(kind)).map((c) => c.split(' ').slice(1, 3).join(' '))
    expect({ kind, unknown: commands.filter((name) => !names.has(name)) }).toEqual({
      kind,
      unknown: [],
    })
    expect({ kind, of: commands.length }).not.toEqual({ kind, of: 0 })
  }
})

test('the command of a remedy names the object, its cluster or the operation that stopped', () => {
  expect(remedyCommands(about('cluster_etcd_full'))[0]).toBe('steelyard cluster defragment web')
  expect(remedyCommands(about('cluster_upgrade_stopped'))).toEqual([
    `steelyard operation retry ${id}`,
    'steelyard operation list --search web',
  ])
  expect(remedyCommands(about('server_unreachable'))).toEqual([
    'steelyard server show thing',
    'steelyard cluster replace web thing --by SERVER',
  ])
})
