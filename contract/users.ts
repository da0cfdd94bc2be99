/** The people of this installation. */
import * as z from 'zod/mini'
import { seen } from './names.ts'
import { operation } from './operation.ts'
import { listQuery, pageOf, time } from './page.ts'
import { Role } from './permissions.ts'
import { email, newPassword } from './sessions.ts'

export const Person = z.object({ id: z.uuid(), email: z.string(), name: z.string(), role: Role, created_at: time, last_sign_in_at: z.nullable(time) })
export type Person = z.infer<typeof Person>

export const NewUser = z.strictObject({
  email,
  name: z.string().check(z.trim(), z.minLength(1, 'Enter a name'), z.maxLength(80), seen()),
  role: Role,
  password: newPassword,
})

export const userList = operation({
  name: 'userList',
  summary: 'The users of this installation.',
  method: 'GET',
  path: '/v1/users',
  scope: 'users:manage',
  query: z.strictObject(listQuery(['email', 'name', 'role', 'created_at'])),
  answer: pageOf(Person),
})
export const userCreate = operation({
  name: 'userCreate',
  summary: 'Add a user.',
  method: 'POST',
  path: '/v1/users',
  scope: 'users:manage',
  body: NewUser,
  answer: Person,
  status: 201,
  errors: ['user_exists'],
})

/** What a visitor leaves who wants to be a customer. */
export const waitlistJoin = operation({
  name: 'waitlistJoin',
  summary: 'Ask to join the waitlist. The same answer whether or not the email is known.',
  method: 'POST',
  path: '/v1/waitlist',
  scope: null,
  body: z.strictObject({
    name: z.string().check(z.trim(), z.minLength(1, 'Enter your name'), z.maxLength(80), seen()),
    company: z.string().check(z.trim(), z.maxLength(80), seen()),
    email,
  }),
  status: 204,
  errors: ['throttled'],
})

export const WaitlistEntry = z.object({ name: z.string(), company: z.string(), email: z.string(), created_at: time, invited_at: z.nullable(time) })
export const waitlistList = operation({
  name: 'waitlistList',
  summary: 'Who asked to join.',
  method: 'GET',
  path: '/v1/waitlist',
  scope: 'users:manage',
  query: z.strictObject(listQuery(['created_at', 'email'])),
  answer: pageOf(WaitlistEntry),
})

/** What the console has to know before anybody has signed in. */
export const installationGet = operation({
  name: 'installationGet',
  summary: 'Version of this installation, and what in it is simulated.',
  method: 'GET',
  path: '/v1/installation',
  scope: null,
  answer: z.object({
    version: z.string(),
    /** True where the servers are a simulation: every screen then says so. */
    simulated: z.boolean(),
    waitlist_url: z.nullable(z.string()),
  }),
})
