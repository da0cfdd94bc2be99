/** Networks that Talos chooses addresses from: `10.0.0.0/8` adds to the choice, `!10.1.0.0/16` takes away. */
import type { Report } from '../../config/report.ts'
import { contains, type Prefix, prefixOf } from '../../network-effect/addresses.ts'
import type { Configuration, Hit, RuntimeRule } from '../rule.ts'

const ofKubelet = {
  path: ['machine', 'kubelet', 'nodeIP', 'validSubnets'],
  what: 'the kubelet',
} as const
const ofEtcd = [
  { path: ['cluster', 'etcd', 'advertisedSubnets'], what: 'etcd' },
  { path: ['cluster', 'etcd', 'listenSubnets'], what: 'etcd' },
] as const

/** Lists of networks that the addresses of a component are chosen from. Workers have no etcd. */
export const chosenFrom = ({ isWorker }: Configuration) => [ofKubelet, ...(isWorker ? [] : ofEtcd)]

const isTaken = (text: string): boolean => text.startsWith('!')

/**
 * The addresses that remain of a list (siderolabs/net, `FilterIPs`): each network adds or takes away,
 * one after another.
 * @param holds whether a network contains an address
 */
export function filtered(
  addresses: readonly string[],
  networks: readonly string[],
  holds: (network: string, address: string) => boolean,
): string[] {
  const chosen = new Set<string>()
  for (const text of networks)
    for (const address of addresses)
      if (holds(text.replace(/^!/, ''), address))
        if (isTaken(text)) chosen.delete(address)
        else chosen.add(address)
  return [...chosen]
}

interface List {
  readonly document: Report
  readonly path: readonly string[]
  readonly so: string
}

/** Lists of KubeSpan, in both forms. */
const endpointsOf = (config: Configuration): List[] =>
  [
    ...(config.main.flag('machine', 'network', 'kubespan', 'enabled')
      ? [
          {
            document: config.main,
            path: ['machine', 'network', 'kubespan', 'filters', 'endpoints'],
          },
        ]
      : []),
    ...config
      .of('KubeSpanConfig')
      .filter((document) => document.flag('enabled'))
      .map((document) => ({ document, path: ['filters', 'endpoints'] })),
  ].map((one) => ({ ...one, so: 'so that no other server can call this one by KubeSpan' }))

/** Lists that only take addresses away. */
function* emptyLists(lists: readonly List[]): Generator<Hit> {
  for (const { document, path, so } of lists) {
    const texts = document.texts(...path).map(({ text }) => text)
    if (texts.length > 0 && texts.every(isTaken))
      yield {
        document,
        path,
        sentence: `${path.at(-1)} only takes away (${texts.join(', ')}), and what is in no network of the list is not chosen either, ${so}: begin it with "0.0.0.0/0"`,
      }
  }
}

const source =
  'siderolabs/net net.go, FilterIPs: the list is gone through in its order, beginning with no address'

export const subnetRules: readonly RuntimeRule[] = [
  {
    id: 'subnets-only-excluded',
    source: `${source}; Talos internal/app/machined/pkg/controllers/k8s/nodeip.go ("no suitable node IP found") and etcd/spec.go`,
    level: 'refuse',
    *find(config) {
      yield* emptyLists(
        chosenFrom(config).map(({ path, what }) => ({
          document: config.main,
          path,
          so: `so that ${what} never starts`,
        })),
      )
    },
  },
  {
    id: 'endpoints-only-excluded',
    source: `${source}; Talos internal/app/machined/pkg/controllers/cluster/local_affiliate.go`,
    level: 'warn',
    *find(config) {
      // Endpoints that are announced in addition aren't filtered.
      if (config.of('KubeSpanEndpointsConfig').length === 0) yield* emptyLists(endpointsOf(config))
    },
  },
  {
    id: 'subnet-excluded-first',
    source,
    level: 'warn',
    *find(config) {
      const lists = [
        ...chosenFrom(config).map(({ path }) => ({ document: config.main, path })),
        ...endpointsOf(config),
      ]
      for (const { document, path } of lists) {
        const items = document.texts(...path).map((one) => ({
          ...one,
          network: prefixOf(one.text.replace(/^!/, '')),
          isOut: isTaken(one.text),
        }))
        for (const [i, one] of items.entries()) {
          const { network } = one
          if (!one.isOut || network === undefined) continue
          const added = (others: typeof items, isBack: (other: Prefix) => boolean) =>
            others.find((o) => !o.isOut && o.network !== undefined && isBack(o.network))
          const before = added(
            items.slice(0, i),
            (other) => contains(network, other) || contains(other, network),
          )
          // A smaller network after it is an exception that is meant.
          const later = added(
            items.slice(i + 1),
            (other) => other.length <= network.length && contains(other, network),
          )
          if (before === undefined && later !== undefined)
            yield {
              document,
              path: one.path,
              sentence: `${one.text} takes nothing away, because ${later.text} adds it again after it: write it below ${later.text}`,
            }
        }
      }
    },
  },
]
