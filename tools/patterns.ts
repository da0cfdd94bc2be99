/**
 * Finds regular expressions whose time grows faster than the text that they read (OWASP: "Regular expression Denial of Service"). Each is run against
 * texts that are made from its own parts: what it repeats, repeated, behind what stands before it, with an end that does not fit.
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

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && 'type' in value

function nodesOf(root: Node): Node[] {
  const nodes = [root]
  for (const node of nodes) {
    for (const value of Object.values(node)) {
      if (Array.isArray(value)) nodes.push(...(value as unknown[]).filter(isNode))
      else if (isNode(value)) nodes.push(value)
    }
  }
  return nodes
}

/** What stands for a part of a pattern that is only known as the program runs. */
const standIn = 'xyz'

/** The text of a string or a template; undefined for anything that has to be run to be known. */
function textOf(node: Node | undefined): string | undefined {
  if (node?.type === 'Literal' && typeof node['value'] === 'string') return node['value']
  if (node?.type !== 'TemplateLiteral') return undefined
  return (node['quasis'] as { value: { cooked: string } }[]).map(({ value }) => value.cooked).join(standIn)
}

/** Every regular expression that is written in these files: literals, and `new RegExp` of a text. Each once. */
export function patternsIn(files: readonly string[], read = (file: string) => readFileSync(file, 'utf8')): Found[] {
  const found = new Map<string, Found>()
  for (const file of files) {
    const source = read(file)
    const add = (node: Node, pattern: string, flags: string) => {
      const place = `${file}:${source.slice(0, node.start).split('\n').length}`
      const key = `/${pattern}/${flags}`
      if (!found.has(key)) found.set(key, { place, pattern, flags })
    }
    for (const node of nodesOf(parseAst(source, { lang: file.endsWith('x') ? 'tsx' : 'ts' }) as unknown as Node)) {
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

/** Characters that stand for whole classes, beside those that a pattern names. */
const usual = [' ', '\t', '\n', 'a', 'A', '0', '-', '.', '_', '/', ':', '"', ',', '=', '\u00e9']

/** Short texts that a pattern is made of: what it repeats, and what stands before that. */
interface Parts {
  readonly pumps: ReadonlySet<string>
  readonly prefixes: ReadonlySet<string>
  readonly suffixes: ReadonlySet<string>
}

function partsOf(pattern: string, flags: string): Parts {
  const unicode = flags.includes('u')
  const tree = new RegExpParser().parsePattern(pattern, 0, pattern.length, { unicode, unicodeSets: flags.includes('v') })
  const pool = new Set(usual)
  visitRegExpAST(tree, { onCharacterEnter: ({ value }) => void pool.add(String.fromCodePoint(value)) })
  const members = (raw: string): string[] => {
    const one = new RegExp(`^(?:${raw})$`, flags.replaceAll(/[gy]/g, ''))
    return [...pool].filter((c) => one.test(c))
  }
  /** A text that the part takes; of alternatives the one with this number, of a class its member with it. */
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
  /** What is taken before a part, from the beginning of the pattern. */
  const before = (node: AST.Node, turn = 0): string => {
    const { parent } = node
    if (!parent || parent.type === 'Pattern') return ''
    const own = parent.type === 'Alternative' ? parent.elements.slice(0, parent.elements.indexOf(node as AST.Element)).map((e) => sample(e, turn)) : []
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
  // All but the last character of what would fit.
  suffixes.add(sample(tree).slice(0, -1))
  pumps.delete('')
  return { pumps, prefixes, suffixes }
}

/** Lengths of the texts, in characters: small steps first, so that what doubles with each character is found before it takes minutes. */
const steps = [20, 24, 28, 32, 40, 48, 64, 96, 128, 256, 1024, 4096, 16_384] as const
/** What a pattern may take for a text of any of these lengths before it is looked at more closely. One that reads each character once takes a tenth of a millisecond. */
const limitMs = 8
/** Four times the text takes four times as long; where it takes more than this, the time grows faster. */
const mostGrowth = 8

function timeMs(regex: RegExp, text: string): number {
  regex.lastIndex = 0
  const began = performance.now()
  // All matches of a text are asked for at once.
  if (regex.global) text.replace(regex, '')
  else regex.exec(text)
  return performance.now() - began
}

/** The least of several, because anything else on the machine only adds to it. */
const leastMs = (regex: RegExp, text: string): number => {
  let least = Infinity
  for (let i = 0; i < (least > 10 * limitMs ? 2 : 4) && least > limitMs / 4; i++) least = Math.min(least, timeMs(regex, text))
  return least
}

/** Why a pattern is slow, with the text that shows it; undefined where its time grows no faster than the text. */
export function slownessOf({ pattern, flags }: Pick<Found, 'pattern' | 'flags'>): string | undefined {
  const regex = new RegExp(pattern, flags)
  const { pumps, prefixes, suffixes } = partsOf(pattern, flags)
  for (const pump of pumps) {
    for (const prefix of prefixes) {
      for (const suffix of suffixes) {
        const text = (length: number) => prefix + pump.repeat(Math.ceil(length / pump.length)) + suffix
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
