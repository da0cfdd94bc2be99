import type { Answer } from '#contract/operation.ts'
import {
  invitationCreate,
  invitationList,
  invitationRemove,
  waitlistInvite,
  waitlistList,
  waitlistRemove,
} from '#contract/people/invitations.ts'
import { type Role, roles } from '#contract/permissions.ts'
import { command, type Command, type Context, listCommand, objectCommand } from '../command.ts'
import * as noun from '../nouns.ts'
import { facts } from '../table.ts'
import { localTime, oneLine } from '../text.ts'

const roleOption = {
  kind: 'text',
  value: 'ROLE',
  help: 'Role of the new user (default: viewer)',
  choices: roles,
} as const
const fewest: Role = 'viewer'

const linkText = (
  { email, role, url, expires_at }: Answer<typeof invitationCreate>,
  { terminal }: Pick<Context, 'terminal'>,
): string =>
  facts(terminal, [
    ['For', email],
    ['Role', role],
    ['Link', url],
    ['Valid until', localTime(expires_at)],
  ])

export const invitationCommands: Command[] = [
  listCommand({
    name: 'invitation list',
    summary: 'Invitations that were not accepted yet.',
    examples: ['invitation list'],
    operation: invitationList,
    cells: {},
  }),
  command({
    name: 'invitation create',
    summary:
      'Invite somebody: prints a link with which they create their account, once, within 7 days.',
    operands: { email: { value: 'EMAIL', help: 'Email of the new user' } },
    options: {
      role: roleOption,
      name: {
        kind: 'text',
        value: 'NAME',
        help: 'Name of the user (default: the part of the email before the @)',
      },
    },
    examples: ['invitation create grace@example.com --role operator'],
    async run(context, { operands: { email }, options }) {
      const body = {
        email,
        name: options.name ?? email.split('@')[0]!,
        role: options.role ?? fewest,
      }
      context.show(await context.api.call(invitationCreate, { body }), (made) =>
        linkText(made, context),
      )
    },
  }),
  objectCommand({
    name: 'invitation withdraw',
    of: noun.invitation,
    operation: invitationRemove,
    summary: 'Withdraw an invitation: its link stops working.',
    say: (_none, email) => `The invitation of ${oneLine(email)} is withdrawn\n`,
  }),
  listCommand({
    name: 'waitlist list',
    summary: 'The people on the waitlist.',
    examples: ['waitlist list --status waiting'],
    operation: waitlistList,
    cells: {},
  }),
  objectCommand({
    name: 'waitlist invite',
    of: noun.waiting,
    operation: waitlistInvite,
    summary:
      'Invite somebody from the waitlist: prints a link with which they create their account, once, within 7 days.',
    options: { role: roleOption },
    examples: ['waitlist invite grace@example.com --role operator'],
    ask: async (_context, { options }) => ({ body: { role: options.role ?? fewest } }),
    say: (made, _email, context) => linkText(made, context),
  }),
  objectCommand({
    name: 'waitlist remove',
    of: noun.waiting,
    operation: waitlistRemove,
    summary: 'Remove somebody from the waitlist.',
    say: (_none, email) => `${oneLine(email)} is no longer on the waitlist\n`,
  }),
]
