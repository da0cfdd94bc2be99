/**
 * Finds regular expressions whose time grows faster than the length of their input (OWASP: "Regular
 * expression Denial of Service"). Each is run against texts made from the pattern's own parts: a
 * text that matches up to a repeated part, many repetitions of that part, and an end that doesn't
 * match.
 */
import { readFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { type AST, RegExpParser, visitRegExpAST } from '@eslint-community/regexpp'
import { parseAst } from 'vite'

export interface Found {
  /** `contract/names.ts:12` */
  readonly place: string
  readonly pattern: string
  readonly flags: string
}

interface Node {
  readonly type: string
  readonly start: number
  readonly [key: string]: unknown
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value

function nodesOf(root: unknown): Node[] {
  const nodes = [root].filter(isNode)
  for (const node of nodes) {
    for (const value of Object.values(node)) {
      if (Array.isArray(value)) nodes.push(...(value as unknown[]).filter(isNode))
      else if (isNode(value)) nodes.push(value)
    }
  }
  return nodes
}

/** Placeholder for those parts of a pattern that are only known at run time. */
const standIn = 'xyz'

/** The text of a string or a template; undefined for anything that is only known at run time. */
function textOf(node: Node | undefined): string | undefined {
  if (node?.type === 'Literal' && typeof node['value'] === 'string') return node['value']
  if (node?.type !== 'TemplateLiteral') return undefined
  return (node['quasis'] as { value: { cooked: string } }[])
    .map(({ value }) => value.cooked)
    .join(standIn)
}

/**
 * Every regular expression in these files, without duplicates: literals, and `new RegExp` of a
 * text.
 */
export function patternsIn(
  files: readonly string[],
  read = (file: string) => readFileSync(file, 'utf8'),
): Found[] {
  const found = new Map<string, Found>()
  for (const file of files) {
    const source = read(file)
    const add = (node: Node, pattern: string, flags: string) => {
      const place = `${file}:${source.slice(0, node.start).split('\n').length}`
      const key = `/${pattern}/${flags}`
      if (!found.has(key)) found.set(key, { place, pattern, flags })
    }
    for (const node of nodesOf(parseAst(source, { lang: file.endsWith('x') ? 'tsx' : 'ts' }))) {
      const { pattern, flags } = (node['regex'] ?? {}) as { pattern?: string; flags?: string }
      if (pattern !== undefined) add(node, pattern, flags ?? '')
      const [text, marks] = (node['arguments'] ?? []) as Node[]
      if (node.type !== 'NewExpression' || (node['callee'] as Node)['name'] !== 'RegExp') continue
      const built = textOf(text)
      if (built !== undefined) add(node, built, textOf(marks) ?? '')
    }
  }
  return [...found.values()]
}

/** Characters that represent whole classes, in addition to those that a pattern names. */
const usual = [' ', '\t', '\n', 'a', 'A', '0', '-', '.', '_', '/', ':', '"', ',', '=', '\u00e9']

/**
 * Short texts made from a pattern: its repeated parts, what matches before them, and ends that
 * don't match.
 */
interface Parts {
  readonly pumps: ReadonlySet<string>
  readonly prefixes: ReadonlySet<string>
  readonly suffixes: ReadonlySet<string>
}

function partsOf(pattern: string, flags: string): Parts {
  const unicode = flags.includes('u')
  const tree = new RegExpParser().parsePattern(pattern, 0, pattern.length, {
    unicode,
    unicodeSets: flags.includes('v'),
  })
  const pool = new Set(usual)
  visitRegExpAST(tree, {
    onCharacterEnter: ({ value }) => void pool.add(String.fromCodePoint(value)),
  })
  const members = (raw: string): string[] => {
    const one = new RegExp(`^(?:${raw})$`, flags.replaceAll(/[gy]/g, ''))
    return [...pool].filter((c) => one.test(c))
  }
  /**
   * A text that matches the part. `turn` is the number of the chosen alternative, and of the chosen
   * member of a class.
   */
  const sample = (node: AST.Element | AST.Alternative | AST.Pattern, turn = 0): string => {
    switch (node.type) {
      case 'Alternative':
        return node.elements.map((e) => sample(e, turn)).join('')
      case 'Pattern':
      case 'Group':
      case 'CapturingGroup':
        return sample(node.alternatives[turn % node.alternatives.length]!, turn)
      case 'Character':
        return String.fromCodePoint(node.value)
      case 'CharacterClass':
      case 'CharacterSet': {
        const all = members(node.raw)
        return all.length === 0 ? '' : all[turn % all.length]!
      }
      case 'Quantifier':
        return sample(node.element, turn).repeat(Math.max(1, Math.min(node.min, 8)))
      default:
        return ''
    }
  }
  /** A text that matches from the beginning of the pattern up to a part. */
  const before = (node: AST.Node, turn = 0): string => {
    const { parent } = node
    if (!parent || parent.type === 'Pattern') return ''
    const own =
      parent.type === 'Alternative'
        ? parent.elements
            .slice(0, parent.elements.indexOf(node as AST.Element))
            .map((e) => sample(e, turn))
        : []
    return before(parent, turn) + own.join('')
  }
  const pumps = new Set<string>()
  const prefixes = new Set([''])
  const suffixes = new Set(['', '\u0001\n'])
  visitRegExpAST(tree, {
    onQuantifierEnter: (node) => {
      if (node.max < 16) return
      if (node.element.type === 'CharacterClass' || node.element.type === 'CharacterSet')
        for (const c of members(node.element.raw)) pumps.add(c).add(before(node) + c)
      for (const turn of [0, 1, 2]) {
        const [lead, own] = [before(node, turn), sample(node.element, turn)]
        pumps
          .add(own)
          .add(lead)
          .add(lead + own)
        prefixes.add(lead)
      }
    },
  })
  // A matching text without its last character.
  suffixes.add(sample(tree).slice(0, -1))
  pumps.delete('')
  return { pumps, prefixes, suffixes }
}

/**
 * Lengths of the texts, in characters: small steps first, so that a pattern whose time doubles with
 * each character is found before a run takes minutes.
 */
const steps = [20, 24, 28, 32, 40, 48, 64, 96, 128, 256, 1024, 4096, 16_384] as const
/**
 * A pattern that takes longer than this for any of these lengths is examined further. A pattern
 * that reads each character once takes a tenth of a millisecond.
 */
const limitMs = 8
/**
 * For a text that is four times as long, a linear pattern takes four times as long. Above this
 * factor the time grows too fast.
 */
const mostGrowth = 8

function timeMs(regex: RegExp, text: string): number {
  regex.lastIndex = 0
  const began = performance.now()
  // With the flag `g`, all matches of a text are searched at once.
  if (regex.global) text.replace(regex, '')
  else regex.exec(text)
  return performance.now() - began
}

/** The shortest of several runs, because other load on the machine only adds time. */
const leastMs = (regex: RegExp, text: string): number => {
  let least = Infinity
  for (let i = 0; i < (least > 10 * limitMs ? 2 : 4) && least > limitMs / 4; i++)
    least = Math.min(least, timeMs(regex, text))
  return least
}

/**
 * Why a pattern is slow, with the text that shows it; undefined if its time grows no faster than
 * the text.
 */
export function slownessOf({
  pattern,
  flags,
}: Pick<Found, 'pattern' | 'flags'>): string | undefined {
  const regex = new RegExp(pattern, flags)
  const { pumps, prefixes, suffixes } = partsOf(pattern, flags)
  for (const pump of pumps) {
    for (const prefix of prefixes) {
      for (const suffix of suffixes) {
        const text = (length: number) =>
          prefix + pump.repeat(Math.ceil(length / pump.length)) + suffix
        for (const [i, length] of steps.entries()) {
          if (timeMs(regex, text(length)) <= limitMs) continue
          const took = leastMs(regex, text(length))
          if (took <= limitMs) continue
          const shorter = length >= 1024 ? leastMs(regex, text(steps[i - 1]!)) : 0
          if (took < shorter * mostGrowth) continue
          return `${took.toFixed(0)} ms for ${length} characters: ${JSON.stringify(prefix)} + ${JSON.stringify(pump)} repeated + ${JSON.stringify(suffix)}`
        }
      }
    }
  }
  return undefined
}
