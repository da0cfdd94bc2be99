/**
 * Kills the program while servers are added to a running cluster, are removed, are replaced or
 * change their role.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import type { ClusterChangeInput } from '#contract/clusters/changes/changes.ts'
import { type Cluster, clusterCreate, clusterGet } from '#contract/clusters/clusters.ts'
import { type Server, serverGet } from '#contract/servers/servers.ts'
import { changedAt, type Installation } from '../killing.ts'
import { ended, patiently } from '../world.ts'

export const killChangesOfMembers = (installation: Installation): void =>
  void describe('members of a cluster', () => {
    const { site, call } = installation
    let nodes: readonly Server[] = []
    let cluster: Cluster
    const node = (i: number): Server => nodes[i]!

    beforeAll(async () => {
      nodes = await site.take(call, 6)
      // The endpoint is a DNS name, so that any control plane can leave.
      const servers = nodes.slice(0, 4).map(({ id }, i) => ({
        node_id: id,
        role: i < 3 ? ('control_plane' as const) : ('worker' as const),
      }))
      const made = await call(clusterCreate, {
        body: {
          name: 'lives',
          datacenter_id: site.datacenterId,
          endpoint: 'kube.example.com',
          servers,
        },
      })
      expect((await ended(call, made.operation.id, 120_000)).status).toBe('done')
      cluster = made.cluster
    }, 180_000)

    const until = async <T>(ask: () => Promise<T>, is: (value: T) => boolean): Promise<T> => {
      for (const end = Date.now() + 90_000; ;) {
        const value = await ask()
        if (is(value)) return value
        if (Date.now() > end)
          throw new Error(`Not so within 90 s: ${JSON.stringify(value).slice(0, 1500)}`)
        await pause(100)
      }
    }

    const changed = (change: ClusterChangeInput, point: string) =>
      changedAt(installation, point, { clusterId: cluster.id, change })
    /** Numbers of control planes and workers that each case leaves. */
    const left = { controlPlanes: 3, workers: 1 }

    const hasWhatIsLeft = async () => {
      const { controlPlanes, workers } = left
      await until(
        () => patiently(() => call(clusterGet, { params: { id: cluster.id } })),
        (c) => c.status === 'ready' && c.control_planes === controlPlanes && c.workers === workers,
      )
      const { clusters } = await site.simulator.counters()
      expect(
        clusters
          .filter((c) => c.name === 'lives')
          .map((c) => ({ members: c.members, made: c.etcdMade })),
      ).toEqual([{ members: controlPlanes, made: 1 }])
    }
    const countersOf = async (server: Server) =>
      (await site.simulator.counters()).servers.find(
        (s) => s.uuid.toLowerCase() === server.identity.uuid,
      )!

    test(
      'a new worker joins and is installed once after Steelyard was killed when it had sent the configuration',
      { timeout: 300_000 },
      async () => {
        await changed(
          { kind: 'grow', servers: [{ node_id: node(4).id, role: 'worker' }] },
          `apply/${node(4).id}:after`,
        )
        left.workers++
        await hasWhatIsLeft()
        expect((await countersOf(node(4))).installs).toBe(1)
      },
    )

    test(
      'a removed worker is drained, reset once and released after Steelyard was killed before the reset',
      { timeout: 300_000 },
      async () => {
        await changed(
          { kind: 'shrink', servers: [{ node_id: node(3).id }] },
          `reset/${node(3).id}:before`,
        )
        left.workers--
        await hasWhatIsLeft()
        expect((await countersOf(node(3))).resets).toBe(1)
        expect(
          await patiently(() => call(serverGet, { params: { id: node(3).id } })),
        ).toMatchObject({
          status: 'maintenance',
          cluster: null,
          operation_id: null,
        })
      },
    )

    test(
      'a dead control plane is replaced after Steelyard was killed when it had removed the member from etcd',
      { timeout: 300_000 },
      async () => {
        await site.simulator.ask('POST', `/servers/${node(2).identity.uuid}/power-off`)
        await changed(
          { kind: 'replace', node_id: node(2).id, by: { node_id: node(5).id } },
          `forget-member/${node(2).id}:after`,
        )
        await hasWhatIsLeft()
        await site.simulator.ask('POST', `/servers/${node(2).identity.uuid}/power-on`)
        await until(
          () => patiently(() => call(serverGet, { params: { id: node(2).id } })),
          (s) => s.cluster === null && s.status === 'maintenance',
        )
        await hasWhatIsLeft()
      },
    )

    test(
      'a control plane joins again as a worker after Steelyard was killed while it was reset',
      { timeout: 300_000 },
      async () => {
        await changed(
          { kind: 'role', servers: [{ node_id: node(1).id, role: 'worker' }] },
          `reset/${node(1).id}:after`,
        )
        left.controlPlanes--
        left.workers++
        await hasWhatIsLeft()
        expect(await countersOf(node(1))).toMatchObject({ installs: 1, resets: 1 })
      },
    )
  })
