/** Kills the program while servers are reset, or removed by force, in a cluster that stays. */
import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Cluster, clusterGet } from '#contract/clusters/clusters.ts'
import { operationList } from '#contract/operations.ts'
import { serverBulk, serverBulkPlan } from '#contract/servers/bulk.ts'
import { type Server, serverGet, serverRemove, serverReset } from '#contract/servers/servers.ts'
import { longTest } from '../../../../tools/testing/long-test.ts'
import { longTests, spread } from '../../../../tools/testing/length.ts'
import type { Installation } from '../killing.ts'
import { create, ended, patiently } from '../world.ts'

const ofWorkers = [
  { name: 'before the reset of a worker', effect: 'reset', when: 'before' },
  { name: 'after the reset of a worker', effect: 'reset', when: 'after' },
  {
    name: 'before the removal of the Kubernetes node',
    effect: 'forget-node',
    when: 'before',
  },
]

/** A cluster, and its servers, control planes first. */
export interface Left {
  readonly cluster: Cluster
  readonly nodes: readonly Server[]
}

/** Returns a function that tells, after the tests, the cluster and what is left of its servers. */
export function killResets({ site, call, killedAt }: Installation): () => Promise<Left> {
  let nodes: readonly Server[] = []
  let cluster: Cluster
  describe('a server leaves', () => {
    const cases = spread(ofWorkers, 1).map((one, i) => ({ ...one, node: 4 + i }))
    /**
     * Numbers of control planes and workers that are still in the cluster. Every case removes one
     * server, and the act on many servers, which only the full run tries, the last two.
     */
    const left = { control_planes: 3, workers: (longTests ? 3 : 1) + cases.length }

    beforeAll(async () => {
      nodes = await site.take(call, left.control_planes + left.workers)
      const made = await create(call, site, 'stays', nodes)
      expect((await ended(call, made.operation.id)).status).toBe('done')
      cluster = made.cluster
    }, 90_000)

    const serverOf = (node: Pick<Server, 'id'>) =>
      patiently(() => call(serverGet, { params: { id: node.id } }))
    const until = async <T>(ask: () => Promise<T>, is: (value: T) => boolean): Promise<T> => {
      for (const end = Date.now() + 45_000; ;) {
        const value = await ask()
        if (is(value)) return value
        if (Date.now() > end)
          throw new Error(`Not so within 45 s: ${JSON.stringify(value).slice(0, 1500)}`)
        await pause(100)
      }
    }

    const staysReady = async () => {
      const ready = await until(
        () => patiently(() => call(clusterGet, { params: { id: cluster.id } })),
        (c) => c.status === 'ready' && c.control_planes === left.control_planes,
      )
      expect(ready).toMatchObject({ ...left, reason: null })
      const { clusters } = await site.simulator.counters()
      expect(clusters.find((c) => c.name === 'stays')!.members).toBe(left.control_planes)
    }

    test.each(cases)(
      'a reset interrupted by kill −9 $name ends with the server free and the cluster ready',
      async ({ node, effect, when }) => {
        const server = nodes[node]!
        const { operation } = await killedAt(`${effect}/${server.id}:${when}`, () =>
          call(serverReset, { params: { id: server.id }, body: {} }),
        )
        const end = await ended(call, operation.id)
        expect({ status: end.status, open: end.steps.filter((s) => s.status !== 'done') }).toEqual({
          status: 'done',
          open: [],
        })
        expect(await serverOf(server)).toMatchObject({
          status: 'maintenance',
          cluster: null,
          operation_id: null,
        })
        const { servers } = await site.simulator.counters()
        expect(servers.find((s) => s.uuid.toLowerCase() === server.identity.uuid)!.resets).toBe(1)
        left.workers--
        await staysReady()
      },
    )

    longTest(
      'if kill −9 interrupts a forced removal after the call to etcd, the removal is completed later, and the other members keep a majority',
      async () => {
        const server = nodes[2]!
        await site.simulator.ask('POST', `/servers/${server.identity.uuid}/power-off`)
        await until(
          () => serverOf(server),
          (s) => s.talos.reachable === false,
        )
        await killedAt(`forget-member/${server.id}:after`, () =>
          call(serverRemove, { params: { id: server.id }, query: { force: 'true' } }),
        )
        expect(await serverOf(server)).toMatchObject({ status: 'deleted', cluster: null })
        left.control_planes--
        await staysReady()
      },
    )

    longTest(
      'an act on many servers interrupted by kill −9 after it has begun with the first resets each server once, and has every result',
      async () => {
        const chosen = nodes.slice(-2)
        const plan = await call(serverBulkPlan, {
          body: { act: { kind: 'reset' }, node_ids: chosen.map(({ id }) => id) },
        })
        const { operation } = await killedAt('bulk-begun:after', () =>
          call(serverBulk, {
            body: {
              act: plan.act,
              items: plan.items.map(({ id, version }) => ({ id, version })),
              expected: 2,
            },
          }),
        )
        const end = await ended(call, operation.id)
        expect({
          status: end.status,
          steps: end.steps.map(({ node_id, status }) => [node_id, status]),
        }).toEqual({ status: 'done', steps: plan.items.map(({ id }) => [id, 'done']) })
        const { servers } = await site.simulator.counters()
        for (const { id, identity } of chosen) {
          expect(await serverOf({ id })).toMatchObject({ status: 'maintenance', cluster: null })
          expect(servers.find((s) => s.uuid.toLowerCase() === identity.uuid)!.resets).toBe(1)
          const resets = await call(operationList, { query: { target: id, kind: 'serverReset' } })
          expect(resets.items.map((o) => o.status)).toEqual(['done'])
        }
        left.workers -= chosen.length
        await staysReady()
      },
    )

    longTest(
      'if the reset of a control plane was sent before a kill −9, the control plane leaves etcd and is free',
      async () => {
        const server = nodes[1]!
        const { operation } = await killedAt(`reset/${server.id}:after`, () =>
          call(serverReset, { params: { id: server.id }, body: {} }),
        )
        expect((await ended(call, operation.id)).status).toBe('done')
        expect(await serverOf(server)).toMatchObject({
          status: 'maintenance',
          cluster: null,
          operation_id: null,
        })
        left.control_planes--
        await staysReady()
      },
    )
  })
  return async () => {
    const now = await call(clusterGet, { params: { id: cluster.id } })
    return { cluster, nodes: nodes.filter((n) => now.servers.some((s) => s.node_id === n.id)) }
  }
}
