/**
 * Whether a change of a configuration is sent on trial: Talos's mode `try`, which goes back by
 * itself unless it is confirmed in time (`docs/decisions/025-network-effect.md`).
 */
import { isDeepStrictEqual } from 'node:util'
import { ConfigError, readDocuments, textsOf } from '../config/tree.ts'

type Values = { readonly [key: string]: unknown }

export interface Trial {
  /** Links, addresses, routes, operators or the firewall change. */
  readonly isOfNetwork: boolean
  /**
   * Changed fields that Talos only applies with a restart, such as `machine.files`. Talos up to
   * 1.13 refuses to try them; later versions refuse nothing, and a trial of them says nothing.
   */
  readonly restarts: readonly string[]
  /** The section of etcd changes, which etcd reads when it starts: a trial doesn't reach it. */
  readonly isOfEtcd: boolean
}

/**
 * Documents whose controllers follow the active configuration, and go back with it (Talos
 * `internal/app/machined/pkg/controllers/network`: link_config.go, address_config.go,
 * route_config.go, operator_config.go, nftables_chain_config.go).
 */
const networkKinds: ReadonlySet<unknown> = new Set([
  'LinkConfig',
  'LinkAliasConfig',
  'VLANConfig',
  'BondConfig',
  'BridgeConfig',
  'VRFConfig',
  'DummyLinkConfig',
  'WireguardConfig',
  'VethConfig',
  'DHCPv4Config',
  'DHCPv6Config',
  'Layer2VIPConfig',
  'HCloudVIPConfig',
  'BlackholeRouteConfig',
  'RoutingRuleConfig',
  'NetworkDefaultActionConfig',
  'NetworkRuleConfig',
  'KubeSpanConfig',
])
/** Fields of `machine.network` that the same controllers follow. */
const networkFields = ['interfaces', 'kubespan']

/**
 * Fields of `machine` that apply without a restart, in 1.12 to 1.14 alike. All of `cluster` and
 * `debug` do, and every other document (Talos `runtime.go`, CanApplyImmediate).
 */
const immediate: ReadonlySet<string> = new Set([
  'ca',
  'acceptedCAs',
  'time',
  'certSANs',
  'install',
  'network',
  'sysfs',
  'sysctls',
  'logging',
  'controlPlane',
  'kubelet',
  'kernel',
  'registries',
  'pods',
  'seccompProfiles',
  'nodeAnnotations',
  'nodeLabels',
  'nodeTaints',
])
const immediateFeatures: ReadonlySet<string> = new Set([
  'kubernetesTalosAPIAccess',
  'kubePrism',
  'hostDNS',
  'imageCache',
  'nodeAddressSortAlgorithm',
])

const map = (value: unknown): Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Values) : {}

/** Without what Talos doesn't tell from an unset field. */
const tidy = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map(tidy)
  if (typeof value !== 'object' || value === null)
    return value === '' || value === 'false' ? undefined : value
  const entries = Object.entries(value)
    .map(([key, one]) => [key, tidy(one)] as const)
    .filter(([, one]) => one !== undefined)
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

const differ = (a: Values, b: Values, keys?: readonly string[]): string[] =>
  (keys ?? [...new Set([...Object.keys(a), ...Object.keys(b)])]).filter(
    (key) => !isDeepStrictEqual(tidy(a[key]), tidy(b[key])),
  )

const readAll = (config: string) => {
  const documents = readDocuments(config, '').map((root) => map(textsOf(root)))
  const main = documents.find((entry) => !('kind' in entry)) ?? {}
  const machine = map(main['machine'])
  return {
    main,
    machine,
    features: map(machine['features']),
    network: map(machine['network']),
    etcd: map(map(main['cluster'])['etcd']),
    documents: documents.filter((entry) => networkKinds.has(entry['kind'])).map(tidy),
  }
}

/** What a trial of a change reaches. A text that only Talos reads is taken for a network's change. */
export function trialOf(before: string, after: string): Trial {
  try {
    const [then, now] = [readAll(before), readAll(after)]
    const main = differ(then.main, now.main)
    return {
      isOfNetwork:
        !isDeepStrictEqual(then.documents, now.documents) ||
        differ(then.network, now.network, networkFields).length > 0,
      restarts: [
        ...main.filter((key) => !['machine', 'cluster', 'debug'].includes(key)),
        ...differ(then.machine, now.machine)
          .filter((key) => key !== 'features' && !immediate.has(key))
          .map((key) => `machine.${key}`),
        ...differ(then.features, now.features)
          .filter((key) => !immediateFeatures.has(key))
          .map((key) => `machine.features.${key}`),
      ],
      isOfEtcd: differ(then.etcd, now.etcd).length > 0,
    }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return { isOfNetwork: true, restarts: [], isOfEtcd: false }
  }
}
