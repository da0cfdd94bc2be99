import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { importCommands } from './import-command.ts'

const origin = 'https://steelyard.example'
const csv = "name,cidr\nit's,198.18.1.0/24"

/** What a shell makes of a command line: its arguments and what it gets on standard input. */
function run(command: string): { args: string[]; stdin: string } {
  const tell = 'steelyard() { printf "%s\\n" "$@"; echo; cat; }; curl() { printf "%s\\n" "$@"; echo; }; '
  const [args = '', stdin = ''] = execFileSync('sh', ['-c', tell + command], { encoding: 'utf8', env: {} }).split(/\n\n([^]*)/)
  return { args: args.split('\n'), stdin }
}

test('a file is imported by its name, whatever it is called', () => {
  const { cli, api } = importCommands({ csv, file: "our subnets' list.csv", origin })
  expect(run(cli).args).toEqual(['subnet', 'import', "our subnets' list.csv"])
  expect(api).toMatch(
    /^jq -Rs '\{csv: \.\}' 'our subnets'\\'' list\.csv' \|\ncurl -X POST 'https:\/\/steelyard\.example\/v1\/subnets\/import' \\\n[^]* \\\n {2}-d @-$/,
  )
  expect(run(importCommands({ csv, file: '-x.csv', origin }).cli).args.at(-1)).toBe('./-x.csv')
})

test('pasted text goes with the command, byte by byte', () => {
  const { cli, api } = importCommands({ csv, file: null, origin })
  expect(run(cli)).toEqual({ args: ['subnet', 'import', '/dev/stdin'], stdin: `${csv}\n` })
  expect(run(api).args.at(-1)).toBe(JSON.stringify({ csv }))
})

test('what is too long for a command line is read from a file', () => {
  expect(importCommands({ csv: 'x'.repeat(70_000), file: null, origin }).cli).toBe('steelyard subnet import subnets.csv')
})
