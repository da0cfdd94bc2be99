import { apiTokenCreate, apiTokenList, apiTokenRevoke } from '#contract/people/api-tokens.ts'
import { scopes } from '#contract/permissions.ts'
import { command, type Command, given, listCommand, objectCommand } from '../command.ts'
import { CliError } from '../exit.ts'
import * as noun from '../nouns.ts'
import { facts } from '../table.ts'
import { ago, localTime, oneLine } from '../text.ts'

export const apiTokenCommands: Command[] = [
  listCommand({
    name: 'api-token list',
    summary:
      'Your API tokens with their scopes and last uses; with --user or --all, those of other users.',
    examples: ['api-token list', 'api-token list --all --status usable'],
    operation: apiTokenList,
    cells: {
      status: { colour: (t) => (t.status === 'usable' ? 'green' : null) },
      last_used_at: {
        text: (t, now) => (t.last_used_at === null ? 'never' : ago(t.last_used_at, now)),
      },
    },
    options: {
      user: { kind: 'text', value: 'EMAIL', help: 'API tokens of this user, for administrators' },
      all: { kind: 'flag', help: "Everybody's API tokens, for administrators" },
    },
    async ask({ api }, { options: { user, all } }) {
      if (all && user !== undefined) throw new CliError('usage', 'Give either --user or --all')
      return {
        query: {
          user_id: all
            ? 'all'
            : user === undefined
              ? undefined
              : await noun.idOf(api, noun.user, user),
        },
      }
    },
  }),
  command({
    name: 'api-token create',
    summary: 'Create an API token for a program; it is shown now and never again.',
    operands: {
      name: { value: 'NAME', help: 'Name of the token, such as the program that gets it' },
    },
    options: {
      scope: {
        kind: 'text',
        value: 'SCOPE',
        help: 'What the token may do',
        choices: scopes,
        many: true,
      },
      days: {
        kind: 'number',
        value: 'N',
        help: 'Days until it expires, at most 365 (default: 90)',
      },
    },
    examples: ['api-token create ci --scope servers:read,clusters:read --days 30'],
    async run({ terminal, api, show }, { operands, options }) {
      if (options.scope.length === 0)
        throw new CliError('usage', 'Give at least one --scope', {
          hint: `Scopes: ${scopes.join(', ')}`,
        })
      const body = {
        name: operands.name,
        scopes: options.scope,
        ...given({ lifetime_days: options.days }),
      }
      show(await api.call(apiTokenCreate, { body }), (t) =>
        facts(terminal, [
          ['Name', t.name],
          ['Token', t.token],
          ['Scopes', t.scopes.join(', ')],
          ['Expires', localTime(t.expires_at)],
          ['Use it as', 'STEELYARD_TOKEN'],
        ]),
      )
    },
  }),
  objectCommand({
    name: 'api-token revoke',
    of: noun.apiToken,
    operation: apiTokenRevoke,
    summary:
      'Revoke an API token, which stops working within 5 s: your own by name or id, as an administrator anybody’s by id.',
    say: (_none, name) => `${oneLine(name)} is revoked\n`,
  }),
]
