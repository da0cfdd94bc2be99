import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { importCommands, summaryOf } from './subnet-import.ts'

const origin = 'https://steelyard.example'
const csv = "name,cidr\nit's,198.18.1.0/24"

/**
 * Runs a command line in a shell. Returns the arguments and the standard input that the command
 * gets.
 */
function run(command: string): { args: string[]; stdin: string } {
  const tell =
    'steelyard() { printf "%s\\n" "$@"; echo; cat; }; curl() { printf "%s\\n" "$@"; echo; }; '
  const [args = '', stdin = ''] = execFileSync('sh', ['-c', tell + command], {
    encoding: 'utf8',
    env: {},
  }).split(/\n\n([^]*)/)
  return { args: args.split('\n'), stdin }
}

test('the command names the file, with any file name quoted for the shell', () => {
  const { cli, api } = importCommands({ csv, file: "our subnets' list.csv", origin })
  expect(run(cli).args).toEqual(['subnet', 'import', "our subnets' list.csv"])
  expect(api).toMatch(
    /^jq -Rs '\{csv: \.\}' 'our subnets'\\'' list\.csv' \|\ncurl -X POST 'https:\/\/steelyard\.example\/v1\/subnets\/import' \\\n[^]* \\\n {2}-d @-$/,
  )
  expect(run(importCommands({ csv, file: '-x.csv', origin }).cli).args.at(-1)).toBe('./-x.csv')
})

test('the command contains pasted text byte for byte', () => {
  const { cli, api } = importCommands({ csv, file: null, origin })
  expect(run(cli)).toEqual({ args: ['subnet', 'import', '/dev/stdin'], stdin: `${csv}\n` })
  expect(run(api).args.at(-1)).toBe(JSON.stringify({ csv }))
})

test('if the text is too long for a command line, the command reads it from a file', () => {
  expect(importCommands({ csv: 'x'.repeat(70_000), file: null, origin }).cli).toBe(
    'steelyard subnet import subnets.csv',
  )
})

const row = (line: number, does: 'create' | 'update' | 'nothing') => ({
  line,
  name: `n-${line}`,
  cidr: '10.0.0.0/24',
  does,
})

test('the summary counts the subnets that an import adds, changes and leaves unchanged', () => {
  const all = summaryOf({
    rows: [row(2, 'create'), row(3, 'create'), row(4, 'update'), row(5, 'nothing')],
    problems: [],
  })
  expect(all.text).toBe(
    'Every row is valid: 2 subnets to add, 1 subnet to change, 1 without a change.',
  )
  expect([all.verb, all.done, all.changes]).toEqual([
    'Import 3 subnets',
    '2 subnets added, 1 subnet changed',
    3,
  ])
  expect(summaryOf({ rows: [row(2, 'nothing')], problems: [] }).changes).toBe(0)
})

test('the summary counts problems and the lines that have problems', () => {
  const { text, problems } = summaryOf({
    rows: [],
    problems: [
      { line: 2, column: 'cidr', message: 'CIDR is required' },
      { line: 2, column: 'name', message: 'taken' },
      { line: 9, column: null, message: 'too many cells' },
    ],
  })
  expect([problems, text]).toEqual([
    3,
    '3 problems in 2 lines. Nothing was written: correct the text and check it again.',
  ])
})
