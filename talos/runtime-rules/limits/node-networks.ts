/** Sizes of the parts of the pod network that nodes get from the controller manager. */
import { type Prefix, prefixOf } from '../../network-effect/addresses.ts'
import type { Configuration, Hit, RuntimeRule } from '../rule.ts'
import { lastOf } from './values.ts'

const argument = (name: string): string[] => ['cluster', 'controllerManager', 'extraArgs', name]
const plain = 'node-cidr-mask-size'

/** All texts of an argument, which may have several by commas or in a list. */
function textsOf({ main }: Configuration, path: readonly string[]): string[] {
  const texts = main.texts(...path).map(({ text }) => text)
  return (texts.length > 0 ? texts : [main.text(...path)])
    .flatMap((text) => text.split(','))
    .map((text) => text.trim())
    .filter((text) => text !== '')
}

/**
 * The pod networks that the controller manager divides; none if it divides none (Kubernetes
 * `cmd/kube-controller-manager/app/core.go`, startNodeIpamController).
 */
function divided(config: Configuration): { readonly text: string; readonly prefix: Prefix }[] {
  const isOff =
    config.isWorker ||
    /^(0|f|false)$/i.test(lastOf(config.main, argument('allocate-node-cidrs'))) ||
    textsOf(config, argument('controllers')).some((one) =>
      ['-node-ipam-controller', '-nodeipam'].includes(one),
    )
  if (isOff) return []
  const given = textsOf(config, argument('cluster-cidr'))
  const texts = given.length > 0 ? given : textsOf(config, ['cluster', 'network', 'podSubnets'])
  return texts.flatMap((text) => {
    const prefix = prefixOf(text)
    return prefix === undefined ? [] : [{ text, prefix }]
  })
}

/** The size that an argument gives; null without one. Kubernetes takes 0 for none. */
function sizeOf({ main }: Configuration, name: string): number | null {
  const text = lastOf(main, argument(name))
  return /^\d+$/.test(text) && Number(text) > 0 ? Number(text) : null
}

const stops = 'so the controller manager does not start'

/** Arguments of sizes that the controller manager refuses for the families of its networks. */
function* familyProblems(config: Configuration): Generator<Hit> {
  const families = divided(config).map(({ prefix }) => prefix.family)
  const [family] = families
  if (family === undefined) return
  const hit = (name: string, sentence: string): Hit => ({
    document: config.main,
    path: argument(name),
    sentence,
  })
  const given = ([4, 6] as const).filter((one) => sizeOf(config, `${plain}-ipv${one}`) !== null)
  if (families.length > 1) {
    if (sizeOf(config, plain) !== null)
      yield hit(
        plain,
        `${plain} is not allowed with pod networks of two families, ${stops}: write ${plain}-ipv4 and ${plain}-ipv6`,
      )
    return
  }
  if (sizeOf(config, plain) !== null && given.length > 0)
    yield hit(
      plain,
      `${plain} is not allowed beside ${plain}-ipv${given[0]}, ${stops}: leave ${plain} out`,
    )
  else if (given.some((one) => one !== family))
    yield hit(
      `${plain}-ipv${family === 4 ? 6 : 4}`,
      `${plain}-ipv${family === 4 ? 6 : 4} is not allowed without a pod network of IPv${family === 4 ? 6 : 4}, ${stops}: leave it out`,
    )
}

const sizesSource =
  'Kubernetes cmd/kube-controller-manager/app/core.go, setNodeCIDRMaskSizes: "usage of --node-cidr-mask-size is not allowed with dual-stack clusters", "… if --node-cidr-mask-size is set", "… for a single-stack IPv4 cluster"'

export const nodeNetworkRules: readonly RuntimeRule[] = [
  {
    id: 'node-network-size',
    source:
      'Kubernetes pkg/controller/nodeipam/node_ipam_controller.go: "mask size of cluster CIDR must be less than or equal to --node-cidr-mask-size"; ipam/cidrset/cidr_set.go: in IPv6 at most 16 bits between both',
    level: 'refuse',
    *find(config) {
      const networks = divided(config)
      for (const { text, prefix } of networks)
        for (const name of [
          `${plain}-ipv${prefix.family}`,
          ...(networks.length === 1 ? [plain] : []),
        ]) {
          const size = sizeOf(config, name)
          if (size === null) continue
          const problem =
            size < prefix.length
              ? `is larger than the pod network ${text}`
              : prefix.family === 6 && size - prefix.length > 16
                ? `is more than 16 bits smaller than the pod network ${text}`
                : size > (prefix.family === 4 ? 32 : 128)
                  ? 'does not exist'
                  : null
          if (problem !== null)
            yield {
              document: config.main,
              path: argument(name),
              sentence: `A node’s network of /${size} ${problem}, so nodes get no addresses for pods`,
            }
        }
    },
  },
  {
    id: 'node-network-family',
    source: sizesSource,
    level: 'refuse',
    find: familyProblems,
  },
  {
    id: 'node-network-of-talos',
    minors: ['1.14'],
    source: `Talos internal/app/machined/pkg/controllers/k8s/control_plane_final.go (v1.14.0-rc.1): node-cidr-mask-size-ipv4 or -ipv6 is always set; ${sizesSource}`,
    level: 'refuse',
    *find(config) {
      const networks = divided(config)
      const [first] = networks
      const isSaid = [...familyProblems(config)].some(({ path }) => path.at(-1) === plain)
      if (first !== undefined && sizeOf(config, plain) !== null && !isSaid)
        yield {
          document: config.main,
          path: argument(plain),
          sentence: `Talos sets ${plain}-ipv${first.prefix.family} since 1.14, and ${plain} is not allowed beside it, ${stops}: write ${plain}-ipv${first.prefix.family} instead`,
        }
    },
  },
]
