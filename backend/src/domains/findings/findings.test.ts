import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import {
  findingAcknowledge,
  findingAffected,
  findingGet,
  findingList,
} from '#contract/findings/findings.ts'
import { silenceCreate } from '#contract/alerts/silences.ts'
import { clusterGet, clusterList } from '#contract/clusters/clusters.ts'
import {
  incidentAssign,
  incidentGet,
  incidentList,
  incidentUpdate,
} from '#contract/incidents/incidents.ts'
import { overviewGet } from '#contract/overview.ts'
import { serverGet } from '#contract/servers/servers.ts'
import { startBackend } from '../../testing/backend.ts'
import { buildCluster, buildDatacenter, buildServer } from '../servers/testing.ts'

const backend = await startBackend()
const beside = await startBackend({ beside: backend })
const operator = await backend.signIn({ role: 'operator', lasts: true })
const viewer = await backend.signIn({ role: 'viewer', lasts: true })
const { db } = backend.platform
const { findings } = backend.domains

const list = async (query: object = {}) =>
  (await viewer.call(findingList, { query: { page: 1, per_page: 100, ...query } })).answer!.items
const of = async (id: string, query: object = {}) => list({ object: id, ...query })
/** The finding that the server shows in lists. */
const shownBy = async (id: string) =>
  (await viewer.call(serverGet, { params: { id } })).answer!.finding
const silence = async (ids: readonly string[], at = new Date(backend.clock.now())) => {
  await db
    .updateTable('server')
    .set({ reachable: false, unreachable_since: at, reason: 'connection refused' })
    .where('id', 'in', ids)
    .execute()
  await findings.judge()
}
const mend = async (ids: readonly string[]) => {
  await db
    .updateTable('server')
    .set({ reachable: true, unreachable_since: null, reason: null })
    .where('id', 'in', ids)
    .execute()
  await findings.judge()
}
const add = (name: string, more: object = {}) =>
  buildServer(backend, { name, reachable: true, ...more })
test('a silent server is a finding until it answers, and its end is kept', async () => {
  const id = await add('silent')
  await silence([id])
  const [found] = await of(id)
  expect(found).toMatchObject({
    kind: 'server_unreachable',
    severity: 'down',
    object: { kind: 'server', id, name: 'silent' },
    since: new Date(backend.clock.now()).toISOString(),
    acknowledged: null,
    ended_at: null,
    count: 1,
  })
  const { kind, severity, since, reason } = found!
  expect(await shownBy(id)).toEqual({ id: found!.id, kind, severity, since, reason })
  backend.clock.advance(60_000)
  await mend([id])
  expect(await shownBy(id)).toBeNull()
  expect(await of(id)).toEqual([])
  expect(await of(id, { ended: 'true' })).toMatchObject([
    { id: found!.id, ended_at: new Date(backend.clock.now()).toISOString() },
  ])
})

test('a silent server is an incident that keeps its id, and ends with its finding', async () => {
  const id = await add('unwell')
  const incidents = async (query: object = {}) =>
    (await viewer.call(incidentList, { query: { object: id, ...query } })).answer!.items
  await silence([id])
  const [incident] = await incidents()
  const [found] = await of(id)
  expect(incident).toMatchObject({
    title: 'unwell does not answer',
    effect: 'one_server',
    severity: 'degraded',
    object: { kind: 'server', id, name: 'unwell' },
    finding_id: found!.id,
    reason: found!.reason,
    since: found!.since,
    parts: { count: 1 },
    assigned: null,
    ended_at: null,
  })
  expect(found!.incident_id).toBe(incident!.id)
  expect(await list({ incident: incident!.id })).toMatchObject([{ id: found!.id }])
  backend.clock.advance(60_000)
  await mend([id])
  expect(await incidents()).toEqual([])
  const ended = { id: incident!.id, ended_at: new Date(backend.clock.now()).toISOString() }
  expect(await incidents({ ended: 'true' })).toMatchObject([ended])
  await silence([id])
  expect(await incidents()).toMatchObject([{ id: incident!.id, ended_at: null }])
  await mend([id])
  const one = await viewer.call(incidentGet, { params: { id: incident!.id } })
  expect(one.answer).toMatchObject({ id: incident!.id, remedies: [] })
})

test('two processes that judge at once store a finding once', async () => {
  const id = await add('contested')
  await db
    .updateTable('server')
    .set({ reachable: false, unreachable_since: new Date(backend.clock.now()) })
    .where('id', '=', id)
    .execute()
  await Promise.all([
    findings.judge(),
    beside.domains.findings.judge(),
    findings.judge(),
    beside.domains.findings.judge(),
  ])
  expect(await of(id)).toHaveLength(1)
  await mend([id])
})

test('what comes and goes is one finding that counts how often it began within an hour', async () => {
  const id = await add('flapping')
  for (let i = 0; i < 12; i++) {
    await silence([id])
    backend.clock.advance(60_000)
    if (i < 11) await mend([id])
  }
  const [found, ...more] = await of(id)
  expect(more).toEqual([])
  expect(found).toMatchObject({ count: 12 })
  expect(found!.reason).toContain('It began 12 times within an hour.')
  await mend([id])
  backend.clock.advance(3_700_000)
  await silence([id])
  expect(await of(id)).toMatchObject([{ count: 1 }])
  await mend([id])
})

test('a finding that comes back after its end was told is no longer acknowledged', async () => {
  const id = await add('comes-back')
  const acknowledged = async () => (await of(id))[0]!.acknowledged
  await silence([id])
  const params = { id: (await of(id))[0]!.id }
  await operator.call(findingAcknowledge, { params, body: {} })
  await mend([id])
  backend.clock.advance(4 * 60_000)
  await silence([id])
  expect(await acknowledged()).not.toBeNull()
  await mend([id])
  backend.clock.advance(6 * 60_000)
  await silence([id])
  expect(await of(id)).toMatchObject([{ id: params.id, count: 3, acknowledged: null }])
  await mend([id])
})

test('servers that fall silent long after others begin their common finding anew', async () => {
  const { id: datacenter_id, ids } = await buildDatacenter(backend, 3, 14)
  await silence(ids.slice(0, 5))
  const [first] = await of(datacenter_id)
  const params = { id: first!.id }
  await operator.call(findingAcknowledge, { params, body: {} })
  await mend(ids.slice(1))
  // A few more are told alone, and change nothing about the common one.
  backend.clock.advance(3_600_000)
  await silence(ids.slice(1, 4))
  expect(await of(datacenter_id)).toMatchObject([
    { acknowledged: { by: operator.email }, affected: { count: 1 } },
  ])
  backend.clock.advance(3_600_000)
  const at = new Date(backend.clock.now()).toISOString()
  await silence(ids.slice(4))
  expect(await of(datacenter_id)).toMatchObject([
    { ...params, acknowledged: null, count: 2, since: at, affected: { count: 11 } },
  ])
  expect((await of(datacenter_id))[0]!.reason).toMatch(
    /^10 servers fell silent together at .* UTC, and 1 more has been silent for longer: /,
  )
  // It is the same wave from now on.
  await operator.call(findingAcknowledge, { params, body: {} })
  await findings.judge()
  expect(await of(datacenter_id)).toMatchObject([
    { count: 2, acknowledged: { by: operator.email } },
  ])
  await mend(ids)
})

test('servers that fall silent again and again within an hour begin their common finding once', async () => {
  const { id: datacenter_id, ids } = await buildDatacenter(backend, 4, 11)
  await silence(ids.slice(0, 10))
  const params = { id: (await of(datacenter_id))[0]!.id }
  const acknowledge = () => operator.call(findingAcknowledge, { params, body: {} })
  /** All but the first come back, and so many fall silent again later. */
  const flap = async (minutes: number, count: number) => {
    await mend(ids.slice(1))
    backend.clock.advance(minutes * 60_000)
    await silence(ids.slice(1, 1 + count))
  }
  await acknowledge()
  for (let i = 0; i < 3; i++) await flap(20, 9)
  expect(await of(datacenter_id)).toMatchObject([
    { ...params, count: 1, acknowledged: { by: operator.email }, affected: { count: 10 } },
  ])
  // One that the finding didn't name, and those that it named more than an hour ago.
  await flap(20, 10)
  expect(await of(datacenter_id)).toMatchObject([{ count: 2, acknowledged: null }])
  await acknowledge()
  await flap(61, 9)
  expect(await of(datacenter_id)).toMatchObject([{ count: 3, acknowledged: null }])
  await mend(ids)
})

test('the overview counts servers that fell silent together as silenced if each of them is', async () => {
  const { ids } = await buildDatacenter(backend, 5, 5)
  await silence(ids)
  const seen = async () => {
    const { attention } = (await viewer.call(overviewGet)).answer!
    return [attention!.silenced, attention!.groups.map(({ kind }) => kind)]
  }
  for (const id of ids) {
    expect(await seen()).toEqual([0, ['datacenter_silent']])
    const body = {
      note: 'works',
      object: { kind: 'server' as const, id },
      ends_at: new Date(backend.clock.now() + 3_600_000).toISOString(),
    }
    expect(await operator.call(silenceCreate, { body })).toMatchObject({ status: 201 })
  }
  expect(await seen()).toEqual([1, []])
  await mend(ids)
})

test('servers of a datacenter that fall silent together become one finding, which ends with the last of them', async () => {
  const cluster = randomUUID()
  await buildCluster(backend, cluster, 'lost')
  const { datacenter_id } = await db
    .updateTable('cluster')
    .set({ status: 'ready' })
    .where('id', '=', cluster)
    .returning('datacenter_id')
    .executeTakeFirstOrThrow()
  const ids = []
  for (let i = 0; i < 6; i++)
    ids.push(await add(`group-${i}`, { datacenter_id, cluster_id: cluster, cluster_name: 'lost' }))
  await db
    .insertInto('cluster_server')
    .values(
      ids.slice(0, 3).map((node_id, position) => ({
        cluster_id: cluster,
        node_id,
        name: `group-${position}`,
        role: 'control_plane' as const,
        position,
        install_disk: '/dev/sda',
        install_image: '',
        at_since: new Date(backend.clock.now()),
        etcd_at: new Date(backend.clock.now()),
      })),
    )
    .execute()
  await silence(ids.slice(0, 1))
  expect(await of(ids[0]!)).toMatchObject([{ kind: 'server_unreachable' }])
  backend.clock.advance(20_000)
  await silence(ids.slice(1))
  const [group] = await of(datacenter_id!)
  expect(group).toMatchObject({
    kind: 'datacenter_silent',
    affected: { kind: 'server', count: 6 },
  })
  // The finding of the first server has become a part of the common one.
  expect(await of(ids[0]!)).toEqual([])
  expect(await of(ids[0]!, { ended: 'true' })).toMatchObject([{ caused_by: group!.id }])
  expect(await of(cluster)).toMatchObject([
    { kind: 'cluster_quorum_lost', caused_by: group!.id, cluster: { id: cluster, name: 'lost' } },
  ])
  // The cluster shows it, on its page and in the list, and who has read it before reads it anew.
  const shown = (await viewer.call(clusterGet, { params: { id: cluster } })).answer!
  expect(shown.finding).toMatchObject({ kind: 'cluster_quorum_lost', severity: 'down' })
  expect(shown.version).toBeGreaterThan(1)
  const listed = async (query: object) => (await viewer.call(clusterList, { query })).answer!.items
  expect((await listed({}))[0]!.finding).toEqual(shown.finding)
  // A ready cluster with a finding that is worse than attention is degraded, also for the filter.
  expect(shown.status).toBe('degraded')
  expect((await listed({ status: 'degraded' })).map((c) => c.id)).toEqual([cluster])
  expect(await listed({ status: 'ready' })).toEqual([])
  // Each of the servers shows the common finding, from when it fell silent itself.
  expect(await shownBy(ids[3]!)).toMatchObject({ id: group!.id, kind: 'datacenter_silent' })
  expect((await shownBy(ids[0]!))!.since < (await shownBy(ids[3]!))!.since).toBe(true)
  const affected = async () =>
    (await viewer.call(findingAffected, { params: { id: group!.id } })).answer!.items
  expect(await affected()).toHaveLength(6)
  await mend(ids.slice(1))
  expect(await of(datacenter_id!)).toMatchObject([{ id: group!.id, affected: { count: 1 } }])
  expect((await affected()).filter((s) => s.ended_at === null).map((s) => s.id)).toEqual([ids[0]])
  expect(await of(cluster)).toEqual([])
  expect((await viewer.call(clusterGet, { params: { id: cluster } })).answer).toMatchObject({
    finding: null,
    status: 'ready',
    reason: null,
  })
  expect(await shownBy(ids[3]!)).toBeNull()
  await mend(ids)
  expect(await of(datacenter_id!)).toEqual([])
})

test('an open finding is acknowledged by who may change its object, and the audit log says so', async () => {
  const id = await add('noted')
  await silence([id])
  const [found] = await of(id)
  const params = { id: found!.id }
  const body = { note: 'The switch is being replaced' }
  expect((await viewer.call(findingAcknowledge, { params, body })).status).toBe(403)
  const { answer } = await operator.call(findingAcknowledge, { params, body })
  expect(answer!.acknowledged).toMatchObject({ by: operator.email, note: body.note })
  expect((await viewer.call(findingGet, { params })).answer).toEqual(answer)
  await backend.publish()
  const entry = await db
    .selectFrom('audit_entry')
    .select(['target_id', 'after'])
    .where('action', '=', 'finding.acknowledged')
    .where('target_id', '=', id)
    .executeTakeFirstOrThrow()
  expect(entry).toMatchObject({ target_id: id, after: { finding: found!.id, note: body.note } })
  await mend([id])
  expect((await operator.call(findingAcknowledge, { params, body })).problem).toMatchObject({
    code: 'finding_ended',
  })
  const missing = await viewer.call(findingGet, { params: { id: randomUUID() } })
  expect(missing.status).toBe(404)
})

test('an incident is assigned and noted by who may change its object, and its story says so', async () => {
  const id = await add('owned')
  await silence([id])
  const [found] = await of(id)
  const params = { id: found!.incident_id! }
  const incident = async () => (await viewer.call(incidentGet, { params })).answer!
  const none = randomUUID()
  expect((await viewer.call(incidentAssign, { params, body: {} })).status).toBe(403)
  expect((await viewer.call(incidentUpdate, { params, body: { note: 'x' } })).status).toBe(403)
  expect(
    (await operator.call(incidentAssign, { params, body: { user_id: none } })).problem,
  ).toMatchObject({ code: 'invalid', fields: { user_id: 'There is no such active user' } })
  expect((await operator.call(incidentAssign, { params: { id: none }, body: {} })).status).toBe(404)

  // Who acknowledges a finding has its incident, and who has an incident has its findings.
  await operator.call(findingAcknowledge, { params: { id: found!.id }, body: { note: 'Mine' } })
  expect(await incident()).toMatchObject({
    assigned: { to: { name: operator.email }, by: operator.email },
    note: 'Mine',
  })
  const nobody = await operator.call(incidentAssign, { params, body: { user_id: null } })
  expect(nobody.answer!.assigned).toBeNull()
  expect(await of(id)).toMatchObject([{ acknowledged: null }])
  await operator.call(incidentAssign, { params, body: {} })
  expect(await of(id)).toMatchObject([{ acknowledged: { by: operator.email } }])
  await operator.call(incidentUpdate, { params, body: { note: ' Rack 3 ' } })
  backend.clock.advance(11 * 60_000)
  await mend([id])
  expect((await operator.call(incidentAssign, { params, body: {} })).problem).toMatchObject({
    code: 'incident_ended',
  })
  await operator.call(incidentUpdate, { params, body: { note: '' } })
  const { story, ...after } = await incident()
  expect(after).toMatchObject({ note: null, assigned: { by: operator.email } })
  const { email } = operator
  expect(story.map(({ text, by }) => [text, by])).toEqual([
    [`It began. ${found!.reason}`, null],
    [`Assigned to ${email}.`, email],
    ['Note: Mine', email],
    [`${email} does not have it any more.`, email],
    [`Assigned to ${email}.`, email],
    ['Note: Rack 3', email],
    ['It ended after 11 min.', null],
    ['The note was removed.', email],
  ])
})

test('the worst findings come first, and a finding that changes nothing tells nobody', async () => {
  const drifted = await add('drifted', {
    cluster_name: null,
    drift_since: new Date(backend.clock.now()),
    drift_seen: 'a',
  })
  const silent = await add('unreachable')
  await silence([silent])
  expect((await list()).map((f) => f.kind)).toEqual(['server_unreachable', 'server_drifted'])
  expect((await list({ severity: 'attention' })).map((f) => f.object.id)).toEqual([drifted])
  await backend.publish()
  const before = await db.selectFrom('event').select('id').execute()
  await findings.judge()
  await backend.publish()
  expect(await db.selectFrom('event').select('id').execute()).toHaveLength(before.length)
})

test('installations that failed stay with a server that its cluster let go, until one succeeds', async () => {
  const { id: cluster } = await db.selectFrom('cluster').select('id').executeTakeFirstOrThrow()
  const id = await add('worn')
  await db
    .insertInto('cluster_server')
    .values({
      cluster_id: cluster,
      node_id: id,
      name: 'worn',
      role: 'worker',
      position: 9,
      install_disk: '/dev/sda',
      install_image: '',
      at: 'install',
      at_since: new Date(backend.clock.now()),
    })
    .execute()
  const change = (columns: object) =>
    db.updateTable('cluster_server').set(columns).where('node_id', '=', id).execute()
  for (let i = 0; i < 5; i++) {
    await change({ failed_at: new Date(backend.clock.now()), failure: 'input/output error' })
    await change({ failed_at: null, failure: null })
  }
  await change({ released_at: new Date(backend.clock.now()) })
  await findings.judge()
  expect(await of(id)).toMatchObject([
    {
      kind: 'server_install_failed',
      severity: 'attention',
      reason: '5 installations failed here: input/output error.',
    },
  ])
  expect(await shownBy(id)).toMatchObject({ kind: 'server_install_failed' })
  await change({ secured_at: new Date(backend.clock.now()) })
  await findings.judge()
  expect(await of(id)).toEqual([])
})

test('a snapshot on request that failed is a finding until another is ready or it is removed, and a cancelled one changes nothing', async () => {
  const cluster = randomUUID()
  const place = await db.selectFrom('datacenter').select('id').executeTakeFirst()
  await buildCluster(backend, cluster, 'unsaved', place?.id)
  const at = () => new Date(backend.clock.now())
  const { id: store_id } = await db
    .insertInto('store')
    .values({ name: 's', kind: 'folder', folder: '/x', created_at: at(), updated_at: at() })
    .returning('id')
    .executeTakeFirstOrThrow()
  await db.updateTable('cluster').set({ ready_at: at() }).where('id', '=', cluster).execute()
  const add = async (status: 'failed' | 'ready' | 'removing') => {
    backend.clock.advance(60_000)
    const { id } = await db
      .insertInto('snapshot')
      .values({
        cluster_id: cluster,
        cluster_name: 'unsaved',
        store_id,
        object_key: randomUUID(),
        made_by: 'request',
        status,
        created_at: at(),
        updated_at: at(),
        ...(status === 'failed' && { reason: 'The store is full' }),
        ...(status === 'ready' && {
          taken_at: at(),
          verified_at: at(),
          sha256: '0'.repeat(64),
          size_bytes: 1,
          stored_bytes: 1,
        }),
      })
      .returning('id')
      .executeTakeFirstOrThrow()
    return id
  }
  const found = async () => {
    await findings.judge()
    return (await of(cluster)).map((f) => `${f.kind}: ${f.reason}`)
  }
  const failed =
    'cluster_snapshot_failed: The last snapshot failed: The store is full. No snapshot can be restored.'
  const id = await add('failed')
  expect(await found()).toEqual([failed])
  await add('removing')
  expect(await found()).toEqual([failed])
  await db.updateTable('snapshot').set({ status: 'removed' }).where('id', '=', id).execute()
  expect(await found()).toEqual([])
  await add('failed')
  expect(await found()).toEqual([expect.stringContaining('cluster_snapshot_failed')])
  await add('ready')
  expect(await found()).toEqual([])
})
