/** A cluster whose changes are tested, and a free server that it can get. */
import { type Cluster, clusterCreate } from '#contract/clusters/clusters.ts'
import { datacenterList } from '#contract/datacenters.ts'
import { type Server, serverList } from '#contract/servers/servers.ts'
import type { Installation } from '../installation.ts'

/** Creates a cluster of a control plane and a worker, which is not ready yet. */
export async function makeCluster(
  { call }: Pick<Installation, 'call'>,
  name: string,
): Promise<{ cluster: Cluster; spare: Server }> {
  const site = (await call(datacenterList, { query: {} })).items.find((d) => d.code === 'PL-POZ-1')!
  const servers = (await call(serverList, { query: {} })).items.filter(
    (s) => s.datacenter?.id === site.id && s.eligibility.every((e) => e.ok),
  )
  const version = servers[0]!.talos.version!
  const [controlPlane, worker, spare] = servers.filter((s) => s.talos.version === version)
  if (!controlPlane || !worker || !spare) throw new Error('Too few free servers')
  const { cluster } = await call(clusterCreate, {
    body: {
      name,
      datacenter_id: site.id,
      talos_version: version,
      servers: [
        { node_id: controlPlane.id, role: 'control_plane' },
        { node_id: worker.id, role: 'worker' },
      ],
    },
  })
  return { cluster, spare }
}
