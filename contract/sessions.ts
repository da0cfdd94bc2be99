/**
 * Sign-in, refresh and log out. The specification prescribes the first two calls and their camel
 * case.
 */
import * as z from 'zod/mini'
import { codeText, lineText, personText } from './bounds/fields.ts'
import { list, listOperation } from './list.ts'
import { seen } from './names.ts'
import { operation, type Words } from './operation.ts'
import { time } from './page.ts'
import { code } from './people/second-factor.ts'
import { Role, Scope } from './permissions.ts'
import { no, type Verdict, yes } from './rule.ts'

export const User = z.object({ id: z.uuid(), email: personText, name: personText })
export type User = z.infer<typeof User>

/** Longest life of a session from sign-in, in seconds. */
export const sessionLifetimeSeconds = 86_400
/**
 * A cookie that is sent to `/v1/authorize`. It marks a device from which the account has signed in
 * before, and authenticates nobody.
 */
export const deviceCookie = 'steelyard_device'
/** The name of a cookie over HTTPS. */
export const secureName = (cookie: string): string => `__Secure-${cookie}`
/** Life of an access token, in seconds. */
export const accessTokenLifetimeSeconds = 600

export const email = z
  .string()
  .check(
    z.trim(),
    z.toLowerCase(),
    z.minLength(1, 'Enter your email'),
    z.maxLength(254),
    z.regex(/^[^\s@]+@[^\s@]+$/, 'Enter an email address'),
    seen(),
  )
/** Displayed name of a user. */
export const displayName = z
  .string()
  .check(
    z.trim(),
    z.minLength(1, 'Enter a name'),
    z.maxLength(80),
    z.regex(/^\P{Cc}*$/u, 'A name can’t contain line breaks and tabs'),
    seen(),
  )
/** A password is never trimmed: every character counts. */
export const newPassword = z
  .string()
  .check(
    z.minLength(12, 'Password must be at least 12 characters'),
    z.maxLength(128, 'Password must be no more than 128 characters'),
  )

/** A local part of an email with at least this length must not occur in the password. */
const shortestNameInPassword = 4

/** Must not occur in a password either. */
const productName = 'steelyard'

/**
 * Whether a password doesn't contain the email's local part or the program's name. The backend also
 * checks it against common passwords.
 */
export function mayBePassword(password: string, email: string): Verdict {
  const name = email.split('@', 1)[0]!.toLowerCase()
  if (password.toLowerCase().includes(productName))
    return no('Choose a password that does not contain the name of this program')
  return name.length >= shortestNameInPassword && password.toLowerCase().includes(name)
    ? no('Choose a password that does not contain the part of the email address before the @')
    : yes
}

/** The password that the user has. */
export const oldPassword = z
  .string()
  .check(z.minLength(1, 'Enter your password'), z.maxLength(128, 'This is not your password'))

export const Credentials = z.strictObject({
  email,
  password: z
    .string()
    .check(z.minLength(1, 'Enter your password'), z.maxLength(128, 'Invalid email or password')),
  /** Of an account with a second factor: a code of the authenticator app, or a recovery code. */
  code: z.optional(code),
})
export const SignedIn = z.object({
  userData: User,
  accessToken: z.string(),
  refreshToken: z.string(),
})
export const authorize = operation('authorize', 'POST /v1/authorize', null, {
  summary: 'Sign in with email and password, and with a code if the account has a second factor.',
  body: Credentials,
  answer: SignedIn,
  errors: ['invalid_credentials', 'second_factor_needed', 'forbidden', 'throttled'],
})

export const authorizeRefresh = operation('authorizeRefresh', 'POST /v1/authorize/refresh', null, {
  summary:
    'Get a new access token; with `rotate`, also a new refresh token that replaces the old one.',
  body: z.strictObject({
    refresh_token: z.string().check(z.minLength(1), z.maxLength(256)),
    rotate: z.optional(z.boolean()),
  }),
  answer: z.object({ access_token: z.string(), refresh_token: z.optional(z.string()) }),
  errors: ['session_expired'],
})

export const authorizeLogout = operation('authorizeLogout', 'POST /v1/authorize/logout', null, {
  summary: 'End the session of a refresh token. Safe to repeat.',
  body: z.strictObject({ refresh_token: z.string().check(z.minLength(1), z.maxLength(256)) }),
})

export const sessionGet = operation('sessionGet', 'GET /v1/session', 'signed_in', {
  summary:
    'The signed-in user, the role, the scopes, and when the access token or API token expires.',
  answer: z.object({
    user: User,
    role: Role,
    scopes: z.array(Scope),
    expiresAt: time,
    /**
     * True: the role requires a second factor, which this session lacks. Until one is added, only
     * calls below `/v1/session` are accepted.
     */
    second_factor_missing: z.boolean(),
  }),
})

export const PasswordChange = z.strictObject({ password: oldPassword, new_password: newPassword })
export const passwordChange = operation(
  'passwordChange',
  'POST /v1/session/password',
  'signed_in',
  {
    summary: "Change the caller's own password. All other sessions of the caller end.",
    session: true,
    body: PasswordChange,
  },
)

export const signInMethods = ['password', 'passkey', 'provider'] as const
/** How a session was signed in. provider: through the OpenID Connect provider. */
export const SignInMethod = z.enum(signInMethods)
export type SignInMethod = z.infer<typeof SignInMethod>

/** An active session: a signed-in device. */
export const Session = z.object({
  id: z.uuid(),
  user: User,
  method: SignInMethod,
  created_at: time,
  last_used_at: time,
  /** The latest time at which the session ends. An idle session ends earlier. */
  expires_at: time,
  ip: codeText,
  user_agent: lineText,
  /** Whether this is the session of the request. */
  current: z.boolean(),
})
export type Session = z.infer<typeof Session>

const sessions = list<Session>()({
  nouns: ['session', 'sessions'],
  columns: {
    id: { label: 'Id', kind: 'mono', value: (s: Session) => s.id },
    user: { label: 'User', value: (s: Session) => s.user.email },
    ip: { label: 'Address', kind: 'mono', value: (s: Session) => s.ip },
    last_used_at: {
      label: 'Last used',
      kind: 'time',
      sort: true,
      value: (s: Session) => s.last_used_at,
    },
    created_at: {
      label: 'Signed in',
      kind: 'time',
      sort: true,
      hidden: true,
      value: (s: Session) => s.created_at,
    },
    expires_at: { label: 'Ends', kind: 'time', value: (s: Session) => s.expires_at },
    method: { label: 'By', kind: 'word', hidden: true, value: (s: Session) => s.method },
    program: { label: 'Program', value: (s: Session) => s.user_agent },
  },
  order: '-last_used_at',
})

export const sessionList = listOperation(sessions, Session, {
  name: 'sessionList',
  summary:
    "The caller's sessions, most recently used first; with `users:manage`, also those of other users.",
  path: '/v1/sessions',
  scope: 'signed_in',
  more: { user_id: z.optional(z.union([z.literal('all'), z.uuid()])) },
})
export const sessionEnd = operation('sessionEnd', 'DELETE /v1/sessions/{id}', 'signed_in', {
  summary: "End a session: one of the caller's own, or with `users:manage` any user's.",
})

export const sessionEndAll = operation('sessionEndAll', 'DELETE /v1/sessions', 'signed_in', {
  summary:
    "End all sessions of the caller except the caller's own; with `users:manage` and `user_id`, all sessions of another user.",
  query: z.strictObject({ user_id: z.optional(z.uuid()) }),
  answer: z.object({ ended: z.int() }),
  errors: ['not_found'],
})

/** Token of a link to set a password. */
const resetToken = z.string().check(z.minLength(1), z.maxLength(100))
export const passwordResetLook = operation(
  'passwordResetLook',
  'POST /v1/password-reset/look',
  null,
  {
    summary: 'The user whose password a reset link sets, and when the link expires.',
    body: z.strictObject({ token: resetToken }),
    answer: z.object({ email: z.string(), expires_at: time }),
    errors: ['link_over'],
  },
)
export const PasswordReset = z.strictObject({ token: resetToken, new_password: newPassword })
export const passwordReset = operation('passwordReset', 'POST /v1/password-reset', null, {
  summary:
    'Set a password with the token of a reset link, which works once. All sessions of the user end.',
  body: PasswordReset,
  errors: ['link_over'],
})

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    Session: [Session, 'An open session: a device that is signed in.'],
    User: [User, 'The user who is signed in.'],
  },
  fields: {
    code: 'Of an account with a second factor: a code of the authenticator app, or a recovery code.',
    new_password: 'New password, 12 to 128 characters; never trimmed.',
    password: 'Password; never trimmed.',
    'passwordChange.password': 'Current password.',
    refresh_token: 'The refresh token of the session.',
    rotate: 'True: also return a new refresh token, which replaces the old one.',
    token: 'Token of the link: the part after the #.',
    user_id: 'Id of the user whose sessions are listed; `all` for the sessions of all users.',
    'sessionEndAll.user_id': 'Id of the user whose sessions end. Default: the caller.',
  },
  bodies: {
    authorize: { email: 'ops@example.com', password: 'correct horse battery' },
    authorizeLogout: { refresh_token: 'the refresh token' },
    authorizeRefresh: { refresh_token: 'the refresh token', rotate: true },
    passwordChange: { password: 'correct horse battery', new_password: 'another horse battery' },
    passwordReset: { token: 'the text behind the #', new_password: 'another horse battery' },
    passwordResetLook: { token: 'the text behind the #' },
  },
}
