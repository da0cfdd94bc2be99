/** Kills the program while a cluster is deleted. */
import { describe, expect, test } from 'vitest'
import { clusterDelete } from '#contract/clusters/clusters.ts'
import { serverGet } from '#contract/servers/servers.ts'
import { longTests, spread } from '../../../../tools/testing/length.ts'
import type { Installation } from '../killing.ts'
import { create, ended, patiently } from '../world.ts'
import type { Left } from './reset.ts'

const points = [
  { name: 'before the reset of a worker', node: 4, when: 'before' },
  { name: 'after the reset of a control plane', node: 1, when: 'after' },
  { name: 'before the reset of the last control plane', node: 0, when: 'before' },
]
/** `left`: the cluster of the only case in `npm test`, which needn't create one then. */
export const killDeletions = (
  { site, call, killedAt }: Installation,
  left: () => Promise<Left>,
): void =>
  void describe('deletion of a cluster', () => {
    const made = async (name: string): Promise<Left> => {
      const nodes = await site.take(call, 5)
      const { cluster, operation } = await create(call, site, name, nodes)
      expect((await ended(call, operation.id)).status).toBe('done')
      return { cluster, nodes }
    }

    test.each(spread(points, 1))(
      'a cluster deletion interrupted by kill −9 $name ends with every server free and in maintenance',
      async ({ node, when }) => {
        const { cluster, nodes } = longTests ? await made(`gone-${node}`) : await left()
        const deletion = await killedAt(`reset/${nodes[node]!.id}:${when}`, () =>
          call(clusterDelete, { params: { id: cluster.id } }),
        )
        const end = await ended(call, deletion.operation.id, 90_000)
        expect({ status: end.status, open: end.steps.filter((s) => s.status !== 'done') }).toEqual({
          status: 'done',
          open: [],
        })
        for (const { id } of nodes) {
          const server = await patiently(() => call(serverGet, { params: { id } }))
          expect(server).toMatchObject({ status: 'maintenance', cluster: null, operation_id: null })
        }
        const machines = await site.simulator.servers()
        for (const { identity } of nodes)
          expect(machines.find((m) => m.uuid.toLowerCase() === identity.uuid)!.stage).toBe(
            'maintenance',
          )
      },
    )
  })
