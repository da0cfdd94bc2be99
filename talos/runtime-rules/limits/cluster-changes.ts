/** Changes of a member's configuration that part it from what its cluster has already. */
import type { ConfigDocument } from '../../config/decode.ts'
import { Configuration, type Hit } from '../rule.ts'
import { findingOf, type RuntimeFinding } from '../runtime-rules.ts'

const domainPath = ['cluster', 'network', 'dnsDomain'] as const
/** Talos `pkg/machinery/constants`, DefaultDNSDomain. */
const domainOf = ({ main }: Configuration): string => main.text(...domainPath) || 'cluster.local'

function* domainChange(
  before: Configuration,
  after: Configuration,
  server: string,
): Generator<Hit> {
  const [former, wanted] = [domainOf(before), domainOf(after)]
  if (former === wanted) return
  yield {
    document: after.main,
    path: domainPath,
    sentence: `New pods of ${server} look for names in ${wanted}, and CoreDNS goes on answering for ${former} until the next Kubernetes upgrade, so they find no Service by its short name: keep ${former}, and choose the domain of a cluster by a patch of its creation`,
  }
}

/** An argument of the API server that replaces what Talos gives it. */
interface Trusted {
  readonly name: string
  /** Whether a text is several values by commas: the flag is a StringSlice, not a StringArray. */
  readonly isSplit: boolean
  /** Field of `accepted` in KubeServiceAccountConfig. */
  readonly field: string
  readonly otherwise: (config: Configuration) => string[]
  readonly sentence: (lost: string, server: string, advice: string) => string
}

const issuerOf = (config: Configuration): string =>
  config.of('KubeServiceAccountConfig')[0]?.text('issuer', 'issuerURL') ||
  config.main.text('cluster', 'controlPlane', 'endpoint')
const accepted = (config: Configuration, field: string): string[] =>
  config
    .of('KubeServiceAccountConfig')
    .flatMap((one) => one.texts('accepted', field))
    .map(({ text }) => text)

const trusted: readonly Trusted[] = [
  {
    name: 'service-account-issuer',
    isSplit: false,
    field: 'issuers',
    otherwise: (config) => [issuerOf(config), ...accepted(config, 'issuers')],
    sentence: (lost, server, advice) =>
      `The API server of ${server} refuses all tokens that ${lost} has issued, so pods lose the Kubernetes API until they get new ones: ${advice}`,
  },
  {
    name: 'api-audiences',
    isSplit: true,
    field: 'audiences',
    otherwise: (config) => {
      const audiences = accepted(config, 'audiences')
      return audiences.length > 0 ? audiences : [issuerOf(config)]
    },
    sentence: (lost, server, advice) =>
      `The API server of ${server} refuses all tokens for ${lost}, so pods lose the Kubernetes API until they get new ones: ${advice}`,
  },
]

const pathOf = (name: string): string[] => ['cluster', 'apiServer', 'extraArgs', name]

/** What the API server accepts: the argument, or what Talos gives it. */
function valuesOf(config: Configuration, one: Trusted): string[] {
  const { main } = config
  const path = pathOf(one.name)
  if (!main.has(...path)) return one.otherwise(config)
  const texts = main.texts(...path).map(({ text }) => text)
  const given = texts.length > 0 ? texts : [main.text(...path)]
  return one.isSplit ? given.flatMap((text) => text.split(',')).map((text) => text.trim()) : given
}

function* tokensRefused(
  before: Configuration,
  after: Configuration,
  server: string,
): Generator<Hit> {
  if (after.isWorker) return
  for (const one of trusted) {
    const path = pathOf(one.name)
    // Another endpoint changes the issuer as well, of which the change of the endpoint tells.
    if (!before.main.has(...path) && !after.main.has(...path)) continue
    const wanted = valuesOf(after, one)
    const lost = valuesOf(before, one).filter((value) => value !== '' && !wanted.includes(value))
    if (lost.length === 0) continue
    const hasDocument = after.of('KubeServiceAccountConfig').length > 0
    yield {
      document: after.main,
      path,
      sentence: one.sentence(
        lost.join(', '),
        server,
        hasDocument
          ? `leave ${one.name} out and write accepted.${one.field} in KubeServiceAccountConfig`
          : `write a list (since Talos 1.13) with the new value first and ${lost.join(', ')} behind it`,
      ),
    }
  }
}

const rules = [
  { id: 'cluster-domain-change', level: 'warn', find: domainChange },
  { id: 'tokens-refused', level: 'warn', find: tokensRefused },
] as const

/**
 * What a change of a member parts from its cluster. Talos `controllers/k8s` (v1.13.9):
 * `kubelet_spec.go` gives the kubelet its domain at once, and `manifest_apply.go`, apply, changes
 * no object that exists, such as CoreDNS's ConfigMap; `control_plane_static_pod.go`: issuer and
 * audience of tokens are the endpoint, and an argument replaces them. Kubernetes
 * `pkg/kubeapiserver/options/authentication.go`: "When specified multiple times, the first is used
 * to generate tokens and all are used to determine which issuers are accepted".
 */
export function clusterChangeFindings(
  before: readonly ConfigDocument[],
  after: readonly ConfigDocument[],
  server: string,
): RuntimeFinding[] {
  const [former, wanted] = [new Configuration(before), new Configuration(after)]
  return rules.flatMap((rule) =>
    Array.from(rule.find(former, wanted, server), (hit) => findingOf(rule, hit)),
  )
}
