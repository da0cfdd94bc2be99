import {
  NamespaceSpecSchema,
  ResourceDefinitionSpecSchema,
  ResourceDefinitionSpec_Sensitivity,
} from '#talos/proto/gen/cosi/meta_pb.ts'
import { CLUSTER, SECRETS } from './cluster.ts'
import { DEFINITIONS, type Definition } from './definitions.ts'
import { HARDWARE } from './hardware.ts'
import { NETWORK } from './network.ts'
import { item, kind, type Item, type Kind } from './resource.ts'
import { RUNTIME } from './runtime.ts'
import { STORAGE } from './storage.ts'

/** The first minor of namespaces that not every version has. */
const NEW_NAMESPACES: Record<string, number> = { security: 13, containers: 14, storage: 14 }
/** Namespaces (Talos: internal/app/machined/pkg/runtime/v1alpha2/v1alpha2_state.go). */
const NAMESPACES: Record<string, string> = {
  meta: 'Metadata namespace which contains resource and namespace definitions.',
  runtime: 'Talos v1alpha1 subsystems glue resources.',
  cluster: 'Cluster configuration and discovery resources.',
  'cluster-raw': 'Cluster unmerged raw resources.',
  config: 'Talos node configuration.',
  etcd: 'etcd resources.',
  files: 'Files and file-like resources.',
  hardware: 'Hardware resources.',
  k8s: 'Kubernetes all node types resources.',
  controlplane: 'Kubernetes control plane resources.',
  kubespan: 'KubeSpan resources.',
  network: 'Networking resources.',
  'network-config': 'Networking configuration resources.',
  cri: 'CRI Seccomp resources.',
  secrets: 'Resources with secret material.',
  security: 'Security resources.',
  containers: 'Talos-managed container resources.',
  storage: 'Storage resources.',
  perf: 'Stats resources.',
}

/** The definition resource of a type. Clients read the type's short names and columns from it. */
const definitionItem = (definition: Definition): Item => {
  const { type, displayType, namespace, aliases, allAliases, printColumns, sensitive } = definition
  return item(
    type.toLowerCase(),
    ResourceDefinitionSpecSchema,
    {
      resourceType: type,
      displayType,
      defaultNamespace: namespace,
      aliases,
      allAliases,
      printColumns,
      sensitivity: sensitive
        ? ResourceDefinitionSpec_Sensitivity.SENSITIVE
        : ResourceDefinitionSpec_Sensitivity.NON_SENSITIVE,
    },
    { sensitivity: sensitive ? 'sensitive' : undefined },
  )
}

const META: Kind[] = [
  kind('ResourceDefinitions.meta.cosi.dev', ({ talosMinor }) =>
    [...DEFINITIONS.values()].filter(({ since }) => since <= talosMinor).map(definitionItem),
  ),
  kind('Namespaces.meta.cosi.dev', ({ talosMinor }) =>
    Object.entries(NAMESPACES)
      .filter(([name]) => talosMinor >= (NEW_NAMESPACES[name] ?? 0))
      .map(([name, description]) => item(name, NamespaceSpecSchema, { description })),
  ),
]

const SIMULATED = new Map(
  [...HARDWARE, ...NETWORK, ...RUNTIME, ...CLUSTER, ...SECRETS, ...STORAGE, ...META].map(
    (entry) => [entry.type, entry],
  ),
)

/** Every type of Talos. Types that aren't simulated have no resources. */
export const KINDS: ReadonlyMap<string, Kind> = new Map(
  [...DEFINITIONS].map(([type, definition]) => [
    type,
    SIMULATED.get(type) ?? { ...definition, list: () => [] },
  ]),
)
export const isNamespace = (name: string): boolean => Object.hasOwn(NAMESPACES, name)
