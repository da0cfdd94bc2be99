/** Kills the program while a cluster gets another version of Talos. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { snapshotList } from '#contract/clusters/changes/snapshots.ts'
import { type Cluster, clusterCreate, clusterGet } from '#contract/clusters/clusters.ts'
import { type Server, serverGet } from '#contract/servers/servers.ts'
import { storeCreate } from '#contract/storage/stores.ts'
import { changedAt, changedInEachStep, type Installation } from '../killing.ts'
import { ended, patiently } from '../world.ts'

// Each case changes both servers to another patch release.
const points = [
  ['before the image is written', 'write-talos:before', 'v1.13.6'],
  ['after the image was written', 'write-talos:after', 'v1.13.7'],
  ['before the restart', 'restart-talos:before', 'v1.13.8'],
  ['after the restart was requested', 'restart-talos:after', 'v1.13.9'],
  ['after the node was cordoned', 'cordon:after', 'v1.13.8'],
  ['before the node is uncordoned', 'uncordon:before', 'v1.13.7'],
  ['after the snapshot was written to its store', 'snapshot:after', 'v1.13.9'],
] as const

const changes = [
  ['the upgrade of Talos', { kind: 'upgradeTalos', version: 'v1.14.1' }],
  ['the upgrade of Kubernetes', { kind: 'upgradeKubernetes', version: '1.37.2' }],
  ['the move to documents', { kind: 'documents' }],
] as const

export const killTalosUpgrades = (installation: Installation): void =>
  void describe('upgrade of Talos', () => {
    const { site, call } = installation
    let nodes: readonly Server[] = []
    let cluster: Cluster

    beforeAll(async () => {
      nodes = await site.take(call, 2)
      const servers = nodes.map(({ id }, i) => ({
        node_id: id,
        role: i === 0 ? ('control_plane' as const) : ('worker' as const),
      }))
      const made = await call(clusterCreate, {
        body: {
          name: 'kill-talos',
          datacenter_id: site.datacenterId,
          servers,
          talos_version: 'v1.13.5',
        },
      })
      expect((await ended(call, made.operation.id)).status).toBe('done')
      cluster = made.cluster
      await call(storeCreate, { body: { name: 'disk', kind: 'folder', folder: storeFolder } })
    }, 90_000)

    /** Inside of the folder that Steelyard allows for stores by default. */
    const storeFolder = join(site.folder, 'stores/disk')
    /** Each snapshot that an upgrade has taken first is ready, and no other file is left. */
    const keepsSnapshots = async () => {
      const { items } = await patiently(() => call(snapshotList, { query: { per_page: 100 } }))
      const files = readdirSync(join(storeFolder, 'clusters', cluster.id))
      expect(files.toSorted()).toEqual(items.map(({ key }) => key.split('/').at(-1)!).toSorted())
      expect(items.filter(({ status }) => status !== 'ready')).toEqual([])
    }

    const isThere = async (version: string) => {
      expect(
        (await patiently(() => call(clusterGet, { params: { id: cluster.id } }))).talos_version,
      ).toBe(version)
      for (const node of nodes)
        expect(await patiently(() => call(serverGet, { params: { id: node.id } }))).toMatchObject({
          operation_id: null,
          drift: null,
          talos: { version },
        })
      await keepsSnapshots()
    }

    test.each(points)(
      'an upgrade of Talos interrupted by kill −9 %s ends with both servers upgraded',
      async (_name, point, version) => {
        const change = { kind: 'upgradeTalos', version } as const
        await changedAt(installation, point, { clusterId: cluster.id, change })
        await isThere(version)
      },
    )

    test.each(changes)(
      'a cluster on its way to Talos 1.14, interrupted by kill −9 during %s, gets there without drift',
      { timeout: 600_000 },
      async (_name, change) => {
        await changedInEachStep(installation, { clusterId: cluster.id, change })
        await isThere('v1.14.1')
      },
    )
  })
