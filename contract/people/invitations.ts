/**
 * Invitations: a link with which somebody creates their own account, once. Also the waitlist, from
 * which people are invited.
 */
import * as z from 'zod/mini'
import { personText } from '../bounds/fields.ts'
import { list, listOperation } from '../list.ts'
import { seen } from '../names.ts'
import { callsOf } from '../object-calls.ts'
import { operation, withProof, type Words } from '../operation.ts'
import { byId, time } from '../page.ts'
import { Role } from '../permissions.ts'
import type { Limit } from '../rule.ts'
import { displayName, email, newPassword } from '../sessions.ts'

/** Life of an invitation, in days. */
export const invitationDays = 7

export const Invitation = z.object({
  id: z.uuid(),
  email: personText,
  name: personText,
  role: Role,
  invited_by: z.nullable(personText),
  created_at: time,
  expires_at: time,
})
export type Invitation = z.infer<typeof Invitation>

/** The link's token is after the `#`, which browsers don't send. */
const WithLink = z.extend(Invitation, { url: z.string() })

const invitations = list<Invitation>()({
  nouns: ['invitation', 'invitations'],
  columns: {
    email: { label: 'Email', sort: true, value: (i: Invitation) => i.email },
    name: { label: 'Name', value: (i: Invitation) => i.name },
    role: { label: 'Role', kind: 'word', value: (i: Invitation) => i.role },
    invited_by: { label: 'By', value: (i: Invitation) => i.invited_by },
    created_at: {
      label: 'Invited',
      kind: 'time',
      sort: true,
      value: (i: Invitation) => i.created_at,
    },
    expires_at: {
      label: 'Expires',
      kind: 'time',
      sort: true,
      value: (i: Invitation) => i.expires_at,
    },
  },
  order: '-created_at',
})

const calls = callsOf(
  'invitation',
  '/v1/invitations',
  { read: 'users:manage', write: 'users:manage' },
  Invitation,
)
export const invitationLimit: Limit = { most: 1_000, nouns: 'invitations', remedy: 'withdraw some' }

export const invitationList = calls.list(
  invitations,
  'Invitations that were not accepted yet and have not expired.',
)
export const NewInvitation = z.strictObject({ email, name: displayName, role: Role })
export const invitationCreate = withProof(
  operation('invitationCreate', 'POST /v1/invitations', 'users:manage', {
    summary:
      'Invite somebody. The link in the response works once, within 7 days; it replaces an earlier invitation of the same email.',
    body: NewInvitation,
    answer: WithLink,
    status: 201,
    errors: ['user_exists'],
  }),
)
export const invitationRemove = calls.remove('Withdraw an invitation: its link stops working.', [])

/** Token of an invitation's link. */
const token = z.string().check(z.minLength(1), z.maxLength(100))
export const invitationLook = operation('invitationLook', 'POST /v1/invitations/look', null, {
  summary: 'What an invitation offers.',
  body: z.strictObject({ token }),
  answer: z.object({ email: z.string(), name: z.string(), role: Role, expires_at: time }),
  errors: ['link_over'],
})
export const InvitationAcceptance = z.strictObject({
  token,
  name: displayName,
  new_password: newPassword,
})
export const invitationAccept = operation('invitationAccept', 'POST /v1/invitations/accept', null, {
  summary: 'Create the account of an invitation, with a name and a password. Works once.',
  body: InvitationAcceptance,
  errors: ['link_over', 'user_exists'],
})

/** A visitor's request to join the waitlist. */
export const WaitlistRequest = z.strictObject({
  name: z.string().check(z.trim(), z.minLength(1, 'Enter your name'), z.maxLength(80), seen()),
  company: z.string().check(z.trim(), z.maxLength(80), seen()),
  email,
})
export const waitlistJoin = operation('waitlistJoin', 'POST /v1/waitlist', null, {
  summary:
    'Ask to join the waitlist. The response does not reveal whether the email is already known.',
  body: WaitlistRequest,
  errors: ['throttled'],
})

export const waitlistStatuses = ['waiting', 'invited', 'joined'] as const
export const WaitlistEntry = z.object({
  id: z.uuid(),
  name: personText,
  company: personText,
  email: personText,
  /** joined: a user with this email exists. */
  status: z.enum(waitlistStatuses),
  created_at: time,
  invited_at: z.nullable(time),
})
export type WaitlistEntry = z.infer<typeof WaitlistEntry>
const waitlist = list<WaitlistEntry>()({
  nouns: ['entry', 'entries'],
  columns: {
    created_at: {
      label: 'Asked',
      kind: 'time',
      sort: true,
      value: (e: WaitlistEntry) => e.created_at,
    },
    email: { label: 'Email', sort: true, value: (e: WaitlistEntry) => e.email },
    name: { label: 'Name', sort: true, value: (e: WaitlistEntry) => e.name },
    company: { label: 'Company', value: (e: WaitlistEntry) => e.company },
    status: { label: 'Status', kind: 'word', value: (e: WaitlistEntry) => e.status },
    invited_at: { label: 'Invited', kind: 'time', value: (e: WaitlistEntry) => e.invited_at },
  },
  filters: {
    status: { label: 'Status', help: 'Only people with this status', choices: waitlistStatuses },
  },
  order: 'created_at',
})

export const waitlistList = listOperation(waitlist, WaitlistEntry, {
  name: 'waitlistList',
  summary: 'The people on the waitlist.',
  path: '/v1/waitlist',
  scope: 'users:manage',
})
export const WaitlistInvitation = z.strictObject({ role: Role })
export const waitlistInvite = operation(
  'waitlistInvite',
  'POST /v1/waitlist/{id}/invite',
  'users:manage',
  {
    summary:
      'Invite somebody from the waitlist, with the name and email that they gave. The link in the response works once, within 7 days.',
    params: byId,
    proof: true,
    body: WaitlistInvitation,
    answer: WithLink,
    status: 201,
    errors: ['user_exists'],
  },
)
export const waitlistRemove = operation(
  'waitlistRemove',
  'DELETE /v1/waitlist/{id}',
  'users:manage',
  {
    summary: 'Remove somebody from the waitlist.',
    params: byId,
  },
)

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    Invitation: [Invitation, 'An invitation that was not accepted yet.'],
    NewInvitation: [NewInvitation, 'Whom to invite, and with which role.'],
    WaitlistEntry: [WaitlistEntry, 'A person on the waitlist.'],
  },
  fields: {
    company: 'Company of the visitor; may be empty.',
    'waitlistJoin.name': "The visitor's name.",
    'invitationCreate.name': 'Displayed name, which the invited person can change.',
    'invitationAccept.name': 'Displayed name.',
  },
  bodies: {
    invitationAccept: {
      token: 'the text behind the #',
      name: 'Ada',
      new_password: 'another horse battery',
    },
    invitationCreate: { email: 'ada@example.com', name: 'Ada', role: 'operator' },
    invitationLook: { token: 'the text behind the #' },
    waitlistInvite: { role: 'viewer' },
    waitlistJoin: { name: 'Ada', company: 'Example Ltd', email: 'ada@example.com' },
  },
}
