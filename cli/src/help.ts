import {
  generalOptions,
  type Command,
  type Options,
  shownChoices,
  type TextOption,
} from './command.ts'
import { exitCodes } from './exit.ts'
import { grouped } from './grouped.ts'
import { pad } from './text.ts'

const columns = (rows: readonly (readonly [string, string])[]): string => {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${pad(left, width)}  ${right}\n`).join('')
}

const optionText = (name: string, option: Options[string]): string =>
  option.kind === 'flag'
    ? `--${name}`
    : `${option.kind === 'text' && option.short !== undefined ? `-${option.short}, ` : ''}--${name} ${option.value}`
const severalText = ({ whole, onePerServer }: TextOption): string =>
  ` (${onePerServer ? 'one for each server' : 'several'}: ${whole ? '' : 'comma-separated, or '}repeat the option)`
const optionHelp = (option: Options[string]): string =>
  option.help +
  (option.kind === 'text' && option.choices ? `: ${shownChoices(option.choices).join(', ')}` : '') +
  (option.kind === 'text' && option.many ? severalText(option) : '')

function usageLine(command: Command): string {
  const operands = Object.values(command.operands).map((o) => {
    const text = o.many ? `${o.value}...` : o.value
    return o.optional ? `[${text}]` : text
  })
  return [
    'steelyard',
    command.name,
    ...operands,
    ...(Object.keys(command.options).length > 0 ? ['[OPTIONS]'] : []),
  ].join(' ')
}

const optionRows = (options: Options): string =>
  columns(Object.entries(options).map(([name, o]) => [optionText(name, o), optionHelp(o)]))

/** The part of the help that is the same for every command with these options. */
export const generalHelp = (of: Pick<Command, 'options' | 'json'>): string =>
  `General options:\n${optionRows(generalOptions(of))}`

/** Help on a command, without its general options. */
export function helpOf(command: Command): string {
  const operands = Object.values(command.operands).map((o) => [o.value, o.help] as const)
  return [
    `${command.summary}\n\nUsage: ${usageLine(command)}\n`,
    operands.length > 0 ? `\n${columns(operands)}` : '',
    Object.keys(command.options).length > 0 ? `\nOptions:\n${optionRows(command.options)}` : '',
    `\n${command.examples.length > 1 ? 'Examples' : 'Example'}:\n${command.examples.map((e) => `  steelyard ${e}\n`).join('')}`,
  ].join('')
}

/** The commands that people need first, in this order. */
const mostUsed = [
  'login',
  'server list',
  'server show',
  'cluster list',
  'cluster show',
  'cluster create',
  'cluster kubeconfig',
  'findings',
  'operation watch',
  'apply',
]

/** Words on lines that fit a terminal of 80 columns, below each other. */
function wrapped(words: readonly string[], indent: number): string {
  const lines = ['']
  for (const word of words) {
    const line = lines.at(-1)!
    if (line === '') lines[lines.length - 1] = word
    else if (indent + line.length + word.length + 3 <= 80)
      lines[lines.length - 1] = `${line}, ${word}`
    else {
      lines[lines.length - 1] = `${line},`
      lines.push(word)
    }
  }
  return lines.join(`\n${' '.repeat(indent)}`)
}

const brief = (commands: readonly Command[]): string =>
  columns(commands.map((c) => [c.name, c.summary.split('. ', 1)[0]!.replace(/\.$/, '')]))

/** All commands: the verbs of each object, and commands of one word. */
function byObject(commands: readonly Command[]): string {
  const alone = commands.filter((c) => !c.name.includes(' '))
  const objects = [
    ...grouped(
      commands.filter((c) => c.name.includes(' ')),
      (c) => c.name.split(' ')[0]!,
    ),
  ].toSorted(([a], [b]) => (a < b ? -1 : 1))
  const width = Math.max(...objects.map(([name]) => name.length))
  return [
    '\nCommands by object:\n',
    ...objects.map(([name, of]) => {
      const verbs = of.map((c) => c.name.slice(name.length + 1))
      return `  ${pad(name, width)}  ${wrapped(verbs, width + 4)}\n`
    }),
    `\nOther commands:\n${brief(alone.toSorted((a, b) => (a.name < b.name ? -1 : 1)))}`,
  ].join('')
}

/** Help on all commands, or on the commands that begin with `words`. */
export function overview(commands: readonly Command[], words: readonly string[]): string {
  const codes = Object.entries(exitCodes).map(
    ([name, code]) => `${code} ${name.replaceAll('_', ' ')}`,
  )
  if (words.length > 0) {
    const shown = commands.filter((c) => `${c.name} `.startsWith(`${words.join(' ')} `))
    return [
      `Usage: steelyard ${words.join(' ')} COMMAND [OPTIONS]\n\nCommands:\n`,
      columns(shown.map((c) => [c.name, c.summary])),
      '\nsteelyard COMMAND --help shows options and an example.\n',
    ].join('')
  }
  const first = mostUsed.flatMap((name) => commands.find((c) => c.name === name) ?? [])
  return [
    'steelyard: the control plane of your bare-metal servers, from a terminal.\n\n',
    'Usage: steelyard COMMAND [OPTIONS]\n\nMost used:\n',
    brief(first),
    byObject(commands),
    '\nsteelyard OBJECT --help says what each command of an object does, and\nsteelyard COMMAND --help shows options and an example.\n',
    `\nEnvironment:\n${columns([
      ['STEELYARD_URL', 'Address of Steelyard'],
      ['STEELYARD_CONTEXT', 'Name of a Steelyard, instead of its address'],
      ['STEELYARD_TOKEN', 'API token or access token, instead of steelyard login'],
      ['STEELYARD_CA_FILE', 'PEM file of the authority that signed the certificate of Steelyard'],
      ['HTTPS_PROXY', 'Address of a proxy; NO_PROXY names the hosts that need none'],
      ['NO_COLOR', 'Set to any value: no colours'],
    ])}\nExit codes: ${codes.join(', ')}.\n`,
  ].join('')
}
