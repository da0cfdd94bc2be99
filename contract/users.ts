/** Users of this installation. */
import * as z from 'zod/mini'
import { list, listOperation } from './list.ts'
import { seen } from './names.ts'
import { callsOf } from './object-calls.ts'
import { operation } from './operation.ts'
import { time } from './page.ts'
import { Role } from './permissions.ts'
import { no, type Verdict, yes } from './rule.ts'
import { email, newPassword } from './sessions.ts'

export const Person = z.object({
  id: z.uuid(),
  email: z.string(),
  name: z.string(),
  role: Role,
  created_at: time,
  last_sign_in_at: z.nullable(time),
  /** Time since which the user can't sign in. */
  disabled_at: z.nullable(time),
  version: z.int(),
})
export type Person = z.infer<typeof Person>

const name = z.string().check(z.trim(), z.minLength(1, 'Enter a name'), z.maxLength(80), seen())

export const NewUser = z.strictObject({ email, name, role: Role, password: newPassword })

const users = list<Person>()({
  nouns: ['user', 'users'],
  columns: {
    email: { label: 'Email', sort: true, value: (u: Person) => u.email },
    name: { label: 'Name', sort: true, value: (u: Person) => u.name },
    role: { label: 'Role', sort: true, value: (u: Person) => u.role },
    status: { label: 'Status', value: (u: Person) => (u.disabled_at === null ? 'active' : 'disabled') },
    last_sign_in: { label: 'Last sign-in', kind: 'time', value: (u: Person) => u.last_sign_in_at },
    created_at: { label: 'Added', kind: 'time', sort: true, value: (u: Person) => u.created_at },
  },
  order: 'email',
})

const calls = callsOf('user', '/v1/users', { read: 'users:manage', write: 'users:manage' }, Person)
export const userList = calls.list(users, 'The users of this installation.')
export const userCreate = calls.create({
  summary: 'Add a user.',
  body: NewUser,
  errors: ['user_exists'],
})

/** Whether an admin may be removed, disabled or given another role. @param admins number of all admins who can sign in, including this user */
export const mayStopBeingAdmin = (admins: number): Verdict =>
  admins > 1 ? yes : no('This is the last admin who can sign in: make somebody else an admin first')

export const userUpdate = calls.update({
  summary: 'Change the name or role of a user, or disable or enable the user. The change takes effect within 5 s.',
  body: z.strictObject({ name: z.optional(name), role: z.optional(Role), disabled: z.optional(z.boolean()) }),
  errors: ['last_admin', 'stale'],
})
export const userRemove = calls.remove('Remove a user. All their sessions end; what they did stays in the audit log.', ['last_admin'])
/** Life of a link to set a password. */
export const resetLinkHours = 24
export const userResetPassword = operation('userResetPassword', 'POST /v1/users/{id}/reset-password', 'users:manage', {
  summary:
    'Create a link with which the user can set a new password once, within 24 h. It replaces any earlier link. The old password works until the new one is set.',
  answer: z.object({ url: z.string(), expires_at: time }),
})
export const userUnlock = operation('userUnlock', 'POST /v1/users/{id}/unlock', 'users:manage', {
  summary: 'Clear the failed sign-ins of an account, so that its next sign-in does not have to wait.',
  answer: z.object({ failures_cleared: z.int() }),
})

/** A visitor's request to join the waitlist. */
export const WaitlistRequest = z.strictObject({
  name: z.string().check(z.trim(), z.minLength(1, 'Enter your name'), z.maxLength(80), seen()),
  company: z.string().check(z.trim(), z.maxLength(80), seen()),
  email,
})
export const waitlistJoin = operation('waitlistJoin', 'POST /v1/waitlist', null, {
  summary: 'Ask to join the waitlist. The response does not reveal whether the email is already known.',
  body: WaitlistRequest,
  errors: ['throttled'],
})

export const WaitlistEntry = z.object({ name: z.string(), company: z.string(), email: z.string(), created_at: time, invited_at: z.nullable(time) })
type WaitlistEntry = z.infer<typeof WaitlistEntry>
const waitlist = list<WaitlistEntry>()({
  nouns: ['entry', 'entries'],
  columns: {
    created_at: { label: 'Asked', kind: 'time', sort: true, value: (e: WaitlistEntry) => e.created_at },
    email: { label: 'Email', sort: true, value: (e: WaitlistEntry) => e.email },
  },
  order: 'created_at',
})

export const waitlistList = listOperation(waitlist, WaitlistEntry, {
  name: 'waitlistList',
  summary: 'The people on the waitlist.',
  path: '/v1/waitlist',
  scope: 'users:manage',
})

/** What the console needs before sign-in. */
export const installationGet = operation('installationGet', 'GET /v1/installation', null, {
  summary: 'Version of this installation, and which of its parts are simulated.',
  answer: z.object({
    version: z.string(),
    /** True if the servers are simulated; every screen then shows a note. */
    simulated: z.boolean(),
    waitlist_url: z.nullable(z.string()),
  }),
})
