/**
 * Masks the secrets of a patch in the text that users read, and restores them in the text that
 * users have edited. Comments and layout stay unchanged, because only the characters of the secrets
 * are replaced.
 */
import { createHash } from 'node:crypto'
import {
  isMap,
  isScalar,
  isSeq,
  type Document,
  type Node,
  parseAllDocuments,
  type Scalar,
} from 'yaml'
import { Problem } from '#contract/errors.ts'
import { counted } from '#contract/words.ts'
import { apart } from '#talos/config/compare.ts'
import { type Audience, type Hidden, hiddenIn, masked, withHidden } from '#talos/config/mask.ts'
import { ConfigError } from '#talos/config/problem.ts'

/** Parses all scalars as strings, so that numbers and dates are written back unchanged. */
const read = (yaml: string): Document.Parsed[] =>
  parseAllDocuments(yaml, { schema: 'failsafe', uniqueKeys: false }).filter(
    (d): d is Document.Parsed => d.contents !== null,
  )

/** `••••••••`, also after the name of a variable: `TOKEN=••••••••`. */
const isMask = (value: unknown): value is string =>
  typeof value === 'string' && (value === masked || value.endsWith(`=${masked}`))

const holdsMask = (node: unknown): boolean =>
  isScalar(node)
    ? isMask(node.value)
    : isSeq(node)
      ? node.items.some(holdsMask)
      : isMap(node) && node.items.some((pair) => holdsMask(pair.value))

const rangeOf = (node: Node, text: string): { from: number; to: number } => {
  const [from, valueEnd] = node.range!
  // The range of a block scalar includes its last line break, which belongs to the layout.
  return { from, to: text[valueEnd - 1] === '\n' ? valueEnd - 1 : valueEnd }
}

export interface MaskedText {
  readonly text: string
  /**
   * Maps each line of the plaintext to a line of the masked text, from 1: a secret of several lines
   * is shown as one line. Empty if nothing is shown.
   */
  readonly lines: readonly number[]
}

/**
 * Shows only the head of a document of unknown kind, because its secret fields aren't known either.
 */
const unshown = (document: string): string => {
  const head = document.split('\n').filter((line) => /^(?:apiVersion|kind|name): /.test(line))
  const digest = createHash('sha256').update(document).digest('hex').slice(0, 12)
  const lines = document.trimEnd().split('\n').length
  return [
    ...head,
    `# ${counted(lines, 'line')} not shown: Steelyard does not know this kind of document (digest ${digest})`,
    '',
  ].join('\n')
}

/**
 * Separates documents of known kinds from those of unknown kinds; null unless the text has both.
 */
function knownAndUnknown(text: string): { known: string; unknown: string[] } | null {
  try {
    const { known, unknown } = apart(text)
    return known === '' || unknown === '' ? null : { known, unknown: unknown.split(/^---\n/m) }
  } catch (error) {
    if (error instanceof ConfigError) return null
    throw error
  }
}

const breaks = (text: string): number => text.split('\n').length - 1

/**
 * @param known masked values of another text. Other values are marked as new, except values that
 * nobody may read, because the mark would confirm a guess
 */
export function maskText(
  text: string,
  audience: Audience,
  known?: ReadonlySet<string>,
): MaskedText {
  let hidden: Hidden[]
  try {
    hidden = hiddenIn(text, audience)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const parts = knownAndUnknown(text)
    if (parts) {
      const shown = maskText(parts.known, audience, known)
      return {
        ...shown,
        text: `${shown.text}${parts.unknown.map((d) => `---\n${unshown(d)}`).join('')}`,
      }
    }
    return {
      text: `# It is not shown, because it can't be read: ${error.problems[0]?.message ?? ''}`.replaceAll(
        '\n',
        ' ',
      ),
      lines: [],
    }
  }
  if (known) {
    const secret = new Set(hiddenIn(text, 'may_read_secrets').map(({ from }) => from))
    hidden = hidden.map((h) =>
      secret.has(h.from) || known.has(text.slice(h.from, h.to))
        ? h
        : { ...h, by: `${h.by} (new value)` },
    )
  }
  const lines: number[] = []
  let at = 0
  let shown = 1
  for (const { from, to } of hidden) {
    for (let left = breaks(text.slice(at, from)); left > 0; left--) lines.push(shown++)
    for (let left = breaks(text.slice(from, to)); left > 0; left--) lines.push(shown)
    at = to
  }
  for (let left = breaks(text.slice(at)); left >= 0; left--) lines.push(shown++)
  return { text: withHidden(text, hidden), lines }
}

/** The plaintext of a text's masked values; empty if the text can't be parsed. */
export function secretsOf(text: string, audience: Audience): Set<string> {
  try {
    return new Set(hiddenIn(text, audience).map(({ from, to }) => text.slice(from, to)))
  } catch (error) {
    if (error instanceof ConfigError) return new Set()
    throw error
  }
}

const kindOf = (document: Document.Parsed): string => JSON.stringify(document.get('kind') ?? null)
const identity = (document: Document.Parsed): string =>
  JSON.stringify(['apiVersion', 'kind', 'name'].map((key) => document.get(key) ?? null))
/** Doesn't resolve aliases, because the text hasn't been validated yet. */
const plain = (node: unknown): unknown =>
  isScalar(node)
    ? node.value
    : isSeq(node)
      ? node.items.map(plain)
      : isMap(node)
        ? node.items.map((pair) => [plain(pair.key), plain(pair.value)])
        : null

/**
 * The value as YAML: without quotes if it had none and needs none, so that a number stays a number;
 * otherwise as JSON.
 */
const written = (value: string, type: Scalar['type']): string =>
  type === 'PLAIN' && /^[\w.+-]+$/.test(value) ? value : JSON.stringify(value)

/**
 * Replaces masks in the text by the secrets of `before`, because users edit the masked text. List
 * elements are matched by their other fields, because elements may be added and removed.
 * @throws Problem `invalid` if a mask has no known value
 */
export function unmask(text: string, before: string, audience: Audience): string {
  if (!text.includes(masked)) return text
  const known = read(before)
  const shown = read(maskText(before, audience).text)
  const back: Hidden[] = []
  const restore = (node: unknown, clear: unknown, hidden: unknown): void => {
    if (isScalar(node)) {
      if (!isMask(node.value)) return
      const name = node.value.slice(0, -masked.length)
      if (!isScalar(clear) || typeof clear.value !== 'string' || !clear.value.startsWith(name))
        throw unknownSecret(text, node)
      back.push({ ...rangeOf(node, text), by: written(clear.value, clear.type) })
    } else if (isMap(node)) {
      for (const pair of node.items) {
        const key = isScalar(pair.key) ? pair.key.value : pair.key
        restore(
          pair.value,
          isMap(clear) ? clear.get(key, true) : undefined,
          isMap(hidden) ? hidden.get(key, true) : undefined,
        )
      }
    } else if (isSeq(node)) {
      const [were, areShown] = [isSeq(clear) ? clear.items : [], isSeq(hidden) ? hidden.items : []]
      const keys = areShown.map((s) => JSON.stringify(plain(s)))
      for (const [i, item] of node.items.entries()) {
        if (!holdsMask(item)) continue
        const same = keys.indexOf(JSON.stringify(plain(item)))
        const at = same >= 0 ? same : were.length === node.items.length ? i : -1
        restore(item, were[at], areShown[at])
      }
    }
  }
  for (const [i, document] of read(text).entries()) {
    const id = identity(document)
    const same = known.findIndex((d) => identity(d) === id)
    // Secrets are restored from the document with the same identity, or else from the one at the
    // same position if it has the same kind.
    const at = same >= 0 ? same : known[i] && kindOf(known[i]) === kindOf(document) ? i : -1
    restore(document.contents, known[at]?.contents, shown[at]?.contents)
  }
  return withHidden(
    text,
    back.toSorted((a, b) => a.from - b.from),
  )
}

function unknownSecret(text: string, node: Scalar): Problem {
  const at = node.range?.[0] ?? 0
  const line = text.slice(0, at).split('\n').length
  const column = at - text.lastIndexOf('\n', at - 1)
  const message = `Line ${line}, column ${column}: ${masked} replaces a secret that is not in the saved patch. Enter the secret itself`
  return new Problem('invalid', message, { body: message })
}
