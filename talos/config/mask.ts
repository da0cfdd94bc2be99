import { Lexer } from 'yaml'
import { recognisePart } from './decode.ts'
import type { Shape } from './model/shape.ts'
import {
  ConfigError,
  type ConfigProblem,
  readDocuments,
  type ScalarNode,
  type TreeNode,
} from './tree.ts'

/** The replacement of a secret. */
export const masked = '••••••••'

/**
 * The reader's permission. Readers with access to secrets see everything except private keys and
 * values that the model marks as secret. Others see neither values that may contain a secret nor
 * comments. All readers see keys and structure.
 */
export type Audience = 'may_read_secrets' | 'everybody'

/** A range of a text and its replacement. */
export interface Hidden {
  /** Index of the first character, and the index after the last. */
  readonly from: number
  readonly to: number
  readonly by: string
}

/**
 * The parts of a configuration or a patch that must be hidden, in order. Throws ConfigError for
 * invalid text or an unknown document, because unknown content could be secret.
 */
export function hiddenIn(yaml: string, audience: Audience): Hidden[] {
  const problems: ConfigProblem[] = []
  const hidden: Hidden[] = audience === 'everybody' ? commentsOf(yaml) : []
  // The parser's positions don't count the byte order mark.
  const start = yaml.startsWith('\ufeff') ? 1 : 0
  const hide = ({ range }: ScalarNode, by = masked) => {
    if (range === undefined) return
    const [from, to] = [range[0] + start, range[1] + start]
    // A block scalar's range includes its last line break, which stays visible as part of the
    // layout.
    hidden.push({ from, to: yaml[to - 1] === '\n' ? to - 1 : to, by })
  }
  for (const root of readDocuments(yaml, 'config')) {
    const document = recognisePart(root, {}, problems)
    collect(document?.shape, root, { audience, hide, inside: undefined })
  }
  if (problems.length > 0) throw new ConfigError(problems)
  const inOrder = hidden.toSorted((a, b) => a.from - b.from)
  // Drops a range inside the range before it: a comment after the `|` or `>` of a block scalar lies
  // within the range of the scalar.
  return inOrder.filter(
    ({ from }, i) => !inOrder.slice(Math.max(0, i - 1), i).some((before) => from < before.to),
  )
}

/**
 * Replaces hidden ranges of a text.
 * @param hidden in order, not nested; see `hiddenIn`
 */
export function withHidden(text: string, hidden: readonly Hidden[]): string {
  const parts: string[] = []
  let at = 0
  for (const { from, to, by } of hidden) {
    parts.push(text.slice(at, from), by)
    at = to
  }
  return parts.join('') + text.slice(at)
}

interface Reading {
  readonly audience: Audience
  readonly hide: (node: ScalarNode, by?: string) => void
  /** Sensitivity inherited from the parent. */
  readonly inside: Shape['sensitive']
}

function collect(shape: Shape | undefined, node: TreeNode, reading: Reading): void {
  const { audience, hide } = reading
  const inside = reading.inside ?? (audience === 'everybody' ? shape?.sensitive : undefined)
  if (node.is === 'scalar') {
    if (node.value === null || node.value === '') return
    const text = String(node.value)
    if (shape?.secret === true || holdsKey(text)) hide(node)
    else if (inside === 'variables') hide(node, variable(text))
    else if (
      inside === 'values' ||
      (inside === 'manifest' && isSecretManifest(text)) ||
      (audience === 'everybody' && holdsCredentials(text))
    )
      hide(node)
    return
  }
  if (node.is === 'list') {
    for (const item of node.items)
      collect(shape?.is === 'list' ? shape.of : within(shape), item, { ...reading, inside })
    return
  }
  for (const [key, entry] of node.entries) {
    const field =
      shape?.is === 'object'
        ? shape.fields[key]
        : shape?.is === 'map'
          ? shape.of
          : within(shape, key)
    // The key's name is checked only if users choose it: names of arguments, labels and
    // annotations, and keys in settings of other programs.
    const named = audience === 'everybody' && shape?.is !== 'object' && namesSecret(key)
    collect(field, entry.value, { ...reading, inside: named ? 'values' : inside })
  }
}

/**
 * The shape inside a free-form value: the same one if it names secret keys, so that they are found
 * at any depth.
 */
function within(shape: Shape | undefined, key?: string): Shape | undefined {
  if (shape?.is !== 'free' || shape.secretKeys === undefined) return undefined
  return key !== undefined && shape.secretKeys.includes(key) ? { is: 'text', secret: true } : shape
}

function holdsKey(text: string): boolean {
  return (
    isPrivateKey(text) ||
    (text.startsWith('LS0tLS1CRUdJTi') &&
      isPrivateKey(Buffer.from(text, 'base64').toString('latin1')))
  )
}

/** Whether a text contains a private key in PEM, of any kind. */
const isPrivateKey = (text: string): boolean =>
  text.includes('BEGIN ') && text.includes('PRIVATE KEY')

const secretWords = [
  'password',
  'passwd',
  'passphrase',
  'secret',
  'token',
  'credential',
  'apikey',
  'api-key',
  'api_key',
  'privatekey',
  'private-key',
]

const namesSecret = (key: string): boolean => {
  const lower = key.toLowerCase()
  return secretWords.some((word) => lower.includes(word))
}

/**
 * Whether a text contains a URL with a user, password or query, or an argument such as `token=…`.
 */
function holdsCredentials(text: string): boolean {
  if (text.includes('://') && (text.includes('@') || text.includes('?'))) return true
  const at = text.indexOf('=')
  return at > 0 && namesSecret(text.slice(0, at))
}

/** Masks the value in `NAME=value`. The name stays readable if it needs no quotes. */
function variable(text: string): string {
  const at = text.indexOf('=')
  return at > 0 && /^[A-Za-z_][A-Za-z0-9_.-]*$/.test(text.slice(0, at))
    ? `${text.slice(0, at)}=${masked}`
    : masked
}

/**
 * Whether a text may contain a manifest of a Secret, also as one of several documents, in a list,
 * or written with escapes.
 */
const isSecretManifest = (text: string): boolean => /\bSecret(?:List)?\b|\\[xuU]/.test(text)

/**
 * Control characters that the lexer of `yaml` inserts between tokens. The character `beforeScalar`
 * announces a value.
 */
const beforeScalar = '\u001f'
const marks = new Set([beforeScalar, '\u0002', '\u0018'])

/** Comments are hidden, because users comment out secrets. */
function commentsOf(yaml: string): Hidden[] {
  const comments: Hidden[] = []
  let at = 0
  let before = ''
  for (const token of new Lexer().lex(yaml)) {
    if (!marks.has(token)) {
      if (token.startsWith('#') && before !== beforeScalar)
        comments.push({ from: at, to: at + token.length, by: `# ${masked}` })
      at += token.length
    }
    before = token
  }
  return comments
}
