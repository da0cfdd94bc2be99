import { describe, expect, test } from 'vitest'
import { operationRetry } from '#contract/operations.ts'
import {
  clusterEvents,
  clusterServerFailure,
  clusterServerReplace,
} from '#contract/clusters/clusters.ts'
import { serverConfirm, serverEvents } from '#contract/servers/servers.ts'
import { TAKES } from '#simulator/src/machine/durations.ts'
import { addFault, clearFaults } from '#simulator/src/machine/trouble.ts'
import { longTests, spread } from '../../../../../tools/testing/length.ts'
import { longTest } from '../../../../../tools/testing/long-test.ts'
import { onEachMinor } from '../testing/minors.ts'
import { clusterWorld } from '../testing/world.ts'

// Each case creates its own cluster in a shared world, several at a time.
const kinds = ['refuse', 'hang', 'garbage', 'drip'] as const
const stages = ['maintenance', 'installing', 'rebooting', 'booting'] as const
onEachMinor(async (minor) => {
  const world = await clusterWorld({ minor, servers: longTests ? 70 : 16 })
  const { admin } = world
  // Since Talos 1.14 a failed installation goes on from memory, without a restart.
  const goesOn = minor.minor !== '1.13'
  // It installs itself while it boots.
  const exists = (stage: string): boolean => !goesOn || stage !== 'installing'

  /** One control plane and one worker, one of which has a temporary fault. */
  describe.concurrent('a temporary fault of a server only delays the creation of its cluster', () => {
    for (const stage of stages.filter(exists)) {
      for (const kind of kinds) {
        longTest(
          `a cluster becomes ready despite the fault ${kind} at stage ${stage}`,
          { timeout: 600_000 },
          async () => {
            const nodes = world.take(2)
            const [controlPlane, worker] = nodes
            const ill = kinds.indexOf(kind) % 2 === 0 ? controlPlane! : worker!
            await addFault(world.machine(ill), { kind, stage, for_ms: 150_000 })
            const { cluster, operation } = await world.create(nodes)
            const end = await world.ended(operation.id)
            expect(end).toMatchObject({ status: 'done', reason: null })
            expect(await world.recovered(cluster.id)).toMatchObject({ status: 'ready' })
            expect(world.etcds(cluster.name)).toBe(1)
            for (const node of nodes)
              expect(world.machine(node).disk.state.counters.installs).toBe(1)
          },
        )
      }
    }

    for (const stage of spread(stages.filter(exists), 1)) {
      longTest(
        `a creation continues after a server loses power at stage ${stage} and is switched on again`,
        { timeout: 600_000 },
        async () => {
          const nodes = world.take(2)
          const ill = nodes[stages.indexOf(stage) % 2]!
          await addFault(world.machine(ill), { kind: 'vanish', stage })
          const { cluster, operation } = await world.create(nodes)
          const waits = await world.until(
            () => world.operation(operation.id),
            (o) =>
              o.steps.some(
                (s) =>
                  s.node_id === ill.id &&
                  s.status === 'waiting' &&
                  /does not answer|last seen \d\d:\d\d UTC|not seen yet/.test(s.reason ?? ''),
              ) && !world.machine(ill).isOn,
          )
          expect(waits.status).toBe('running')
          world.machine(ill).lifecycle.powerOn()
          expect((await world.ended(operation.id)).status).toBe('done')
          expect(world.etcds(cluster.name)).toBe(1)
        },
      )
    }

    test(
      'if the response to a configuration is lost, the same bytes are sent again and Talos is installed once',
      { timeout: 600_000 },
      async () => {
        const nodes = world.take(2)
        await addFault(world.machine(nodes[0]!), {
          kind: 'lost-reply',
          method: 'ApplyConfiguration',
          times: 1,
        })
        await addFault(world.machine(nodes[1]!), { kind: 'close-after-apply', times: 1 })
        const { operation } = await world.create(nodes)
        expect((await world.ended(operation.id)).status).toBe('done')
        for (const node of nodes) expect(world.machine(node).disk.state.counters.installs).toBe(1)
      },
    )

    longTest(
      'if the response to the bootstrap is lost, etcd is still created only once',
      { timeout: 600_000 },
      async () => {
        const nodes = world.take(3)
        for (const node of nodes)
          await addFault(world.machine(node), { kind: 'lost-reply', method: 'Bootstrap', times: 1 })
        const { cluster, operation } = await world.create(nodes, {
          servers: nodes.map((n) => ({ node_id: n.id, role: 'control_plane' })),
        })
        expect((await world.ended(operation.id)).status).toBe('done')
        expect(world.etcds(cluster.name)).toBe(1)
        expect(
          nodes.reduce((calls, n) => calls + world.machine(n).disk.state.counters.bootstraps, 0),
        ).toBe(1)
      },
    )

    longTest(
      'without time servers the cluster does not start, and each server reports that it waits for the time',
      { timeout: 600_000 },
      async () => {
        const nodes = world.take(2)
        for (const node of nodes) await addFault(world.machine(node), { kind: 'time', off_ms: 0 })
        const { operation } = await world.create(nodes)
        const says = (key: string, words: RegExp) =>
          world.until(
            () => world.operation(operation.id),
            (o) =>
              o.steps.some(
                (s) => s.key === key && s.status === 'waiting' && words.test(s.reason ?? ''),
              ),
          )
        await says('bootstrap', /^etcd cannot be started on .* yet: Waiting for .*time sync/)
        await says(`etcd/${nodes[0]!.id}`, /time is not synced/)
        await clearFaults(world.machine(nodes[0]!))
        await says(`join/${nodes[1]!.id}`, /^Waiting to be Ready in Kubernetes: time is not synced/)
        await clearFaults(world.machine(nodes[1]!))
        expect((await world.ended(operation.id)).status).toBe('done')
      },
    )

    for (const { off, words } of [
      {
        off: 61,
        words:
          / answers, but by its certificate its clock is at least 6[01] minutes ahead of ours$/,
      },
      {
        off: -61,
        words:
          / answers, but by its certificate its clock is between 5\d minutes and 6\d minutes behind ours$/,
      },
    ])
      longTest(
        `if the clock of a server is off by ${off} minutes, the step says so, and the creation continues after the clock is set`,
        { timeout: 600_000 },
        async () => {
          const nodes = world.take(2)
          const [controlPlane] = nodes
          await addFault(world.machine(controlPlane!), { kind: 'time', off_ms: off * 60_000 })
          const { cluster, operation } = await world.create(nodes)
          await world.until(
            () => world.operation(operation.id),
            (o) =>
              o.steps.some(
                (s) => s.key === `boot/${controlPlane!.id}` && words.test(s.reason ?? ''),
              ),
          )
          await clearFaults(world.machine(controlPlane!))
          expect((await world.ended(operation.id)).status).toBe('done')
          expect(world.etcds(cluster.name)).toBe(1)
        },
      )

    test(
      'Talos is installed on the chosen disk even if disk names have changed',
      { timeout: 600_000 },
      async () => {
        const node = world.take(6).find((n) => {
          const [first, second] = world.machine(n).hardware.disks
          return first !== undefined && second?.transport === first.transport
        })!
        const machine = world.machine(node)
        const meant = machine.hardware.disks[0]!
        const { operation } = await world.create([node], {
          servers: [
            { node_id: node.id, role: 'control_plane', install_disk: `/dev/${meant.name}` },
          ],
        })
        await addFault(machine, { kind: 'disks', what: 'swapped' })
        expect((await world.ended(operation.id)).status).toBe('done')
        const on = machine.hardware.disks.find(({ name }) => name === machine.systemDisk)!
        expect(on.name).not.toBe(meant.name)
        expect(on.wwid).toBe(meant.wwid)
      },
    )

    test(
      "if Talos can't be installed on a server, its events and log show why, and a replacement continues the creation",
      { timeout: 600_000 },
      async () => {
        const nodes = world.take(2)
        const [spare] = world.take(1)
        const ill = nodes[1]!
        // Talos 1.14 tries a pull again by itself, until half an hour has brought nothing new.
        const how = goesOn
          ? {
              fault: { kind: 'fail-install', times: 1_000, when: 'boot-loader' } as const,
              attempt: /^Talos was not installed, attempt \d of 5: .*failed to install bootloader/,
              ends: 'was reset and installed again, with the same result',
              log: /failed to install bootloader/,
            }
          : {
              fault: { kind: 'no-image' } as const,
              attempt: /^Talos was not installed, attempt 4 of 5: failed to pull image /,
              ends: 'after 5 installations',
              // Talos tells the error of a pull once, and each attempt.
              log: /retrying error: failed to pull image|fetch failed error=failed to do request/,
            }
        await addFault(world.machine(ill), how.fault)
        const { cluster, operation } = await world.create(nodes)
        const member = () =>
          world.backend.platform.db
            .selectFrom('cluster_server')
            .select('trouble')
            .where('node_id', '=', ill.id)
            .executeTakeFirst()
        // A busy machine may miss what Talos says during a short simulated boot.
        await world.until(member, (m) => m !== undefined && m.trouble !== null)
        // Each attempt takes long, so three of the five are skipped.
        await world.backend.platform.db
          .updateTable('cluster_server')
          .set({ sends: 4 })
          .where('node_id', '=', ill.id)
          .execute()
        const end = await world.ended(operation.id)
        expect(end.reason).toContain(how.ends)

        await world.backend.publish()
        const mine = (
          await admin.call(serverEvents, { params: { id: ill.id } })
        ).answer!.items.filter((e) => e.source === 'steelyard')
        const failures = mine.filter((e) => e.type === 'server.install_failed')
        expect(failures.map((e) => e.message)).toContainEqual(expect.stringMatching(how.attempt))
        expect(mine.find((e) => e.type === 'server.failed')?.message).toContain(how.ends)
        const ofCluster = (await admin.call(clusterEvents, { params: { id: cluster.id } })).answer!
          .items
        expect(ofCluster.find((e) => e.type === 'cluster.server_failed')?.message).toContain(
          ill.name,
        )

        const { log, reason } = (
          await admin.call(clusterServerFailure, { params: { id: cluster.id, node_id: ill.id } })
        ).answer!
        expect(reason).toBe(end.steps.find((s) => s.status === 'failed')!.reason)
        // The log is from the boot that installed Talos, not from the later boot in maintenance.
        expect(log?.lines.join('\n')).toMatch(how.log)
        expect(log?.lines.join('\n')).not.toContain('talosctl apply-config')

        const replaced = await admin.call(clusterServerReplace, {
          params: { id: cluster.id, node_id: ill.id },
          body: { node_id: spare!.id },
        })
        const begun = replaced.answer!.operation
        const before = new Map(end.steps.map((s) => [s.key, s]))
        // Completed steps of the creation are shown as done from the start.
        const secrets = begun.steps.find((s) => s.key === 'secrets')
        expect(secrets).toEqual(before.get('secrets'))
        for (const node of nodes.slice(0, 1))
          expect(begun.steps.find((s) => s.key === `join/${node.id}`)).toEqual(
            before.get(`join/${node.id}`),
          )
        expect(
          begun.steps.filter((s) => s.node_id === spare!.id).every((s) => s.status === 'todo'),
        ).toBe(true)
        const done = await world.ended(begun.id)
        expect({
          status: done.status,
          left: done.steps.filter((s) => s.status !== 'done' && s.status !== 'skipped'),
        }).toEqual({ status: 'done', left: [] })
        expect((await world.cluster(cluster.id)).former_servers).toEqual([
          { node_id: ill.id, name: ill.name, role: 'worker' },
        ])
        // The reason is kept after the server has left.
        expect(
          (await admin.call(clusterServerFailure, { params: { id: cluster.id, node_id: ill.id } }))
            .answer!.log,
        ).toEqual(log)
      },
    )

    test(
      'after an installation that failed halfway, only the chosen disk is wiped, and Talos is installed on it again',
      { timeout: 600_000 },
      async () => {
        const nodes = world.take(1)
        const machine = world.machine(nodes[0]!)
        // The machine shows why it failed until that was read, however busy this computer is.
        const isRead = Promise.withResolvers<void>()
        const takes = machine.takes.bind(machine)
        machine.takes = async (ms, signal) => {
          if (ms === TAKES.failedSequence) await isRead.promise
          await takes(ms, signal)
        }
        await addFault(machine, { kind: 'fail-install', times: 1, when: 'after-partitioning' })
        const { cluster, operation } = await world.create(nodes)
        const step = (key: string) =>
          world
            .operation(operation.id)
            .then((o) => o.steps.find((s) => s.key === `${key}/${nodes[0]!.id}`)!)
        const member = () =>
          world.backend.platform.db
            .selectFrom('cluster_server')
            .select(['install_disk', 'disk_wwids', 'trouble'])
            .where('node_id', '=', nodes[0]!.id)
            .executeTakeFirst()
        await world.until(member, (one) => (one?.trouble ?? null) !== null)
        isRead.resolve()
        const said = await world.until(
          () => step(goesOn ? 'install' : 'apply'),
          (s) => /half installed|runs Talos from memory/.test(s.reason ?? ''),
        )
        expect(said.reason).toMatch(
          /: task "upgrade" failed: exit code 1: failed to install bootloader: .*input\/output error\. (?:The disk is wiped|It is reset)/,
        )
        const { install_disk, disk_wwids } = (await member())!
        const wwid = disk_wwids[install_disk]!
        expect((await world.ended(operation.id)).status).toBe('done')
        // A reset wipes the disk with META.
        expect(machine.disk.state.wiped).toEqual(
          goesOn ? undefined : [machine.hardware.disks.find((d) => d.wwid === wwid)!.name],
        )
        expect(machine.disk.state).toMatchObject({ counters: { installs: 1, failedInstalls: 1 } })
        expect(machine.bootedFromDisk).toBe(true)
        expect(world.etcds(cluster.name)).toBe(1)
        const effects = await world.backend.platform.db
          .selectFrom('effect')
          .select('name')
          .execute()
        expect(effects.map((e) => e.name)).toContain(
          `${goesOn ? 'reset-install' : 'wipe-disk'}/${nodes[0]!.id}/${wwid}`,
        )
      },
    )

    longTest('a failed installation is retried', { timeout: 600_000 }, async () => {
      const nodes = world.take(2)
      // Before it has made partitions, Talos 1.14 tries again by itself.
      await addFault(world.machine(nodes[1]!), {
        kind: 'fail-install',
        times: 1,
        when: goesOn ? 'after-partitioning' : 'before-partitioning',
      })
      const { operation } = await world.create(nodes)
      const sent = () =>
        world.backend.platform.db
          .selectFrom('cluster_server')
          .select(['sends', 'send_intent_at'])
          .where('node_id', '=', nodes[1]!.id)
          .executeTakeFirstOrThrow()
      const first = await world.until(sent, ({ sends }) => sends === 1)
      const end = await world.ended(operation.id)
      expect(end.status).toBe('done')
      expect(end.steps.find((s) => s.key === `apply/${nodes[1]!.id}`)!.attempt).toBeGreaterThan(1)
      // `send_intent_at` is the time of the last attempt to send a configuration. A release waits
      // while the server may still apply the configuration.
      expect((await sent()).send_intent_at!.getTime()).toBeGreaterThan(
        first.send_intent_at!.getTime(),
      )
    })
  })

  describe.concurrent('a server whose hardware has changed receives nothing, and the others continue', () => {
    test(
      'the creation fails if other hardware answers; after the original machine is back, a retry continues the creation',
      { timeout: 600_000 },
      async () => {
        const nodes = world.take(2)
        const ill = nodes[1]!
        const machine = world.machine(ill)
        const { cluster, operation } = await world.withOtherHardware(ill, () => world.create(nodes))
        const end = await world.ended(operation.id)
        expect(end).toMatchObject({ status: 'failed', reason: expect.stringContaining(ill.name) })
        expect(machine.disk.state.counters.applies).toBe(0)
        expect(await world.cluster(cluster.id)).toMatchObject({
          status: 'failed',
          reason: expect.stringMatching(/[Oo]ther hardware/),
        })
        // The control plane becomes Ready without waiting for the failed server.
        expect(
          end.steps.filter((s) => s.key.startsWith('join/') && s.status === 'done'),
        ).toHaveLength(1)

        expect(await world.server(ill.id)).toMatchObject({
          identity: { state: 'changed' },
          talos: { reachable: false },
        })
        // The original machine is put back, and a user confirms it.
        machine.disk.change((state) => (state.identitySalt = ''))
        machine.journal.changed()
        const { uuid, serial } = ill.identity
        expect(
          (
            await admin.call(serverConfirm, {
              params: { id: ill.id },
              body: { uuid: uuid!, serial: serial! },
            })
          ).problem,
        ).toBeUndefined()
        const retried = await admin.call(operationRetry, { params: { id: operation.id } })
        expect(retried.status).toBe(200)
        expect((await world.ended(operation.id)).status).toBe('done')
        expect(await world.recovered(cluster.id)).toMatchObject({ status: 'ready' })
        expect(world.etcds(cluster.name)).toBe(1)
      },
    )

    longTest(
      'a failed server is replaced, and the creation continues without starting over',
      { timeout: 600_000 },
      async () => {
        const nodes = world.take(4)
        const [spare] = world.take(1)
        const ill = nodes[3]!
        const { cluster, operation } = await world.withOtherHardware(ill, () => world.create(nodes))
        await world.ended(operation.id)
        const bundles = world.etcds(cluster.name)
        const replaced = await admin.call(clusterServerReplace, {
          params: { id: cluster.id, node_id: ill.id },
          body: { node_id: spare!.id },
        })
        expect(replaced.status).toBe(202)
        expect((await world.ended(replaced.answer!.operation.id)).status).toBe('done')
        const after = await world.cluster(cluster.id)
        expect(after).toMatchObject({ status: 'ready', control_planes: 3, workers: 1 })
        expect(after.servers.map((s) => s.name)).toContain(spare!.name)
        expect(world.etcds(cluster.name)).toBe(bundles)
        // The replaced server never received a configuration, so it is free at once.
        expect(await world.server(ill.id)).toMatchObject({ cluster: null, operation_id: null })
        await clearFaults(world.machine(ill))
      },
    )
  })
})
