import { checkSafe, readUrl } from '../api/client.ts'
import type { Contexts } from '../api/contexts.ts'
import type { Sessions } from '../api/sessions.ts'
import { command, type Command } from '../command.ts'
import { oneLine } from '../text.ts'
import { table } from '../table.ts'

const name = { value: 'NAME', help: 'Name of the context' } as const

/** Commands about the names of several Steelyards. */
export const contextCommands = (sessions: Sessions, contexts: Contexts): Command[] => [
  command({
    name: 'context list',
    summary: 'Your names for several Steelyards, with the address and the signed-in user of each.',
    examples: ['context list'],
    async run({ terminal, show }) {
      const current = await sessions.current()
      const known = await contexts.list()
      const items = await Promise.all(
        known.map(async ({ name, url }) => ({
          name,
          url,
          current: url === current,
          email: (await sessions.read(url))?.email ?? null,
        })),
      )
      show({ items }, () =>
        table(
          terminal,
          items,
          [
            { title: 'CURRENT', text: (c) => (c.current ? '*' : '') },
            { title: 'NAME', text: (c) => c.name },
            { title: 'ADDRESS', text: (c) => c.url },
            { title: 'SIGNED IN AS', text: (c) => c.email ?? '' },
          ],
          'No contexts',
        ),
      )
    },
  }),
  command({
    name: 'context add',
    summary:
      'Give the address of a Steelyard a name, for --context NAME; an existing name gets the new address.',
    operands: { name, url: { value: 'URL', help: 'Address of Steelyard' } },
    examples: ['context add lab https://steelyard.lab.example.com'],
    json: false,
    async run({ terminal }, { operands }) {
      const url = readUrl(operands.url)
      checkSafe(url, terminal.env)
      await contexts.add(operands.name, url)
      terminal.err(
        `${operands.name} is ${url}. Sign in there: steelyard login --context ${operands.name}\n`,
      )
    },
  }),
  command({
    name: 'context use',
    summary:
      'Use a context from now on: later commands go to its address, unless --context, --url or the environment names another.',
    operands: { name },
    examples: ['context use lab'],
    json: false,
    async run({ terminal }, { operands }) {
      const url = await contexts.urlOf(operands.name)
      await sessions.use(url)
      terminal.err(
        `Commands go to ${url} now${(await sessions.read(url)) ? '' : `. Sign in there: steelyard login --context ${operands.name}`}\n`,
      )
    },
  }),
  command({
    name: 'context remove',
    summary: 'Remove a name. A session at its address stays until you sign out.',
    operands: { name },
    examples: ['context remove lab'],
    json: false,
    async run({ terminal }, { operands }) {
      const url = await contexts.urlOf(operands.name)
      await contexts.remove(operands.name)
      const isOpen = (await sessions.read(url)) !== null
      terminal.err(
        `${oneLine(operands.name)} is removed${isOpen ? `. To sign out there: steelyard logout --url ${url}` : ''}\n`,
      )
    },
  }),
]
