/**
 * Checks whether a text may be a patch, by Steelyard's own rules in addition to Talos's. These
 * rules keep a patch unambiguous and small, and forbid changes of settings that belong to the
 * cluster. `mergePatches` and `validateConfig` check the effect of a patch on a configuration.
 */
import { decodeDocuments, duplicates, recognise } from './decode.ts'
import { takeDeletions } from './deletions.ts'
import { isTimestamp } from './emit.ts'
import type { Shape } from './model/shape.ts'
import { explained } from './slips.ts'
import {
  ConfigError,
  type ConfigProblem,
  join,
  type MapNode,
  readDocuments,
  type TreeNode,
} from './tree.ts'

/**
 * Paths in the main document that a patch must not set, because the cluster decides them: identity,
 * keys and tokens, roles, the installation, host names. A patch that sets one could remove a server
 * from its cluster or take over the cluster. Everything below these paths is forbidden too.
 */
const forbiddenPaths: ReadonlyMap<string, string> = new Map([
  ['machine.type', 'the server’s role is chosen with the cluster'],
  ['machine.token', 'the machine token belongs to the cluster'],
  ['machine.ca', 'the authority of Talos’s API belongs to the cluster'],
  ['machine.acceptedCAs', 'the authorities of Talos’s API belong to the cluster'],
  ['machine.install.disk', 'the disk is chosen with the cluster'],
  ['machine.install.diskSelector', 'the disk is chosen with the cluster'],
  [
    'machine.install.image',
    'the installer image follows from the Talos version and the server’s schematic',
  ],
  ['machine.network.hostname', 'the host name is the server’s name'],
  ['machine.features.stableHostname', 'the host name is the server’s name'],
  ['cluster.id', 'it identifies the cluster'],
  ['cluster.secret', 'it identifies the cluster'],
  ['cluster.controlPlane', 'the endpoint is chosen with the cluster'],
  ['cluster.clusterName', 'the name is chosen with the cluster'],
  // The cluster's networks were checked against subnets, servers and each other; a server with
  // different networks would be cut off.
  ['cluster.network.podSubnets', 'the pod network is chosen with the cluster'],
  ['cluster.network.serviceSubnets', 'the service network is chosen with the cluster'],
  ['cluster.token', 'the bootstrap token belongs to the cluster'],
  ['cluster.aescbcEncryptionSecret', 'the key belongs to the cluster'],
  ['cluster.secretboxEncryptionSecret', 'the key belongs to the cluster'],
  ['cluster.ca', 'the authority of Kubernetes belongs to the cluster'],
  ['cluster.acceptedCAs', 'the authorities of Kubernetes belong to the cluster'],
  ['cluster.aggregatorCA', 'the authority belongs to the cluster'],
  ['cluster.serviceAccount', 'the key belongs to the cluster'],
  ['cluster.etcd.ca', 'the authority of etcd belongs to the cluster'],
])

/**
 * The same since Talos 1.14, by kind of document and path in it. A document with such paths can't
 * be deleted either.
 */
const forbiddenInDocuments: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  UnattendedInstallConfig: {
    reboot: 'the restart after the installation shows that the server boots from its disk',
    'installer.image':
      'the installer image follows from the Talos version and the server’s schematic',
    'provisioning.diskSelector': 'the disk is chosen with the cluster',
  },
  KubeNetworkConfig: {
    podSubnets: 'the pod network is chosen with the cluster',
    serviceSubnets: 'the service network is chosen with the cluster',
  },
  KubeAPIServerConfig: { apiPort: 'the endpoint is chosen with the cluster' },
  KubeServiceAccountConfig: {
    issuer: 'the key belongs to the cluster',
    // Whoever has the private key of such a key could write tokens of any service account.
    'accepted.publicKeys': 'the keys belong to the cluster',
  },
}

/** Paths that a patch must not set in a document of this kind, '' for the main one. */
export const forbiddenIn = (kind: string): ReadonlyMap<string, string> =>
  kind === '' ? forbiddenPaths : new Map(Object.entries(forbiddenInDocuments[kind] ?? {}))

/** Kinds of documents that a patch must not contain. */
export const forbiddenDocuments: ReadonlyMap<string, string> = new Map([
  ['HostnameConfig', 'the host name is the server’s name'],
  ['DiscoveryIdentityConfig', 'it identifies the cluster'],
  ['KubeClusterConfig', 'the name and the endpoint are chosen with the cluster'],
  ['KubeAPIServerCAConfig', 'the authority of Kubernetes belongs to the cluster'],
  ['KubeAggregatorCAConfig', 'the authority belongs to the cluster'],
  ['KubeEtcdEncryptionConfig', 'the keys belong to the cluster'],
])

/**
 * Paths where a patch may add values but not delete any: the server and the cluster are reached by
 * these names.
 */
const kept: Readonly<Record<string, readonly string[]>> = {
  '': ['machine.certSANs', 'cluster.apiServer.certSANs', 'machine.install'],
  KubeAPIServerConfig: ['certExtraSANs'],
}

/** Why a path must not be set, or undefined. */
function settingProblem(kind: string, path: string): string | undefined {
  for (const [forbidden, why] of forbiddenIn(kind)) {
    if (path === forbidden || path.startsWith(`${forbidden}.`))
      return `A patch can’t set ${[kind, forbidden].filter(Boolean).join(' ')}: ${why}`
  }
  return undefined
}

/**
 * Why a path must not be deleted, or undefined. A path is also refused if a forbidden path lies
 * below it.
 */
function deletionProblem(kind: string, path: string): string | undefined {
  const setting = settingProblem(kind, path)
  if (setting !== undefined) return setting.replace('can’t set', 'can’t delete')
  const fixed = [...(kept[kind] ?? []), ...forbiddenIn(kind).keys()]
  if (kind !== '' && path === '')
    return fixed.length === 0
      ? undefined
      : `A patch can’t delete ${kind}: ${fixed.join(' and ')} ${fixed.length === 1 ? 'has' : 'have'} to stay`
  const under = fixed.find(
    (other) => other === path || other.startsWith(`${path}.`) || path.startsWith(`${other}.`),
  )
  return under === undefined || (path.startsWith('machine.install.') && under === 'machine.install')
    ? undefined
    : `A patch can’t delete ${path}: ${under} has to stay`
}

export const patchLimits = {
  bytes: 1024 * 1024,
  nodes: 20_000,
  depth: 32,
  documents: 64,
} as const

const tooMany = 'A patch can have 20,000 values at most'
const tooDeep = `Nested more than ${patchLimits.depth} levels deep`

/** A problem with its line, counted from 1. */
export type PatchError = ConfigProblem & { line: number; column: number }

/**
 * Problems of a patch's body, by line. Never throws, whatever the text. Takes some 100 ms for a long text.
 */
export function checkPatch(
  body: string,
  options: { talosVersion: string },
): { errors: PatchError[] } {
  const problems = problemsOf(body, options)
  const errors = problems.map((problem) => ({
    ...problem,
    line: problem.line ?? 1,
    column: problem.column ?? 1,
  }))
  return {
    errors: errors.toSorted((a, b) => a.line - b.line || a.column - b.column).slice(0, 100),
  }
}

function problemsOf(body: string, options: { talosVersion: string }): ConfigProblem[] {
  const bytes = Buffer.byteLength(body)
  if (bytes > patchLimits.bytes)
    return [
      { message: `A patch can have 1 MiB at most; this one has ${Math.ceil(bytes / 1024)} KiB` },
    ]
  // A reader puts this character where bytes are not UTF-8.
  const lost = body.isWellFormed() ? body.indexOf('\ufffd') : body.search(loneSurrogate)
  if (lost !== -1)
    return [
      {
        message:
          'There is a character that is not UTF-8 text: the file was probably saved in another encoding, such as Latin-2 or Windows-1250. Save it as UTF-8',
        ...placeOf(body, lost),
      },
    ]
  const bad = /[^\t\n\r\u0020-\u007e\u0085\u00a0-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u.exec(
    body,
  )
  if (bad !== null)
    return [
      {
        message: `Control characters are not allowed (U+${body.codePointAt(bad.index)!.toString(16).toUpperCase().padStart(4, '0')})`,
        ...placeOf(body, bad.index),
      },
    ]
  const deep = deepBracket(body, 4 * patchLimits.depth)
  if (deep !== -1) return [{ message: tooDeep, ...placeOf(body, deep) }]
  const json = jsonPatchAt(body)
  if (json !== -1) {
    return [
      {
        message:
          'JSON patches are not possible: Talos refuses them on configurations of several documents. Write a strategic merge patch',
        ...placeOf(body, json),
      },
    ]
  }
  let roots: MapNode[]
  try {
    roots = readDocuments(body, 'patch', { values: patchLimits.nodes, tooMany })
  } catch (error) {
    if (error instanceof ConfigError)
      return [...explained(body, error.problems, error.isUnreadable)]
    throw error
  }
  if (roots.length === 0) return [{ message: 'The patch is empty' }]
  if (roots.length > patchLimits.documents)
    return [
      {
        message: `A patch can have ${patchLimits.documents} documents at most; this one has ${roots.length}`,
        line: roots[patchLimits.documents]!.line,
        column: roots[patchLimits.documents]!.column,
      },
    ]
  const left = { nodes: patchLimits.nodes }
  for (const root of roots) {
    const beyond = excessIn(root, 1, left)
    if (beyond) return [beyond]
  }
  return [
    ...explained(
      body,
      [
        ...roots.flatMap((root) => ambiguities(shapeOf(root), root, '')),
        ...meanings(roots, options.talosVersion),
      ],
      false,
    ),
  ]
}

/**
 * Where the text starts like a JSON patch (RFC 6902), in JSON or YAML; -1 if it doesn't. Works on
 * lines, because the text may be anything.
 */
function jsonPatchAt(body: string): number {
  let item = -1
  let offset = 0
  for (const line of body.split('\n')) {
    const text = line.trim()
    const here = offset + line.length - line.trimStart().length
    offset += line.length + 1
    if (text === '' || text.startsWith('#') || text.startsWith('---')) continue
    if (item !== -1 || /^-\s/.test(text)) {
      const isOp = /^["']?op["']?\s*:/.test(item === -1 ? text.slice(1).trimStart() : text)
      return isOp ? (item === -1 ? here : item) : -1
    }
    if (text !== '-') return text.startsWith('[') ? here : -1
    // The dash stands alone: the item's first key is on the next line.
    item = here
  }
  return -1
}

/**
 * Checks that Talos knows the documents and fields, and that the patch changes nothing that the
 * cluster decides.
 */
function meanings(roots: readonly MapNode[], talosVersion: string | undefined): ConfigProblem[] {
  const problems: ConfigProblem[] = []
  const rests: MapNode[] = []
  for (const root of roots) {
    try {
      const { deletions, rest } = takeDeletions(root, { talosVersion })
      for (const { document, path, place } of deletions) {
        const { kind } = document.shape
        const problem =
          documentProblem(kind) ??
          deletionProblem(kind, path.filter((key) => !key.startsWith('[')).reduce(join, ''))
        const message =
          path.length === 0 && document.shape.kind === ''
            ? 'The machine’s main document can’t be deleted'
            : problem
        if (message !== undefined)
          problems.push({ message, path: path.join('.'), line: place.line, column: place.column })
      }
      if (rest !== undefined) rests.push(rest)
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      problems.push(...error.problems)
    }
  }
  const { documents, problems: unknown } = decodeDocuments(rests, { talosVersion })
  problems.push(...unknown, ...duplicates(documents))
  for (const { shape, root } of documents) {
    const message = documentProblem(shape.kind)
    if (message !== undefined) problems.push({ message, line: root.line, column: root.column })
    else problems.push(...settings(shape.kind, root, ''))
  }
  return problems
}

function documentProblem(kind: string): string | undefined {
  const why = forbiddenDocuments.get(kind)
  return why === undefined ? undefined : `A patch can’t have ${kind}: ${why}`
}

function settings(kind: string, node: MapNode, path: string): ConfigProblem[] {
  return [...node.entries].flatMap(([key, entry]) => {
    const here = join(path, key)
    const message = settingProblem(kind, here)
    if (message !== undefined)
      return [{ message, path: here, line: entry.line, column: entry.column }]
    return entry.value.is === 'map' ? settings(kind, entry.value, here) : []
  })
}

/**
 * Unquoted scalars that YAML parsers read differently: words that meant true and false in YAML 1.1,
 * numbers with a leading zero or with underscores, times. Allowed if the field accepts only certain
 * words, or if the scalar can have only one meaning there.
 */
function ambiguities(shape: Shape | undefined, node: TreeNode, path: string): ConfigProblem[] {
  if (node.is === 'list')
    return node.items.flatMap((item, i) =>
      ambiguities(shape?.is === 'list' ? shape.of : undefined, item, join(path, String(i))),
    )
  if (node.is === 'map') {
    return [...node.entries].flatMap(([key, entry]) => {
      const field =
        shape?.is === 'object' ? shape.fields[key] : shape?.is === 'map' ? shape.of : undefined
      return ambiguities(field, entry.value, join(path, key))
    })
  }
  if (node.plain === undefined || (shape?.is === 'text' && shape.values !== undefined)) return []
  const text = node.plain
  const word = /^(y|Y|yes|Yes|YES|on|On|ON|n|N|no|No|NO|off|Off|OFF)$/.test(text)
  const number =
    /^[-+]?0[0-9_]+$/.test(text) ||
    (/_/.test(text) && /^[-+]?[0-9][0-9_]*(\.[0-9_]*)?$/.test(text)) ||
    /^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$/.test(text)
  if (!word && !number && !isTimestamp(text)) return []
  const advice =
    shape?.is === 'flag'
      ? 'write true or false'
      : shape?.is === 'integer'
        ? 'write it without leading zeros and underscores'
        : `write "${text}" with quotes`
  if (shape?.is === 'integer' && shape.octal === true) return []
  return [
    {
      message: `${text} can be read in two ways: ${advice}`,
      path,
      line: node.line,
      column: node.column,
    },
  ]
}

function shapeOf(root: MapNode): Shape | undefined {
  return recognise(root, {}, [])?.shape
}

/** The first value that is too deep, or the first one beyond the number of values. */
function excessIn(
  node: TreeNode,
  depth: number,
  left: { nodes: number },
): ConfigProblem | undefined {
  const { line, column } = node
  if (depth > patchLimits.depth) return { message: tooDeep, line, column }
  if (--left.nodes < 0) return { message: tooMany, line, column }
  if (node.is === 'scalar') return undefined
  for (const child of node.is === 'list'
    ? node.items
    : [...node.entries.values()].map((entry) => entry.value)) {
    const beyond = excessIn(child, depth + 1, left)
    if (beyond) return beyond
  }
  return undefined
}

/**
 * Where brackets or dashes are nested deeper than `most`; -1 if nowhere. Those inside quotes count
 * too, so the depth may be too high but never too low.
 */
function deepBracket(body: string, most: number): number {
  let depth = 0
  for (let i = 0; i < body.length; i++) {
    const character = body[i]
    if (character === '[' || character === '{') {
      if (++depth > most) return i
    } else if (character === ']' || character === '}') depth = Math.max(0, depth - 1)
  }
  for (const run of body.matchAll(/(?:- ){8,}/g)) if (run[0].length / 2 > most) return run.index
  return -1
}

const loneSurrogate = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/

/** Line and column of an index, from 1. */
function placeOf(text: string, index: number): { line: number; column: number } {
  const before = text.slice(0, index)
  const start = before.lastIndexOf('\n') + 1
  return { line: before.split('\n').length, column: index - start + 1 }
}
