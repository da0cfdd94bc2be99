/** The page docs/cli-reference.md, generated from the declarations of the commands. */
import type { Command } from '../command.ts'
import { generalHelp, helpOf } from '../help.ts'

const anchorOf = (name: string): string => name.replaceAll(' ', '-')
const cell = (text: string): string => text.replaceAll('|', '\\|')

/** The reference as Markdown: a table of all commands, then the help of each. */
export function referenceOf(commands: readonly Command[]): string {
  const rows = commands.map(
    ({ name, summary }) => `| [\`${name}\`](#${anchorOf(name)}) | ${cell(summary)} |`,
  )
  const sections = commands.map(
    (command) => `## ${command.name}\n\n\`\`\`text\n${helpOf(command).trimEnd()}\n\`\`\`\n`,
  )
  return [
    '# Commands',
    '',
    '<!-- Generated from the declarations of the commands: npm run generate:cli -->',
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
}
