/**
 * A bad night: forty servers of a datacenter vanish, and with them two clusters; an etcd is full, an
 * API server stops, a disk breaks, an upgrade stops half way, a snapshot fails and a certificate is
 * near its end. It is observed without machines (`testing.ts`).
 */
import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, test, vi } from 'vitest'
import { channelCreate } from '#contract/alerts/channels.ts'
import { silenceCreate } from '#contract/alerts/silences.ts'
import { clusterGet, clusterList } from '#contract/clusters/clusters.ts'
import { findingAffected, type Finding, findingList } from '#contract/findings/findings.ts'
import { findingKinds } from '#contract/findings/kinds.ts'
import { historyList } from '#contract/history/history.ts'
import { incidentGet, incidentList } from '#contract/incidents/incidents.ts'
import { overviewGet } from '#contract/overview.ts'
import { serverGet, serverList } from '#contract/servers/servers.ts'
import { sharedPatchCreate, sharedPatchRemove } from '#contract/shared-patches/shared-patches.ts'
import { startBackend } from '../../testing/backend.ts'
import { whenFileIsOver } from '../../testing/ending.ts'
import { temporaryFolder } from '../../testing/folder.ts'
import { type Machine, observing } from './testing/observing.ts'

const settings = { STEELYARD_ALERT_NETWORKS: '127.0.0.0/8' }
const backend = await startBackend({ environment: settings })
/** A process that is killed each time a message of its own has arrived. */
const dying = await startBackend({
  beside: backend,
  clock: backend.clock,
  environment: { ...settings, FAILPOINT: 'deliver:after' },
})
const url = await backend.listen()
const admin = await backend.signIn({ lasts: true })
const viewer = await backend.signIn({ role: 'viewer', lasts: true })
const { clock } = backend
const { db } = backend.platform
const hourMs = 3_600_000
const now = () => new Date(clock.now())

/** What each channel received: path, id of the message, and what it tells: `began web`. */
const received: { channel: string; id: string; told: string[]; incidents: string[] }[] = []
const receiver = createServer((request, response) => {
  let body = ''
  request.setEncoding('utf8').on('data', (part: string) => (body += part))
  request.on('end', () => {
    const { data } = JSON.parse(body) as {
      data: {
        findings: { event: string; kind: string; object: { name: string }; incident_id: string }[]
      }
    }
    received.push({
      channel: request.url!.slice(1),
      id: String(request.headers['webhook-id']),
      told: data.findings.map((one) => `${one.event} ${one.kind} ${one.object.name}`),
      incidents: data.findings.map((one) => `${one.event} ${one.incident_id}`),
    })
    response.end()
  })
})
await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
whenFileIsOver(() => {
  receiver.closeAllConnections()
  receiver.close()
})
const channels = ['mobile', 'ticket']
for (const name of channels)
  await admin.call(channelCreate, {
    body: {
      name,
      kind: 'webhook',
      url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/${name}`,
      secret: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
    },
  })

const {
  add,
  cluster,
  datacenter,
  contacts,
  kubernetes,
  looks,
  stopUpgrade,
  schedule,
  certificates,
} = observing(backend)
const fra = await datacenter('FRA')
const ber = await datacenter('BER')
const lost = [await cluster('lost-a', fra.id, 5), await cluster('lost-b', fra.id, 5)]
const idle: Machine[] = []
for (let i = 1; i <= 24; i++) idle.push(await add(`idle-${i}`, fra.id))
for (let i = 1; i <= 5; i++) await add(`awake-${i}`, fra.id)
const [full, apiless, broken, halted, unsaved, ending] = [
  await cluster('full', ber.id),
  await cluster('apiless', ber.id),
  await cluster('broken', ber.id),
  await cluster('halted', ber.id),
  await cluster('unsaved', ber.id),
  await cluster('ending', ber.id),
]
const snapshot = await schedule(unsaved)
const vanishing = [...lost.flatMap(({ machines }) => machines), ...idle]

const open = async (query: object = {}) =>
  (await viewer.call(findingList, { query: { per_page: 100, ...query } })).answer!.items
const said = (f: Finding) => [f.severity, f.kind, f.object.name, f.reason, f.remedies[0]!.title]

const sleeps = vi.spyOn(clock, 'sleep')
whenFileIsOver(() => sleeps.mockRestore())
const sleepsOf = (ms: number) => sleeps.mock.calls.filter(([length]) => length === ms).length
/** Passes of the judgement in the background: it pauses for a second after each, and then rests. */
const passes = () => sleepsOf(1_000)
const rests = () => sleepsOf(14_000)
const domain = backend.domains.all.find((d) => d.name === 'findings')!

test(
  'a bad night is nine findings everywhere within forty seconds, told once per channel, and over when all is mended',
  { timeout: 600_000 },
  async () => {
    for (const machine of [full, apiless, broken]) await looks(machine)
    // What is lost was missing in two readings that are 20 s apart.
    await looks(apiless, { api: 'connection refused' })
    await looks(broken, { disk: '/dev/nvme1n1' })
    clock.advance(20_000)
    await domain.start!()
    whenFileIsOver(() => domain.stop!())
    await expect.poll(passes).toBe(1)

    for (let i = 0; i < vanishing.length; i += 10) {
      await contacts(vanishing.slice(i, i + 10), false)
      clock.advance(10)
    }
    for (const one of lost) await kubernetes(one, false)
    await looks(full, { alarm: 'nospace' })
    await looks(apiless, { api: 'connection refused' })
    await looks(broken, { disk: '/dev/nvme1n1' })
    const operationId = await stopUpgrade(halted)
    await snapshot('failed')
    const end = new Date(clock.now() + 20 * 24 * hourMs).toISOString()
    await certificates(ending, [
      { kind: 'etcd_ca', name: null, ends_at: end, reason: 'Replace it' },
    ])
    const silence = {
      note: 'known',
      cluster_ids: [lost[0]!.id],
      ends_at: new Date(clock.now() + 2 * hourMs).toISOString(),
    }
    expect(await admin.call(silenceCreate, { body: silence })).toMatchObject({ status: 201 })

    // A pass begins at the latest fifteen seconds after the last one.
    const before = { passes: passes(), rests: rests() }
    clock.advance(1_000)
    await expect.poll(() => rests() > before.rests || passes() > before.passes).toBe(true)
    clock.advance(14_000)
    await expect.poll(passes).toBeGreaterThan(before.passes)
    await domain.stop!()

    const found = await open()
    expect(found.map(said)).toEqual([
      [
        'down',
        'datacenter_silent',
        fra.code,
        `40 servers fell silent together at 12:00 UTC: of 2 clusters, 24 in no cluster; 5 other servers there answer.`,
        'Show the servers',
      ],
      ...['lost-a', 'lost-b'].map((name) => [
        'down',
        'cluster_quorum_lost',
        name,
        '3 of 3 control planes do not answer. The cluster is down.',
        'Open its health',
      ]),
      [
        'degraded',
        'cluster_etcd_full',
        'full',
        'etcd is full and refuses writes (alarm NOSPACE of full-1). A defragmentation frees unused space and clears the alarm.',
        'Defragment etcd',
      ],
      [
        'degraded',
        'cluster_api_server_down',
        'apiless',
        'The API server of apiless-2 is not ready: connection refused.',
        'Open its health',
      ],
      [
        'degraded',
        'server_disk_missing',
        'broken-3',
        '/dev/nvme1n1 of the server is gone: it broke or was taken out.',
        'Open the server',
      ],
      [
        'attention',
        'cluster_upgrade_stopped',
        'halted',
        '1 of 3 servers on Talos v1.14.1, stopped 12:00 UTC. halted-2 does not come back.',
        'Go on',
      ],
      [
        'attention',
        'cluster_snapshot_failed',
        'unsaved',
        'The last snapshot failed: The store refused the file: no space left. No snapshot can be restored.',
        'Take a snapshot',
      ],
      [
        'attention',
        'cluster_certificate_ending',
        'ending',
        expect.stringContaining('Authority of etcd'),
        'Look at the certificates',
      ],
    ])
    const [silent, first, second, ...six] = found as [Finding, Finding, Finding, ...Finding[]]
    expect(silent.affected).toEqual({ kind: 'server', count: 40 })
    const { items: affected } = (await viewer.call(findingAffected, { params: { id: silent.id } }))
      .answer!
    expect(affected.map((s) => s.id).toSorted()).toEqual(vanishing.map((m) => m.id).toSorted())
    expect(found.map((f) => f.caused_by)).toEqual([
      null,
      silent.id,
      silent.id,
      ...six.map(() => null),
    ])
    expect(six.find((f) => f.kind === 'cluster_upgrade_stopped')!.remedies[0]!.call).toBe(
      `POST /v1/operations/${operationId}/retry`,
    )

    // The overview shows the same findings and counts the silenced one. Lists and pages show the
    // worst of each object.
    const { attention } = (await viewer.call(overviewGet)).answer!
    expect(attention).toMatchObject({ total: 8, acknowledged: 0, silenced: 1 })
    const shownThere = attention!.groups.flatMap(({ items }) => items)
    expect(shownThere.toSorted((a, b) => (a.id < b.id ? -1 : 1))).toEqual(
      found.filter((f) => f !== first).toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    )
    const clusters = (await viewer.call(clusterList, { query: { per_page: 100 } })).answer!.items
    const ofClusters = [first, second, ...six].filter((f) => f.object.kind === 'cluster')
    expect(Object.fromEntries(clusters.map((c) => [c.name, c.finding?.id]))).toEqual({
      ...Object.fromEntries(ofClusters.map((f) => [f.object.name, f.id])),
      broken: undefined,
    })
    for (const one of clusters) {
      const page = (await viewer.call(clusterGet, { params: { id: one.id } })).answer!
      expect([page.status, page.finding]).toEqual([one.status, one.finding])
      expect(page.certificates_ending).toHaveLength(one.name === 'ending' ? 1 : 0)
      const { severity = 'attention' } = one.finding ?? {}
      expect([one.name, one.status]).toEqual([
        one.name,
        severity === 'attention' ? 'ready' : 'degraded',
      ])
    }
    const servers = (await viewer.call(serverList, { query: { per_page: 1000 } })).answer!.items
    const shown = Map.groupBy(servers, (s) => s.finding?.id ?? null)
    expect(
      shown
        .get(silent.id)!
        .map((s) => s.id)
        .toSorted(),
    ).toEqual(vanishing.map((m) => m.id).toSorted())
    const [disk] = await open({ kind: 'server_disk_missing' })
    expect(shown.get(disk!.id)!.map((s) => s.name)).toEqual(['broken-3'])
    expect([...shown.keys()].filter((id) => id !== null)).toHaveLength(2)
    expect(
      (await viewer.call(serverGet, { params: { id: disk!.object.id } })).answer!.finding,
    ).toMatchObject({ id: disk!.id, reason: disk!.reason })
    // A finding of a server stands under its cluster.
    expect((await open({ cluster: 'broken' })).map((f) => f.id)).toEqual([disk!.id])

    // The metrics and the command line say the same.
    const metrics = (await backend.app.inject({ url: '/metrics' })).body.split('\n')
    for (const { kind, severity, object } of found) {
      const n = found.filter((f) => f.kind === kind).length
      expect(metrics).toContain(
        `steelyard_findings{object="${object.kind}",kind="${kind}",severity="${severity}",acknowledged="false"} ${n}`,
      )
    }
    for (const { cluster: of, severity } of found.filter((f) => f.cluster !== null))
      expect(metrics).toContain(
        `steelyard_cluster_findings{cluster="${of!.name}",severity="${severity}"} 1`,
      )
    const cli = async (...words: string[]) => {
      const main = path.join(import.meta.dirname, '../../../../cli/src/main.ts')
      const env = {
        ...process.env,
        STEELYARD_URL: url,
        STEELYARD_TOKEN: viewer.accessToken,
        XDG_CONFIG_HOME: temporaryFolder('cli'),
      }
      return (await promisify(execFile)(process.execPath, [main, ...words], { env })).stdout
    }
    const [listed, table] = await Promise.all([cli('findings', '--json'), cli('cluster', 'list')])
    expect((JSON.parse(listed) as { items: Finding[] }).items).toEqual(found)
    // What needs attention leaves the cluster's word, and stands as its reason.
    for (const { kind, object } of ofClusters.filter((f) => f.severity !== 'attention'))
      expect(table).toMatch(new RegExp(`^${object.name} .*${findingKinds[kind].word}`, 'm'))

    // What is urgent goes out at once. The process dies after each message has arrived, and the other
    // one sends the same message again.
    await dying.engine.run(30_000)
    expect(received.map((one) => one.channel).toSorted()).toEqual(channels)
    await backend.engine.run(600_000)
    const sentTo = (channel: string) => received.filter((one) => one.channel === channel)
    // What a finding causes is part of its incident, and isn't told by itself.
    const causes = found.filter((f) => f.caused_by === null)
    const urgent = [silent, ...six.filter((f) => f.severity === 'degraded')]
    const began = (all: readonly Finding[]) => all.map((f) => `began ${f.kind} ${f.object.name}`)
    for (const channel of channels) {
      const [once, again, ...more] = sentTo(channel)
      expect(once!.told.toSorted()).toEqual(began(urgent).toSorted())
      expect(again).toEqual(once)
      expect(more).toEqual([])
    }
    // A silence ends in two hours, and what only needs attention is told in the morning.
    await backend.engine.run(20 * hourMs)
    const told = (channel: string) =>
      [...new Map(sentTo(channel).map((one) => [one.id, one])).values()].flatMap((one) => one.told)
    const counts = (channel: string, event: string) =>
      told(channel)
        .filter((one) => one.startsWith(event))
        .toSorted()
    for (const channel of channels) {
      expect(counts(channel, 'began')).toEqual(began(causes).toSorted())
      const ids = sentTo(channel).map((one) => one.id)
      expect(new Set(ids).size).toBe(ids.length - 1)
    }

    // Everything is mended.
    await contacts(vanishing, true)
    for (const one of lost) await kubernetes(one, true)
    for (const one of [full, apiless, broken]) await looks(one)
    await snapshot('ready')
    await certificates(ending, null)
    await db
      .updateTable('operation')
      .set({ status: 'done', reason: null })
      .where('id', '=', operationId)
      .execute()
    await db
      .updateTable('operation_step')
      .set({ status: 'done' })
      .where('operation_id', '=', operationId)
      .execute()
    await backend.domains.findings.judge()
    expect(await open()).toEqual([])
    const past = await open({ ended: 'true' })
    expect(past.map((f) => f.id).toSorted()).toEqual(found.map((f) => f.id).toSorted())
    expect(past.every((f) => f.ended_at === now().toISOString() && f.count === 1)).toBe(true)
    const mended = (await viewer.call(overviewGet)).answer!
    expect(mended.attention?.total).toBe(0)
    expect(mended.clusters.by_status).toEqual({ ready: 8 })
    expect((await backend.app.inject({ url: '/metrics' })).body).not.toContain(
      'steelyard_findings{',
    )
    await backend.engine.run(hourMs)
    for (const channel of channels)
      expect(counts(channel, 'ended')).toEqual(
        causes.map((f) => `ended ${f.kind} ${f.object.name}`).toSorted(),
      )

    // Their history is there.
    const entries = async (query: object) =>
      (await viewer.call(historyList, { query: { per_page: 500, sort: 'at', ...query } })).answer!
        .items
    for (const { object, kind } of found) {
      const kinds = (await entries({ object: object.id })).filter((e) =>
        e.kind.startsWith('finding'),
      )
      expect([kind, ...kinds.map((e) => e.kind)]).toEqual([kind, 'finding_began', 'finding_ended'])
    }
    const contactsOf = Map.groupBy(await entries({ kind: 'server_contact' }), (e) => e.object.id)
    for (const { id } of vanishing)
      expect(contactsOf.get(id)!.map((e) => e.message)).toEqual([
        expect.stringContaining('connection refused'),
        expect.any(String),
      ])
  },
)

test(
  'a full etcd, a dead worker, a vanished datacenter, a cut-off control plane and a shared patch that 40 servers are behind are five incidents in the order of effect, told once each, and once when they are over',
  { timeout: 600_000 },
  async () => {
    const shop = await cluster('shop', ber.id, 37)
    const [worker, cutOff] = [shop.machines[10]!, halted.machines[0]!]
    received.length = 0
    const { id: patchId } = (
      await admin.call(sharedPatchCreate, {
        body: {
          name: 'vlan-40',
          weight: 500,
          body: 'machine:\n  sysctls:\n    net.core.somaxconn: "1024"\n',
          targets: { labels: [], cluster_ids: [shop.id], roles: [], node_ids: [] },
        },
      })
    ).answer!
    await contacts([...vanishing, worker, cutOff], false)
    await looks(full, { alarm: 'nospace' })
    await backend.domains.findings.judge()

    const incidents = async () => (await viewer.call(incidentList, { query: {} })).answer!.items
    const all = await incidents()
    expect(all.map((i) => [i.effect, i.severity, i.title, i.parts.count])).toEqual([
      ['nobody_served', 'down', `40 servers of ${fra.code} do not answer`, 3],
      ['writes_refused', 'down', 'full refuses writes', 1],
      ['redundancy_gone', 'degraded', 'halted-1 does not answer', 1],
      ['one_server', 'degraded', 'shop-11 does not answer', 1],
      ['in_time', 'attention', '40 servers are behind the shared patch vlan-40', 40],
    ])
    expect(all[0]!.worst).toMatchObject({ kind: 'cluster_quorum_lost' })
    expect(all[1]!.remedies).toMatchObject([{ action: 'defragment' }])
    const ids = all.map(({ id }) => id)

    await backend.engine.run(24 * hourMs)
    const counts = (channel: string, event: string) =>
      received
        .filter((one) => one.channel === channel)
        .flatMap((one) => one.incidents.filter((text) => text.startsWith(event)))
        .toSorted()
    for (const channel of channels)
      expect(counts(channel, 'began')).toEqual(ids.map((id) => `began ${id}`).toSorted())
    expect((await incidents()).map(({ id }) => id)).toEqual(ids)

    await contacts([...vanishing, worker, cutOff], true)
    await looks(full)
    await admin.call(sharedPatchRemove, { params: { id: patchId } })
    await backend.domains.findings.judge()
    await backend.engine.run(2 * hourMs)
    // After a day, clusters without a snapshot need one; nothing else is left.
    expect((await incidents()).filter((i) => i.kind !== 'cluster_snapshot_overdue')).toEqual([])
    for (const channel of channels)
      expect(counts(channel, 'ended')).toEqual(ids.map((id) => `ended ${id}`).toSorted())
    const { story } = (await viewer.call(incidentGet, { params: { id: ids[1]! } })).answer!
    const told = story.flatMap(({ text }) => (text.startsWith('A reminder') ? [] : [text]))
    expect(told.toSorted()).toEqual([
      ...channels.map((name) => `A message went to ${name}.`),
      expect.stringContaining('It began. etcd is full'),
      'It ended after 24 h.',
      ...channels.map((name) => `${name} was told that it is over.`),
    ])
  },
)
