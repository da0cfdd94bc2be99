import { rename } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { clusterChange } from '#contract/clusters/changes/changes.ts'
import { snapshotList, snapshotRemove } from '#contract/clusters/changes/snapshots.ts'
import { clusterServerFailure } from '#contract/clusters/clusters.ts'
import { historyList } from '#contract/history/history.ts'
import { operationCancel, operationRetry } from '#contract/operations.ts'
import { storeCreate } from '#contract/storage/stores.ts'
import { addFault, clearFaults } from '#simulator/src/machine/trouble.ts'
import { longTests } from '../../../../../tools/testing/length.ts'
import { longTest } from '../../../../../tools/testing/long-test.ts'
import { clusterWorld } from '../../clusters/testing/world.ts'
import { olderThan, onEachMinor } from '../../clusters/testing/minors.ts'
import { stepsThat, upgradeWorld } from './testing.ts'

onEachMinor(async (minor) => {
  const older = olderThan(minor).talos
  const world = await clusterWorld({ minor, servers: longTests ? 6 : 3 })
  const { admin } = world
  const { ready: readyWith, plan, versions, upgrades, cordoned } = upgradeWorld(world)
  const ready = (count: number) => readyWith(count, { talos_version: older })
  const upgrade = { kind: 'upgradeTalos' as const, version: minor.version }

  describe('a control plane and a worker', async () => {
    const { nodes, cluster } = await ready(2)

    test(
      'an upgrade is refused while a member of etcd has an alarm, and while a server does not answer',
      { timeout: 600_000 },
      async () => {
        await addFault(world.machine(nodes[0]!), { kind: 'etcd-alarm', alarm: 'nospace' })
        expect(
          (await plan(cluster.id, upgrade)).checks.find((c) => c.check === 'etcd'),
        ).toMatchObject({
          ok: false,
          message: expect.stringContaining('NOSPACE'),
        })
        await clearFaults(world.machine(nodes[0]!))
        const { id } = await world.change(cluster.id, { kind: 'defragment' })
        expect(await world.ended(id)).toMatchObject({ status: 'done' })
        await world.machine(nodes[1]!).lifecycle.powerOff()
        const called = await admin.call(clusterChange, {
          params: { id: cluster.id },
          body: { change: upgrade },
        })
        expect(called.problem).toMatchObject({
          code: 'transition_refused',
          error: expect.stringContaining(`${nodes[1]!.name} does not answer`),
        })
        world.machine(nodes[1]!).lifecycle.powerOn()
        await world.until(
          () => plan(cluster.id, upgrade),
          ({ checks }) => checks.every((c) => c.ok),
        )
      },
    )

    test(
      'a canary that comes back with its old version stops the upgrade and is uncordoned, and a retry upgrades it',
      { timeout: 600_000 },
      async () => {
        const [controlPlane, canary] = nodes
        await addFault(world.machine(canary!), { kind: 'bad-boot', times: 1 })
        const { id } = await world.change(cluster.id, { ...upgrade, canary: canary!.id })
        const failed = await world.ended(id)
        expect(failed).toMatchObject({
          status: 'failed',
          reason: expect.stringMatching(
            `^${canary!.name} came back with Talos ${older} instead of ${minor.version}`,
          ),
        })
        expect(stepsThat(failed, 'failed')).toEqual(['upgrade'])
        expect(versions(nodes)).toEqual([older, older])
        expect(upgrades([controlPlane!])).toEqual([0])
        expect(cordoned(controlPlane!)).toEqual([])
        expect((await world.cluster(cluster.id)).talos_version).toBe(older)
        const kept = (
          await admin.call(clusterServerFailure, {
            params: { id: cluster.id, node_id: canary!.id },
          })
        ).answer!
        expect(kept.reason).toContain(`came back with Talos ${older}`)
        const past = await admin.call(historyList, {
          query: { object: canary!.id, kind: 'server_boot', per_page: 50 },
        })
        expect(past.answer!.items).toMatchObject([
          { has_log: true, operation: { id }, message: expect.stringContaining(kept.reason!) },
        ])

        expect(
          (await admin.call(operationRetry, { params: { id }, body: {} })).problem,
        ).toBeUndefined()
        const done = await world.ended(id)
        expect(done).toMatchObject({ status: 'done' })
        // The canary ran workload again after the failure, so the retry has moved that away before the
        // restart.
        expect(done.steps.find((s) => s.key === `drain/${canary!.id}`)).toMatchObject({
          status: 'done',
          attempt: 2,
        })
        expect(versions(nodes)).toEqual([minor.version, minor.version])
        expect(cordoned(controlPlane!)).toEqual([])
      },
    )
  })

  longTest(
    'a failed installer stops the upgrade before the drain, and its own message is the reason',
    { timeout: 600_000 },
    async () => {
      const { nodes, cluster } = await ready(2)
      const worker = nodes[1]!
      await addFault(world.machine(worker), { kind: 'fail-upgrade', times: 100 })
      const { id } = await world.change(cluster.id, upgrade)
      const failed = await world.ended(id)
      expect(failed).toMatchObject({
        status: 'failed',
        reason: expect.stringContaining(
          `could not write Talos ${minor.version}: the installer failed with exit code 1`,
        ),
      })
      expect(stepsThat(failed, 'done')).toEqual(['image'])
      expect(upgrades(nodes)).toEqual([0, 0])
      await clearFaults(world.machine(worker))
      await admin.call(operationRetry, { params: { id }, body: {} })
      expect(await world.ended(id)).toMatchObject({ status: 'done' })
    },
  )

  longTest('a machine that writes an image says how far it is', { timeout: 600_000 }, async () => {
    const { nodes, cluster } = await ready(1)
    const [node] = nodes
    await addFault(world.machine(node!), { kind: 'hang-upgrade' })
    const { id } = await world.change(cluster.id, upgrade)
    const said = new Set<string>()
    await world.until(
      () => world.operation(id),
      ({ steps }) => {
        const { reason } = steps.find((s) => s.key === `write/${node!.id}`)!
        if (reason !== null) said.add(reason)
        return (
          reason ===
          `${node!.name} writes Talos ${minor.version}: running Talos installer ${minor.version}`
        )
      },
    )
    for (const reason of said)
      expect(reason).toMatch(
        new RegExp(
          ` (pulls Talos ${minor.version}: \\d+ of 80 MiB|unpacks Talos ${minor.version}|writes Talos ${minor.version}: .*)$`,
        ),
      )
    await clearFaults(world.machine(node!))
    expect(await world.ended(id)).toMatchObject({ status: 'done' })
  })

  test(
    'a snapshot is taken first and once: neither a broken store nor an image that the machine can not pull lets the upgrade begin',
    { timeout: 600_000 },
    async () => {
      const { nodes, cluster } = await ready(1)
      const [node] = nodes
      const none = await plan(cluster.id, upgrade)
      expect(none.warnings).toContain(
        'No snapshot of etcd is taken before the upgrade. There is no store yet: an admin can add one, in the console or by steelyard store add',
      )
      expect(none.groups[0]!.steps.map((s) => s.key)).toEqual(['image'])

      const folder = path.join(world.backend.config.dataFolder, 'stores/disk')
      const body = { name: 'disk', kind: 'folder' as const, folder }
      const store = (await admin.call(storeCreate, { body })).answer!
      const first = {
        key: `snapshot/${store.id}`,
        title: expect.stringContaining('disk') as string,
      }
      expect((await plan(cluster.id, upgrade)).groups[0]).toMatchObject({
        node_id: null,
        steps: [first],
      })
      expect((await plan(cluster.id, { ...upgrade, snapshot: false })).groups).toEqual(none.groups)
      const unknown = await plan(cluster.id, { ...upgrade, store_id: cluster.id })
      expect(unknown.checks.find((c) => !c.ok)?.message).toBe(`There is no store ${cluster.id}`)

      // The folder looks like one whose disk is not mounted.
      const mark = path.join(folder, 'steelyard-store')
      await rename(mark, `${mark}.away`)
      const kept = async () => (await admin.call(snapshotList, { query: {} })).answer!.items
      const failedOnce = (n: number) =>
        world.until(kept, (all) => all.some((s) => s.reason?.startsWith(`Attempt ${n} of 4`)))
      const cancelled = await world.change(cluster.id, upgrade)
      await failedOnce(1)
      await admin.call(operationCancel, { params: { id: cancelled.id } })
      expect(await world.ended(cancelled.id)).toMatchObject({
        status: 'cancelled',
        reason: expect.stringMatching(
          /^Cancelled after 0 of \d+ steps\. Take a snapshot of etcd into/,
        ),
      })
      await world.toNextRun('snapshot', `${cluster.id}/${cancelled.id}`)
      await rename(`${mark}.away`, mark)
      await world.until(kept, (all) => all.length === 0)

      await rename(mark, `${mark}.away`)
      const { id } = await world.change(cluster.id, upgrade)
      await failedOnce(1)
      await admin.call(snapshotRemove, { params: { id } })
      expect((await world.ended(id)).reason).toMatch(
        /^The snapshot was removed before it was ready\. Nothing was upgraded\. /,
      )
      // A retry takes another one, although the file of the first can't be removed yet.
      await admin.call(operationRetry, { params: { id }, body: {} })
      const second = await world.until(
        async () => (await kept()).find((s) => s.status === 'taking')?.id,
        (found) => found !== undefined,
      )
      for (const attempt of [1, 2, 3]) {
        await failedOnce(attempt)
        await world.toNextRun('snapshot', `${cluster.id}/${second}`)
      }
      const failed = await world.ended(id)
      expect(failed).toMatchObject({
        status: 'failed',
        reason: expect.stringMatching(
          /steelyard-store.*\. Nothing was upgraded\. Solve this problem and retry, or request the upgrade again, with or without a snapshot$/,
        ),
      })
      expect(stepsThat(failed, 'done')).toEqual([])
      expect((await plan(cluster.id, upgrade)).warnings.at(-1)).toMatch(
        /^The last use of the store disk failed: .*\. If the snapshot can't be taken, nothing is upgraded$/,
      )

      await rename(`${mark}.away`, mark)
      await addFault(world.machine(node!), { kind: 'image-missing', image: `:${minor.version}` })
      await admin.call(operationRetry, { params: { id }, body: {} })
      expect(await world.ended(id)).toMatchObject({
        status: 'failed',
        reason: expect.stringMatching(/could not write .*not found/),
      })
      expect(versions(nodes)).toEqual([older])
      await world.toNextRun('snapshot', `${cluster.id}/${id}`)
      const [snapshot, ...others] = await world.until(kept, (all) => all.length === 1)
      expect(snapshot).toMatchObject({
        id: second,
        status: 'ready',
        purpose: `Before the upgrade to Talos ${minor.version}`,
        created_by: failed.created_by,
      })
      expect(others).toEqual([])

      await clearFaults(world.machine(node!))
      await admin.call(operationRetry, { params: { id }, body: {} })
      expect(await world.ended(id)).toMatchObject({ status: 'done' })
      expect(versions(nodes)).toEqual([minor.version])
      expect(await kept()).toEqual([snapshot])
    },
  )
})
