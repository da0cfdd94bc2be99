/** Helpers of the tests of upgrades: ready clusters, plans, and observations of the machines. */
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import { type ClusterChangeInput, clusterPlan } from '#contract/clusters/changes/changes.ts'
import type { Cluster } from '#contract/clusters/clusters.ts'
import type { Operation } from '#contract/operations.ts'
import { serverDrift } from '#contract/servers/drift.ts'
import type { Server } from '#contract/servers/servers.ts'
import { kubernetesOf } from '#simulator/src/kubernetes/joining.ts'
import type { ClusterWorld } from '../../clusters/testing/world.ts'

export function upgradeWorld(world: ClusterWorld) {
  const { admin } = world
  return {
    /** A ready cluster of the next servers, with an older Talos than the newest. */
    ready: async (
      count: number,
      asked: Parameters<ClusterWorld['create']>[1] = { talos_version: 'v1.13.8' },
    ): Promise<{ nodes: Server[]; cluster: Cluster }> => {
      const nodes = world.take(count)
      const { cluster, operation } = await world.create(nodes, asked)
      expect(await world.ended(operation.id)).toMatchObject({ status: 'done' })
      return { nodes, cluster }
    },

    plan: async (clusterId: string, change: ClusterChangeInput) => {
      const called = await admin.call(clusterPlan, { params: { id: clusterId }, body: { change } })
      if (!called.answer) throw new Error(called.text)
      return called.answer
    },

    versions: (nodes: readonly Server[]): string[] =>
      nodes.map((n) => world.machine(n).talosVersion),
    /** How often the machines have written another Talos image. */
    upgrades: (nodes: readonly Server[]): number[] =>
      nodes.map((n) => world.machine(n).disk.state.counters.upgrades),
    /** Names of the cordoned nodes. */
    cordoned: (controlPlane: Server): string[] =>
      Object.values(kubernetesOf(world.machine(controlPlane))!.state.kubernetes.objects)
        .map(
          ({ body }) =>
            body as {
              kind?: string
              metadata: { name: string }
              spec?: { unschedulable?: boolean }
            },
        )
        .filter(({ kind, spec }) => kind === 'Node' && spec?.unschedulable === true)
        .map(({ metadata }) => metadata.name),

    /**
     * Compares the configurations of the servers again and again. `stop` returns the audited
     * actions that were counted as those of others.
     */
    lookForDrift: (nodes: readonly Server[]) => {
      const ended = new AbortController()
      const looking = (async () => {
        for (let i = 0; !ended.signal.aborted; i++) {
          await admin.call(serverDrift, { params: { id: nodes[i % nodes.length]!.id } })
          await pause(250)
        }
      })()
      return {
        async stop(): Promise<string[]> {
          ended.abort()
          await looking
          const rows = await world.backend.platform.db
            .selectFrom('audit_entry')
            .select('action')
            .where('action', 'like', '%changed_outside')
            .execute()
          return rows.map((r) => r.action)
        },
      }
    },

    /**
     * Watches the machines: the order in which they run the version, how many are down at once, and
     * whether etcd ever lost its quorum.
     */
    watch: (clusterName: string, nodes: readonly Server[], version: string) => {
      const etcd = world.simulator.world.etcd.all.find((e) => e.state.name === clusterName)!
      const seen = { order: [] as string[], mostAway: 0, quorumLost: 0 }
      const timer = setInterval(() => {
        const away = nodes.filter((n) => world.machine(n).stage.stage !== 'running')
        seen.mostAway = Math.max(seen.mostAway, away.length)
        if (!etcd.hasQuorum) seen.quorumLost++
        for (const n of nodes)
          if (world.machine(n).talosVersion === version && !seen.order.includes(n.name))
            seen.order.push(n.name)
      }, 3)
      return { seen, stop: () => clearInterval(timer) }
    },
  }
}

/** Keys of the steps with a status, without the servers' ids. */
export const stepsThat = (
  { steps }: Operation,
  status: Operation['steps'][number]['status'],
): string[] => steps.filter((s) => s.status === status).map((s) => s.key.split('/')[0]!)
