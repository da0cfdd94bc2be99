/** What the form of a new cluster takes over from a template, or from another cluster. */
import { nearestVersion } from '#contract/templates/nearest.ts'
import type { NewTemplate } from '#contract/templates/templates.ts'
import { canRunKubernetes, type OfferedTalos } from '#contract/versions.ts'
import { versionShown } from '../../../lib/text.ts'
import type { Draft } from '../create/draft.ts'

export interface Start {
  /** Id of the template or cluster. */
  readonly id: string
  readonly of: 'template' | 'cluster'
  readonly name: string
  readonly template: NewTemplate
  /** What the cluster has and the template has not, as sentences. */
  readonly leftOut: readonly string[]
  /** Of the cluster; null for a template, which belongs to no datacenter. */
  readonly datacenterId: string | null
}

interface Versions {
  readonly talos: string
  readonly kubernetes: string
  /** Versions that are gone, each with the one in its place, as sentences. */
  readonly gone: readonly string[]
}

/** The versions of a template, or the nearest that are offered. '' is the newest. */
export function versionsOf(
  { talos_version, kubernetes_version }: Pick<NewTemplate, 'talos_version' | 'kubernetes_version'>,
  offered: readonly OfferedTalos[],
): Versions {
  const gone: string[] = []
  const tags = offered.map((one) => one.talos_version)
  let talos = talos_version === undefined ? '' : versionShown(talos_version)
  if (talos !== '' && !tags.includes(talos)) {
    const near = nearestVersion(tags, talos) ?? ''
    gone.push(
      `Talos ${talos} is no longer offered. The nearest, ${near}, is chosen: you can choose another version below.`,
    )
    talos = near
  }
  let kubernetes = kubernetes_version?.replace(/^v/, '') ?? ''
  // Of a template without a version of Talos any that runs this Kubernetes will do.
  const pair =
    talos === ''
      ? (offered.find((one) => kubernetes === '' || canRunKubernetes(one, kubernetes).ok) ??
        offered[0])
      : offered.find((one) => one.talos_version === talos)
  if (pair === undefined) return { talos, kubernetes, gone }
  if (kubernetes !== '' && !canRunKubernetes(pair, kubernetes).ok) {
    const near = nearestVersion(pair.kubernetes_versions, kubernetes) ?? ''
    gone.push(
      `Talos ${pair.talos_version} does not run Kubernetes ${versionShown(kubernetes)}. The nearest, ${versionShown(near)}, is chosen: you can choose another version below.`,
    )
    kubernetes = near
  }
  return { talos: kubernetes === '' ? talos : pair.talos_version, kubernetes, gone }
}

/**
 * The fields of the form. What no two clusters share stays open: the name, the endpoint and the
 * servers.
 */
export function filledFrom(
  { id, template, datacenterId }: Start,
  offered: readonly OfferedTalos[],
  datacenters: readonly { readonly id: string }[],
): Partial<Draft> {
  const { talos, kubernetes } = versionsOf(template, offered)
  return {
    from: id,
    datacenterId: datacenterId ?? (datacenters.length === 1 ? datacenters[0]!.id : ''),
    talos,
    kubernetes,
    vlan: template.vlan_id === null ? '' : String(template.vlan_id),
    endpointKind: template.virtual_ip ? 'virtual' : 'first',
    endpoint: '',
    podCidr: template.pod_cidr,
    serviceCidr: template.service_cidr,
  }
}
