/**
 * A use case is a file, and a function is read in one sitting. `long-functions.txt` lists the
 * functions that are longer, from the time when domains were closures; it only shrinks.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

const rooms = [
  'backend',
  'cli',
  'conformance',
  'console',
  'contract',
  'redfish',
  'simulator',
  'talos',
  'tools',
]
/** No function that isn't listed has more lines. */
const mostLines = 150
/** So many functions have more than 100 lines. The number only falls; the aim is 40. */
const mostOver100 = 181
/** So many times a type is taken from what a function returns. The number only falls; the aim is 40. */
const mostReturnTypes = 194

const isTest = (file: string): boolean =>
  /\.(?:test|e2e)\.tsx?$|\/testing(?:\/|\.ts$)|\/gen\//.test(file)

interface LongFunction {
  readonly file: string
  readonly name: string
  readonly lines: number
}

/** The functions of folders that have more than 100 lines, by oxlint's rule. */
function longFunctions(...folders: string[]): LongFunction[] {
  const folder = mkdtempSync(join(tmpdir(), 'sy-functions-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const config = join(folder, 'oxlint.json')
  const rules = { 'max-lines-per-function': ['error', { max: 100 }] }
  writeFileSync(config, JSON.stringify({ plugins: [], categories: { correctness: 'off' }, rules }))
  const { stdout } = spawnSync(
    'node_modules/.bin/oxlint',
    ['--config', config, '--format', 'json', ...folders],
    { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 },
  )
  const { diagnostics } = JSON.parse(stdout) as {
    diagnostics: { message: string; filename: string }[]
  }
  return diagnostics
    .filter(({ filename }) => !isTest(filename))
    .map(({ message, filename }) => ({
      file: filename,
      name: /`([^`]+)`/.exec(message)?.[1] ?? '(unnamed)',
      lines: Number(/\((\d+)\)/.exec(message)![1]),
    }))
}

test('no function is longer than 150 lines, but for those of a list that only shrinks', () => {
  const found = longFunctions(...rooms)
  const long = found.filter(({ lines }) => lines > mostLines)
  const listed = readFileSync('tools/long-functions.txt', 'utf8').trim().split('\n')
  // Without the folder, so that a move changes nothing.
  const names = [...new Set(long.map(({ file, name }) => `${basename(file)} ${name}`))].toSorted()
  expect(names.filter((name) => !listed.includes(name))).toEqual([])
  // Remove the lines of functions that are short by now.
  expect(listed.filter((name) => !names.includes(name))).toEqual([])
  expect(found.length).toBeLessThanOrEqual(mostOver100)
})

test('the check of functions finds a long one', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sy-long-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const body = Array.from({ length: 160 }, (_, at) => `  a(${at})`).join('\n')
  writeFileSync(
    join(folder, 'x.ts'),
    `export function long(a: (n: number) => void) {\n${body}\n}\n`,
  )
  expect(longFunctions(folder)).toMatchObject([{ name: 'long', lines: 162 }])
})

test('types of what is passed around are written down, not taken from functions', () => {
  const { stdout } = spawnSync('git', ['grep', '-n', 'ReturnType<', '--', '*.ts', '*.tsx'], {
    encoding: 'utf8',
  })
  const used = stdout.split('\n').filter((line) => line !== '' && !isTest(line.split(':', 1)[0]!))
  expect(used.length).toBeLessThanOrEqual(mostReturnTypes)
})
