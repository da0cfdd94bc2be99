import { expect, test } from 'vitest'
import { overview } from './help.ts'
import { everyCommand, startCli } from './testing/cli.ts'

const commands = everyCommand()

test('the help begins with ten commands, and then names each command once under its object', () => {
  const text = overview(commands, [])
  const first = /Most used:\n((?: {2}.*\n)+)/.exec(text)![1]!
  expect(first.trimEnd().split('\n')).toHaveLength(10)
  const objects = /Commands by object:\n((?: {2}.*\n)+)/.exec(text)![1]!
  const words = objects.replaceAll(/\n {10,}/g, ' ').split('\n')
  const named = words.flatMap((line) => {
    const [, object, verbs] = /^ {2}(\S+) +(.*)$/.exec(line) ?? []
    return verbs === undefined ? [] : verbs.split(/, */).map((verb) => `${object} ${verb}`)
  })
  expect(named.toSorted()).toEqual(
    commands
      .map(({ name }) => name)
      .filter((name) => name.includes(' '))
      .toSorted(),
  )
  for (const { name } of commands.filter((c) => !c.name.includes(' ')))
    expect(text).toMatch(new RegExp(`^  ${name} `, 'm'))
  expect(Math.max(...objects.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80)
})

test('the help on an object says what each of its commands does', async () => {
  const { out } = await (await startCli()).run('server --help')
  expect(out).toContain('Usage: steelyard server COMMAND')
  expect(out).toMatch(/^ {2}server rename +Rename a server/m)
  expect(out).not.toContain('cluster list')
})
