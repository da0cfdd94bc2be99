/** Name servers that answer only when Kubernetes runs, or that are the server itself. */
import { addressOf, includes } from '../../network-effect/addresses.ts'
import type { Report } from '../../config/report.ts'
import { type Configuration, type Hit, type RuntimeRule } from '../rule.ts'
import type { InventoryRule } from '../known.ts'

/** Where Talos's own resolver listens for pods (`pkg/machinery/constants`, HostDNSAddress). */
const hostDns = '169.254.116.108'
const why = 'so after a restart the server finds no image and no other server'

function nameServers(config: Configuration): { document: Report; path: string[]; text: string }[] {
  const old = config.mainAlone
    .texts('machine', 'network', 'nameservers')
    .map((one) => ({ document: config.mainAlone, ...one }))
  const documents = config.of('ResolverConfig').flatMap((document) =>
    document.items('nameservers').map(({ path }) => ({
      document,
      path: [...path, 'address'],
      text: document.text(...path, 'address'),
    })),
  )
  return [...old, ...documents]
}

const source =
  'Talos internal/app/machined/pkg/controllers/network/dns_upstream.go: the servers are asked before the first container runs; pkg/machinery/constants, HostDNSAddress'

export const nameServerRules: readonly RuntimeRule[] = [
  {
    id: 'name-server-in-cluster',
    source,
    level: 'warn',
    *find(config): Generator<Hit> {
      const main = (config.cluster ?? config).main
      const networks = (key: string) =>
        main.texts('cluster', 'network', key).map(({ text }) => text)
      const dns = new Set(main.texts('machine', 'kubelet', 'clusterDNS').map(({ text }) => text))
      for (const { text, ...place } of nameServers(config)) {
        const address = addressOf(text)
        if (address === undefined) continue
        const within = (key: string) => networks(key).find((network) => includes(network, address))
        const service = within('serviceSubnets')
        const pod = within('podSubnets')
        if (text === hostDns)
          yield {
            ...place,
            sentence: `${text} is Talos’s own resolver, which then asks itself, ${why}`,
          }
        else if (service !== undefined || dns.has(text))
          yield {
            ...place,
            sentence: `${text} is in the service network of the cluster${service === undefined ? '' : ` (${service})`}, where a name server such as CoreDNS answers only when its pods run, ${why}`,
          }
        else if (pod !== undefined)
          yield {
            ...place,
            sentence: `${text} is in the pod network of the cluster (${pod}), where a name server answers only when its pod runs, ${why}`,
          }
      }
    },
  },
]

export const nameServerInventoryRules: readonly InventoryRule[] = [
  {
    id: 'name-server-of-itself',
    source,
    level: 'warn',
    *find(config, { server, addresses }) {
      if (addresses === null) return
      const own = [
        ...addresses,
        ...config.addresses().map(({ text }) => text.split('/', 1)[0]!),
        ...config.virtualAddresses().map(({ text }) => text),
      ].flatMap((text) => addressOf(text) ?? [])
      for (const { text, ...place } of nameServers(config)) {
        const address = addressOf(text)
        if (
          address !== undefined &&
          own.some(({ family, value }) => family === address.family && value === address.value)
        )
          yield {
            ...place,
            sentence: `${text} is an address of ${server} itself, where nothing answers names before Kubernetes runs, ${why}`,
          }
      }
    },
  },
]
