/**
 * The objects that Talos maintains in a cluster (kube-proxy, CoreDNS, Flannel, roles). Talos itself
 * only creates missing ones, so an upgrade updates existing ones by server-side apply as Talos's
 * field manager (Talos `pkg/cluster/kubernetes/talos_managed.go`, syncManifestsSSA). Nothing is
 * deleted.
 */
import { stringify } from 'yaml'
import { unifiedDiff } from '#contract/servers/diff.ts'
import { counted } from '#contract/words.ts'
import { resources } from '#talos/client/resources.ts'
import { has } from '#talos/versions.ts'
import type { Kubernetes } from '../../../kubernetes/client.ts'
import { isRecord, KubernetesError } from '../../../kubernetes/answers.ts'
import { type ChangeView } from '../frame.ts'
import { talosOf } from '../../control-planes/api.ts'

const fieldManager = 'talos'
/**
 * Talos 1.13 and newer marks its objects (`manifest_apply.go`). Without the mark, an apply by the
 * same manager would remove it.
 */
const owner = { 'config.k8s.io/owning-inventory': 'talos-bootstrap-manifests-inventory' }
/**
 * How many manifests a plan compares. Each takes two requests, one after another, and a plan has 30
 * seconds.
 */
const mostCompared = 500

type Body = Readonly<Record<string, unknown>>
export interface Manifest {
  readonly body: Body
  /** `DaemonSet kube-system/kube-proxy` */
  readonly title: string
}

const part = (body: unknown, key: string): Body =>
  isRecord(body) && isRecord(body[key]) ? body[key] : {}
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
export const nameOf = ({ body }: Manifest): string => textOf(part(body, 'metadata')['name'])

/** Namespaces and definitions of kinds come first, because other objects need them. */
const rank = ({ body }: Manifest): number =>
  body['kind'] === 'Namespace' ? 0 : body['kind'] === 'CustomResourceDefinition' ? 1 : 2

/** The manifests that this control plane reports. @throws TalosError */
export async function readManifests(
  view: Pick<ChangeView, 'parts' | 'state' | 'signal'>,
  nodeId: string,
): Promise<Manifest[]> {
  const { items } = await talosOf(view, nodeId, (client) => client.list(resources.manifest))
  const objects = items.flatMap(({ spec }) =>
    spec.items.flatMap(({ object }) => (object ? [object as Body] : [])),
  )
  return objects
    .filter(
      (body) =>
        textOf(body['apiVersion']) !== '' &&
        textOf(body['kind']) !== '' &&
        textOf(part(body, 'metadata')['name']) !== '',
    )
    .map((body) => {
      const { namespace, name } = part(body, 'metadata')
      return {
        body,
        title: `${textOf(body['kind'])} ${namespace === undefined ? '' : `${textOf(namespace)}/`}${textOf(name)}`,
      }
    })
    .toSorted((a, b) => rank(a) - rank(b))
}

/**
 * The image that the manifest of kube-proxy names; undefined if the cluster has no kube-proxy of
 * Talos.
 */
export const proxyImageOf = (manifests: readonly Manifest[]): string | undefined => {
  const found = manifests.find((m) => m.body['kind'] === 'DaemonSet' && nameOf(m) === 'kube-proxy')
  const containers = part(part(part(found?.body, 'spec'), 'template'), 'spec')['containers']
  const [first] = Array.isArray(containers) ? (containers as unknown[]) : []
  return isRecord(first) ? textOf(first['image']) : undefined
}

/** The manifests with another image, as they will be after the change of the configuration. */
export const withImage = (
  manifests: readonly Manifest[],
  before: string,
  after: string,
): Manifest[] =>
  manifests.map((m) => ({
    ...m,
    body: JSON.parse(
      JSON.stringify(m.body, (key, value: unknown) =>
        key === 'image' && value === before ? after : value,
      ),
    ) as Body,
  }))

/** Paths of kinds, read once per group and version. */
export function objectPaths(api: Pick<Kubernetes, 'get'>, signal: AbortSignal) {
  const known = new Map<string, Promise<unknown>>()
  return async ({ body, title }: Manifest): Promise<string> => {
    const version = textOf(body['apiVersion'])
    const root = version.includes('/') ? `/apis/${version}` : `/api/${version}`
    const list = known.get(root) ?? api.get(root, signal)
    known.set(root, list)
    const found: unknown = await list
    const kinds =
      isRecord(found) && Array.isArray(found['resources'])
        ? (found['resources'] as unknown[]).filter(isRecord)
        : []
    const kind = kinds.find((k) => k['kind'] === body['kind'] && !textOf(k['name']).includes('/'))
    if (!kind) throw new KubernetesError(`the cluster serves no kind of ${title}`)
    const { namespace, name } = part(body, 'metadata')
    const scope =
      kind['namespaced'] === true
        ? `/namespaces/${encodeURIComponent(textOf(namespace) || 'default')}`
        : ''
    return `${root}${scope}/${textOf(kind['name'])}/${encodeURIComponent(textOf(name))}`
  }
}

/** The object as it is applied by a Talos of this version. */
function asApplied({ body }: Manifest, talosVersion: string): Body {
  if (!has(talosVersion, 'manifestInventory')) return body
  const metadata = part(body, 'metadata')
  return {
    ...body,
    metadata: { ...metadata, annotations: { ...part(metadata, 'annotations'), ...owner } },
  }
}

/** An object without the fields that Kubernetes fills in, and without the values of a Secret. */
function shown(object: unknown): string {
  if (!isRecord(object)) return ''
  const { status: _status, data, stringData: _text, ...rest } = object
  const {
    managedFields: _m,
    resourceVersion: _v,
    generation: _g,
    uid: _u,
    creationTimestamp: _c,
    ...metadata
  } = part(object, 'metadata')
  const values =
    object['kind'] === 'Secret'
      ? Object.fromEntries(Object.keys(isRecord(data) ? data : {}).map((key) => [key, '••••••••']))
      : data
  return stringify(
    { ...rest, metadata, ...(data !== undefined && { data: values }) },
    { sortMapEntries: true, lineWidth: 0, aliasDuplicateObjects: false },
  )
}

/**
 * What applying the manifests would change, as unified diffs with a title each. Says how many aren't
 * compared, if there are too many. @throws KubernetesError
 */
export async function manifestDiff(
  api: Pick<Kubernetes, 'get' | 'applyAs'>,
  manifests: readonly Manifest[],
  talosVersion: string,
  signal: AbortSignal,
): Promise<string> {
  const pathOf = objectPaths(api, signal)
  const parts: string[] = []
  for (const manifest of manifests.slice(0, mostCompared)) {
    const path = await pathOf(manifest)
    const before = await api.get(path, signal)
    const after = await api.applyAs(
      path,
      asApplied(manifest, talosVersion),
      { manager: fieldManager, dryRun: true },
      signal,
    )
    const diff = unifiedDiff(shown(before), shown(after))
    if (diff !== '') parts.push(`# ${manifest.title}\n${diff}`)
  }
  const left = manifests.length - mostCompared
  if (left > 0)
    parts.push(`# Updated as well, but not compared here: ${counted(left, 'more object')}\n`)
  return parts.join('')
}

/** Applies the manifests. Safe to repeat. @throws KubernetesError */
export async function applyManifests(
  api: Kubernetes,
  manifests: readonly Manifest[],
  talosVersion: string,
  signal: AbortSignal,
): Promise<void> {
  const pathOf = objectPaths(api, signal)
  for (const manifest of manifests)
    await api.applyAs(
      await pathOf(manifest),
      asApplied(manifest, talosVersion),
      { manager: fieldManager, dryRun: false },
      signal,
    )
}

const numberOf = (value: unknown): number => (typeof value === 'number' ? value : 0)

/** Why the workload of a manifest is not rolled out yet, or null. */
function whyNotRolledOut(found: unknown, title: string): string | null {
  const [status, spec] = [part(found, 'status'), part(found, 'spec')]
  const isSeen =
    numberOf(status['observedGeneration']) >= numberOf(part(found, 'metadata')['generation'])
  const isDaemonSet = isRecord(found) && found['kind'] === 'DaemonSet'
  const wanted = isDaemonSet
    ? numberOf(status['desiredNumberScheduled'])
    : numberOf(spec['replicas'])
  const updated = numberOf(status[isDaemonSet ? 'updatedNumberScheduled' : 'updatedReplicas'])
  const available = numberOf(status[isDaemonSet ? 'numberAvailable' : 'availableReplicas'])
  if (isSeen && updated >= wanted && available >= wanted) return null
  return `${title}: ${updated} of ${wanted} pods are updated, ${available} run`
}

/**
 * Why the DaemonSets and Deployments among the manifests are not rolled out yet, or null. @throws
 * KubernetesError
 */
export async function rolloutProblem(
  api: Kubernetes,
  manifests: readonly Manifest[],
  signal: AbortSignal,
): Promise<string | null> {
  const pathOf = objectPaths(api, signal)
  for (const manifest of manifests.filter(
    ({ body }) => body['kind'] === 'DaemonSet' || body['kind'] === 'Deployment',
  )) {
    const problem = whyNotRolledOut(await api.get(await pathOf(manifest), signal), manifest.title)
    if (problem !== null) return problem
  }
  return null
}
