/** The commands of docs/install.md, by the heading above them. */

/** Lines of the code blocks below a heading, up to the next heading. */
export function commandsBelow(page: string, heading: string): string[] {
  const lines = page.split('\n')
  const at = lines.findIndex((line) => /^#+ /.test(line) && line.replace(/^#+ /, '') === heading)
  if (at === -1) throw new Error(`docs/install.md has no heading "${heading}"`)
  const found: string[] = []
  let inBlock = false
  for (const line of lines.slice(at + 1)) {
    if (line.startsWith('```')) inBlock = !inBlock
    else if (inBlock) found.push(line)
    else if (/^#+ /.test(line)) break
  }
  return found.filter((line) => line.trim() !== '')
}

/** The commands as one script for a version. The program itself replaces the shell. */
export const scriptOf = (commands: readonly string[], version: string): string =>
  [
    'set -eu',
    ...commands.map((line) =>
      line
        .replace(/^export VERSION=\S+/, `export VERSION=${version}`)
        .replace(/^(\S+\/steelyard serve)$/, 'exec $1'),
    ),
  ].join('\n')
