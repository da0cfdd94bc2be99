/** The machine's own parts of the main document that documents of Talos 1.14 take over. */
import { sizeBytes } from '../config/formats.ts'
import type { TreeNode } from '../config/tree.ts'
import { at } from '../config/tree.ts'
import { documentOf, type Part, type Source, stays, valuesOf, withoutHome } from './part.ts'

const discoveryPath = 'cluster.discovery'
const discovery: Part = {
  kinds: ['DiscoveryServiceConfig'],
  paths: [discoveryPath],
  move(from) {
    const registry = (name: string) => `${discoveryPath}.registries.${name}`
    if (!from.flag(`${discoveryPath}.enabled`)) return { documents: [] }
    if (!from.flag(registry('kubernetes.disabled')))
      return stays('the registry in Kubernetes has no document', registry('kubernetes'))
    return {
      documents: from.flag(registry('service.disabled'))
        ? []
        : [
            documentOf('DiscoveryServiceConfig', {
              name: 'default',
              endpoint: from.text(registry('service.endpoint')) || 'https://discovery.talos.dev/',
            }),
          ],
    }
  },
}

const identity: Part = {
  kinds: ['DiscoveryIdentityConfig'],
  paths: ['cluster.id', 'cluster.secret'],
  move: (from) =>
    // `v1alpha1_validation.go`, ClusterDiscoveryConfig.Validate
    from.stayed.has(discoveryPath)
      ? stays('cluster.discovery stays, and needs it')
      : {
          documents: [
            documentOf('DiscoveryIdentityConfig', {
              clusterID: from.node('cluster.id'),
              clusterSecret: from.node('cluster.secret'),
            }),
          ],
        },
}

const install = 'machine.install'

/** As Talos reads the selector (`v1alpha1_provider.go`, DiskMatchExpression). */
function selected(from: Source): string | null {
  const of = (name: string) => from.text(`${install}.diskSelector.${name}`)
  const size = of('size').trim()
  const operator = ['>=', '<=', '>', '<', '=='].find((one) => size.startsWith(one)) ?? ''
  const bytes = sizeBytes(size.slice(operator.length).trim())
  if ((size !== '' && bytes === undefined) || of('name') !== '') return null
  const glob = (name: string, field: string): string[] =>
    of(name) === '' ? [] : [`glob(${JSON.stringify(of(name))}, disk.${field})`]
  const types: Readonly<Record<string, string>> = {
    nvme: 'disk.transport == "nvme"',
    sd: 'disk.transport == "mmc"',
    hdd: 'disk.rotational',
    ssd: '!disk.rotational',
  }
  const type = of('type')
  return [
    ...(size === '' ? [] : [`disk.size ${operator || '=='} ${bytes}u`]),
    ...glob('uuid', 'uuid'),
    ...glob('wwid', 'wwid'),
    ...glob('model', 'model'),
    ...glob('serial', 'serial'),
    ...glob('modalias', 'modalias'),
    'disk.transport != ""',
    ...(type === '' ? [] : [types[type]!]),
    ...glob('busPath', 'bus_path'),
    '!disk.readonly',
    '!disk.cdrom',
  ].join(' && ')
}

const named = (disk: string): string =>
  disk.startsWith('/dev/disk/')
    ? `${JSON.stringify(disk)} in disk.symlinks`
    : `disk.dev_path == ${JSON.stringify(disk)}`

const installation: Part = {
  kinds: ['UnattendedInstallConfig'],
  paths: [install],
  move(from) {
    const homeless = withoutHome({
      [`${install}.extraKernelArgs`]: (p) => from.isFilled(p),
      [`${install}.extensions`]: (p) => from.isFilled(p),
      [`${install}.legacyBIOSSupport`]: (p) => from.flag(p),
    })
    if (homeless) return homeless
    if (!from.flag(`${install}.grubUseUKICmdline`))
      return stays(
        'grubUseUKICmdline isn’t true here, and always is with UnattendedInstallConfig: kernel arguments could change at the next upgrade',
      )
    const disk = from.text(`${install}.disk`)
    const match = from.isFilled(`${install}.diskSelector`)
      ? selected(from)
      : disk === ''
        ? null
        : named(disk)
    if (match === null) return stays('the disk can’t be told by an expression')
    return {
      documents: [
        documentOf('UnattendedInstallConfig', {
          installer: { image: from.node(`${install}.image`) },
          // Unlike in the main document, `wipe` is true if it is unset.
          provisioning: { diskSelector: { match }, wipe: from.flag(`${install}.wipe`) },
        }),
      ],
    }
  },
}

const hostDnsPath = 'machine.features.hostDNS'
const hostDns: Part = {
  kinds: ['ResolverConfig'],
  paths: [hostDnsPath],
  isMerged: true,
  move(from) {
    const old = ['nameservers', 'searchDomains', 'disableSearchDomain']
      .map((name) => `machine.network.${name}`)
      .find((path) => from.has(path))
    if (old !== undefined) return stays(`ResolverConfig can’t be used beside ${old}`)
    const [existing] = from.documents('ResolverConfig')
    if (existing !== undefined && Object.keys(valuesOf(at(existing, 'hostDNS'))).length > 0)
      return stays('ResolverConfig says it too')
    return {
      documents: [
        documentOf('ResolverConfig', { ...valuesOf(existing), hostDNS: from.node(hostDnsPath) }),
      ],
    }
  },
}

/** Values by key, of which those in an existing document have priority. */
const parameters = (path: string, kind: string): Part => ({
  kinds: [kind],
  paths: [path],
  isMerged: true,
  move: (from) => {
    const [existing] = from.documents(kind)
    const params = { ...from.entries(path), ...valuesOf(at(existing, 'params')) }
    return {
      documents: Object.keys(params).length > 0 ? [documentOf(kind, { params })] : [],
    }
  },
})

const modulesPath = 'machine.kernel.modules'
const modules: Part = {
  kinds: ['KernelModuleConfig'],
  paths: [modulesPath],
  isMerged: true,
  move(from) {
    const nameOf = (node: TreeNode): string => {
      const name = at(node, 'name')
      return name?.is === 'scalar' ? String(name.value) : ''
    }
    const known = new Set(from.documents('KernelModuleConfig').map(nameOf))
    const all = new Map(from.items(modulesPath).map((one) => [nameOf(one), one]))
    return {
      documents: [...all]
        .filter(([name]) => !known.has(name))
        .map(([name, one]) =>
          documentOf('KernelModuleConfig', { name, parameters: at(one, 'parameters') }),
        ),
    }
  },
}

const udevPath = 'machine.udev.rules'
const udev: Part = {
  kinds: ['UdevRulesConfig'],
  paths: [udevPath],
  isMerged: true,
  move(from) {
    if (from.documents('UdevRulesConfig').length > 0)
      return {
        documents: [],
        dropped: [{ path: udevPath, why: 'Talos reads UdevRulesConfig instead' }],
      }
    const rules = from.node(udevPath)
    return {
      documents: from.isFilled(udevPath) ? [documentOf('UdevRulesConfig', { rules })] : [],
    }
  },
}

const cachePath = 'machine.features.imageCache'
const imageCache: Part = {
  kinds: ['ImageCacheConfig'],
  paths: [cachePath],
  move: (from) => ({
    documents: [
      documentOf('ImageCacheConfig', {
        local: { enabled: from.flag(`${cachePath}.localEnabled`) },
      }),
    ],
  }),
}

const specPath = 'machine.baseRuntimeSpecOverrides'
const runtimeSpec: Part = {
  kinds: ['CRIBaseRuntimeSpecConfig'],
  paths: [specPath],
  move: (from) => ({
    documents: from.isFilled(specPath)
      ? [documentOf('CRIBaseRuntimeSpecConfig', { overrides: from.node(specPath) })]
      : [],
  }),
}

export const systemParts: readonly Part[] = [
  discovery,
  identity,
  installation,
  hostDns,
  parameters('machine.sysctls', 'SysctlConfig'),
  parameters('machine.sysfs', 'SysfsConfig'),
  modules,
  udev,
  imageCache,
  runtimeSpec,
]
