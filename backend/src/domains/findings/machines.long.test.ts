/**
 * Forty machines of a datacenter lose their power, and with them two clusters; a snapshot of a third
 * cluster fails. The machines are simulated, and what is found is what Steelyard learns from them.
 */
import { afterAll, expect, test } from 'vitest'
import { clusterList } from '#contract/clusters/clusters.ts'
import { findingAffected, type Finding, findingList } from '#contract/findings/findings.ts'
import { findingKinds } from '#contract/findings/kinds.ts'
import { historyList } from '#contract/history/history.ts'
import { overviewGet } from '#contract/overview.ts'
import { type Server, serverList } from '#contract/servers/servers.ts'
import { storeCreate } from '#contract/storage/stores.ts'
import { onEachMinor } from '../clusters/testing/minors.ts'
import { clusterWorld } from '../clusters/testing/world.ts'
import { s3Body, s3Service } from '../stores/testing/s3-service.ts'

onEachMinor(async (minor) => {
  const service = await s3Service()
  afterAll(() => service.stop())
  const world = await clusterWorld({
    minor,
    servers: 46,
    seed: 'bad-night',
    environment: { STEELYARD_STORE_NETWORKS: '127.0.0.0/8' },
  })
  const { admin, backend } = world
  const viewer = await backend.signIn({ role: 'viewer', lasts: true })

  /** A cluster of three control planes, or of one. */
  async function cluster(size: 1 | 3) {
    const nodes = world.take(size)
    const servers = nodes.map(({ id }) => ({ node_id: id, role: 'control_plane' as const }))
    const { cluster: made, operation } = await world.create(nodes, { servers })
    return { ...made, nodes, operation: operation.id }
  }
  /** Whether a version is out of support depends on the day of the test. */
  const open = async (query: object = {}) =>
    (await viewer.call(findingList, { query: { per_page: 100, ...query } })).answer!.items.filter(
      ({ kind }) => kind !== 'cluster_version_unsupported',
    )
  const judged = async () => {
    await backend.domains.findings.judge()
    return open()
  }
  /**
   * Free servers are contacted every two minutes of the monotonic clock. It moves in steps shorter
   * than the lease of contacts. The wall clock stays that of the machines, which refuse certificates
   * from the future.
   */
  const later = async () => {
    backend.clock.advance(5_000)
    backend.clock.jump(-5_000)
    return judged()
  }
  const entries = async (query: object) =>
    (await viewer.call(historyList, { query: { per_page: 500, sort: 'at', ...query } })).answer!
      .items
  const namesOf = (all: readonly { readonly name: string }[]) => all.map((s) => s.name).toSorted()

  test(
    'forty machines that lose their power are one finding, each cluster that lost its quorum has one, and a failed snapshot one; all end when they are mended, and their history is there',
    { timeout: 1_800_000 },
    async () => {
      const lost = [await cluster(3), await cluster(3)] as const
      const saved = await cluster(1)
      for (const { operation } of [...lost, saved])
        expect((await world.ended(operation)).status).toBe('done')
      const idle: Server[] = world.take(34)
      expect(await judged()).toEqual([])

      const gone = [...lost.flatMap(({ nodes }) => nodes), ...idle]
      expect(gone).toHaveLength(40)
      await Promise.all(gone.map((node) => world.machine(node).lifecycle.powerOff()))
      const silent = (found: readonly Finding[]) =>
        found.find((f) => f.kind === 'datacenter_silent')
      const found = await world.until(
        later,
        (all) => silent(all)?.affected?.count === 40 && all.length === 3,
      )
      const night = silent(found)!
      expect(night.reason).toMatch(
        /^40 servers fell silent together at \d\d:\d\d UTC: of 2 clusters, 34 in no cluster; 6 other servers there answer\.$/,
      )
      // Either of the two clusters may have been noticed first.
      const byName = found.toSorted((a, b) => (a.object.name < b.object.name ? -1 : 1))
      expect(byName.map((f) => [f.severity, f.kind, f.object.name, f.remedies[0]!.title])).toEqual([
        ['down', 'datacenter_silent', 'PL-POZ-1', 'Show the servers'],
        ...namesOf(lost).map((name) => ['down', 'cluster_quorum_lost', name, 'Open its health']),
      ])
      const quorums = found.filter((f) => f.kind === 'cluster_quorum_lost')
      for (const { caused_by, reason } of quorums) {
        expect(caused_by).toBe(night.id)
        expect(reason).toBe('3 of 3 control planes do not answer. The cluster is down.')
      }
      const { items: affected } = (await viewer.call(findingAffected, { params: { id: night.id } }))
        .answer!
      expect(namesOf(affected)).toEqual(namesOf(gone))
      const servers = (await viewer.call(serverList, { query: { per_page: 1000 } })).answer!.items
      expect(namesOf(servers.filter((s) => s.finding?.id === night.id))).toEqual(namesOf(gone))
      const clusters = (await viewer.call(clusterList, { query: {} })).answer!.items
      expect(Object.fromEntries(clusters.map((c) => [c.name, c.status]))).toEqual({
        [lost[0].name]: 'degraded',
        [lost[1].name]: 'degraded',
        [saved.name]: 'ready',
      })
      const { groups } = (await viewer.call(overviewGet)).answer!.attention!
      expect(groups.map((g) => [g.kind, g.count])).toEqual(
        expect.arrayContaining([
          ['datacenter_silent', 1],
          ['cluster_quorum_lost', 2],
        ]),
      )

      // The store refuses the snapshot of a cluster that is well.
      const bucket = (await admin.call(storeCreate, { body: s3Body(service) })).answer!.id
      service.trouble('refuses')
      const snapshot = () => world.change(saved.id, { kind: 'snapshot', store_id: bucket })
      const { id: failing } = await snapshot()
      const isOver = async () => {
        // Between its attempts the snapshot waits for longer than a test should.
        backend.clock.advance(5_000)
        return (await world.operation(failing)).status
      }
      await world.until(isOver, (status) => status === 'failed')
      const unsaved = (await judged()).find((f) => f.object.id === saved.id)
      expect(unsaved).toMatchObject({ kind: 'cluster_snapshot_failed', severity: 'attention' })
      expect(unsaved!.reason).toMatch(
        /^The last snapshot failed: The store .*\. No snapshot can be restored\.$/,
      )
      expect(unsaved!.remedies[0]!.title).toBe('Take a snapshot')

      // The power is back, and the store takes the next snapshot.
      for (const node of gone) world.machine(node).lifecycle.powerOn()
      service.trouble(null)
      expect((await world.ended((await snapshot()).id)).status).toBe('done')
      await world.until(later, ({ length }) => length === 0)
      expect(namesOf((await open({ ended: 'true' })).map((f) => f.object))).toEqual(
        expect.arrayContaining(namesOf([night.object, ...lost, saved])),
      )
      for (const { object, kind } of [night, ...quorums, unsaved!]) {
        const history = (await entries({ object: object.id })).filter((e) =>
          e.message.startsWith(findingKinds[kind].title),
        )
        expect([kind, ...history.map((e) => e.kind)]).toEqual([
          kind,
          'finding_began',
          'finding_ended',
        ])
      }
      const contacts = Map.groupBy(await entries({ kind: 'server_contact' }), (e) => e.object.id)
      for (const { id } of gone) expect(contacts.get(id)!.length).toBeGreaterThanOrEqual(2)
    },
  )
})
