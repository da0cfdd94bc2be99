/** The commands of a page of the documentation, by the heading above them. */

export interface Block {
  /** Heading above it, without its `#`. */
  readonly heading: string
  /** What stands behind the three backquotes: `sh`, `text`. */
  readonly language: string
  readonly lines: readonly string[]
}

/** All code blocks of a page, in its order. */
export function blocksOf(page: string): Block[] {
  const found: (Block & { lines: string[] })[] = []
  let heading = ''
  let inBlock = false
  for (const line of page.split('\n')) {
    if (line.startsWith('```')) {
      inBlock = !inBlock
      if (inBlock) found.push({ heading, language: line.slice(3), lines: [] })
    } else if (inBlock) found.at(-1)!.lines.push(line)
    else if (/^#+ /.test(line)) heading = line.replace(/^#+ /, '')
  }
  return found
}

/** Lines of the code blocks below a heading, up to the next heading. */
export function commandsBelow(page: string, heading: string): string[] {
  const blocks = blocksOf(page).filter((block) => block.heading === heading)
  if (blocks.length === 0) throw new Error(`The page has no commands below "${heading}"`)
  return blocks.flatMap(({ lines }) => lines).filter((line) => line.trim() !== '')
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
