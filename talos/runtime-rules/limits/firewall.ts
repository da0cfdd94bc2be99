/** What the firewall keeps out that the server needs. */
import type { Report } from '../../config/report.ts'
import type { Configuration, Hit, RuntimeRule } from '../rule.ts'
import { hasKubeSpan, kubeSpan } from './network.ts'

/** First and last ports of a rule. */
const portsOf = (rule: Report) =>
  rule.texts('portSelector', 'ports').map(({ path, text }) => {
    const [first = Number.NaN, last = first] = text.split('-').map(Number)
    return { path, first, last }
  })

const opens = (rule: Report, port: number): boolean =>
  rule.text('portSelector', 'protocol') === 'udp' &&
  portsOf(rule).some(({ first, last }) => first <= port && port <= last)

/** The document that blocks what no rule opens. */
const blocking = (config: Configuration): Report | undefined =>
  config.of('NetworkDefaultActionConfig').find((document) => document.text('ingress') === 'block')

/**
 * The port of the network that carries packets of pods between servers; null if there is none, or
 * if it isn't known. Control planes decide it for workers (flannel `Documentation/backends.md`,
 * `pkg/backend`).
 */
export function podTunnel({ cluster }: Configuration): { name: string; port: number } | null {
  if (cluster === null || !cluster.hasFlannel) return null
  const document = cluster.of('KubeFlannelCNIConfig')[0]
  const type = (document?.text('backendType') || 'vxlan').toLowerCase()
  const given = document?.number('backendPort') || undefined
  switch (type) {
    case 'vxlan':
      // Talos's own manifest has 4789; the document without a port leaves Flannel's own.
      return { name: 'VXLAN of Flannel', port: document === undefined ? 4789 : (given ?? 8472) }
    case 'wireguard':
      return { name: 'WireGuard of Flannel', port: given ?? 51_820 }
    case 'udp':
      return { name: 'UDP of Flannel', port: given ?? 8285 }
    default:
      return null
  }
}

/** Ports that Linux takes for connections of its own (`net.ipv4.ip_local_port_range`). */
const own = { first: 32_768, last: 60_999 }
/** So many of these ports are more than a few services have. */
const many = 1_000

/** Whether a rule of the accept mode lets every IPv4 address in. */
const isOpen = (rule: Report): boolean => {
  const sources = rule.items('ingress').map(({ path }) => path)
  return (
    sources.some((path) => rule.text(...path, 'subnet') === '0.0.0.0/0') &&
    !sources.some((path) => rule.has(...path, 'except'))
  )
}

const chains = 'Talos internal/app/machined/pkg/controllers/network/nftables_chain_config.go'

export const firewallRules: readonly RuntimeRule[] = [
  {
    id: 'pods-behind-firewall',
    source: `${chains}: in block mode only lo, siderolink, kubespan, answers and ICMP pass; k8stemplates/flannel.go: VXLAN on port 4789`,
    level: 'warn',
    *find(config) {
      const action = blocking(config)
      if (action === undefined) return
      const rules = config.of('NetworkRuleConfig')
      const isOpened = (port: number): boolean => rules.some((rule) => opens(rule, port))
      const hit = (sentence: string): Hit => ({ document: action, path: ['ingress'], sentence })
      if (hasKubeSpan(config)) {
        if (!isOpened(kubeSpan))
          yield hit(
            `No firewall rule opens UDP ${kubeSpan}, so only servers that this one calls first reach it by KubeSpan`,
          )
        return
      }
      const tunnel = podTunnel(config)
      if (tunnel !== null && !isOpened(tunnel.port))
        yield hit(
          `No firewall rule opens UDP ${tunnel.port} (${tunnel.name}), so pods of different servers don’t reach each other`,
        )
    },
  },
  {
    id: 'dhcp-behind-firewall',
    source: `${chains}: block mode lets answers in that connection tracking knows; operator/dhcp6.go asks at a multicast address on each renewal, and RFC 8415, 18.3 and 7.2: the server answers from its own address to port 546`,
    level: 'warn',
    *find(config) {
      const action = blocking(config)
      const asks =
        config.of('DHCPv6Config').length > 0 ||
        config
          .interfaces()
          .flatMap((path) => [
            path,
            ...config.main.items(...path, 'vlans').map((vlan) => vlan.path),
          ])
          .some(
            (path) =>
              config.main.flag(...path, 'dhcp') && config.main.flag(...path, 'dhcpOptions', 'ipv6'),
          )
      if (
        action !== undefined &&
        asks &&
        !config.of('NetworkRuleConfig').some((r) => opens(r, 546))
      )
        yield {
          document: action,
          path: ['ingress'],
          sentence:
            'No firewall rule opens UDP 546, where DHCPv6 servers answer, so the server gets no IPv6 address by DHCPv6 and loses the one that it has when its lease ends: open it to fe80::/10',
        }
    },
  },
  {
    id: 'answers-behind-firewall',
    source: `${chains}: in accept mode a rule drops all packets to its ports from other sources, also answers to connections of the server itself (siderolabs/talos#13926, mended after v1.12.11, v1.13.9 and v1.14.0-rc.1)`,
    level: 'warn',
    *find(config): Generator<Hit> {
      if (blocking(config) !== undefined) return
      for (const rule of config.of('NetworkRuleConfig')) {
        if (isOpen(rule)) continue
        const range = portsOf(rule).find(
          ({ first, last }) => Math.min(last, own.last) - Math.max(first, own.first) >= many,
        )
        if (range !== undefined)
          yield {
            document: rule,
            path: range.path,
            sentence: `Without ingress: block this rule also drops answers that the server waits for on ports ${range.first}-${range.last}, unless they come from its subnets: DNS, images and other servers may fail. Name only the ports of services, or block by default`,
          }
      }
    },
  },
]
