import {
  generalOptions,
  type Command,
  type Options,
  shownChoices,
  type TextOption,
} from './command.ts'
import { exitCodes } from './exit.ts'
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

/** Help on all commands, or on the commands that begin with `words`. */
export function overview(commands: readonly Command[], words: readonly string[]): string {
  const shown = commands.filter(
    (c) => words.length === 0 || c.name.startsWith(`${words.join(' ')} `),
  )
  const codes = Object.entries(exitCodes).map(
    ([name, code]) => `${code} ${name.replaceAll('_', ' ')}`,
  )
  return [
    words.length === 0
      ? 'steelyard: the control plane of your bare-metal servers, from a terminal.\n\n'
      : '',
    'Usage: steelyard COMMAND [OPTIONS]\n\nCommands:\n',
    columns(shown.map((c) => [c.name, c.summary])),
    '\nsteelyard COMMAND --help shows options and an example.\n',
    words.length === 0
      ? `\nEnvironment:\n${columns([
          ['STEELYARD_URL', 'Address of Steelyard'],
          ['STEELYARD_CONTEXT', 'Name of a Steelyard, instead of its address'],
          ['STEELYARD_TOKEN', 'API token or access token, instead of steelyard login'],
          [
            'STEELYARD_CA_FILE',
            'PEM file of the authority that signed the certificate of Steelyard',
          ],
          ['HTTPS_PROXY', 'Address of a proxy; NO_PROXY names the hosts that need none'],
          ['NO_COLOR', 'Set to any value: no colours'],
        ])}\nExit codes: ${codes.join(', ')}.\n`
      : '',
  ].join('')
}
