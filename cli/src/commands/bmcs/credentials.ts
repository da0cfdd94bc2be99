import {
  bmcCredentialCreate,
  bmcCredentialList,
  bmcCredentialRemove,
  bmcCredentialUpdate,
} from '#contract/bmcs/credentials.ts'
import { command, type Command, given, listCommand, objectCommand } from '../../command.ts'
import { CliError } from '../../exit.ts'
import * as noun from '../../nouns.ts'
import { oneLine } from '../../text.ts'
import { passwordOf, passwordOption } from './password.ts'

export const bmcCredentialCommands: Command[] = [
  listCommand({
    name: 'bmc-credential list',
    summary: 'User names and passwords that BMCs have in common.',
    examples: ['bmc-credential list'],
    operation: bmcCredentialList,
    cells: {},
  }),
  command({
    name: 'bmc-credential add',
    summary: 'Add a user name and a password that several BMCs have.',
    operands: { name: { value: 'NAME', help: 'Name of the credential' } },
    options: {
      username: { kind: 'text', value: 'USER', help: 'User name of the account on the BMCs' },
      ...passwordOption,
    },
    examples: ['bmc-credential add rack-a --username steelyard --password-file ./password'],
    async run(context, { operands: { name }, options: o }) {
      if (o.username === undefined) throw new CliError('usage', 'Give --username')
      const password = await passwordOf(context, o['password-file'])
      return context.show(
        await context.api.call(bmcCredentialCreate, {
          body: { name, username: o.username, password },
        }),
        (c) => `${oneLine(c.name)} is added\n`,
      )
    },
  }),
  objectCommand({
    name: 'bmc-credential edit',
    of: noun.bmcCredential,
    operation: bmcCredentialUpdate,
    options: {
      name: { kind: 'text', value: 'NAME', help: 'New name' },
      username: { kind: 'text', value: 'USER', help: 'User name of the account on the BMCs' },
      password: { kind: 'flag', help: 'Ask for the password that the BMCs have now' },
      ...passwordOption,
    },
    examples: ['bmc-credential edit rack-a --password', 'bmc-credential edit rack-a --name rack-b'],
    async ask(context, { options: o }) {
      const isChanged = o.password || o['password-file'] !== undefined
      const body = given({
        name: o.name,
        username: o.username,
        password: isChanged ? await passwordOf(context, o['password-file']) : undefined,
      })
      if (Object.keys(body).length === 0) throw new CliError('usage', 'Specify what to change')
      return { body }
    },
    say: (c) => `${oneLine(c.name)} is changed\n`,
  }),
  objectCommand({
    name: 'bmc-credential remove',
    of: noun.bmcCredential,
    operation: bmcCredentialRemove,
    say: (_none, name) => `${oneLine(name)} is removed\n`,
  }),
]
