/**
 * Compares two configurations of one machine by meaning. Comments, quotes and the order of keys
 * don't count as differences, and neither do images and versions, which Talos's own tools change
 * (`talosctl upgrade-k8s` writes them into the machine's configuration). Documents that the model
 * doesn't know are compared as plain YAML values.
 */
import { type Document, isScalar, parseAllDocuments, stringify, visit } from 'yaml'
import { decodeDocuments, documentId } from './decode.ts'
import { emit } from './emit.ts'
import { encodeDocument } from './encode.ts'
import {
  at,
  ConfigError,
  type MapNode,
  readDocuments,
  textAt,
  TooMuch,
  type TreeNode,
  treeOf,
} from './tree.ts'

/** Paths of the images that a configuration names. */
const imagePaths = {
  install: 'machine.install.image',
  kubelet: 'machine.kubelet.image',
  apiServer: 'cluster.apiServer.image',
  controllerManager: 'cluster.controllerManager.image',
  scheduler: 'cluster.scheduler.image',
  proxy: 'cluster.proxy.image',
} as const
/**
 * Images as a configuration names them: `registry.k8s.io/kube-apiserver:v1.36.3`. Images that
 * aren't set are left out.
 */
export type MachineImages = { readonly [name in keyof typeof imagePaths]?: string }
const imageNames = Object.keys(imagePaths) as (keyof MachineImages)[]

/** Adds the images to a patch's main document. */
export function withImages(
  document: Readonly<Record<string, unknown>>,
  images: MachineImages,
): Record<string, unknown> {
  const put = (
    node: unknown,
    [key, ...rest]: readonly string[],
    value: string,
  ): Record<string, unknown> => {
    const map = typeof node === 'object' && node !== null ? (node as Record<string, unknown>) : {}
    return { ...map, [key!]: rest.length === 0 ? value : put(map[key!], rest, value) }
  }
  return imageNames.reduce<Record<string, unknown>>(
    (all, name) =>
      images[name] === undefined ? all : put(all, imagePaths[name].split('.'), images[name]),
    {
      ...document,
    },
  )
}

/**
 * Keys, tokens and authorities of the cluster, which `talosctl rotate-ca` changes. They are
 * imported with the cluster's secrets and never stored with a server.
 */
const clusterKeys =
  'id secret token ca acceptedCAs aggregatorCA serviceAccount etcd.ca secretboxEncryptionSecret aescbcEncryptionSecret'
const secretPaths = [
  'machine.token',
  'machine.ca',
  'machine.acceptedCAs',
  ...clusterKeys.split(' ').map((key) => `cluster.${key}`),
]

type Read = ReturnType<typeof readOne>
export type Compared = ReturnType<typeof compareConfigs>

/** Whether a map has a key twice. The parser's own check compares each key with all others. */
function hasTwice(document: Document): boolean {
  let found = false
  visit(document, {
    Map(_, { items }) {
      const keys = new Set(items.map(({ key }) => (isScalar(key) ? key.value : key)))
      if (keys.size < items.length) found = true
      return found ? visit.BREAK : undefined
    },
  })
  return found
}

/**
 * The documents of a configuration. Accepts anchors and aliases, as Talos does, although
 * Steelyard's own configurations have none.
 */
function rootsOf(text: string): MapNode[] {
  try {
    return readDocuments(text, 'compared')
  } catch (error) {
    if (!(error instanceof ConfigError) || error instanceof TooMuch) throw error
    const roots: MapNode[] = []
    for (const document of parseAllDocuments(text, { logLevel: 'silent', uniqueKeys: false })) {
      if (document.errors.length > 0 || hasTwice(document)) throw error
      let plain: unknown
      try {
        plain = document.toJS({ maxAliasCount: 100 })
      } catch {
        throw error
      }
      const root = treeOf(plain, 'compared')
      if (root.is === 'map') roots.push(root)
    }
    return roots
  }
}

function readOne(root: MapNode) {
  const { documents, problems } = decodeDocuments([root], {})
  const [document] = documents
  if (document !== undefined && problems.length === 0)
    return { id: documentId(document), root: encodeDocument(document), document }
  const kind = textAt(root, 'kind')
  const name = textAt(root, 'name')
  return {
    id: kind === undefined ? 'v1alpha1' : name === undefined ? kind : `${kind} ${name}`,
    root,
    document: null,
  }
}

const plain = (node: TreeNode): unknown => {
  if (node.is === 'scalar') return node.value
  if (node.is === 'list') return node.items.map(plain)
  const keys = [...node.entries.keys()].toSorted()
  return Object.fromEntries(keys.map((key) => [key, plain(node.entries.get(key)!.value)]))
}

const generic = (root: MapNode): string => stringify(plain(root), { indent: 4, lineWidth: 0 })
const written = ({ root, document }: Read): string =>
  document === null ? generic(root) : emit([encodeDocument({ ...document, root })]).yaml

const mainOf = (all: readonly Read[]): MapNode | undefined =>
  all.find((d) => d.id === 'v1alpha1')?.root

function imagesOfRoot(main: MapNode | undefined): MachineImages {
  const found = imageNames.flatMap((name) => {
    const image = textAt(main, ...imagePaths[name].split('.'))
    return image === undefined || image === '' ? [] : [[name, image] as const]
  })
  return Object.fromEntries(found)
}

/** The images of a configuration. @throws ConfigError for invalid YAML */
export const imagesOf = (config: string): MachineImages =>
  imagesOfRoot(mainOf(rootsOf(config).map(readOne)))

/**
 * @param before the configuration that was sent to the machine, or its last known one
 * @param after the machine's current configuration
 * @returns documents by id (`v1alpha1`, `HostnameConfig`, `VLANConfig eth0.5`) in Talos's own form,
 * or unchanged except for sorted keys if the model doesn't know the document; the images of
 * `after`, if any of them differs from `before`; paths of keys, tokens and authorities that differ
 * @throws ConfigError if one of them is invalid YAML
 */
export function compareConfigs(before: string, after: string) {
  const [from, to] = [rootsOf(before).map(readOne), rootsOf(after).map(readOne)]
  const [imagesBefore, imagesAfter] = [imagesOfRoot(mainOf(from)), imagesOfRoot(mainOf(to))]
  const changed = imageNames.filter(
    (name) =>
      imagesAfter[name] !== undefined &&
      imagesBefore[name] !== undefined &&
      imagesAfter[name] !== imagesBefore[name],
  )
  const equalised = from.map((d) =>
    d.id === 'v1alpha1'
      ? {
          ...d,
          root: changed.reduce(
            (root, name) =>
              withNode(
                root,
                imagePaths[name].split('.'),
                at(mainOf(to), ...imagePaths[name].split('.')),
              ),
            d.root,
          ),
        }
      : d,
  )
  const ids = [...new Set([...equalised, ...to].map((d) => d.id))]
  const documents = ids.flatMap((id) => {
    const [one, other] = [equalised.find((d) => d.id === id), to.find((d) => d.id === id)]
    // If the model doesn't know both documents, they are compared as plain YAML values.
    const isSame =
      one &&
      other &&
      (one.document && other.document
        ? written(one) === written(other)
        : generic(one.root) === generic(other.root))
    const shown = (d: Read | undefined) =>
      d ? { id, yaml: written(d), known: d.document !== null } : null
    return [{ id, before: shown(one), after: shown(other), isSame: isSame === true }]
  })
  const [mainBefore, mainAfter] = [mainOf(equalised), mainOf(to)]
  const valueAt = (main: MapNode | undefined, path: string): string => {
    const node = at(main, ...path.split('.'))
    const value = node === undefined ? null : plain(node)
    return value === null || value === '' || (Array.isArray(value) && value.length === 0)
      ? ''
      : JSON.stringify(value)
  }
  return {
    same: documents.every((d) => d.isSame),
    documents: documents.map(({ id, before: one, after: other }) => ({
      id,
      before: one,
      after: other,
    })),
    images: changed.length > 0 ? imagesAfter : null,
    secrets: secretPaths.filter((path) => valueAt(mainBefore, path) !== valueAt(mainAfter, path)),
  }
}

/**
 * For each of the others, whether it means the same as `config`. @throws ConfigError if one of them
 * is invalid YAML
 */
export const sameAs = (config: string, others: readonly string[]): boolean[] =>
  others.map((other) => compareConfigs(config, other).same)

/**
 * Our configuration with the keys, tokens and authorities of another one. If somebody else has
 * rotated a machine's secrets and changed nothing else, the result equals the machine's
 * configuration.
 */
export function withSecretsOf(config: string, other: string): string {
  const all = rootsOf(config).map(readOne)
  const main = mainOf(rootsOf(other).map(readOne))
  if (main === undefined) return config
  const withSecrets = (root: MapNode): MapNode =>
    secretPaths.reduce(
      (tree, path) => withNode(tree, path.split('.'), at(main, ...path.split('.'))),
      root,
    )
  return all
    .map((d) => written(d.id === 'v1alpha1' ? { ...d, root: withSecrets(d.root) } : d))
    .join('---\n')
}

/**
 * The configuration with other values at paths of its main document, such as `machine.acceptedCAs`.
 * `undefined` removes the value.
 * @throws ConfigError for invalid YAML
 */
export function withValues(config: string, values: Readonly<Record<string, unknown>>): string {
  const put = (root: MapNode): MapNode =>
    Object.entries(values).reduce(
      (tree, [path, value]) =>
        withNode(tree, path.split('.'), value === undefined ? undefined : treeOf(value, 'changed')),
      root,
    )
  return rootsOf(config)
    .map(readOne)
    .map((d) => written(d.id === 'v1alpha1' ? { ...d, root: put(d.root) } : d))
    .join('---\n')
}

/** A copy of the tree with another node at a path, or with the node at that path removed. */
function withNode(
  root: MapNode,
  [key, ...rest]: readonly string[],
  node: TreeNode | undefined,
): MapNode {
  const entries = new Map(root.entries)
  const entry = entries.get(key!)
  const place = { line: 0, column: 0, source: root.source }
  if (rest.length === 0) {
    if (node === undefined) entries.delete(key!)
    else entries.set(key!, { ...place, ...entry, value: node })
  } else if (entry?.value.is === 'map' || node !== undefined) {
    const below: MapNode =
      entry?.value.is === 'map' ? entry.value : { is: 'map', entries: new Map(), ...place }
    entries.set(key!, { ...place, ...entry, value: withNode(below, rest, node) })
  }
  return { ...root, entries }
}

/**
 * Splits a configuration into documents that the model knows and unknown ones, so that merging a
 * patch doesn't lose documents of a newer Talos.
 */
export function apart(config: string): { known: string; unknown: string } {
  const all = rootsOf(config).map(readOne)
  const text = (some: readonly Read[]) => some.map(written).join('---\n')
  const unknown = all.filter((d) => d.document === null)
  return unknown.length === 0
    ? { known: config, unknown: '' }
    : { known: text(all.filter((d) => d.document !== null)), unknown: text(unknown) }
}

type Plain = string | number | boolean | bigint | null | Plain[] | { [key: string]: Plain }
const isMap = (value: Plain | undefined): value is Record<string, Plain> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const canonical = (value: Plain | undefined): string =>
  JSON.stringify(value, (_, v: unknown) => (typeof v === 'bigint' ? String(v) : v)) ?? ''

/**
 * The strategic merge patch that changes `before` into `after`; undefined if they are equal, null
 * if no patch can do that.
 */
function mergeOf(before: Plain | undefined, after: Plain | undefined): Plain | undefined | null {
  if (canonical(before) === canonical(after)) return undefined
  if (after === undefined) return { $patch: 'delete' }
  if (isMap(before) && isMap(after)) {
    const said: Record<string, Plain> = {}
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
      const one = mergeOf(before[key], after[key])
      if (one === null) return null
      if (one !== undefined) said[key] = one
    }
    return said
  }
  if (Array.isArray(before) && Array.isArray(after)) {
    const isLonger =
      after.length > before.length &&
      before.every((item, i) => canonical(item) === canonical(after[i]))
    return isLonger ? after.slice(before.length) : null
  }
  return after
}

/**
 * The difference as a patch that changes `before` into `after`, or null if a strategic merge can't
 * express it, such as the removal of a list element. The patch is a proposal: the caller has to
 * check that merging it results in `after`, with the same merge that will be used.
 */
export function patchBetween({ documents }: Compared): string | null {
  const parts: string[] = []
  const value = ({ yaml }: { yaml: string }): Plain => plain(rootsOf(yaml)[0]!) as Plain
  for (const { before, after } of documents) {
    if (before?.yaml === after?.yaml) continue
    if ([before, after].some((d) => d !== null && !d.known)) return null
    const [one, other] = [before && value(before), after && value(after)]
    const head = (d: Plain | null): Record<string, Plain> =>
      isMap(d ?? undefined)
        ? Object.fromEntries(
            ['apiVersion', 'kind', 'name'].flatMap((key) =>
              key in (d as object) ? [[key, (d as Record<string, Plain>)[key]!]] : [],
            ),
          )
        : {}
    const said = other === null ? { $patch: 'delete' } : one === null ? other : mergeOf(one, other)
    if (said === null || said === undefined || !isMap(said)) return null
    parts.push(stringify({ ...head(one ?? other), ...said }, { indent: 2, lineWidth: 0 }))
  }
  return parts.length === 0 ? null : parts.join('---\n')
}
