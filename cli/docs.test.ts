/** Tests that the command lines in the documentation use only existing commands and options. */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { operationKinds, operationTable } from '#contract/operations.ts'
import type { Command } from './src/command.ts'
import { exitCodes } from './src/exit.ts'
import { parse } from './src/parse.ts'
import { everyCommand } from './src/testing/cli.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const commands = everyCommand()

/**
 * Lines of code blocks that start with `steelyard` or `npm run steelyard --`, cut at the first pipe
 * or comment.
 */
function commandLines(file: string): string[] {
  const blocks = [
    ...readFileSync(`${root}/${file}`, 'utf8').matchAll(/^```\w*\n([\s\S]*?)^```/gm),
  ].map((m) => m[1]!)
  return blocks.flatMap((block) =>
    block
      .replaceAll(/\\\n\s*/g, '')
      .split('\n')
      .flatMap(
        (line) => /^\s*(?:\$ )?(?:npm run steelyard -- |steelyard )(.*)$/.exec(line)?.[1] ?? [],
      )
      .map((line) => line.replace(/ *(?:[|<>;#]|&&).*$/, '').trim()),
  )
}

const files = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  ...globSync('{docs,cli}/**/*.md', { cwd: root, exclude: ['**/node_modules/**'] }),
].filter((f) => globSync(f, { cwd: root }).length > 0)

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

/** `server list --label --sort`: what scripts call and a change must not rename. */
const lineOf = ({ name, operands, options }: Command): string =>
  [
    name,
    ...Object.values(operands).map(({ value }) => value),
    ...Object.keys(options).map((option) => `--${option}`),
  ].join(' ')

test('cli/commands.txt lists every command with its operands and options (npm run generate:cli updates it)', async () => {
  await expect(`${commands.map(lineOf).join('\n')}\n`).toMatchFileSnapshot('commands.txt')
})

test('docs/cli.md names every exit code', () => {
  const page = readFileSync(`${root}/docs/cli.md`, 'utf8')
  for (const code of Object.values(exitCodes))
    expect(page).toMatch(new RegExp(`^\\| ${code} +\\|`, 'm'))
})

test.each(operationKinds)('the CLI command that starts a %s operation exists', (kind) => {
  expect(commands.map(({ name }) => name)).toContain(operationTable[kind].command)
})

/** The URL fragment of a heading, as common renderers make it. */
const slug = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

test.each(files)('%s links only to files and headings that exist', (file) => {
  const links = [
    ...readFileSync(`${root}/${file}`, 'utf8').matchAll(
      // What Steelyard serves besides is checked when the pages are built (tools/docs/render.mjs).
      /\]\((?!https?:|\/)([^)#\s]*)(?:#([^)\s]*))?\)/g,
    ),
  ]
  const broken = links.filter(([, path = '', fragment]) => {
    const target = path === '' ? `${root}/${file}` : join(dirname(`${root}/${file}`), path)
    if (!existsSync(target)) return true
    return (
      fragment !== undefined &&
      ![...readFileSync(target, 'utf8').matchAll(/^#+ (.*)$/gm)].some(
        (heading) => slug(heading[1]!) === fragment,
      )
    )
  })
  expect(broken.map(([link]) => link)).toEqual([])
})
