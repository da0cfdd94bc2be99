/** Users of this installation. */
import * as z from 'zod/mini'
import { personText } from './bounds/fields.ts'
import { list } from './list.ts'
import { callsOf } from './object-calls.ts'
import { operation, withProof, type Words } from './operation.ts'
import { time } from './page.ts'
import { Role, roles } from './permissions.ts'
import { no, type Verdict, yes } from './rule.ts'
import { displayName, email, newPassword } from './sessions.ts'

export const Person = z.object({
  id: z.uuid(),
  email: personText,
  name: personText,
  role: Role,
  created_at: time,
  last_sign_in_at: z.nullable(time),
  /** Time since which the user can't sign in. */
  disabled_at: z.nullable(time),
  /** Whether the user can sign in with a password. */
  has_password: z.boolean(),
  /** Whether the user has signed in through the identity provider. */
  has_provider: z.boolean(),
  /** Whether the user has an authenticator app or a passkey. */
  has_second_factor: z.boolean(),
  version: z.int(),
})
export type Person = z.infer<typeof Person>

/**
 * Without a password, the user signs in through the identity provider, or sets a password with a
 * link.
 */
export const NewUser = z.strictObject({
  email,
  name: displayName,
  role: Role,
  password: z.optional(newPassword),
})

export const userStatuses = ['active', 'disabled'] as const
export const statusOf = ({
  disabled_at,
}: Pick<Person, 'disabled_at'>): (typeof userStatuses)[number] =>
  disabled_at === null ? 'active' : 'disabled'
const yesOrNo = { yes: 'Yes', no: 'No' } as const

const users = list<Person>()({
  nouns: ['user', 'users'],
  columns: {
    email: { label: 'Email', sort: true, value: (u: Person) => u.email },
    name: { label: 'Name', sort: true, value: (u: Person) => u.name },
    role: { label: 'Role', sort: true, value: (u: Person) => u.role },
    status: { label: 'Status', value: statusOf },
    second_factor: {
      label: 'Second factor',
      value: (u: Person) => (u.has_second_factor ? yesOrNo.yes : yesOrNo.no),
    },
    last_sign_in: { label: 'Last sign-in', kind: 'time', value: (u: Person) => u.last_sign_in_at },
    created_at: { label: 'Added', kind: 'time', sort: true, value: (u: Person) => u.created_at },
  },
  filters: {
    role: { label: 'Role', help: 'Only users with this role', choices: roles },
    status: { label: 'Status', help: 'Only users with this status', choices: userStatuses },
    second_factor: {
      label: 'Second factor',
      help: 'Only users with or without a second factor',
      choices: yesOrNo,
    },
  },
  order: 'email',
})

const calls = callsOf('user', '/v1/users', { read: 'users:manage', write: 'users:manage' }, Person)
export const userList = calls.list(users, 'The users of this installation.')
export const userCreate = withProof(
  calls.create({ summary: 'Add a user.', body: NewUser, errors: ['user_exists'] }),
)

/**
 * Whether an admin may be removed, disabled or given another role. @param admins number of all
 * admins who can sign in, including this user
 */
export const mayStopBeingAdmin = (admins: number): Verdict =>
  admins > 1 ? yes : no('This is the last admin who can sign in: make somebody else an admin first')

export const UserChange = z.strictObject({
  name: z.optional(displayName),
  role: z.optional(Role),
  disabled: z.optional(z.boolean()),
})
export const userUpdate = withProof(
  calls.update({
    summary:
      'Change the name or role of a user, or disable or enable the user. The change takes effect within 5 s.',
    body: UserChange,
    errors: ['last_admin', 'stale'],
  }),
)
export const userRemove = withProof(
  calls.remove(
    'Remove a user. All their sessions and API tokens end; what they did stays in the audit log.',
    ['last_admin'],
  ),
)
/** Life of a link to set a password. */
export const resetLinkHours = 24
export const userResetPassword = operation(
  'userResetPassword',
  'POST /v1/users/{id}/reset-password',
  'users:manage',
  {
    summary:
      'Create a link with which the user can set a new password once, within 24 h. It replaces any earlier link. The old password works until the new one is set.',
    proof: true,
    answer: z.object({ url: z.string(), expires_at: time }),
  },
)
export const userUnlock = operation('userUnlock', 'POST /v1/users/{id}/unlock', 'users:manage', {
  summary:
    'Clear the failed sign-ins of an account, so that its next sign-in does not have to wait.',
  proof: true,
  answer: z.object({ failures_cleared: z.int() }),
})
export const userResetSecondFactor = operation(
  'userResetSecondFactor',
  'POST /v1/users/{id}/reset-second-factor',
  'users:manage',
  {
    summary:
      'Remove the authenticator app, the passkeys and the recovery codes of a user who has lost them. All sessions of the user end.',
    proof: true,
  },
)

/** What the console needs before sign-in. */
export const installationGet = operation('installationGet', 'GET /v1/installation', null, {
  summary: 'Version of this installation, and which of its parts are simulated.',
  answer: z.object({
    version: z.string(),
    /** True if the servers are simulated; every screen then shows a note. */
    simulated: z.boolean(),
    waitlist_url: z.nullable(z.string()),
    /** The ways to sign in. */
    sign_in: z.object({
      password: z.boolean(),
      /** Host name to which passkeys are bound; null: there are none, for the `reason`. */
      passkeys: z.object({ rp_id: z.nullable(z.string()), reason: z.nullable(z.string()) }),
      /** Name of the OpenID Connect provider, for the button. */
      provider: z.nullable(z.string()),
    }),
  }),
})

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    NewUser: [NewUser, 'A user to add.'],
    Person: [Person, 'A user of this installation.'],
  },
  fields: {
    disabled: 'True: the user cannot sign in, and all their sessions end.',
    'userCreate.name': 'Displayed name.',
    'userUpdate.name': 'Displayed name.',
    'userCreate.password':
      'Password; never trimmed. Without it, the user signs in through the identity provider, or sets a password with a link.',
    role: 'Role, which determines what the user may do.',
  },
  bodies: {
    userCreate: {
      email: 'night@example.com',
      name: 'Night shift',
      role: 'operator',
      password: 'twelve or more',
    },
    userUpdate: { role: 'operator' },
  },
}
