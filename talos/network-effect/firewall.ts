/**
 * Whether the ingress firewall lets Steelyard and the other servers in (Talos
 * `nftables_chain_config.go`, `buildIngressChain`).
 */
import { addressOf, includes } from './addresses.ts'
import type { NetworkFacts } from './facts.ts'
import type { Network, Rule } from './read.ts'

/** Ports of a machine (Talos `pkg/machinery/constants`, `ApidPort`, `TrustdPort` and others). */
const ports = { apid: 50_000, trustd: 50_001, api: 6443, etcd: 2379, peers: 2380, kubelet: 10_250 }
const kubeSpanPort = 51_820

type Source = string | null
type Answer = 'in' | 'out' | 'unsure'

/**
 * In block mode a packet needs a rule that names its source. In accept mode each rule drops what it
 * doesn't name on its ports. `except` of any source is taken out of all of the rule's subnets.
 */
export function lets(
  { firewall: { blocks, rules } }: Pick<Network, 'firewall'>,
  from: Source,
  port: number,
  protocol: 'tcp' | 'udp' = 'tcp',
): Answer {
  const about = rules.filter(
    (rule) =>
      rule.protocol === protocol && rule.ports.some(([low, high]) => low <= port && port <= high),
  )
  const address = from === null ? undefined : addressOf(from)
  if (address === undefined) {
    const isOpen = about.some(
      ({ subnets, except }) => subnets.includes('0.0.0.0/0') && except.length === 0,
    )
    if (about.length === 0) return blocks ? 'out' : 'in'
    return isOpen ? 'in' : 'unsure'
  }
  const names = ({ subnets, except }: Rule): boolean =>
    subnets.some((subnet) => includes(subnet, address)) &&
    !except.some((subnet) => includes(subnet, address))
  return (blocks ? about.some(names) : about.every(names)) ? 'in' : 'out'
}

export interface Blocked {
  readonly loses: string[]
  readonly unsure: string[]
}

/** What the firewall keeps out that must come in. */
export function blockedBy(
  network: Network,
  { from, isControlPlane, peers }: Pick<NetworkFacts, 'from' | 'isControlPlane' | 'peers'>,
): Blocked {
  const blocked: Blocked = { loses: [], unsure: [] }
  const fromPeers = (service: string, number: number, isAsking: (peer: boolean) => boolean) => {
    const out = peers
      .filter((peer) => isAsking(peer.isControlPlane))
      .filter(
        ({ address }) =>
          lets(network, address, number) !== 'in' &&
          // KubeSpan's link is trusted, and carries what the members send each other.
          !(network.hasKubeSpan && lets(network, address, kubeSpanPort, 'udp') === 'in'),
      )
    if (out.length === 0) return
    const [first] = out
    const who =
      out.length === 1 ? first!.address : `${first!.address} and ${out.length - 1} more servers`
    blocked.loses.push(`the firewall keeps ${who} out of port ${number} (${service})`)
  }

  for (const [number, service] of [
    [ports.apid, "Talos's API"],
    ...(isControlPlane ? [[ports.api, 'the Kubernetes API'] as const] : []),
  ] as const) {
    const answer = lets(network, from, number)
    if (answer === 'out')
      blocked.loses.push(
        `no firewall rule lets Steelyard${from === null ? '' : ` (${from})`} in on port ${number} (${service})`,
      )
    if (answer === 'unsure')
      blocked.unsure.push(
        `whether the firewall lets Steelyard in on port ${number} (${service}) is not known`,
      )
  }
  if (isControlPlane) {
    fromPeers('the Kubernetes API', ports.api, () => true)
    fromPeers('etcd', ports.etcd, (isOne) => isOne)
    fromPeers('etcd', ports.peers, (isOne) => isOne)
    fromPeers('trustd', ports.trustd, () => true)
  }
  if (isControlPlane !== null) fromPeers('kubelet', ports.kubelet, (isOne) => isOne)
  return blocked
}
