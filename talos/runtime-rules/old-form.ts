/**
 * A configuration as if everything were in the main document, where Talos had it until 1.13. A rule
 * is written once, for the older form, and holds for the documents of Talos 1.14 too.
 */
import type { ConfigDocument } from '../config/decode.ts'
import { movedFields } from '../config/moved-fields.ts'
import { Report } from '../config/report.ts'
import { at, type MapNode, type TreeNode } from '../config/tree.ts'

/** Documents that were elements of a list; an empty field is the whole element. */
const elements: Readonly<
  Record<string, { readonly list: string; readonly fields: Readonly<Record<string, string>> }>
> = {
  KernelModuleConfig: {
    list: 'machine.kernel.modules',
    fields: { name: 'name', parameters: 'parameters' },
  },
  KubeStaticPodConfig: { list: 'machine.pods', fields: { pod: '' } },
  KubeAdmissionControlConfig: {
    list: 'cluster.apiServer.admissionControl',
    fields: { name: 'name', configuration: 'configuration' },
  },
  KubeAuthorizerConfig: {
    list: 'cluster.apiServer.authorizationConfig',
    fields: { name: 'name', type: 'type', webhook: 'webhook' },
  },
  KubeExternalManifestConfig: { list: 'cluster.extraManifests', fields: { url: '' } },
  KubeInlineManifestConfig: {
    list: 'cluster.inlineManifests',
    fields: { name: 'name', manifest: 'contents' },
  },
}

const keyOf = (path: readonly string[]): string => path.join('\n')

/** A main document with values of others, which knows their own places. */
class OldForm extends Report {
  private readonly own: ReadonlyMap<string, readonly string[]>

  constructor(root: MapNode, own: ReadonlyMap<string, readonly string[]>) {
    super(root)
    this.own = own
  }

  override ownPath(path: readonly string[]): readonly string[] {
    for (let length = path.length; length > 0; length--) {
      const start = this.own.get(keyOf(path.slice(0, length)))
      if (start !== undefined) return [...start, ...path.slice(length)]
    }
    return path
  }
}

/** Sets a value in a tree of copies. */
function set(root: MapNode, path: readonly string[], value: TreeNode): void {
  let here = root
  for (const key of path.slice(0, -1)) {
    const below = here.entries.get(key)
    const copy: MapNode =
      below?.value.is === 'map'
        ? { ...below.value, entries: new Map(below.value.entries) }
        : { ...root, entries: new Map() }
    here.entries.set(key, { ...value, ...below, value: copy })
    here = copy
  }
  here.entries.set(path.at(-1)!, { ...value, value })
}

/** @param main the main document, whose values stay */
export function oldForm(main: MapNode, documents: readonly ConfigDocument[]): Report {
  const root: MapNode = { ...main, entries: new Map(main.entries) }
  const own = new Map<string, readonly string[]>()
  const add = (path: readonly string[], value: TreeNode, from: readonly string[]): void => {
    const existing = at(root, ...path)
    // Talos merges these; what it refuses in both forms isn't judged here.
    if (existing?.is === 'map' && value.is === 'map')
      for (const [key, entry] of value.entries) add([...path, key], entry.value, [...from, key])
    else {
      set(root, path, value)
      own.set(keyOf(path), from)
    }
  }
  for (const { shape, root: document } of documents) {
    for (const [field, path] of Object.entries(movedFields[shape.kind] ?? {})) {
      const value = at(document, field)
      if (value !== undefined) add(path.split('.'), value, [field])
    }
    const element = elements[shape.kind]
    if (element === undefined) continue
    const path = element.list.split('.')
    const list = at(root, ...path)
    const items = list?.is === 'list' ? list.items : []
    const item: MapNode = { ...document, entries: new Map() }
    const index = [...path, String(items.length)]
    let whole: TreeNode = item
    for (const [field, name] of Object.entries(element.fields)) {
      const value = at(document, field)
      if (value === undefined) continue
      own.set(keyOf(name === '' ? index : [...index, name]), [field])
      if (name === '') whole = value
      else item.entries.set(name, { ...value, value })
    }
    set(root, path, { ...document, is: 'list', items: [...items, whole] })
  }
  return new OldForm(root, own)
}
