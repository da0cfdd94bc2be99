import { command, type Command, globalOptions, type Options, shownChoices } from '../command.ts'
import { CliError } from '../exit.ts'

/** A `case` branch of the script: the words that may follow the command. */
function casesOf(command: Command): string {
  const options: Options = { ...command.options, ...globalOptions }
  const words = Object.keys(options).map((name) => `--${name}`)
  return `    '${command.name}') words='${words.join(' ')}' ;;`
}

function choicesOf(commands: readonly Command[]): string[] {
  return commands.flatMap((c) =>
    Object.entries(c.options).flatMap(([name, o]) =>
      o.kind === 'text' && o.choices ? [`    '${c.name} --${name}') words='${shownChoices(o.choices).join(' ')}' ;;`] : [],
    ),
  )
}

/** A completion script for bash, generated from the declarations. zsh runs it through bashcompinit. */
function script(commands: readonly Command[]): string {
  const firsts = [...new Set(commands.map((c) => c.name.split(' ')[0]!))]
  const seconds = firsts.flatMap((first) => {
    const next = commands.filter((c) => c.name.startsWith(`${first} `)).map((c) => c.name.slice(first.length + 1))
    return next.length > 0 ? [`    '${first}') words='${next.join(' ')}' ;;`] : []
  })
  return `_steelyard() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" line='' words='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    [[ \${COMP_WORDS[i]} == -* ]] && break
    line="\${line:+$line }\${COMP_WORDS[i]}"
    ((i == 2)) && break
  done
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

export const completionCommand = (commands: () => readonly Command[]): Command =>
  command({
    name: 'completion',
    summary: 'A script that completes commands and options in bash or zsh.',
    operands: { shell: { value: 'SHELL', help: 'bash or zsh' } },
    examples: ['completion bash > ~/.local/share/bash-completion/completions/steelyard', 'completion zsh >> ~/.zshrc'],
    json: false,
    async run({ terminal }, { operands }) {
      const text = script(commands())
      if (operands.shell === 'bash') return terminal.out(text)
      if (operands.shell === 'zsh') return terminal.out(`autoload -U +X bashcompinit && bashcompinit\n${text}`)
      throw new CliError('usage', 'SHELL is bash or zsh')
    },
  })
