import { expect, test } from 'vitest'
import type { Finding } from '#contract/findings/findings.ts'
import { findingKinds, kindsOfFindings } from '#contract/findings/kinds.ts'
import {
  type Incident,
  incidentAssign,
  incidentGet,
  incidentList,
  incidentUpdate,
} from '#contract/incidents/incidents.ts'
import { remedyCommands } from './finding-remedies.ts'
import { findingGet, findingList } from '#contract/findings/findings.ts'
import { startApi } from './testing/api.ts'
import { everyCommand, startCli } from './testing/cli.ts'
import { pageOf } from './testing/things.ts'

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
  incident_id: null,
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

test('a finding is named by what it is about, unless that has none or several', async () => {
  const api = await startApi()
  const full = about('cluster_etcd_full')
  const named = (name: string, more: Partial<Finding> = {}) => ({
    ...full,
    ...more,
    object: { ...full.object, name },
  })
  const other = id.replace(/1$/, '2')
  api.on(findingList, () =>
    pageOf([named('web'), named('shop'), named('shop', { id: other, kind: 'cluster_api_down' })]),
  )
  api.on(findingGet, () => named('web'))
  const cli = await startCli(api)
  expect((await cli.run('finding show web')).out).toContain('  steelyard cluster defragment web\n')
  expect(await cli.run('finding show desk')).toMatchObject({
    exit: 5,
    err: 'There is no open finding of desk\nsteelyard findings shows them\n',
  })
  expect(await cli.run('finding show shop')).toMatchObject({
    exit: 2,
    err: `shop has 2 open findings: ${id} (etcd full), ${other} (Kubernetes API down)\n`,
  })
})

test('incidents are shown with what helps and their story, and assigned by the name of what they are about', async () => {
  const api = await startApi()
  const at = '2026-11-27T21:38:00.000Z'
  const incident: Incident = {
    id,
    title: 'web refuses writes',
    effect: 'writes_refused',
    severity: 'down',
    kind: 'cluster_etcd_full',
    object: { kind: 'cluster', id, name: 'web' },
    cluster: { id, name: 'web' },
    datacenter: null,
    reason: 'etcd is full.',
    finding_id: id,
    worst: null,
    since: at,
    ended_at: null,
    objects: [],
    parts: { count: 1 },
    assigned: null,
    note: null,
    remedies: about('cluster_etcd_full').remedies,
    story: [{ at, text: 'It began. etcd is full.', by: null }],
  }
  const sent: unknown[] = []
  api.on(incidentList, () => pageOf([incident]))
  api.on(incidentGet, () => incident)
  api.on(incidentAssign, ({ body }) => {
    sent.push(body)
    return { ...incident, assigned: { to: { id, name: 'grace@example.com' }, by: 'ops', at } }
  })
  api.on(incidentUpdate, ({ body }) => {
    sent.push(body)
    return { ...incident, note: 'mine' }
  })
  const cli = await startCli(api)
  expect((await cli.run('incidents')).out).toContain('web refuses writes')
  const { out } = await cli.run('incident show web')
  expect(out).toContain('  steelyard cluster defragment web\n')
  expect(out).toContain('It began. etcd is full.')
  expect((await cli.run('incident assign web')).out).toBe(
    'web refuses writes: assigned to grace@example.com\n',
  )
  await cli.run('incident assign web --to nobody')
  expect((await cli.run('incident note web --text mine')).out).toBe('web refuses writes: noted\n')
  expect((await cli.run('incident note web')).exit).toBe(2)
  expect(await cli.run('incident show desk')).toMatchObject({
    exit: 5,
    err: 'There is no open incident of desk\nsteelyard incidents shows them\n',
  })
  expect(sent).toEqual([{}, { user_id: null }, { note: 'mine' }])
})
