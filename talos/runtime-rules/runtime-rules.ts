/**
 * Values that Talos accepts in a configuration and that it or Kubernetes can't use when running:
 * the gathered rules, and their evaluation on a merged configuration. `validateConfig` has the
 * rules that Talos applies when it gets a configuration.
 */
import type { ConfigDocument } from '../config/decode.ts'
import { join } from '../config/tree.ts'
import type { Minor } from '../versions.ts'
import { addressRules } from './addresses.ts'
import { certificateRules } from './certificates.ts'
import { componentConfigRules } from './component-configs.ts'
import { componentFlagRules } from './component-flags.ts'
import { componentNameRules } from './component-names.ts'
import { componentRules } from './components.ts'
import { componentValueRules } from './component-values.ts'
import { documentRules } from './documents.ts'
import { fileRules } from './files.ts'
import { kernelRules } from './kernel.ts'
import { kubeletRules } from './kubelet.ts'
import { authenticationRules } from './kubernetes/authentication.ts'
import { kubernetesConfigRules } from './kubernetes/configs.ts'
import { podNetworkRules } from './kubernetes/networks.ts'
import { podReferenceRules } from './kubernetes/pods.ts'
import { kubeletValueRules } from './kubernetes/kubelet.ts'
import { programValueRules } from './kubernetes/programs.ts'
import { kubernetesRules } from './kubernetes.ts'
import { kubernetesNameRules } from './kubernetes/names.ts'
import { accessLimitRules } from './limits/access.ts'
import { bondRules } from './limits/bonds.ts'
import { clusterLimitRules } from './limits/cluster.ts'
import { componentLimitRules } from './limits/components.ts'
import { firewallRules } from './limits/firewall.ts'
import { kubeletLimitRules } from './limits/kubelet.ts'
import { kubeletPolicyRules } from './limits/kubelet-policies.ts'
import { linkLimitRules } from './limits/links.ts'
import { networkLimitRules } from './limits/network.ts'
import { nodeNetworkRules } from './limits/node-networks.ts'
import { nodeLimitRules } from './limits/nodes.ts'
import { ownArgumentRules } from './limits/own-arguments.ts'
import { policyLimitRules } from './limits/policies.ts'
import { podResourceRules } from './limits/resources.ts'
import { subnetRules } from './limits/subnets.ts'
import { volumeLimitRules } from './limits/volumes.ts'
import { linkRules } from './links.ts'
import { nameServerRules } from './machine/name-servers.ts'
import { mountRules } from './mounts.ts'
import { nameRules } from './names.ts'
import { registryRules } from './registries.ts'
import { Configuration, type Hit, type RuntimeRule } from './rule.ts'
import { serviceRules } from './services.ts'
import { sysctlRules } from './sysctls.ts'
import { authorizerRules } from './system/authorizers.ts'
import { containerRules } from './system/containers.ts'
import { encryptionRules } from './system/encryption.ts'
import { imageVerificationRules } from './system/image-verification.ts'
import { routingRules } from './system/routing.ts'
import { storageRules } from './system/storage.ts'
import { upkeepRules } from './system/upkeep.ts'
import { unfilledRules } from './system/unfilled.ts'

export const runtimeRules: readonly RuntimeRule[] = [
  ...fileRules,
  ...nameRules,
  ...nameServerRules,
  ...linkRules,
  ...sysctlRules,
  ...serviceRules,
  ...mountRules,
  ...registryRules,
  ...kubernetesRules,
  ...kubernetesConfigRules,
  ...authenticationRules,
  ...podNetworkRules,
  ...podReferenceRules,
  ...programValueRules,
  ...kubeletValueRules,
  ...ownArgumentRules,
  ...componentRules,
  ...componentValueRules,
  ...podResourceRules,
  ...nodeNetworkRules,
  ...componentNameRules,
  ...kubernetesNameRules,
  ...componentFlagRules,
  ...componentConfigRules,
  ...certificateRules,
  ...kubeletRules,
  ...kubeletLimitRules,
  ...kubeletPolicyRules,
  ...componentLimitRules,
  ...networkLimitRules,
  ...firewallRules,
  ...volumeLimitRules,
  ...nodeLimitRules,
  ...accessLimitRules,
  ...clusterLimitRules,
  ...policyLimitRules,
  ...linkLimitRules,
  ...bondRules,
  ...subnetRules,
  ...kernelRules,
  ...addressRules,
  ...documentRules,
  ...storageRules,
  ...upkeepRules,
  ...containerRules,
  ...routingRules,
  ...authorizerRules,
  ...encryptionRules,
  ...imageVerificationRules,
  ...unfilledRules,
]

/** A value that can't work (`refuse`) or may not work (`warn`). */
export interface RuntimeFinding {
  readonly rule: string
  readonly level: RuntimeRule['level']
  readonly message: string
  /** `machine.network.nameservers.0` */
  readonly path: string
  /**
   * Name of the layer with the value, and the value's place in the layer's text, from 1. Removed
   * values are reported against the generated layer.
   */
  readonly layer: string
  readonly line: number
  readonly column: number
}

export function findingOf(rule: Pick<RuntimeRule, 'id' | 'level'>, hit: Hit): RuntimeFinding {
  const { source, line, column } = hit.document.nearest(hit.path)
  return {
    rule: rule.id,
    level: rule.level,
    message: hit.sentence,
    path: hit.document.ownPath(hit.path).reduce(join, ''),
    layer: source,
    line,
    column,
  }
}

export interface RuntimeVersions {
  readonly talosVersion: string
  /** `1.36.3`, of the cluster; a worker's configuration has no API server. */
  readonly kubernetesVersion?: string | undefined
  /** Of a worker: the documents of a control plane of its cluster; null if unknown. */
  readonly controlPlane?: readonly ConfigDocument[] | null | undefined
}

/** All findings in the documents of a merged configuration (`mergePatches`). */
export function runtimeFindings(
  documents: readonly ConfigDocument[],
  { talosVersion, kubernetesVersion, controlPlane }: RuntimeVersions,
): RuntimeFinding[] {
  const config = new Configuration(documents, kubernetesVersion, controlPlane)
  const minor = talosVersion.replace(/^v/, '').split('.').slice(0, 2).join('.') as Minor
  return runtimeRules
    .filter(({ minors }) => minors === undefined || minors.includes(minor))
    .flatMap((rule) => Array.from(rule.find(config), (hit) => findingOf(rule, hit)))
}

/**
 * Findings that a change brings: those of the configuration with the change that the one without it
 * doesn't have. What was there before doesn't stop other changes.
 */
export function broughtBy(
  after: readonly RuntimeFinding[],
  before: readonly RuntimeFinding[],
): RuntimeFinding[] {
  const known = new Set(before.map(({ rule, message }) => `${rule} ${message}`))
  return after.filter(({ rule, message }) => !known.has(`${rule} ${message}`))
}
