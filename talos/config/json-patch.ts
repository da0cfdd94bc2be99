/**
 * JSON patches (RFC 6902) on a configuration, as Talos applies them: only where it is a single document, which no generated configuration of
 * a supported version is. Steelyard doesn't offer them; this is here to compare our merges with Talos's, which mixes both kinds.
 */
import { stringify } from 'yaml'
import { loadDocuments } from './decode.ts'
import { emit } from './emit.ts'
import { encodeDocument } from './encode.ts'
import { generatedLayer } from './generate.ts'
import { ConfigError, type TreeNode } from './tree.ts'

export interface JsonOperation {
  op: 'add' | 'remove' | 'replace' | 'move' | 'copy' | 'test'
  path: string
  from?: string
  value?: unknown
}

/** Applies operations in their order. Throws ConfigError where Talos refuses or an operation can't be done. */
export function applyJsonPatch(yaml: string, operations: readonly JsonOperation[]): string {
  const documents = loadDocuments(yaml, generatedLayer)
  if (documents.length !== 1) throw fail('JSON patches are not supported for configurations of several documents')
  let value = plain(documents[0]!.root)
  for (const operation of operations) value = apply(value, operation)
  const changed = loadDocuments(stringify(value, { aliasDuplicateObjects: false, lineWidth: 0 }), generatedLayer)
  return emit(changed.map(encodeDocument)).yaml
}

function apply(root: unknown, operation: JsonOperation): unknown {
  const path = pointer(operation.path)
  switch (operation.op) {
    case 'add':
      return edit(root, path, operation.value, true)
    case 'replace':
      find(root, path)
      return edit(remove(root, path), path, operation.value, true)
    case 'remove':
      return remove(root, path)
    case 'move': {
      const from = pointer(operation.from ?? '')
      const value = find(root, from)
      return edit(remove(root, from), path, value, true)
    }
    case 'copy':
      return edit(root, path, find(root, pointer(operation.from ?? '')), true)
  }
  if (JSON.stringify(find(root, path)) !== JSON.stringify(operation.value)) throw fail(`${operation.path} is not the value tested for`)
  return root
}

/** RFC 6901: `~1` is a slash, `~0` a tilde. */
function pointer(path: string): string[] {
  if (path === '') return []
  if (!path.startsWith('/')) throw fail(`${path} is no JSON pointer`)
  return path
    .slice(1)
    .split('/')
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
}

function find(root: unknown, path: readonly string[]): unknown {
  let here = root
  for (const key of path) {
    here = Array.isArray(here) ? here[indexOf(here, key, false)] : isRecord(here) && Object.hasOwn(here, key) ? here[key] : undefined
    if (here === undefined) throw fail(`There is nothing at /${path.join('/')}`)
  }
  return here
}

function edit(node: unknown, path: readonly string[], value: unknown, insert: boolean): unknown {
  const [key, ...more] = path
  if (key === undefined) return value
  if (Array.isArray(node)) {
    const index = indexOf(node, key, more.length === 0 && insert)
    return more.length === 0 ? node.toSpliced(index, 0, value) : node.with(index, edit(node[index], more, value, insert))
  }
  if (!isRecord(node) || (more.length > 0 && !Object.hasOwn(node, key))) throw fail(`There is nothing at ${key}`)
  return { ...node, [key]: edit(node[key], more, value, insert) }
}

function remove(node: unknown, path: readonly string[]): unknown {
  const [key, ...more] = path
  if (key === undefined) return null
  if (Array.isArray(node)) {
    const index = indexOf(node, key, false)
    return more.length === 0 ? node.toSpliced(index, 1) : node.with(index, remove(node[index], more))
  }
  if (!isRecord(node) || !Object.hasOwn(node, key)) throw fail(`There is nothing at ${key}`)
  if (more.length > 0) return { ...node, [key]: remove(node[key], more) }
  const { [key]: _, ...rest } = node
  return rest
}

function indexOf(list: readonly unknown[], key: string, end: boolean): number {
  if (end && key === '-') return list.length
  const index = /^(0|[1-9]\d*)$/.test(key) ? Number(key) : -1
  if (index < 0 || index > list.length || (!end && index === list.length)) throw fail(`There is no element ${key}`)
  return index
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function plain(node: TreeNode): unknown {
  if (node.is === 'scalar') return node.value
  if (node.is === 'list') return node.items.map(plain)
  return Object.fromEntries([...node.entries].map(([key, entry]) => [key, plain(entry.value)]))
}

function fail(message: string): ConfigError {
  return new ConfigError([{ message }])
}
