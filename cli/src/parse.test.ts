import { describe, expect, test } from 'vitest'
import { CliError } from './exit.ts'
import { helpOf } from './help.ts'
import { parse } from './parse.ts'
import { everyCommand } from './testing/cli.ts'

const commands = everyCommand()
const read = (line: string) => parse(line.split(' '), commands)
const refusal = (line: string) => {
  try {
    read(line)
    return null
  } catch (e) {
    return e instanceof CliError ? `${e.exit}: ${e.message}` : e
  }
}

describe('a command line', () => {
  test('a command line is parsed into operands and options by name', () => {
    expect(read('server list --status ready --page 2 --sort=-name')).toMatchObject({
      kind: 'run',
      command: { name: 'server list' },
      options: { status: 'ready', page: 2, sort: '-name', datacenter: undefined },
    })
    expect(read('server rename old-name new-name')).toMatchObject({
      operands: { server: 'old-name', name: 'new-name' },
    })
  })

  test('global options are accepted anywhere on the command line', () => {
    for (const line of [
      '--url http://h --json server list',
      'server --json --url=http://h list',
      'server list --json --url http://h',
    ]) {
      expect(read(line)).toMatchObject({
        command: { name: 'server list' },
        url: 'http://h',
        format: { kind: 'json' },
      })
    }
  })

  test('values of a repeated option are collected', () => {
    expect(read('cluster create web --control-plane a,b --control-plane c')).toMatchObject({
      options: { 'control-plane': ['a', 'b', 'c'], worker: [] },
    })
    expect(read('server add 10.0.0.1 10.0.0.2')).toMatchObject({
      operands: { addresses: ['10.0.0.1', '10.0.0.2'] },
    })
  })

  test.each([
    ['servers list', 'usage: There is no command servers. Did you mean server?'],
    ['server sho x', 'usage: There is no command server sho. Did you mean show?'],
    ['server', 'usage: server needs one more word'],
    ['server list --stauts ready', 'usage: There is no option --stauts. Did you mean --status?'],
    [
      'server list --status broken',
      'usage: --status is one of ready, maintenance, deleted, not broken',
    ],
    ['server list --page two', 'usage: --page takes a whole number, not two'],
    [
      'server list --status',
      'usage: --status needs a value; one that begins with a minus is written --status=-…',
    ],
    ['server list --json=yes', 'usage: --json takes no value'],
    ['server show', 'usage: SERVER is missing: Name or id of the server'],
    ['server show a b', 'usage: b is one word too many'],
    ['login a@example.com --json', 'usage: login has no --json'],
  ])('the command line %s is refused', (line, message) => {
    expect(refusal(line)).toBe(message)
  })

  test('--version asks no server', () => {
    expect(read('--version')).toEqual({ kind: 'version' })
  })
})

/** Options that take several values. */
const several = commands.flatMap((command) =>
  Object.entries(command.options).flatMap(([name, option]) =>
    option.kind === 'text' && option.many
      ? [{ command, name, option, at: `${command.name} --${name}` }]
      : [],
  ),
)

describe('every option of several values', () => {
  test.each(several)('$at takes them as its help says', ({ command, name, option }) => {
    const help = helpOf(command)
      .split('\n')
      .find((line) => line.trimStart().startsWith(`--${name} `) || line.includes(`, --${name} `))!
    const [a, b] = option.choices ?? ['SERVER=a', 'b']
    const operands = Object.values(command.operands).map(() => 'x')
    const values = (...given: string[]) => {
      const parsed = parse([...command.name.split(' '), ...operands, ...given], commands)
      return parsed.kind === 'run' ? parsed.options[name] : null
    }
    expect(help).toMatch(
      /\((?:several|one for each server): (?:comma-separated, or )?repeat the option\)$/,
    )
    expect(values(`--${name}`, a!, `--${name}`, b!)).toEqual([a, b])
    expect(values(`--${name}`, `${a}, ${b}`)).toEqual(
      help.includes('comma-separated') ? [a, b] : [`${a}, ${b}`],
    )
  })

  test('help promises several values only where they are taken', () => {
    const promising = commands.flatMap((command) =>
      helpOf(command)
        .split('\n')
        .filter((line) => /repeat the option|comma-separated/.test(line)),
    )
    expect(promising).toHaveLength(several.length)
  })
})

describe('every command', () => {
  test.each(commands.map((c) => [c.name, c] as const))(
    'the command %s has a help text with valid examples',
    (_, command) => {
      expect(read(`${command.name} --help`)).toMatchObject({
        kind: 'help',
        command: { name: command.name },
      })
      expect(helpOf(command)).toContain(`Usage: steelyard ${command.name}`)
      expect(command.examples.length).toBeGreaterThan(0)
      for (const example of command.examples) {
        expect(read(example.split(/ [<>]/)[0]!)).toMatchObject({
          kind: 'run',
          command: { name: command.name },
        })
      }
    },
  )
})
