/**
 * Objects in Kubernetes that Talos makes of a configuration of a control plane: kube-proxy, CoreDNS,
 * Flannel and manifests. Talos creates missing ones at once, changes none that exists and deletes
 * none (`controllers/k8s/manifest_apply.go`, apply). An upgrade of Kubernetes changes them
 * (`pkg/cluster/kubernetes/talos_managed.go`, syncManifestsSSA), and deletes none either.
 */
import { isDeepStrictEqual } from 'node:util'
import { map, text, tidy, type Values } from './values.ts'

/** A configuration: the main document, and the others by kind and name. */
export interface Documents {
  readonly main: Values
  readonly others: Values
}

export interface ObjectChanges {
  /** What changes objects that exist: an upgrade of Kubernetes applies it. */
  readonly atKubernetesUpgrade: readonly string[]
  /** Whose objects stay until somebody deletes them. */
  readonly left: readonly string[]
}

interface Source {
  /** `documents` or `main`: the move from one to the other is no change. */
  readonly home: string
  readonly value: unknown
}

const manifestPrefix = 'the manifest '
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const isOn = (value: unknown): boolean => text(value) !== 'false'

function* inMain(main: Values): Generator<[name: string, value: unknown]> {
  const cluster = map(main['cluster'])
  const { disabled: noProxy, ...proxy } = map(cluster['proxy'])
  if (text(noProxy) !== 'true') yield ['kube-proxy', proxy]
  const { disabled: noDns, ...dns } = map(cluster['coreDNS'])
  if (text(noDns) !== 'true') yield ['CoreDNS', dns]
  const { name, urls, ...cni } = map(map(cluster['network'])['cni'])
  if (['', 'flannel'].includes(text(name))) yield ['Flannel', cni]
  for (const one of list(cluster['inlineManifests']))
    yield [`${manifestPrefix}${text(map(one)['name'])}`, text(map(one)['contents'])]
  const manifests = map(cluster['externalCloudProvider'])['manifests']
  for (const url of [...list(urls), ...list(cluster['extraManifests']), ...list(manifests)])
    yield [`${manifestPrefix}${text(url)}`, cluster['extraManifestHeaders']]
}

/** Documents of which each is one source; without the document Talos doesn't make the objects. */
const named: Readonly<Record<string, string>> = {
  KubeProxyConfig: 'kube-proxy',
  KubeCoreDNSConfig: 'CoreDNS',
  KubeFlannelCNIConfig: 'Flannel',
}

function* inDocuments(others: Values): Generator<[name: string, value: unknown]> {
  for (const [key, document] of Object.entries(others)) {
    const { kind, apiVersion: _, enabled, name, ...value } = map(document)
    const own = named[text(kind)]
    if (own !== undefined && isOn(enabled)) yield [own, value]
    if (text(kind) === 'KubeInlineManifestConfig')
      yield [`${manifestPrefix}${text(name)}`, text(value['manifest'])]
    if (text(kind) === 'KubeExternalManifestConfig')
      yield [`${manifestPrefix}${text(value['url']) || key}`, value['headers']]
  }
}

/** The sources of objects of a control plane's configuration, by name. */
function sourcesOf({ main, others }: Documents): Map<string, Source> {
  const isMoved = Object.keys(others).some((key) => key.startsWith('KubeNetworkConfig'))
  const own = new Set(Object.values(named))
  // Since the move, what the main document leaves out is not there.
  const old = [...inMain(main)].filter(
    ([name, value]) => !isMoved || !own.has(name) || tidy(value) !== undefined,
  )
  return new Map<string, Source>([
    ...old.map(([name, value]) => [name, { home: 'main', value }] as const),
    ...[...inDocuments(others)].map(
      ([name, value]) => [name, { home: 'documents', value }] as const,
    ),
  ])
}

/** What a change of a control plane's configuration does to objects in Kubernetes. */
export function objectChanges(before: Documents, after: Documents): ObjectChanges {
  const [then, now] = [sourcesOf(before), sourcesOf(after)]
  const names = [...then.keys()]
  const left = names.filter((name) => !now.has(name))
  const changed = names.filter((name) => {
    const [former, wanted] = [then.get(name)!, now.get(name)]
    return (
      wanted !== undefined &&
      former.home === wanted.home &&
      !isDeepStrictEqual(tidy(former.value), tidy(wanted.value))
    )
  })
  // A manifest in place of another, such as its newer version, may have the same objects.
  const isManifest = (name: string): boolean => name.startsWith(manifestPrefix)
  const replacing = left.some(isManifest)
    ? [...now.keys()].filter((name) => !then.has(name) && isManifest(name))
    : []
  return { atKubernetesUpgrade: [...changed, ...replacing], left }
}
