import { expect, test } from 'vitest'
import { comparing, passing, type SortKey } from '#contract/list.ts'
import { type FindingKind, findingKinds } from '#contract/findings/kinds.ts'
import { serverList } from '#contract/servers/server.ts'
import { type Entry, filterReaders, sortReaders } from '../present.ts'
import type { ServerRow } from '../store.ts'
import { digested } from './kept.ts'

const since = new Date(0)
const readers = sortReaders
const entry = (name: string, row: Partial<ServerRow>): Entry => {
  const times = {
    identity_since: since,
    created_at: since,
    updated_at: since,
    unreachable_since: null,
    node_since: null,
    drift_since: null,
    last_change: null,
    pending: null,
    trial_state: null,
    failed_at: null,
    finding: null,
    left_cluster: null,
  }
  return digested(
    {
      name,
      address: '10.0.0.1',
      hardware: null,
      unmet: [],
      patch_links: [],
      failed_installs: 0,
      install_failed_at: null,
      install_failure: null,
      ...times,
      ...row,
    } as Partial<ServerRow> as ServerRow,
    null,
  )
}
const ordered = (
  sort: SortKey<typeof serverList.list>,
  entries: Entry[],
  direction: '' | '-' = '',
) =>
  entries
    .toSorted(
      comparing<typeof serverList.list, Entry>(serverList.list, readers, `${direction}${sort}`, [
        readers.name,
      ]),
    )
    .map((e) => e.row.name)

test('versions and addresses are ordered as numbers', () => {
  const versions = [
    entry('c', { talos_version: 'v1.13.0' }),
    entry('a', { talos_version: null }),
    entry('b', { talos_version: 'v1.9.10' }),
  ]
  expect([ordered('talos_version', versions), ordered('talos_version', versions, '-')]).toEqual([
    ['b', 'c', 'a'],
    ['c', 'b', 'a'],
  ])
  expect(
    ordered('address', [
      entry('v6', { address: '::1' }),
      entry('ten', { address: '10.0.0.10' }),
      entry('nine', { address: '10.0.0.9' }),
    ]),
  ).toEqual(['nine', 'ten', 'v6'])
})

test('unknown hardware and an empty manufacturer come last', () => {
  const cores = (n: number) => ({
    hardware: {
      processors: [{ id: '0', cpu_cores: n }],
      memory: [],
      disks: [],
      links: [],
      interfaces: [],
      addresses: [],
      routes: [],
    },
  })
  const servers = [entry('unknown', {}), entry('small', cores(8)), entry('large', cores(64))]
  expect([ordered('cores', servers), ordered('cores', servers, '-')]).toEqual([
    ['small', 'large', 'unknown'],
    ['large', 'small', 'unknown'],
  ])
  expect(
    ordered(
      'maker',
      [entry('none', { manufacturer: '' }), entry('dell', { manufacturer: 'Dell' })],
      '-',
    ),
  ).toEqual(['dell', 'none'])
})

test('servers are sorted and filtered by the stage of Talos', () => {
  const servers = [entry('b', { stage: 'running' }), entry('a', { stage: 'installing' })]
  expect(ordered('stage', servers)).toEqual(['a', 'b'])
  const passes = passing<typeof serverList.list, Entry>(serverList.list, filterReaders(0), {
    stage: 'running',
  })
  expect(servers.filter(passes).map((e) => e.row.name)).toEqual(['b'])
})

test('by status the worst finding comes first, then what waits for a user', () => {
  const about = (kind: FindingKind) => ({
    status: 'ready' as const,
    finding: {
      id: 'f',
      kind,
      severity: findingKinds[kind].severity,
      since: since.toISOString(),
      reason: '',
    },
  })
  const servers = [
    entry('free', { status: 'maintenance', identity_state: 'confirmed' }),
    entry('unconfirmed', { status: 'maintenance', identity_state: 'unconfirmed' }),
    entry('well', { status: 'ready', identity_state: 'confirmed', trial_state: null }),
    entry('changed', about('server_drifted')),
    entry('silent', about('server_unreachable')),
    entry('removed', { ...about('server_unreachable'), status: 'deleted' }),
    entry('failed', { ...about('server_failed'), status: 'maintenance' }),
  ]
  const worstFirst = ['failed', 'silent', 'changed', 'unconfirmed', 'free', 'well', 'removed']
  expect(ordered('status', servers)).toEqual(worstFirst)
  expect(ordered('status', servers, '-')).toEqual(worstFirst.toReversed())
})
