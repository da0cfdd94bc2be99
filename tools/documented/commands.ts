/** The commands in the code blocks of the documentation, as a reader would paste them. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Documented {
  readonly page: string
  /** One command line, with its quotes and without a comment. */
  readonly line: string
}

const entities: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&amp;': '&',
  '&quot;': '"',
}

/** Code blocks of Markdown or HTML. */
function blocksOf(page: string, text: string): string[] {
  if (page.endsWith('.md')) return [...text.matchAll(/^```\w*\n([\s\S]*?)^```/gm)].map((m) => m[1]!)
  return [...text.matchAll(/<pre>([\s\S]*?)<\/pre>/g)].map((m) =>
    m[1]!.replaceAll(/<[^>]*>/g, '').replaceAll(/&\w+;/g, (e) => entities[e] ?? e),
  )
}

/** The lines of a page's code blocks that begin with npm or steelyard. */
export const commandsOf = (page: string, text: string): Documented[] =>
  blocksOf(page, text).flatMap((block) =>
    block
      .replaceAll(/\\\n\s*/g, '')
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => /^(?:npm|steelyard) /.test(line))
      .map((line) => ({ page, line: line.replace(/\s+#\s.*$/, '') })),
  )

/** All documented commands, each once. `cli/docs.test.ts` parses the examples of the reference. */
export function documentedCommands(root: string): Documented[] {
  const pages = ['README.md', ...globSync('docs/{,running/}*.{md,html}', { cwd: root })].toSorted()
  const all = pages.flatMap((page) => commandsOf(page, readFileSync(join(root, page), 'utf8')))
  return all.filter((one, at) => all.findIndex(({ line }) => line === one.line) === at)
}
