import { NamespaceSpecSchema, ResourceDefinitionSpecSchema, ResourceDefinitionSpec_Sensitivity } from '#talos/proto/gen/cosi/meta_pb.ts'
import { CLUSTER } from './cluster.ts'
import { HARDWARE } from './hardware.ts'
import { NETWORK } from './network.ts'
import { item, kind, type Kind } from './resource.ts'
import { RUNTIME } from './runtime.ts'
import { SECRETS } from './secrets.ts'

/** Types that exist but that this simulation keeps empty: asked for, they answer like the real ones, with nothing in them. */
const EMPTY: Kind[] = [kind('KubeletSpecs.kubernetes.talos.dev', 'k8s', () => [], { sensitive: true })]

const OWN: Kind[] = [...HARDWARE, ...NETWORK, ...RUNTIME, ...CLUSTER, ...SECRETS, ...EMPTY]

const NAMESPACES = ['hardware', 'runtime', 'network', 'config', 'cluster', 'k8s', 'etcd', 'meta', 'secrets', 'perf'] as const

const displayType = (type: string): string =>
  type.slice(0, type.indexOf('.')).replace(/ies$/, 'y').replace(/sses$/, 'ss').replace(/uses$/, 'us').replace(/s$/, '')

/** Definitions let clients find types by short names. */
const META: Kind[] = [
  kind('ResourceDefinitions.meta.cosi.dev', 'meta', () =>
    [...OWN, ...META].map(({ type, namespace, sensitive, aliases }) => {
      const short = type.slice(0, type.indexOf('.')).toLowerCase()
      const spec = {
        resourceType: type,
        displayType: displayType(type),
        defaultNamespace: namespace,
        aliases,
        allAliases: [...new Set([...aliases, short, type.toLowerCase().slice(0, type.lastIndexOf('.')), displayType(type).toLowerCase()])],
        sensitivity: sensitive ? ResourceDefinitionSpec_Sensitivity.SENSITIVE : ResourceDefinitionSpec_Sensitivity.NON_SENSITIVE,
      }
      return item(type.toLowerCase(), ResourceDefinitionSpecSchema, spec, {
        type,
        displayType: spec.displayType,
        aliases,
        allAliases: spec.allAliases,
        defaultNamespace: namespace,
        printColumns: [],
        sensitivity: sensitive ? 'sensitive' : '',
      })
    }),
  ),
  kind('Namespaces.meta.cosi.dev', 'meta', () => NAMESPACES.map((name) => item(name, NamespaceSpecSchema, { description: `${name} resources` }))),
]

export const KINDS: ReadonlyMap<string, Kind> = new Map([...OWN, ...META].map((entry) => [entry.type, entry]))
export const isNamespace = (name: string): boolean => (NAMESPACES as readonly string[]).includes(name)
