/**
 * Whether a change of a configuration is sent on trial: Talos's mode `try`, which goes back by
 * itself unless it is confirmed in time (`docs/decisions/028-network-effect.md`).
 */
import { isDeepStrictEqual } from 'node:util'
import { type ChangeEffects, changeEffects, noEffects } from '../change-effect/effects.ts'
import { differ, map, tidy } from '../change-effect/values.ts'
import { ConfigError, readDocuments, textsOf } from '../config/tree.ts'

/**
 * What a change does, with the starts in the order of their names. Talos up to 1.13 refuses to try
 * what it only applies with a restart (`restarts`); later versions refuse nothing, and a trial of
 * it says nothing. A trial doesn't reach etcd (`isOfEtcd`).
 */
export interface Trial extends ChangeEffects {
  /** Links, addresses, routes, operators or the firewall change. */
  readonly isOfNetwork: boolean
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
  'BGPInstanceConfig',
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

const readAll = (config: string) => {
  const documents = readDocuments(config, '').map((root) => map(textsOf(root)))
  const main = documents.find((entry) => !('kind' in entry)) ?? {}
  return {
    network: map(map(main['machine'])['network']),
    documents: documents.filter((entry) => networkKinds.has(entry['kind'])).map(tidy),
  }
}

/**
 * What a trial of a change reaches. A text that only Talos reads is taken for a network's change.
 * @param talosVersion of the machine; default: the newest offered minor. Since 1.14 Talos tries
 * everything, and says nothing of what it reads only when it boots
 */
export function trialOf(before: string, after: string, talosVersion?: string): Trial {
  try {
    const [then, now] = [readAll(before), readAll(after)]
    const effects = changeEffects(before, after, talosVersion)
    return {
      isOfNetwork:
        !isDeepStrictEqual(then.documents, now.documents) ||
        differ(then.network, now.network, networkFields).length > 0,
      ...effects,
      starts: effects.starts.toSorted(),
    }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return { ...noEffects, isOfNetwork: true }
  }
}
