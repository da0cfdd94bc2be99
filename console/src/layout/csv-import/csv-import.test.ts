import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { subnetImport } from '#contract/network/subnets.ts'
import { importCommands, summaryOf } from './csv-import.ts'

const subnets = {
  operation: subnetImport,
  nouns: { cli: 'subnet', added: 'subnet', changed: 'subnet' },
  origin: 'https://steelyard.example',
}
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
  const { cli, api } = importCommands({ ...subnets, csv, file: "our subnets' list.csv" })
  expect(run(cli).args).toEqual(['subnet', 'import', "our subnets' list.csv"])
  expect(api).toMatch(
    /^jq -Rs '\{csv: \.\}' 'our subnets'\\'' list\.csv' \|\ncurl -X POST 'https:\/\/steelyard\.example\/v1\/subnets\/import' \\\n[^]* \\\n {2}-d @-$/,
  )
  expect(run(importCommands({ ...subnets, csv, file: '-x.csv' }).cli).args.at(-1)).toBe('./-x.csv')
})

test('the command contains pasted text byte for byte', () => {
  const { cli, api } = importCommands({ ...subnets, csv, file: null })
  expect(run(cli)).toEqual({ args: ['subnet', 'import', '/dev/stdin'], stdin: `${csv}\n` })
  expect(run(api).args.at(-1)).toBe(JSON.stringify({ csv }))
})

test('if the text is too long for a command line, the command reads it from a file', () => {
  expect(importCommands({ ...subnets, csv: 'x'.repeat(70_000), file: null }).cli).toBe(
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
  const all = summaryOf(subnets.nouns, {
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
  expect(summaryOf(subnets.nouns, { rows: [row(2, 'nothing')], problems: [] }).changes).toBe(0)
})

test('the summary counts problems and the lines that have problems', () => {
  const { text, problems } = summaryOf(subnets.nouns, {
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

test('what is added and what is changed may be of different kinds', () => {
  const nouns = { cli: 'rack', added: 'rack', changed: 'server' }
  const { text, verb, done } = summaryOf(nouns, {
    rows: [row(2, 'create'), row(3, 'update'), row(4, 'update')],
    problems: [],
  })
  expect([text, verb, done]).toEqual([
    'Every row is valid: 1 rack to add, 2 servers to change.',
    'Import 3 rows',
    '1 rack added, 2 servers changed',
  ])
})
