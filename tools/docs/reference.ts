/** The page /docs/cli-reference, made of the declarations of the commands when the pages are built. */
import { openContexts } from '../../cli/src/api/contexts.ts'
import { openSessions } from '../../cli/src/api/sessions.ts'
import { allCommands } from '../../cli/src/commands.ts'
import { generalHelp, helpOf } from '../../cli/src/help.ts'

const anchorOf = (name: string): string => name.replaceAll(' ', '-')
const cell = (text: string): string => text.replaceAll('|', '\\|')

/** The reference as Markdown, by its source: a table of all commands, then the help of each. */
export function referencePages(): ReadonlyMap<string, string> {
  // Declarations need no session.
  const sessions = openSessions({ XDG_CONFIG_HOME: '/nowhere' })
  const commands = allCommands(sessions, openContexts(sessions))
  const rows = commands.map(
    ({ name, summary }) => `| [\`${name}\`](#${anchorOf(name)}) | ${cell(summary)} |`,
  )
  const sections = commands.map(
    (command) => `## ${command.name}\n\n\`\`\`text\n${helpOf(command).trimEnd()}\n\`\`\`\n`,
  )
  const page = [
    '# Commands',
    '',
    '[The command line](cli.md) explains signing in, files, scripts and exit codes. Every command also prints its section with `--help`.',
    '',
    'Every command has the options below; commands without a result of their own, such as those that write a file, lack `--output`, `--no-headers` and `--json`.',
    '',
    `\`\`\`text\n${generalHelp({ options: {}, json: true })}\`\`\``,
    '',
    '| Command |  |',
    '| --- | --- |',
    ...rows,
    '',
    sections.join('\n'),
  ].join('\n')
  return new Map([['docs/cli-reference.md', page]])
}
