/**
 * A Talos upgrade stops half way, and an authority is near its end. The machines are simulated, and
 * what is found is what Steelyard learns from them.
 */
import { expect, test } from 'vitest'
import { clusterPlan } from '#contract/clusters/changes/changes.ts'
import { clusterDelete, clusterGet, clusterList } from '#contract/clusters/clusters.ts'
import { clusterImport, clusterImportPreview } from '#contract/clusters/takeover.ts'
import { type Finding, findingList } from '#contract/findings/findings.ts'
import { findingKinds } from '#contract/findings/kinds.ts'
import { historyList } from '#contract/history/history.ts'
import { operationRetry } from '#contract/operations.ts'
import { overviewGet } from '#contract/overview.ts'
import { addFault, clearFaults } from '#simulator/src/machine/trouble.ts'
import { secretsOfControlPlane, writeSecrets } from '#talos/secrets/bundle.ts'
import { listedFindings } from '../../testing/overview.ts'
import { held, rotate } from '../clusters/takeover/testing.ts'
import { olderThan, onEachMinor } from '../clusters/testing/minors.ts'
import { clusterWorld } from '../clusters/testing/world.ts'

onEachMinor(async (minor) => {
  const older = olderThan(minor).talos
  const world = await clusterWorld({ minor, servers: 6, seed: 'half-way' })
  const { admin, backend, datacenterId } = world
  const viewer = await backend.signIn({ role: 'viewer', lasts: true })
  const dayMs = 24 * 3_600_000

  /** The findings of this kind that are open, or that have ended, after everything was judged. */
  const ofKind = async (kind: Finding['kind'], ended: 'true' | 'false' = 'false') => {
    await backend.domains.findings.judge()
    return (await viewer.call(findingList, { query: { kind, ended } })).answer!.items
  }
  const metrics = async () =>
    (await backend.app.inject({ url: '/metrics' })).body
      .split('\n')
      .filter((line) => /^steelyard_(?:cluster_)?findings\{/.test(line))
  async function linesOf({ kind, severity, object: { name } }: Finding) {
    // Whether a version is out of support as well depends on the day of the test.
    const all = (await viewer.call(findingList, { query: { cluster: name, severity } })).answer!
    return [
      `steelyard_findings{object="cluster",kind="${kind}",severity="${severity}",acknowledged="false"} 1`,
      `steelyard_cluster_findings{cluster="${name}",severity="${severity}"} ${all.total}`,
    ]
  }

  /** The cluster's row, its header, the overview and the metrics show the finding. */
  async function expectShown(finding: Finding) {
    const { id, kind, severity, since, reason, object } = finding
    const shown = { id, kind, severity, since, reason }
    const { items } = (await viewer.call(clusterList, { query: { per_page: 100 } })).answer!
    const row = items.find((c) => c.id === object.id)!
    const header = (await viewer.call(clusterGet, { params: { id: object.id } })).answer!
    for (const one of [row, header]) expect(one).toMatchObject({ status: 'ready', finding: shown })
    expect(listedFindings((await viewer.call(overviewGet)).answer)).toContainEqual(finding)
    expect(await metrics()).toEqual(expect.arrayContaining(await linesOf(finding)))
    return { row, header }
  }

  /** Nothing shows the finding any more, and the history has its beginning and its end. */
  async function expectOver(finding: Finding) {
    const { id, kind, object } = finding
    expect((await ofKind(kind, 'true')).map((f) => f.id)).toContain(id)
    const { items } = (await viewer.call(clusterList, { query: { per_page: 100 } })).answer!
    const header = (await viewer.call(clusterGet, { params: { id: object.id } })).answer!
    for (const one of [items.find((c) => c.id === object.id)!, header])
      expect([one.status, one.finding?.kind]).not.toContain(kind)
    const listed = listedFindings((await viewer.call(overviewGet)).answer)
    expect(listed.map((f) => f.id)).not.toContain(id)
    expect((await metrics()).filter((line) => line.includes(`kind="${kind}"`))).toEqual([])
    const past = (
      await viewer.call(historyList, { query: { object: object.id, per_page: 500, sort: 'at' } })
    ).answer!.items.filter((e) => e.message.startsWith(findingKinds[kind].title))
    expect(past.map((e) => e.kind)).toEqual(['finding_began', 'finding_ended'])
  }

  test(
    'a Talos upgrade that stops at the second server is a finding that says how far it came, until a retry upgrades all',
    { timeout: 900_000 },
    async () => {
      const nodes = world.take(4)
      const { cluster, operation } = await world.create(nodes, { talos_version: older })
      expect(await world.ended(operation.id)).toMatchObject({ status: 'done' })
      const change = { kind: 'upgradeTalos' as const, version: minor.version }
      const plan = await admin.call(clusterPlan, { params: { id: cluster.id }, body: { change } })
      const [first, second] = plan.answer!.groups.flatMap((g) => g.node_id ?? [])
      expect(first).toBe(nodes[3]!.id)
      const broken = nodes.find((n) => n.id === second)!
      await addFault(world.machine(broken), { kind: 'fail-upgrade', times: 100 })
      const { id } = await world.change(cluster.id, change)
      const failed = await world.ended(id)
      expect(failed.status).toBe('failed')

      const [found, ...more] = await ofKind('cluster_upgrade_stopped')
      expect(more).toEqual([])
      const stopped = `stopped ${failed.ended_at!.slice(11, 16)} UTC`
      expect(found).toMatchObject({
        severity: 'attention',
        object: { kind: 'cluster', id: cluster.id },
        since: failed.ended_at,
        reason: expect.stringMatching(
          `^1 of 4 servers on Talos ${minor.version}, ${stopped}\\. ${broken.name} could not write Talos ${minor.version}: the installer failed with exit code 1.*\\.$`,
        ),
        remedies: [
          { title: 'Go on', call: `POST /v1/operations/${id}/retry` },
          { action: 'timeline' },
        ],
      })
      const upgrade = { sentence: `1 of 4 on ${minor.version}, ${stopped}`, operation_id: id }
      for (const one of Object.values(await expectShown(found!)))
        expect(one).toMatchObject({ talos_version: older, upgrade })

      await clearFaults(world.machine(broken))
      expect(
        (await admin.call(operationRetry, { params: { id }, body: {} })).problem,
      ).toBeUndefined()
      expect(await world.ended(id)).toMatchObject({ status: 'done' })
      expect(nodes.map((n) => world.machine(n).talosVersion)).toEqual(Array(4).fill(minor.version))
      expect(await ofKind('cluster_upgrade_stopped')).toEqual([])
      await expectOver(found!)
      expect(await world.cluster(cluster.id)).toMatchObject({
        talos_version: minor.version,
        upgrade: null,
      })
    },
  )

  test(
    'a cluster is taken over whose authority expires in 20 days: that is a finding until the authority is rotated',
    { timeout: 900_000 },
    async () => {
      // The owner's cluster: Steelyard forgets it, and its Talos authority is one of ten years ago.
      const nodes = world.take(2)
      const addresses = nodes.map((n) => world.machine(n).plan.address)
      const made = await world.create(nodes)
      expect(await world.ended(made.operation.id)).toMatchObject({ status: 'done' })
      const params = { id: made.cluster.id }
      const keys = (await backend.domains.clusters.talosCredentials(params.id, {
        role: 'os:admin',
        lifetimeMs: 3_600_000,
      }))!
      const bundle = secretsOfControlPlane(await held(addresses[0]!, keys))
      const deleted = await admin.call(clusterDelete, { params, query: { force: 'true' } })
      await world.ended(deleted.answer!.operation.id)
      const endsAt = new Date(Date.now() + 20 * dayMs)
      const madeAt = new Date(endsAt.getTime() - 3650 * dayMs)
      const until: typeof world.until = (...asked) => world.until(...asked)
      const old = await rotate(addresses, bundle, until, madeAt)

      const body = {
        datacenter_id: datacenterId,
        secrets: writeSecrets(old),
        addresses: [addresses[0]!],
      }
      const { seen } = (await admin.call(clusterImportPreview, { body })).answer!
      const imported = await admin.call(clusterImport, { body: { ...body, name: 'ours', seen } })
      const { id } = imported.answer!.cluster
      const [found, ...more] = await world.until(
        () => ofKind('cluster_certificate_ending'),
        ({ length }) => length > 0,
      )
      expect(more).toEqual([])
      expect(found).toMatchObject({
        severity: 'attention',
        object: { kind: 'cluster', id, name: 'ours' },
        reason: `Certificates expire on ${endsAt.toISOString().slice(0, 10)}: Authority of the Talos API. Rotate it.`,
        remedies: [
          { title: 'Look at the certificates', call: `GET /v1/clusters/${id}/certificates` },
        ],
      })
      await expectShown(found!)

      const { id: rotation } = await world.change(id, { kind: 'rotate', what: 'talos_ca' })
      expect(await world.ended(rotation)).toMatchObject({ status: 'done', reason: null })
      // The certificates are read again at once, not hours later.
      await world.until(
        () => ofKind('cluster_certificate_ending'),
        ({ length }) => length === 0,
      )
      await expectOver(found!)
    },
  )
})
