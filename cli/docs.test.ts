/** The command lines in the documentation are commands that exist, with options that exist. */
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { openSessions } from './src/api/sessions.ts'
import { allCommands } from './src/commands.ts'
import { exitCodes } from './src/exit.ts'
import { parse } from './src/parse.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const commands = allCommands(openSessions({ XDG_CONFIG_HOME: '/nowhere' }))

/** `steelyard …` and `npm run steelyard -- …` at the start of a line of a code block, without comments, pipes and what follows them. */
function commandLines(file: string): string[] {
  const blocks = [...readFileSync(`${root}/${file}`, 'utf8').matchAll(/^```\w*\n([\s\S]*?)^```/gm)].map((m) => m[1]!)
  return blocks.flatMap((block) =>
    block
      .replaceAll(/\\\n\s*/g, '')
      .split('\n')
      .flatMap((line) => /^\s*(?:\$ )?(?:npm run steelyard -- |steelyard )(.*)$/.exec(line)?.[1] ?? [])
      .map((line) => line.replace(/ *(?:[|<>;#]|&&).*$/, '').trim()),
  )
}

const files = ['README.md', 'CONTRIBUTING.md', ...globSync('{docs,cli}/**/*.md', { cwd: root, exclude: ['**/node_modules/**'] })].filter(
  (f) => globSync(f, { cwd: root }).length > 0,
)

test.each(files)('%s names only commands that exist', (file) => {
  const refused = commandLines(file).flatMap((line) => {
    try {
      parse(line.split(/\s+/), commands)
      return []
    } catch (e) {
      return [`${line}: ${String(e)}`]
    }
  })
  expect(refused).toEqual([])
})

test('docs/cli.md names every command and every exit code', () => {
  const page = readFileSync(`${root}/docs/cli.md`, 'utf8')
  for (const { name } of commands) expect(page).toMatch(new RegExp(`^\\| \`${name}[ \`]`, 'm'))
  for (const code of Object.values(exitCodes)) expect(page).toMatch(new RegExp(`^\\| ${code} \\|`, 'm'))
})
