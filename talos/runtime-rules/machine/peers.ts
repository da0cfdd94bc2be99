/** Packets of the other servers of the cluster that the firewall keeps out. */
import { lets } from '../../network-effect/firewall.ts'
import type { Rule } from '../../network-effect/read.ts'
import type { Report } from '../../config/report.ts'
import { type InventoryRule, some } from '../known.ts'
import { podTunnel } from '../limits/firewall.ts'
import { hasKubeSpan } from '../limits/network.ts'

const ruleOf = (rule: Report): Rule => ({
  name: rule.text('name'),
  protocol: rule.text('portSelector', 'protocol') || 'tcp',
  ports: rule.texts('portSelector', 'ports').map(({ text }) => {
    const [first = Number.NaN, last = first] = text.split('-').map(Number)
    return [first, last] as const
  }),
  subnets: rule.items('ingress').map(({ path }) => rule.text(...path, 'subnet')),
  except: rule
    .items('ingress')
    .map(({ path }) => rule.text(...path, 'except'))
    .filter((text) => text !== ''),
})

export const peerRules: readonly InventoryRule[] = [
  {
    id: 'pods-of-peers-behind-firewall',
    source:
      'Talos internal/app/machined/pkg/controllers/network/nftables_chain_config.go, buildIngressChain: a rule lets in its subnets only, in either mode',
    level: 'warn',
    *find(config, { peers = [] }) {
      // The link of KubeSpan is trusted.
      const tunnel = hasKubeSpan(config) ? null : podTunnel(config)
      if (tunnel === null) return
      const documents = config.of('NetworkRuleConfig')
      const rules = documents.map(ruleOf)
      const about = documents.find((_, i) => {
        const { protocol, ports } = rules[i]!
        return protocol === 'udp' && ports.some(([a, b]) => a <= tunnel.port && tunnel.port <= b)
      })
      // That nothing opens the port is another rule's.
      if (about === undefined) return
      const blocks = config
        .of('NetworkDefaultActionConfig')
        .some((one) => one.text('ingress') === 'block')
      const out = peers.filter(
        ({ addresses }) =>
          addresses.length > 0 &&
          addresses.every(
            (address) =>
              lets({ firewall: { blocks, rules } }, address, tunnel.port, 'udp') === 'out',
          ),
      )
      if (out.length > 0)
        yield {
          document: about,
          path: ['ingress'],
          sentence: `The firewall keeps ${some(out.map(({ name }) => name))} out of UDP ${tunnel.port} (${tunnel.name}), so their pods don’t reach those of this server`,
        }
    },
  },
]
