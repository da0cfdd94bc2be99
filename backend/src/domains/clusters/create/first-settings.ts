/** What a preview says about the image, the subnets and the snapshots of a new cluster. */
import type { NewCluster } from '#contract/clusters/clusters.ts'
import { Problem } from '#contract/errors.ts'
import type { Step } from '#contract/operations.ts'
import { counted } from '#contract/words.ts'
import { subnetSteps } from '#contract/clusters/steps.ts'
import { emptySchematic, type Resolved } from '../blueprint.ts'
import type { ClusterParts } from '../parts.ts'
import { imagesOf, wantedImage, withImages } from './image.ts'
import type { Finding } from './judged.ts'

interface JudgedSettings {
  readonly findings: readonly Finding[]
  /** The request with the images that the servers get. */
  readonly resolved: Resolved | null
  /** What happens once the cluster is ready. */
  readonly steps: Pick<Step, 'key' | 'title' | 'node_id'>[]
}

async function judgeImage(
  { installers }: Pick<ClusterParts, 'installers'>,
  asked: NewCluster,
  resolved: Resolved | null,
): Promise<Pick<JudgedSettings, 'findings' | 'resolved'>> {
  const wish = wantedImage(asked)
  if (wish === null || resolved === null) return { findings: [], resolved }
  try {
    const images = await imagesOf(installers, wish, resolved.talos_version, resolved.servers)
    const others = [...images.schematics.values()].filter(
      ({ runs, gets }) => gets !== (runs ?? emptySchematic),
    )
    const message = `The image factory has the image of every server; ${counted(others.length, 'server')} ${others.length === 1 ? 'gets' : 'get'} another than the one that runs`
    return {
      findings: [{ check: 'image', ok: true, message }],
      resolved: { ...resolved, servers: withImages(resolved.servers, images) },
    }
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return { findings: [{ check: 'image', ok: false, message: error.message }], resolved }
  }
}

async function judgeSubnets(
  { db, pools, datacenters }: Pick<ClusterParts, 'db' | 'pools' | 'datacenters'>,
  asked: NewCluster,
): Promise<Pick<JudgedSettings, 'findings' | 'steps'>> {
  const { subnet_ids: ids = [], name, pod_cidr, service_cidr } = asked
  const datacenter = ids.length === 0 ? null : await datacenters.find(db, asked.datacenter_id)
  if (!datacenter) return { findings: [], steps: [] }
  // It has no id yet, so none of its own is among the clusters of a subnet.
  const cluster = { id: '', name, datacenter, pod_cidr, service_cidr }
  const judged = await pools.judge(db, cluster, ids)
  const subnets = judged.flatMap((one) => ('refused' in one ? [] : [one]))
  const findings = judged.flatMap((one, i): Finding[] =>
    'refused' in one
      ? [{ check: 'subnets', ok: false, message: one.refused, field: `subnet_ids.${i}` }]
      : [],
  )
  return {
    findings:
      findings.length > 0
        ? findings
        : [
            {
              check: 'subnets',
              ok: true,
              message: `${counted(subnets.length, 'subnet')} ${subnets.length === 1 ? 'is' : 'are'} free`,
            },
          ],
    steps: subnets.map((subnet) => ({
      key: `apply/${subnet.id}`,
      title: subnetSteps.apply(subnet),
      node_id: null,
    })),
  }
}

async function judgeSnapshots(
  { db, snapshots }: Pick<ClusterParts, 'db' | 'snapshots'>,
  { snapshots: wish }: NewCluster,
): Promise<Finding[]> {
  if (!wish) return []
  const name = await snapshots.storeName(db, wish.store_id)
  return name === null
    ? [{ check: 'snapshots', ok: false, message: 'There is no such store', field: 'snapshots' }]
    : [{ check: 'snapshots', ok: true, message: `Snapshots go to the store ${name}` }]
}

/** Judges what a cluster gets besides its servers and networks. Writes and registers nothing. */
export async function judgeSettings(
  parts: ClusterParts,
  asked: NewCluster,
  judged: Resolved | null,
): Promise<JudgedSettings> {
  const image = await judgeImage(parts, asked, judged)
  const subnets = await judgeSubnets(parts, asked)
  return {
    findings: [...image.findings, ...subnets.findings, ...(await judgeSnapshots(parts, asked))],
    resolved: image.resolved,
    steps: subnets.steps,
  }
}
