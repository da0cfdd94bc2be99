/** Tests that the command lines in the documentation use only existing commands and options. */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { operationKinds, operationTable } from '#contract/operations.ts'
import { exitCodes } from './src/exit.ts'
import { parse } from './src/parse.ts'
import { referenceOf } from './src/testing/reference.ts'
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

test('docs/cli-reference.md is the generated reference of all commands (npm run generate:cli updates it)', async () => {
  await expect(referenceOf(commands)).toMatchFileSnapshot('../docs/cli-reference.md')
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

test('docs/operations.md has every setting of the program, and its default', () => {
  // Reads the settings as text, because the CLI may not import modules of the backend.
  const declaredIn = (file: string) => [
    ...readFileSync(`${root}/backend/src/${file}`, 'utf8').matchAll(
      /^ {2}([A-Z_]+):\s+(?:'([^']*)'|undefined),$/gm,
    ),
  ]
  const declared = declaredIn('config.ts')
  const rows = [
    ...readFileSync(`${root}/docs/operations.md`, 'utf8').matchAll(
      /^\| (`[A-Z_]+`(?:, `[A-Z_]+`)*) \| (.*?) \|/gm,
    ),
  ]
  // A row may have several settings of OpenTelemetry.
  const documented = rows.flatMap(([, names, fallback]) =>
    names!.split(', ').map((name) => ({ name: name.slice(1, -1), fallback })),
  )
  const isTracing = (name: string) => name.startsWith('OTEL_')
  const names = documented.map(({ name }) => name)
  expect(declared.length).toBeGreaterThan(15)
  expect(names.filter((name) => !isTracing(name))).toEqual(declared.map(([, name]) => name))
  expect(names.filter(isTracing).toSorted()).toEqual(
    declaredIn('tracing/settings.ts')
      .map(([, name]) => name!)
      .toSorted(),
  )
  const wrong = declared.filter(
    ([, name, fallback]) =>
      fallback !== undefined &&
      documented.find((other) => other.name === name)?.fallback !== `\`${fallback}\``,
  )
  expect(wrong.map(([, name]) => name)).toEqual([])
})
