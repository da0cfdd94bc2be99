import { parseArgs } from 'node:util'
import {
  type AnyGiven,
  type Command,
  globalOptions,
  type Options,
  shownChoices,
} from './command.ts'
import { CliError } from './exit.ts'
import { type Format, readFormat } from './output/format.ts'
import { oneLine } from './text.ts'

/** A parsed command line. `command` is null for help on the given words or on all commands. */
export type Parsed =
  | { readonly kind: 'version' }
  | { readonly kind: 'help'; readonly words: readonly string[]; readonly command: Command | null }
  | ({
      readonly kind: 'run'
      readonly command: Command
      readonly url: string | undefined
      readonly context: string | undefined
      readonly caFile: string | undefined
      readonly format: Format
      readonly headers: boolean
    } & AnyGiven)

const usage = (message: string, command?: Command) =>
  new CliError('usage', message, {
    hint: command
      ? `steelyard ${command.name} --help shows how it is used`
      : 'steelyard --help lists the commands',
  })

/** Levenshtein distance. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++)
      next.push(
        Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)),
      )
    row = next
  }
  return row[b.length]!
}

/** ". Did you mean …?" with the most similar of the known words, or nothing if none is similar. */
export function meant(text: string, known: readonly string[]): string {
  const best = known
    .map((name) => ({ name, off: distance(text, name) }))
    .toSorted((a, b) => a.off - b.off)[0]
  return best && best.off <= 2 ? `. Did you mean ${best.name}?` : ''
}

/**
 * Finds the command by the first words; global options may come before and between these words.
 * Returns the command and the remaining arguments.
 */
function find(
  args: readonly string[],
  commands: readonly Command[],
): { command: Command | null; words: string[]; rest: string[] } {
  const words: string[] = []
  const before: string[] = []
  let at = 0
  for (; at < args.length; at++) {
    const arg = args[at]!
    if (['--url', '--context', '--ca-file', '--output', '-o'].includes(arg))
      before.push(arg, ...args.slice(++at, at + 1))
    else if (
      /^--(?:url|context|ca-file|output)=|^-o./.test(arg) ||
      ['--json', '--no-headers', '--help', '-h'].includes(arg)
    )
      before.push(arg)
    else if (
      !arg.startsWith('-') &&
      commands.some((c) => `${c.name} `.startsWith(`${[...words, arg].join(' ')} `))
    )
      words.push(arg)
    else break
  }
  const name = words.join(' ')
  return {
    command: commands.find((c) => c.name === name) ?? null,
    words,
    rest: [...before, ...args.slice(at)],
  }
}

/** A value as `util.parseArgs` returns it. */
type Raw = string | boolean | (string | boolean)[] | undefined

function readOption(
  command: Command,
  name: string,
  option: Options[string],
  value: Raw,
): AnyGiven['options'][string] {
  if (option.kind === 'flag') return value === true
  const texts = [value ?? []].flat().map(String)
  if (option.kind === 'number') {
    if (texts[0] === undefined) return undefined
    const pattern = option.decimal ? /^-?\d{1,9}(?:\.\d{1,9})?$/ : /^\d{1,9}$/
    if (!pattern.test(texts[0]))
      throw usage(
        `--${name} takes a ${option.decimal ? '' : 'whole '}number, not ${oneLine(texts[0])}`,
        command,
      )
    return Number(texts[0])
  }
  const each =
    option.many && !option.whole
      ? texts.flatMap((t) => t.split(',').map((part) => part.trim())).filter((t) => t !== '')
      : texts
  const wrong = option.choices && each.find((t) => !option.choices!.includes(t))
  if (wrong !== undefined)
    throw usage(
      `--${name} is one of ${shownChoices(option.choices).join(', ')}, not ${oneLine(wrong)}`,
      command,
    )
  return option.many ? each : each[0]
}

function readOperands(command: Command, positionals: readonly string[]): AnyGiven['operands'] {
  const left = [...positionals]
  const operands = Object.fromEntries(
    Object.entries(command.operands).map(([name, operand]) => {
      const value = operand.many ? left.splice(0) : left.shift()
      if (!operand.optional && (value === undefined || value.length === 0))
        throw usage(`${operand.value} is missing: ${operand.help}`, command)
      return [name, value]
    }),
  )
  if (left.length > 0) throw usage(`${oneLine(left[0]!)} is one word too many`, command)
  return operands
}

/** How the result is printed. */
function printing(
  command: Command,
  { json, output, 'no-headers': bare }: Readonly<Record<string, Raw>>,
): { format: Format; headers: boolean } {
  const asked = 'output' in command.options ? undefined : output
  if (!command.json) {
    const given = json === true ? '--json' : asked !== undefined ? '-o' : bare && '--no-headers'
    if (given) throw usage(`${command.name} has no ${given}`, command)
  }
  const format = asked === undefined ? null : readFormat(String(asked))
  if (json === true && format !== null && format.kind !== 'json')
    throw usage('Give either --json or -o', command)
  // The program itself writes the output of its commands, as text or JSON.
  if (command.local && format !== null && format.kind !== 'json')
    throw usage(`${command.name} prints text, or JSON with -o json`, command)
  const text: Format = { kind: 'text', wide: false }
  return { format: format ?? (json === true ? { kind: 'json' } : text), headers: bare !== true }
}

/** Parses a command line. Throws CliError `usage`. */
export function parse(args: readonly string[], commands: readonly Command[]): Parsed {
  if (args[0] === 'help') return { ...find(args.slice(1), commands), kind: 'help' }
  if (args.length === 1 && (args[0] === '--version' || args[0] === '-v')) return { kind: 'version' }
  const { command, words, rest } = find(args, commands)
  if (!command) {
    const unknown = rest.find((a) => !a.startsWith('-'))
    if (unknown !== undefined && !rest.includes('--url') && !rest.includes('--context')) {
      const next = commands
        .filter((c) => words.length === 0 || c.name.startsWith(`${words.join(' ')} `))
        .map((c) => c.name.split(' ')[words.length]!)
      throw usage(
        `There is no command ${oneLine([...words, unknown].join(' '))}${meant(unknown, [...new Set(next)])}`,
      )
    }
    if (words.length > 0 && !rest.includes('--help') && !rest.includes('-h'))
      throw usage(`${words.join(' ')} needs one more word`)
    return { kind: 'help', words, command: null }
  }
  const declared: Options = { ...globalOptions, ...command.options }
  let read
  try {
    read = parseArgs({
      args: rest,
      allowPositionals: true,
      options: Object.fromEntries(
        Object.entries(declared).map(([name, o]) => [
          name,
          {
            type: o.kind === 'flag' ? ('boolean' as const) : ('string' as const),
            multiple: o.kind === 'text' && o.many === true,
            ...(name === 'help' && { short: 'h' }),
            ...(o.kind === 'text' && o.short !== undefined && { short: o.short }),
          },
        ]),
      ),
    })
  } catch (e) {
    const name = /'(--?[^\s'=,]+)/.exec(e instanceof Error ? e.message : '')?.[1] ?? ''
    if (e instanceof Error && 'code' in e && e.code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION')
      throw usage(
        `There is no option ${oneLine(name)}${meant(
          name,
          Object.keys(declared).map((n) => `--${n}`),
        )}`,
        command,
      )
    const option = declared[name.replace(/^--/, '')]
    throw usage(
      option?.kind === 'flag'
        ? `${name} takes no value`
        : `${name} needs a value; one that begins with a minus is written ${name}=-…`,
      command,
    )
  }
  const { url, context, help, 'ca-file': caFile } = read.values
  if (help === true) return { kind: 'help', words, command }
  return {
    kind: 'run',
    command,
    url: typeof url === 'string' ? url : undefined,
    context: typeof context === 'string' ? context : undefined,
    caFile: typeof caFile === 'string' ? caFile : undefined,
    ...printing(command, read.values),
    operands: readOperands(command, read.positionals),
    options: Object.fromEntries(
      Object.entries(command.options).map(([name, option]) => [
        name,
        readOption(command, name, option, read.values[name]),
      ]),
    ),
  }
}
