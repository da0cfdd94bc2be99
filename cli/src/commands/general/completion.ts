import {
  allOptions,
  command,
  type Command,
  type Noun,
  type Options,
  shownChoices,
} from '../../command.ts'
import { CliError } from '../../exit.ts'
import { grouped } from '../../grouped.ts'
import * as noun from '../../nouns.ts'

type Names = Noun['names']

/** Options whose value is the name of an object. Of several values, the first is completed. */
const namedByOption: Readonly<Record<string, Noun>> = {
  cluster: noun.cluster,
  datacenter: noun.datacenter,
  server: noun.server,
  'control-plane': noun.server,
  worker: noun.server,
  by: noun.server,
  canary: noun.server,
  store: noun.store,
}

/** The objects that the first operand of a command names. */
function namesOf({ operands }: Command): Names | null {
  const [first] = Object.values(operands)
  return first !== undefined && 'names' in first ? (first as Noun).names : null
}

/** The command that prints the names, one per line. */
const listing = ([command, field]: Names): string =>
  `${command} --per-page 1000 -o 'jsonpath={range .items[*]}{${field}}{"\\n"}{end}'`

/** `case` branches of the script: after which words which names follow. */
function branchesOf(commands: readonly Command[]): string {
  const byList = grouped(
    commands.flatMap((c) => {
      const names = namesOf(c)
      return names ? [{ word: `'${c.name}'`, list: listing(names) }] : []
    }),
    ({ list }) => list,
  )
  return [...byList]
    .map(([list, of]) => `    ${of.map(({ word }) => word).join('|')}) _steelyard_names ${list} ;;`)
    .join('\n')
}
const optionBranches = (): string =>
  [...grouped(Object.entries(namedByOption), ([, { names }]) => listing(names))]
    .map(
      ([list, of]) =>
        `    ${of.map(([name]) => `--${name}`).join('|')}) _steelyard_names ${list}; return ;;`,
    )
    .join('\n')

/** A `case` branch of the script: the words that may follow the command. */
function casesOf(command: Command): string {
  const words = Object.keys(allOptions(command)).map((name) => `--${name}`)
  return `    '${command.name}') words='${words.join(' ')}' ;;`
}

/** What may follow an option. */
const wordsOf = (option: Options[string]): readonly string[] =>
  option.kind === 'text'
    ? shownChoices(option.choices ?? option.suggested?.map((w) => w.replace(/TEMPLATE$/, '')))
    : []

function choicesOf(commands: readonly Command[]): string[] {
  return commands.flatMap((c) =>
    Object.entries(allOptions(c)).flatMap(([name, o]) => {
      const words = wordsOf(o)
      const patterns = [
        `'${c.name} --${name}'`,
        ...(o.kind === 'text' && o.short !== undefined ? [`'${c.name} -${o.short}'`] : []),
      ]
      return words.length > 0 ? [`    ${patterns.join('|')}) words='${words.join(' ')}' ;;`] : []
    }),
  )
}

/**
 * A completion script for bash, generated from the declarations. zsh runs it through bashcompinit.
 */
function script(commands: readonly Command[]): string {
  const firsts = [...new Set(commands.map((c) => c.name.split(' ')[0]!))]
  const seconds = firsts.flatMap((first) => {
    const next = commands
      .filter((c) => c.name.startsWith(`${first} `))
      .map((c) => c.name.slice(first.length + 1))
    return next.length > 0 ? [`    '${first}') words='${next.join(' ')}' ;;`] : []
  })
  // Names come from a server: \`compgen\` would run a command in one of them.
  return `_steelyard_names() {
  local name
  while IFS= read -r name; do
    [[ $name == "$current"* ]] && COMPREPLY+=("$(printf %q "$name")")
  done < <("\${COMP_WORDS[0]}" "$@" 2>/dev/null)
}
_steelyard() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" line='' words='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    [[ \${COMP_WORDS[i]} == -* ]] && break
    line="\${line:+$line }\${COMP_WORDS[i]}"
    ((i == 2)) && break
  done
  COMPREPLY=()
  case "$previous" in
${optionBranches()}
  esac
  if [[ $COMP_CWORD -eq 3 && $current != -* ]]; then
    case "$line" in
${branchesOf(commands)}
    esac
    [[ \${#COMPREPLY[@]} -gt 0 ]] && return
  fi
  case "$line" in
    '') words='${firsts.join(' ')}' ;;
${seconds.join('\n')}
${commands.map(casesOf).join('\n')}
    *) case "\${line%% *}" in
${commands
  .filter((c) => !c.name.includes(' '))
  .map((c) => `  ${casesOf(c)}`)
  .join('\n')}
      esac ;;
  esac
  case "$line $previous" in
${choicesOf(commands).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _steelyard steelyard
`
}

/**
 * A word or help text for a fish script, in single quotes: only the quote and the backslash have a
 * meaning there.
 */
const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

/** The lines for one option of a command. */
function fishOption(command: Command, name: string, option: Options[string]): string {
  const choices = wordsOf(option)
  const value =
    option.kind === 'flag' ? '' : choices.length > 0 ? ` -x -a ${quoted(choices.join(' '))}` : ' -r'
  const named = namedByOption[name]
  if (option.kind === 'text' && named)
    return `complete -c steelyard -n ${quoted(`__steelyard_is '${command.name}'`)} -l ${name} -x -a ${quoted(`(steelyard ${listing(named.names)} 2>/dev/null)`)} -d ${quoted(option.help)}`
  const short = option.kind === 'text' && option.short !== undefined ? ` -s ${option.short}` : ''
  return `complete -c steelyard -n ${quoted(`__steelyard_is '${command.name}'`)} -l ${name}${short}${value} -d ${quoted(option.help)}`
}

/**
 * A completion script for fish. `__steelyard_line` prints the words of the command so far, without
 * options and their values.
 */
function fishScript(commands: readonly Command[]): string {
  const firsts = [...new Set(commands.map((c) => c.name.split(' ')[0]!))]
  const word = (line: string, name: string, summary: string) =>
    `complete -c steelyard -f -n ${quoted(`__steelyard_at '${line}'`)} -a ${name} -d ${quoted(summary)}`
  const words = firsts.flatMap((first) => {
    const alone = commands.find((c) => c.name === first)
    const below = commands.filter((c) => c.name.startsWith(`${first} `))
    return [
      word(
        '',
        first,
        alone?.summary ?? below.map((c) => c.name.slice(first.length + 1)).join(', '),
      ),
      ...below.map((c) => word(first, c.name.slice(first.length + 1), c.summary)),
    ]
  })
  const options = commands.flatMap((command) => {
    return Object.entries(allOptions(command)).map(([name, option]) =>
      fishOption(command, name, option),
    )
  })
  const operands = commands.flatMap((c) => {
    const names = namesOf(c)
    return names
      ? [
          `complete -c steelyard -f -n ${quoted(`__steelyard_is '${c.name}'`)} -a ${quoted(`(steelyard ${listing(names)} 2>/dev/null)`)}`,
        ]
      : []
  })
  return `function __steelyard_line
  set -l words
  set -l typed (commandline -opc)
  set -e typed[1]
  for word in $typed
    string match -q -- '-*' $word; and break
    set -a words $word
    test (count $words) -eq 2; and break
  end
  echo "$words"
end
function __steelyard_at
  set -l line (__steelyard_line)
  test "$line" = "$argv[1]"
end
function __steelyard_is
  set -l line (__steelyard_line)
  test "$line" = "$argv[1]"; and return 0
  # A command of one word, followed by an operand.
  string match -q -- '* *' "$argv[1]"; and return 1
  test (string split -f1 ' ' -- "$line") = "$argv[1]"
end
${[...words, ...options, ...operands].join('\n')}
`
}

export const completionCommand = (commands: () => readonly Command[]): Command =>
  command({
    name: 'completion',
    summary:
      'A script that completes commands, options and the names of objects in bash, zsh or fish.',
    operands: { shell: { value: 'SHELL', help: 'bash, zsh or fish' } },
    examples: [
      'completion bash > ~/.local/share/bash-completion/completions/steelyard',
      'completion zsh >> ~/.zshrc',
      'completion fish > ~/.config/fish/completions/steelyard.fish',
    ],
    json: false,
    async run({ terminal }, { operands }) {
      if (operands.shell === 'fish') return terminal.out(fishScript(commands()))
      const text = script(commands())
      if (operands.shell === 'bash') return terminal.out(text)
      if (operands.shell === 'zsh')
        // Without `compinit`, which not every .zshrc has, bashcompinit finds no `compdef`.
        return terminal.out(
          `(( $+functions[compdef] )) || { autoload -U +X compinit && compinit; }\nautoload -U +X bashcompinit && bashcompinit\n${text}`,
        )
      throw new CliError('usage', 'SHELL is bash, zsh or fish')
    },
  })
